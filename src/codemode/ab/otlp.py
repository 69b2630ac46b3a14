"""A session as OTLP/JSON with the GenAI conventions: what ``codemode measure`` reads."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from codemode.ab.session import ChatStep, Session, ToolStep

SERVICE = "codemode-ab"


def trace(session: Session, *, task: str, surface: str, seed: int, model: str) -> dict[str, Any]:
    """
    One trace: the agent, its messages, the tools' calls, and below a run its script's calls.

    A script's calls have a known length but no known start: they are drawn one after another
    from the start of the run.
    """
    conversation = f"{task}/{surface}/{seed}"
    spans = _Spans(conversation)
    root = spans.add(
        f"invoke_agent {surface}",
        None,
        session.start_ns,
        session.end_ns,
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": surface,
            "gen_ai.conversation.id": conversation,
            "codemode.task.id": task,
            "codemode.ab.surface": surface,
            "codemode.ab.seed": seed,
            "codemode.ab.end": session.end,
        },
        error=session.fault,
    )
    for at, step in enumerate(session.steps):
        if isinstance(step, ChatStep):
            _chat(spans, root, session, step, is_first=at == 0, model=model)
        else:
            _tool(spans, root, step)
    resource = {"attributes": _attributes({"service.name": SERVICE})}
    scope = {"scope": {"name": SERVICE}, "spans": spans.spans}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def _chat(
    spans: _Spans, root: str, session: Session, step: ChatStep, *, is_first: bool, model: str
) -> None:
    said = step.said
    parts: list[dict[str, Any]] = [{"type": "text", "content": said.text}] if said.text else []
    for asked in said.calls:
        args = asked.args_text if asked.args is None else dict(asked.args)
        parts.append({"type": "tool_call", "id": asked.id, "name": asked.name, "arguments": args})
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": model,
        "gen_ai.response.model": said.model or model,
        "gen_ai.usage.input_tokens": said.spent.input + said.spent.cached,
        "gen_ai.usage.cache_read.input_tokens": said.spent.cached,
        "gen_ai.usage.output_tokens": said.spent.output,
        "gen_ai.output.messages": _text(
            [{"role": "assistant", "parts": parts, "finish_reason": said.stop}]
        ),
    }
    if is_first:
        asked_first = [{"role": "user", "parts": [{"type": "text", "content": session.prompt}]}]
        attributes["gen_ai.input.messages"] = _text(asked_first)
    spans.add(f"chat {model}", root, step.start_ns, step.end_ns, attributes)


def _tool(spans: _Spans, root: str, step: ToolStep) -> None:
    asked, outcome = step.asked, step.outcome
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": asked.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": asked.id,
        "gen_ai.tool.call.arguments": asked.args_text,
        "gen_ai.tool.call.result": outcome.text,
    }
    if outcome.failed:
        attributes["error.type"] = outcome.failed
    run = spans.add(
        f"execute_tool {asked.name}",
        root,
        step.start_ns,
        step.end_ns,
        attributes,
        error=outcome.text[:200] if outcome.failed else "",
    )
    start = step.start_ns
    for at, inner in enumerate(outcome.inner, 1):
        end = min(step.end_ns, start + int(inner.duration_ms * 1e6))
        below: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": inner.tool,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": f"{asked.id}.{at}",
            "codemode.call.state": inner.state,
        }
        if inner.error:
            below["error.type"] = inner.error
        spans.add(f"execute_tool {inner.tool}", run, start, end, below, error=inner.error or "")
        start = end


class _Spans:
    """Spans of one trace; ids are a function of the conversation and the order."""

    def __init__(self, conversation: str) -> None:
        self._seed = conversation
        self._trace = self._id("trace", 32)
        self.spans: list[dict[str, Any]] = []

    def _id(self, what: str, n: int) -> str:
        return hashlib.sha256(f"{self._seed} {what}".encode()).hexdigest()[:n]

    def add(
        self,
        name: str,
        parent: str | None,
        start_ns: int,
        end_ns: int,
        attributes: dict[str, Any],
        *,
        error: str = "",
    ) -> str:
        span = self._id(str(len(self.spans)), 16)
        self.spans.append(
            {
                "traceId": self._trace,
                "spanId": span,
                "parentSpanId": parent or "",
                "name": name,
                "kind": 1,
                "startTimeUnixNano": str(start_ns),
                "endTimeUnixNano": str(end_ns),
                "attributes": _attributes(attributes),
                "status": {"code": 2, "message": error} if error else {"code": 0},
            }
        )
        return span


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "key": key,
            "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value},
        }
        for key, value in values.items()
    ]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
