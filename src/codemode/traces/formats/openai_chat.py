"""
OpenAI chat completions: ``{model, messages[]}``, one document or one a line; also answers of
the API (``choices[]``) and a bare list of messages, which is one session.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codemode.core.measure.call import Problem, Record, Tokens, TraceCall
from codemode.traces.formats._calls import Calls, as_text, count, items, mapping, parsed
from codemode.traces.formats._calls import text_or_none as text
from codemode.traces.source import Sample, Source

PARTS = ("model", "task_id", "messages.item", "choices.item.message", "usage")


class OpenAIChat:
    name = "openai_chat"

    def detect(self, sample: Sample) -> int:
        if sample.has("messages.item.role"):
            at = "messages.item."
        elif sample.has("choices.item.message.role"):
            return 3
        elif sample.any_of("role", "assistant", "user") and sample.has("content"):
            at = ""
        else:
            return 0
        asks = sample.has(at + "tool_calls.item.function.name")
        return 1 + asks + sample.has(at + "tool_call_id")

    def read(self, source: Source) -> Iterator[Record]:
        calls = Calls()
        bare = not source.sample().has("messages.item.role")
        bare = bare and source.sample().has("role")
        model = task = ""
        n, answered = 0, -1
        for part in source.parts("") if bare else source.parts(*PARTS):
            if isinstance(part, Problem):
                yield part
                continue
            session = calls.begin(0 if bare else part.document)
            n += 1
            if part.path == "model":
                model = str(part.value)
            elif part.path == "task_id":
                task = str(part.value)
            elif part.path == "usage":  # of one answer, or of a whole conversation
                yield spent(
                    part.value, session, f"answer {answered}" if answered == part.document else ""
                )
            else:
                if part.path == "choices.item.message":
                    answered = part.document
                at = f"answer {part.document}" if part.path.startswith("choices") else str(n)
                message = mapping(part.value)
                yield from read_message(calls, message, agent=model, task=task, at=at)
        yield from calls.finish()


def read_message(
    calls: Calls, message: dict[str, Any], *, agent: str, task: str, at: str
) -> Iterator[TraceCall]:
    """One message of a chat: what it asks for, or the answer that it is. *at* names it."""
    if message.get("role") == "user":
        calls.opens_with(as_text(message.get("content")))
    if message.get("role") == "tool":
        answer = as_text(message.get("content"))
        yield from calls.answer(str(message.get("tool_call_id") or ""), answer)
        return
    for asked in items(message.get("tool_calls")):
        function = mapping(asked.get("function") or asked.get("custom"))
        args, args_text = parsed(function.get("arguments", function.get("input")))
        yield from calls.ask(
            TraceCall(
                id=str(asked.get("id") or ""),
                name=text(function.get("name")),
                args=args,
                args_text=args_text,
                message=at,
                agent=agent,
                task=task,
            ),
            by_document=True,
        )


def spent(usage: Any, session: str, message: str = "") -> Tokens:
    """``usage`` as OpenAI and Anthropic write it. OpenAI's cached tokens are among its input."""
    found = mapping(usage)
    details = mapping(found.get("prompt_tokens_details") or found.get("input_tokens_details"))
    inside = count(details.get("cached_tokens"))
    beside = count(found.get("cache_read_input_tokens"))
    beside += count(found.get("cache_creation_input_tokens"))
    whole = count(found.get("prompt_tokens")) or count(found.get("input_tokens"))
    return Tokens(
        session=session,
        message=message,
        input=max(0, whole - inside),
        cached=inside + beside,
        output=count(found.get("completion_tokens")) or count(found.get("output_tokens")),
    )


FORMAT = OpenAIChat()
