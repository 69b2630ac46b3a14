"""
Anthropic messages: ``{messages[], usage}`` with typed content blocks; also answers of the API,
one a document, and a bare list of messages, which is one session.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codemode.core.measure.call import Problem, Record, TraceCall
from codemode.traces.formats._calls import Calls, as_text, items, mapping, parsed
from codemode.traces.formats._calls import text_or_none as text
from codemode.traces.formats.openai_chat import spent
from codemode.traces.source import Sample, Source

PARTS = ("model", "messages.item", "content", "usage")
_BLOCKS = ("tool_use", "tool_result", "server_tool_use", "mcp_tool_use")


class AnthropicMessages:
    name = "anthropic_messages"

    def detect(self, sample: Sample) -> int:
        if sample.any_of("messages.item.content.item.type", *_BLOCKS):
            return 4
        if sample.has("role") and sample.any_of("content.item.type", *_BLOCKS):
            return 3  # answers of the API, or a bare list of messages
        return int(sample.has("messages.item.role", "messages.item.content.item.type"))

    def read(self, source: Source) -> Iterator[Record]:
        calls = Calls()
        sample = source.sample()
        bare = not sample.has("messages.item.role") and not sample.any_of("type", "message")
        model, n, answered = "", 0, -1
        for part in source.parts("") if bare else source.parts(*PARTS):
            if isinstance(part, Problem):
                yield part
                continue
            session = calls.begin(0 if bare else part.document)
            n += 1
            if part.path == "model":
                model = str(part.value)
            elif part.path == "usage":  # of one answer, or of a whole conversation
                message = f"answer {answered}" if answered == part.document else ""
                yield spent(part.value, session, message)
            elif part.path == "content":
                answered = part.document
                yield from read_blocks(
                    calls, part.value, message=f"answer {answered}", agent=model, by_document=True
                )
            else:
                found = mapping(part.value)
                if found.get("role") == "user":
                    calls.opens_with(as_text(found.get("content")))
                yield from read_blocks(
                    calls,
                    found.get("content"),
                    message=str(found.get("id") or n),
                    agent=model,
                    by_document=True,
                )
        yield from calls.finish()


def read_blocks(
    calls: Calls,
    blocks: Any,
    *,
    message: str,
    agent: str,
    at_s: float | None = None,
    session: str = "",
    by_document: bool = False,
) -> Iterator[TraceCall]:
    """The content of one message: calls that it asks for, answers that it brings."""
    for block in items(blocks):
        kind = str(block.get("type"))
        if kind.endswith("tool_use"):
            args, args_text = parsed(block.get("input"))
            caller = str(mapping(block.get("caller")).get("type") or "direct")
            call = TraceCall(
                session=session,
                id=str(block.get("id") or ""),
                name=text(block.get("name")),
                args=args,
                args_text=args_text,
                message=message,
                start_s=at_s,
                agent=agent,
                from_script=caller != "direct",
            )
            yield from calls.ask(call, by_document=by_document)
        elif kind.endswith("tool_result"):
            content = block.get("content")
            inside = str(mapping(content).get("type") or "")
            yield from calls.answer(
                str(block.get("tool_use_id") or ""),
                as_text(content),
                is_error=block.get("is_error") is True or inside.endswith("_error"),
                end_s=at_s,
            )


FORMAT = AnthropicMessages()
