"""
OpenInference spans, one a line or as OTLP. The LLM span that asks and the TOOL span that runs
share ``tool_call.id`` and are one call; a RETRIEVER span over documents is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from codemode.core.measure.call import Problem, Record, Tokens
from codemode.traces.formats._calls import as_text, count, mapping, parsed, seconds
from codemode.traces.formats._calls import text_or_none as text
from codemode.traces.formats._otlp import Span, is_otlp, spans
from codemode.traces.formats._spans import Asked, Ran, Trace, Traces
from codemode.traces.source import Sample, Source

_KIND = "openinference.span.kind"
_ASKED = re.compile(r"^(llm\.output_messages\.\d+\.message\.tool_calls\.\d+\.tool_call)\.")
_TOLD = re.compile(r"^(llm\.input_messages\.(\d+)\.message)\.role$")


class OpenInference:
    name = "openinference"

    def detect(self, sample: Sample) -> int:
        if is_otlp(sample, with_attribute=_KIND):
            return 5
        return 4 if sample.has(f"attributes.{_KIND}") else 0

    def read(self, source: Source) -> Iterator[Record]:
        traces = Traces()
        otlp = any(path.startswith("resourceSpans") for path in source.sample().values)
        for span in spans(source) if otlp else _own_spans(source):
            if isinstance(span, Problem):
                yield span
                continue
            trace = traces.trace(span.trace)
            yield from _take(trace, span)
            yield from traces.overdue()
        yield from traces.finish()


def _own_spans(source: Source) -> Iterator[Span | Problem]:
    for part in source.parts(""):
        if isinstance(part, Problem):
            yield part
            continue
        raw = mapping(part.value)
        flat = dict(_flat(raw, ""))
        yield Span(
            trace=str(flat.get("context.trace_id") or flat.get("trace_id") or ""),
            span=str(flat.get("context.span_id") or flat.get("span_id") or part.line),
            parent=str(flat.get("parent_id") or ""),
            name=str(flat.get("name") or ""),
            start_s=seconds(flat.get("start_time")) or 0.0,
            end_s=seconds(flat.get("end_time")),
            is_error=flat.get("status_code") == "ERROR",
            status=str(flat.get("status_message") or ""),
            attributes={
                key.removeprefix("attributes."): value
                for key, value in flat.items()
                if key.startswith("attributes.")
            },
        )


def _flat(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    """``{"a": {"b": [1]}}`` -> ``a.b.0``; flat keys stay as they are."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _flat(one, f"{at}.{key}" if at else str(key))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _flat(one, f"{at}.{number}")
    else:
        yield at, value


def _take(trace: Trace, span: Span) -> Iterator[Tokens]:
    given = span.attributes
    trace.parents[span.span] = span.parent
    trace.session = str(given.get("session.id") or trace.session)
    kind = given.get(_KIND)
    if kind == "AGENT":
        trace.agents[span.span] = str(given.get("agent.name") or span.name)
    elif kind == "TOOL":
        trace.ran.append(_ran(span))
    elif kind == "LLM":
        yield from _spent(trace, span)
        _read(trace, span)


def _ran(span: Span) -> Ran:
    given = span.attributes
    args, args_text = parsed(given.get("tool.parameters", given.get("input.value")))
    answer = given.get("output.value")
    if answer is None and span.is_error:
        answer = span.status or "error"
    return Ran(
        span=span.span,
        parent=span.parent,
        call_id=str(given.get("tool_call.id") or given.get("tool.id") or ""),
        name=text(given.get("tool.name")),
        args=args,
        args_text=args_text,
        result=None if answer is None else as_text(answer),
        is_error=span.is_error,
        start_s=span.start_s,
        end_s=span.end_s,
    )


def _spent(trace: Trace, span: Span) -> Iterator[Tokens]:
    given = span.attributes
    whole = count(given.get("llm.token_count.prompt"))
    output = count(given.get("llm.token_count.completion"))
    cached = min(whole, count(given.get("llm.token_count.prompt_details.cache_read")))
    if whole or output:
        yield Tokens(
            session=trace.session or trace.id,
            message=span.span,
            input=whole - cached,
            cached=cached,
            output=output,
        )


def _read(trace: Trace, span: Span) -> None:
    """What an LLM span asks for, and the answers that its input repeats."""
    given = span.attributes
    for prefix in dict.fromkeys(
        match[1] for key in given if (match := _ASKED.match(key)) is not None
    ):
        args, args_text = parsed(given.get(f"{prefix}.function.arguments"))
        trace.asked.append(
            Asked(
                id=str(given.get(f"{prefix}.id") or ""),
                name=text(given.get(f"{prefix}.function.name")),
                args=args,
                args_text=args_text,
                message=span.span,
                at_s=span.end_s or span.start_s,
            )
        )
    told = sorted(
        (int(match[2]), match[1])
        for key, role in given.items()
        if role == "tool" and (match := _TOLD.match(key)) is not None
    )
    answers = [as_text(given.get(f"{prefix}.content")) for _, prefix in told]
    for (_, prefix), answer in zip(told, answers, strict=True):
        if id := given.get(f"{prefix}.tool_call_id"):
            trace.answers.setdefault(str(id), answer)
    trace.answered_in_order(span.start_s, answers)


FORMAT = OpenInference()
