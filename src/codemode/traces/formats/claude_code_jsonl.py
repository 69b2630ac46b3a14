"""
Claude Code's session log, one event a line. An internal format by its maker's own word: one
message may fill several lines, each with the same message id and the same usage.
"""

from __future__ import annotations

from collections.abc import Iterator

from codemode.core.measure.call import Problem, Record
from codemode.traces.formats._calls import Calls, mapping, seconds
from codemode.traces.formats.anthropic_messages import read_blocks
from codemode.traces.formats.openai_chat import spent
from codemode.traces.source import Sample, Source

_EVENTS = ("user", "assistant", "summary", "system", "file-history-snapshot", "queue-operation")


class ClaudeCode:
    name = "claude_code_jsonl"

    def detect(self, sample: Sample) -> int:
        if not sample.any_of("type", *_EVENTS):
            return 0
        signs = ("sessionId", "uuid", "parentUuid", "message.content", "isSidechain", "leafUuid")
        found = sum(sample.has(path) for path in signs)
        return 3 + found if found >= 2 else 0

    def read(self, source: Source) -> Iterator[Record]:
        calls = Calls()
        for part in source.parts(""):
            if isinstance(part, Problem):
                yield part
                continue
            event = mapping(part.value)
            message = mapping(event.get("message"))
            if not message:
                continue
            session = str(event.get("sessionId") or "")
            at_s = seconds(event.get("timestamp"))
            side = str(event.get("agentId") or "sidechain") if event.get("isSidechain") else "main"
            id = str(message.get("id") or event.get("uuid") or part.line)
            if message.get("usage"):
                yield spent(message["usage"], session, id)
            yield from read_blocks(
                calls, message.get("content"), message=id, agent=side, at_s=at_s, session=session
            )
        yield from calls.finish()


FORMAT = ClaudeCode()
