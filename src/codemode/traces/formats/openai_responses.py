"""OpenAI Responses: ``{output[]}`` of typed items; the items of ``input[]`` are history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codemode.core.measure.call import Problem, Record, TraceCall
from codemode.traces.formats._calls import Calls, as_text, mapping, parsed
from codemode.traces.formats._calls import text_or_none as text
from codemode.traces.formats.openai_chat import spent
from codemode.traces.source import Sample, Source

PARTS = ("model", "input.item", "output.item", "usage")

CALLS = {
    "function_call": "",
    "custom_tool_call": "",
    "mcp_call": "",
    "tool_search_call": "tool_search",
    "mcp_list_tools": "tools/list",
    "web_search_call": "web_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_interpreter",
    "computer_call": "computer",
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "image_generation_call": "image_generation",
}
"""Item type -> tool name; "" where the item names it."""


class OpenAIResponses:
    name = "openai_responses"

    def detect(self, sample: Sample) -> int:
        typed = sample.has("output.item.type") or sample.has("input.item.type")
        if not typed:
            return 0
        return 2 + sample.any_of("object", "response") + sample.has("output.item.type")

    def read(self, source: Source) -> Iterator[Record]:
        calls = Calls()
        model, step = "", 0
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
                item = mapping(part.value)
                kind = str(item.get("type"))
                if kind.endswith("_output"):
                    step += 1  # what is asked for after an answer knows that answer
                    yield from calls.answer(
                        str(item.get("call_id") or ""),
                        as_text(item.get("output", item.get("tools"))),
                        is_error=bool(item.get("error")),
                    )
                elif kind in CALLS:
                    call = _call(item, kind, agent=model, at=f"{part.document}:{step}")
                    yield from calls.ask(call, by_document=True)
                else:
                    step += 1
        yield from calls.finish()


def _call(item: dict[str, Any], kind: str, *, agent: str, at: str) -> TraceCall:
    """One call item. Items that the provider runs itself carry their answer."""
    given = item.get("arguments", item.get("input", item.get("action", item.get("code"))))
    args, args_text = parsed(given)
    answer = item.get("output", item.get("results", item.get("tools", item.get("outputs"))))
    error = item.get("error")
    return TraceCall(
        id=str(item.get("call_id") or item.get("id") or ""),
        name=CALLS[kind] or text(item.get("name")),
        args=args,
        args_text=args_text,
        result=as_text(error or answer) if error or answer is not None else None,
        is_error=bool(error),
        message=at,
        agent=agent,
        from_script=mapping(item.get("caller")).get("type") == "program",
        attributes={key: str(item[key]) for key in ("namespace", "server_label") if item.get(key)},
    )


FORMAT = OpenAIResponses()
