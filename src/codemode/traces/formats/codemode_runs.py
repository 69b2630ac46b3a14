"""
codemode's own runs, as ``codemode run --json`` answers them and the run store keeps them.

A run is one call of the agent's, and each tool call that its script made is a further one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codemode.core.measure.call import Problem, Record, TraceCall
from codemode.traces.formats._calls import as_text, items, mapping, seconds
from codemode.traces.formats._calls import text_or_none as text
from codemode.traces.source import Sample, Source


class CodemodeRuns:
    name = "codemode_runs"

    def detect(self, sample: Sample) -> int:
        return 5 if sample.has("run_id", "status", "usage.wall_ms", "preview") else 0

    def read(self, source: Source) -> Iterator[Record]:
        for part in source.parts(""):
            if isinstance(part, Problem):
                yield part
                continue
            yield from _run(mapping(part.value))


def _run(record: dict[str, Any]) -> Iterator[Record]:
    id = str(record.get("run_id") or "")
    end_s = seconds(record.get("at"))
    usage = mapping(record.get("usage"))
    wall_s = _number(usage.get("wall_ms")) / 1000
    failed = record.get("status") not in ("succeeded", None)
    yield TraceCall(
        id=id,
        name="codemode.run",
        result=_answer(record),
        is_error=failed,
        message=id,
        start_s=None if end_s is None else end_s - wall_s,
        end_s=end_s,
        agent=str(record.get("engine") or ""),
    )
    for call in items(record.get("calls")):
        error = call.get("error")
        yield TraceCall(
            id=f"{id}:{call.get('seq')}",
            name=text(call.get("tool")),
            result=str(error) if error else None,
            is_error=call.get("state") in ("failed", "refused"),
            agent=str(record.get("engine") or ""),
            from_script=True,
            attributes={"effect": str(call.get("effect")), "state": str(call.get("state"))},
        )


def _answer(record: dict[str, Any]) -> str:
    """What the agent was told: the value, or why there is none."""
    error = mapping(record.get("error"))
    if record.get("status") == "succeeded":
        return as_text(record.get("value"))
    reports = [
        f"{one.get('code')}: {one.get('message')}" for one in items(record.get("diagnostics"))
    ]
    return "\n".join([f"error: {error.get('code')}: {error.get('message')}", *reports])


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


FORMAT = CodemodeRuns()
