"""
A model server on loopback that plays solutions instead of thinking. It proves the harness; its
numbers say nothing about any model.

It answers in OpenAI's and in Anthropic's form and keeps nothing between requests: what comes
next is worked out from the conversation that is sent along, as a real service does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any

from ab.solutions import SOLUTIONS
from codemode import bindings
from codemode.ab.seeded import seeded
from codemode.ab.shown import PREFIX, key_of, order_of
from codemode.ab.tasks import TASKS
from codemode.core.index import tool_path
from codemode.core.names import parameters
from codemode.core.run import Language
from codemode.core.tool import Directory
from codemode.store.rows import load_directory
from codemode.store.shipped import shipped
from codemode.testing import FakeReply, FakeRequest, FakeUpstream

KEY = "sk-test-of-the-harness"
Played = Generator[tuple[str, dict[str, Any]], str, None]
Turn = tuple[str, dict[str, Any], str]
"""(tool, arguments, answer)"""


class ScriptedModel:
    """
    Args:
        seeds: Of the plan: prompts are recognised by the worlds they come from.
        fumbles: Of the n-th request: an answer to give instead, or None.
    """

    def __init__(
        self,
        seeds: Iterable[int],
        *,
        language: Language = "python",
        fumbles: Callable[[int], FakeReply | None] = lambda n: None,
    ) -> None:
        self.upstream = FakeUpstream()
        self.upstream.route("POST", "/v1/chat/completions", self._openai)
        self.upstream.route("POST", "/v1/messages", self._anthropic)
        self.n_requests = 0
        self._fumbles = fumbles
        self._language: Language = language
        self._directory: Directory = load_directory(shipped("directory"), bindings.load_all())
        self._task_of = {
            task.posed(seeded(seed))[0]: name for seed in seeds for name, task in TASKS.items()
        }

    # -- what it would say -------------------------------------------------------------------

    def _next(self, prompt: str, tools: list[str], turns: list[Turn]) -> tuple[str, Any] | None:
        played = self._play(prompt, _surface(tools))
        try:
            call = next(played)
            for name, args, answer in turns:
                assert (name, args) == call, f"{(name, args)} is not {call}"
                call = played.send(answer)
        except StopIteration:
            return None
        return call

    def _play(self, prompt: str, surface: str) -> Played:
        solution = SOLUTIONS[self._task_of[prompt]](prompt)
        seen: set[str] = set()
        if surface == "dispatch":
            yield "dispatch", {"key": "MANIFEST"}
        try:
            tool_id, args = next(solution)
            while True:
                if tool_id not in seen:
                    seen.add(tool_id)
                    yield from self._discover(surface, tool_id)
                text = yield self._written(surface, tool_id, args)
                tool_id, args = solution.send(_value(surface, text))
        except StopIteration:
            return

    def _discover(self, surface: str, tool_id: str) -> Played:
        words = tool_id.replace("_", " ").replace(".", " ")
        if surface == "dispatch":
            yield "dispatch", {"key": "TOOLS_SEARCH", "body": words}
            key = key_of(self._directory.get(tool_id))
            yield "dispatch", {"key": "DIRECTORY_GET", "body": key}
        elif surface == "search":
            yield f"{PREFIX}search", {"query": words, "limit": 5}
            yield f"{PREFIX}describe", {"names": [tool_id]}

    def _written(
        self, surface: str, tool_id: str, args: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        tool = self._directory.get(tool_id)
        if surface == "mcp":
            return tool_id.replace(".", "_"), dict(args)
        if surface == "dispatch":
            parts = [_part(args.get(name)) for name in order_of(tool)]
            while parts and not parts[-1]:
                parts.pop()
            return "dispatch", {"key": key_of(tool), "body": "|".join(parts)}
        path = tool_path(tool, self._language)
        if self._language == "typescript":
            given = json.dumps(args) if args else ""
            script = f"return await {path}({given});"
        else:
            keywords = parameters(tool, tuple(args))
            given = ", ".join(f"{keywords[name]}={value!r}" for name, value in args.items())
            script = f"return await {path}({given})"
        return f"{PREFIX}run", {"script": script, "language": self._language}

    # -- in whose form -----------------------------------------------------------------------

    def _begin(self, request: FakeRequest) -> FakeReply | None:
        self.n_requests += 1
        given = request.headers.get("x-api-key") or request.headers.get("authorization", "")
        if given.removeprefix("Bearer ") != KEY:
            return FakeReply(status=401, json={"error": {"message": f"No such key: {given}"}})
        return self._fumbles(self.n_requests)

    def _openai(self, request: FakeRequest) -> Any:
        if instead := self._begin(request):
            return instead
        body = request.json
        assert body["messages"][0]["role"] == "system"
        prompt = next(m["content"] for m in body["messages"] if m["role"] == "user")
        answers = {m["tool_call_id"]: m["content"] for m in body["messages"] if m["role"] == "tool"}
        turns = [
            (
                call["function"]["name"],
                json.loads(call["function"]["arguments"]),
                answers[call["id"]],
            )
            for message in body["messages"]
            for call in message.get("tool_calls") or ()
        ]
        tools = [one["function"]["name"] for one in body["tools"]]
        call = self._next(prompt, tools, turns)
        message: dict[str, Any] = {"role": "assistant", "content": None if call else "Done."}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            id = f"call_{len(turns)}"
            message["tool_calls"] = [{"id": id, "type": "function", "function": function}]
        size = len(request.body) // 4
        return {
            "model": "scripted",
            "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if call else "stop"}
            ],
            "usage": {
                "prompt_tokens": size,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": size // 2},
            },
        }

    def _anthropic(self, request: FakeRequest) -> Any:
        if instead := self._begin(request):
            return instead
        body = request.json
        prompt = next(m["content"] for m in body["messages"] if m["role"] == "user")
        blocks = [
            block
            for message in body["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        answers = {b["tool_use_id"]: b["content"] for b in blocks if b["type"] == "tool_result"}
        turns = [
            (b["name"], b["input"], answers[b["id"]]) for b in blocks if b["type"] == "tool_use"
        ]
        call = self._next(prompt, [one["name"] for one in body["tools"]], turns)
        content: list[dict[str, Any]] = [{"type": "text", "text": "Done."}]
        if call:
            id = f"toolu_{len(turns)}"
            content = [{"type": "tool_use", "id": id, "name": call[0], "input": call[1]}]
        return {
            "model": "scripted",
            "role": "assistant",
            "content": content,
            "stop_reason": "tool_use" if call else "end_turn",
            "usage": {"input_tokens": len(request.body) // 4, "output_tokens": 20},
        }


def _surface(tools: list[str]) -> str:
    if tools == ["dispatch"]:
        return "dispatch"
    if f"{PREFIX}search" in tools:
        return "search"
    return "stubs" if tools == [f"{PREFIX}run"] else "mcp"


def _part(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _value(surface: str, text: str) -> Any:
    answer = json.loads(text)
    if surface in ("search", "stubs"):
        assert answer["status"] == "succeeded", answer["error"] or answer["diagnostics"]
        return answer["value"]
    return answer
