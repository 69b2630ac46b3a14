"""
LangSmith runs, an array or one a line. A ``tool`` run is a call; the ``llm`` run that asked
for it is not a second one, and a ``retriever`` run over documents is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codemode.core.measure.call import Problem, Record, Tokens
from codemode.traces.formats._calls import as_text, count, items, mapping, parsed, seconds
from codemode.traces.formats._calls import text_or_none as text
from codemode.traces.formats._spans import Asked, Ran, Trace, Traces
from codemode.traces.source import Sample, Source

_MAX_DEPTH = 12


class LangSmith:
    name = "langsmith"

    def detect(self, sample: Sample) -> int:
        if not sample.has("run_type"):
            return 0
        return 2 + sample.has("trace_id") + sample.has("dotted_order") + sample.has("start_time")

    def read(self, source: Source) -> Iterator[Record]:
        traces = Traces(id_is_span=True)
        for part in source.parts(""):
            if isinstance(part, Problem):
                yield part
                continue
            run = mapping(part.value)
            trace = traces.trace(str(run.get("trace_id") or run.get("id") or ""))
            yield from _take(trace, run)
            yield from traces.overdue()
        yield from traces.finish()


def _take(trace: Trace, run: dict[str, Any]) -> Iterator[Tokens]:
    id = str(run.get("id") or "")
    extra = mapping(run.get("extra"))
    metadata = mapping(extra.get("metadata"))
    trace.parents[id] = str(run.get("parent_run_id") or "")
    trace.session = str(metadata.get("thread_id") or metadata.get("session_id") or trace.session)
    trace.task = str(metadata.get("task_id") or trace.task)
    if agent := metadata.get("agent_name") or metadata.get("langgraph_node"):
        trace.agents[id] = str(agent)
    kind = run.get("run_type")
    if kind == "tool":
        trace.ran.append(_ran(run, id, extra))
    elif kind == "llm":
        start_s = seconds(run.get("start_time")) or 0.0
        end_s = seconds(run.get("end_time")) or start_s
        for asked in _found(run.get("outputs"), "tool_calls"):
            function = mapping(asked.get("function"))
            args, args_text = parsed(asked.get("args", function.get("arguments")))
            call_id = str(asked.get("id") or "")
            if call_id and any(one.id == call_id for one in trace.asked):
                continue
            trace.asked.append(
                Asked(
                    id=call_id,
                    name=text(asked.get("name")) or text(function.get("name")),
                    args=args,
                    args_text=args_text,
                    message=id,
                    at_s=end_s,
                )
            )
        yield from _spent(trace, run, id)


def _ran(run: dict[str, Any], id: str, extra: dict[str, Any]) -> Ran:
    inputs = run.get("inputs")
    wrapped = mapping(inputs)
    args, args_text = parsed(wrapped["input"] if set(wrapped) == {"input"} else inputs)
    outputs = mapping(run.get("outputs"))
    answer = outputs.get("output", outputs or None)
    message = mapping(answer)
    call_id = extra.get("tool_call_id") or message.get("tool_call_id")
    error = run.get("error")
    failed = bool(error) or message.get("status") == "error"
    if message.get("type") == "tool":
        answer = message.get("content")
    return Ran(
        span=id,
        parent=str(run.get("parent_run_id") or ""),
        call_id=str(call_id or ""),
        name=text(run.get("name")),
        args=args,
        args_text=args_text,
        result=as_text(error or answer) if error or answer is not None else None,
        is_error=failed,
        start_s=seconds(run.get("start_time")) or 0.0,
        end_s=seconds(run.get("end_time")),
    )


def _found(value: Any, key: str, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Objects of every list called *key* below *value*: where it stands differs by version."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, dict):
        for name, one in value.items():
            if name == key:
                yield from items(one)
            else:
                yield from _found(one, key, depth + 1)
    elif isinstance(value, list):
        for one in value:
            yield from _found(one, key, depth + 1)


def _spent(trace: Trace, run: dict[str, Any], id: str) -> Iterator[Tokens]:
    usage = mapping(mapping(run.get("outputs")).get("usage_metadata"))
    given = mapping(mapping(mapping(run.get("outputs")).get("llm_output")).get("token_usage"))
    whole = count(
        run.get("prompt_tokens") or usage.get("input_tokens") or given.get("prompt_tokens")
    )
    output = count(
        run.get("completion_tokens") or usage.get("output_tokens") or given.get("completion_tokens")
    )
    if whole or output:
        session = trace.session or trace.id
        yield Tokens(session=session, message=id, input=whole, output=output)


FORMAT = LangSmith()
