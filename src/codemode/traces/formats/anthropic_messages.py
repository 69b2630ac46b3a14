"""Anthropic messages: ``{messages[], usage}`` with typed content blocks."""

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
        if sample.any_of("type", "message") and sample.has("content.item.type", "role"):
            return 3  # answers of the API, one document each
        return int(sample.has("messages.item.role", "messages.item.content.item.type"))

    def read(self, source: Source) -> Iterator[Record]:
        calls = Calls()
        model, n = "", 0
        for part in source.parts(*PARTS):
            if isinstance(part, Problem):
                yield part
                continue
            session = calls.begin(part.document)
            if part.path == "model":
                model = str(part.value)
            elif part.path == "usage":
                yield spent(part.value, session)
            else:
                n += 1
                found = mapping(part.value)
                blocks = part.value if part.path == "content" else found.get("content")
                yield from read_blocks(
                    calls, blocks, message=str(found.get("id") or n), agent=model, by_document=True
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
