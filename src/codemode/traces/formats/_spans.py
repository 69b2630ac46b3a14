"""
Traces made of spans: one call may show twice (asked for by a model's span, run by a tool's)
or three times (the MCP request below the tool's span). Here they become one.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from codemode.core.measure.call import TraceCall

MAX_ITEMS = 200_000
"""Spans held at once. Beyond, the trace silent for longest is taken to have ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A model's span asks for a call. *message* is that span."""

    id: str
    name: str | None
    args: Any
    args_text: str
    message: str
    at_s: float
    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A span in which a tool ran. *call_id* is what a model's span calls it, if it says."""

    span: str
    parent: str
    call_id: str
    name: str | None
    args: Any
    args_text: str
    result: str | None
    is_error: bool
    start_s: float
    end_s: float | None
    agent: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Trace:
    """What is known of one trace so far."""

    id: str
    session: str = ""
    task: str = ""
    asked: list[Asked] = field(default_factory=list)
    ran: list[Ran] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    in_order: tuple[float, list[str]] = (0.0, [])
    agents: dict[str, str] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)

    def answered_in_order(self, before_s: float, texts: list[str]) -> None:
        """A history at *before_s* that gives answers without saying to which calls."""
        if len(texts) > len(self.in_order[1]):
            self.in_order = (before_s, texts)

    def agent(self, span: str) -> str:
        """Of the nearest span above that names one."""
        seen: set[str] = set()
        while span and span not in seen:
            if span in self.agents:
                return self.agents[span]
            seen.add(span)
            span = self.parents.get(span, "")
        return ""


class Traces:
    """
    Args:
        id_is_span: A call's id is its tool span's, not the one a model gave it.
    """

    def __init__(self, *, id_is_span: bool = False) -> None:
        self._open: OrderedDict[str, Trace] = OrderedDict()
        self._id_is_span = id_is_span
        self._n = 0

    def trace(self, id: str) -> Trace:
        """The trace to add to; counts one span."""
        trace = self._open.setdefault(id, Trace(id=id))
        self._open.move_to_end(id)
        self._n += 1
        return trace

    def overdue(self) -> Iterator[TraceCall]:
        """Calls of traces that there is no more room for."""
        while self._n > MAX_ITEMS:
            _, trace = self._open.popitem(last=False)
            self._n -= max(1, len(trace.parents))
            if not self._open:
                self._n = 0
            yield from self._calls(trace)

    def finish(self) -> Iterator[TraceCall]:
        while self._open:
            yield from self._calls(self._open.popitem(last=False)[1])

    def _calls(self, trace: Trace) -> Iterator[TraceCall]:
        runs = _without_inner(trace.ran)
        asked = sorted(trace.asked, key=lambda one: one.at_s)
        answers = dict(trace.answers)
        before_s, texts = trace.in_order
        early = [one for one in asked if one.at_s < before_s]
        if texts and len(early) == len(texts):
            answers = {one.id: text for one, text in zip(early, texts, strict=True)} | answers
        pairs = _pair(asked, runs)
        spans = {run.span for run in trace.ran}
        found: list[tuple[float, TraceCall]] = []
        for run in runs:
            one = pairs.get(run.span)
            call = TraceCall(
                session=trace.session or trace.id,
                id=run.span if self._id_is_span else (run.call_id or (one and one.id) or run.span),
                name=run.name,
                args=run.args if run.args is not None or one is None else one.args,
                args_text=run.args_text or (one.args_text if one else ""),
                result=run.result if run.result is not None or one is None else answers.get(one.id),
                is_error=run.is_error,
                message=one.message if one else "",
                start_s=run.start_s or None,
                end_s=run.end_s,
                agent=run.agent or trace.agent(run.span),
                task=trace.task,
                from_script=run.parent in spans,
                attributes=run.attributes,
            )
            found.append((run.start_s, call))
        paired = {id(one) for one in pairs.values()}
        for one in asked:
            if id(one) not in paired:
                call = TraceCall(
                    session=trace.session or trace.id,
                    id=one.id or one.message,
                    name=one.name,
                    args=one.args,
                    args_text=one.args_text,
                    result=one.result if one.result is not None else answers.get(one.id),
                    message=one.message,
                    start_s=one.at_s or None,
                    agent=trace.agent(one.message),
                    task=trace.task,
                )
                found.append((one.at_s, call))
        for _, call in sorted(found, key=lambda each: each[0]):
            yield call


def _without_inner(runs: list[Ran]) -> list[Ran]:
    """A run directly below a run of the same tool is that run, seen from further inside."""
    names = {run.span: run.name for run in runs}
    return [run for run in runs if run.parent not in names or names[run.parent] != run.name]


def _pair(asked: list[Asked], runs: list[Ran]) -> dict[str, Asked]:
    """Span of a run -> what asked for it: by id, else by name and order."""
    by_id = {one.id: one for one in asked if one.id}
    pairs = {run.span: by_id[run.call_id] for run in runs if run.call_id in by_id}
    taken = {id(one) for one in pairs.values()}
    by_name: dict[str | None, deque[Asked]] = {}
    for one in asked:
        if id(one) not in taken:
            by_name.setdefault(one.name, deque()).append(one)
    for run in sorted(runs, key=lambda run: run.start_s):
        waiting = by_name.get(run.name)
        if run.name and not run.call_id and waiting and waiting[0].at_s <= run.start_s:
            pairs[run.span] = waiting.popleft()
    return pairs
