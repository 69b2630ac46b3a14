"""One file's records in, classed calls out; what they add up to goes into `Totals`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from codemode.core.measure.call import CLASSES, Problem, Record, Tokens
from codemode.core.measure.report import Totals
from codemode.core.measure.rules import RuleTable
from codemode.core.measure.tally import Classed, SessionCounter

MAX_OPEN = 200
"""Sessions of one file followed at once; the one silent for longest ends first."""


class Meter:
    """Keeps the sessions of one file apart, whatever order their records come in."""

    def __init__(
        self,
        table: RuleTable,
        totals: Totals,
        *,
        path: str,
        format: str,
        count_tokens: Callable[[str], int] | None = None,
    ) -> None:
        self._table = table
        self._totals = totals
        self._path = path
        self._format = format
        self._count = count_tokens
        self._open: OrderedDict[str, SessionCounter] = OrderedDict()
        self.counts: dict[str, int] = dict.fromkeys(CLASSES, 0)

    def take(self, record: Record) -> Classed | None:
        """Count one record; a call comes back with its class."""
        if isinstance(record, Problem):
            return None
        counter = self._counter(record.session)
        if isinstance(record, Tokens):
            counter.spend(record)
            return None
        classed = counter.add(record)
        self.counts[classed.cls] += 1
        return classed

    def close(self) -> None:
        """The file has ended, and its sessions with it."""
        while self._open:
            self._end_oldest()

    def _counter(self, session: str) -> SessionCounter:
        counter = self._open.get(session)
        if counter is None:
            counter = self._open[session] = SessionCounter(
                self._table,
                path=self._path,
                format=self._format,
                session=session,
                count_tokens=self._count,
            )
            if len(self._open) > MAX_OPEN:
                self._end_oldest()
        self._open.move_to_end(session)
        return counter

    def _end_oldest(self) -> None:
        _, counter = self._open.popitem(last=False)
        self._totals.add(counter.close())
