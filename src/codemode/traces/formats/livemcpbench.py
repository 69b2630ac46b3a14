"""LiveMCPBench: an array of runs ``{task_id, category, messages[], task_success}``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codemode.core.measure.call import Problem, Record
from codemode.traces.formats._calls import Calls, mapping
from codemode.traces.formats.openai_chat import read_message
from codemode.traces.source import Sample, Source

_IS_ERROR = re.compile(r"isError=True|\"isError\"\s*:\s*true")
_TEXT = re.compile(r"""^meta=.*?\btext=(['"])(.*)\1, annotations=""", re.DOTALL)
_ESCAPES = {r"\n": "\n", r"\'": "'", r"\"": '"', r"\t": "\t", "\\\\": "\\"}


class LiveMCPBench:
    name = "livemcpbench"

    def detect(self, sample: Sample) -> int:
        if not sample.has("task_id", "messages.item.role"):
            return 0
        return 3 + sample.has("Question") + sample.has("Annotator Metadata.Steps")

    def read(self, source: Source) -> Iterator[Record]:
        calls = Calls()
        task, n = "", 0
        for part in source.parts("task_id", "messages.item"):
            if isinstance(part, Problem):
                yield part
                continue
            calls.begin(part.document)
            if part.path == "task_id":
                task = str(part.value)
                continue
            n += 1
            message = mapping(part.value)
            if message.get("role") == "tool":
                shown = str(message.get("content"))
                yield from calls.answer(
                    str(message.get("tool_call_id") or ""),
                    _plain(shown),
                    is_error=_IS_ERROR.search(shown) is not None,
                )
                continue
            yield from read_message(calls, message, agent="", task=task, at=str(n))
        yield from calls.finish()


def _plain(shown: str) -> str:
    """The text inside the printed form of an MCP result; all of it where it is not one."""
    found = _TEXT.match(shown)
    if found is None:
        return shown
    return re.sub(r"\\[nt'\"\\]", lambda match: _ESCAPES[match.group()], found.group(2))


FORMAT = LiveMCPBench()
