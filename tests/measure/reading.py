"""Reading a trace in tests, through the same calls that the command makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codemode.core.measure.call import Problem
from codemode.core.measure.meter import Meter
from codemode.core.measure.report import Totals
from codemode.core.measure.tally import Classed
from codemode.traces import rule_table
from codemode.traces.open import find, opened, recognise, records

SHARED = Path(__file__).parents[2].parent / "shared" / "traces"
CASES = Path(__file__).parents[1] / "cases" / "traces"


@dataclass(frozen=True)
class Read:
    format: str | None
    calls: list[Classed]
    problems: list[Problem]
    totals: Totals

    @property
    def classes(self) -> list[tuple[str, str | None, str]]:
        return [(one.call.id, one.call.name, one.cls) for one in self.calls]


def read(path: Path | str, *, extra: Mapping[str, Any] | None = None) -> Read:
    totals, calls, problems = Totals(), [], []
    (found,) = find([str(path)])
    with opened(found) as source:
        format = recognise(source)
        if format is None:
            return Read(None, [], [], totals)
        meter = Meter(rule_table(extra), totals, path=found.path, format=format.name)
        for record in records(source, format):
            if isinstance(record, Problem):
                problems.append(record)
            elif (classed := meter.take(record)) is not None:
                calls.append(classed)
        meter.close()
    return Read(format.name, calls, problems, totals)
