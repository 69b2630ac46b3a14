"""
OpenTelemetry's GenAI conventions as OTLP/JSON. Calls are ``execute_tool`` spans, MCP
``tools/call`` and ``tools/list`` spans, and tool calls inside message attributes, whose
history later spans repeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codemode.core.measure.call import Problem, Record, Tokens
from codemode.traces.formats._calls import as_text, count, items, mapping, parsed
from codemode.traces.formats._calls import text_or_none as text
from codemode.traces.formats._otlp import Span, is_otlp, spans
from codemode.traces.formats._spans import Asked, Ran, Trace, Traces
from codemode.traces.source import Sample, Source

_METHODS = {"tools/call", "tools/list"}


class OtelGenAI:
    name = "otel_genai"

    def detect(self, sample: Sample) -> int:
        if not is_otlp(sample):
            return 0
        return 2 + 2 * is_otlp(sample, with_attribute="gen_ai.")

    def read(self, source: Source) -> Iterator[Record]:
        traces = Traces()
        for span in spans(source):
            if isinstance(span, Problem):
                yield span
                continue
            trace = traces.trace(span.trace)
            yield from _take(trace, span)
            yield from traces.overdue()
        yield from traces.finish()


def _take(trace: Trace, span: Span) -> Iterator[Tokens]:
    given = span.attributes
    trace.parents[span.span] = span.parent
    trace.session = str(given.get("gen_ai.conversation.id") or trace.session)
    trace.task = str(given.get("codemode.task.id") or given.get("task.id") or trace.task)
    agent = given.get("gen_ai.agent.name") or (not span.parent and given.get("service.name"))
    if agent:
        trace.agents[span.span] = str(agent)
    operation, method = given.get("gen_ai.operation.name"), text(given.get("mcp.method.name"))
    if operation == "execute_tool" or method in _METHODS:
        trace.ran.append(_ran(span, method))
        return
    yield from _spent(trace, span)
    before: list[str] = []
    for message in _messages(given.get("gen_ai.input.messages")):
        _read(trace, span, message, asked_before=True, answers=before)
    for message in _messages(given.get("gen_ai.output.messages")):
        _read(trace, span, message, asked_before=False, answers=[])
    trace.answered_in_order(span.start_s, before)


def _ran(span: Span, method: Any) -> Ran:
    given = span.attributes
    listing = method == "tools/list"
    args, args_text = parsed(given.get("gen_ai.tool.call.arguments"))
    result = given.get("gen_ai.tool.call.result")
    failed = span.is_error or "error.type" in given
    if result is None and failed:
        result = span.status or str(given.get("error.type") or "error")
    return Ran(
        span=span.span,
        parent=span.parent,
        call_id=str(given.get("gen_ai.tool.call.id") or ""),
        name="tools/list" if listing else _tool_name(span),
        args=args,
        args_text=args_text,
        result=None if result is None else as_text(result),
        is_error=failed,
        start_s=span.start_s,
        end_s=span.end_s,
        attributes={"mcp.method.name": str(method)} if method else {},
    )


def _tool_name(span: Span) -> str | None:
    """As stated, else from the span's name, which the conventions prescribe."""
    stated = text(span.attributes.get("gen_ai.tool.name"))
    verb, _, named = span.name.partition(" ")
    return stated or (named or None if verb in ("execute_tool", "tools/call") else None)


def _spent(trace: Trace, span: Span) -> Iterator[Tokens]:
    given = span.attributes
    if given.get("gen_ai.operation.name") == "invoke_agent":
        return  # repeats the sum of the spans below it
    whole = count(given.get("gen_ai.usage.input_tokens"))
    output = count(given.get("gen_ai.usage.output_tokens"))
    cached = count(given.get("gen_ai.usage.cache_read.input_tokens"))
    cached += count(given.get("gen_ai.usage.cache_creation.input_tokens"))
    if whole or output:
        yield Tokens(
            session=trace.session or trace.id,
            message=span.span,
            input=max(0, whole - cached),
            cached=min(cached, whole),
            output=output,
        )


def _messages(value: Any) -> list[dict[str, Any]]:
    found, _ = parsed(value)
    return items(found)


def _read(
    trace: Trace, span: Span, message: dict[str, Any], *, asked_before: bool, answers: list[str]
) -> None:
    """Note what one message asks for and what it answers. History counts only with an id."""
    known = {one.id for one in trace.asked}
    for raw in items(message.get("parts")):
        part = mapping(raw)
        id = str(part.get("id") or "")
        if part.get("type") == "tool_call_response":
            answer = as_text(part.get("response", part.get("result")))
            answers.append(answer)
            if id:
                trace.answers.setdefault(id, answer)
        elif part.get("type") == "tool_call":
            if (id in known) if id else asked_before:
                continue
            known.add(id)
            args, args_text = parsed(part.get("arguments"))
            trace.asked.append(
                Asked(
                    id=id,
                    name=text(part.get("name")),
                    args=args,
                    args_text=args_text,
                    message=span.span,
                    at_s=span.start_s if asked_before else (span.end_s or span.start_s),
                )
            )


FORMAT = OtelGenAI()
