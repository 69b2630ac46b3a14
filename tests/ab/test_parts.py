"""Wires, sessions, surfaces and traces by themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ab.conftest import raw_plan
from codemode.ab.conversation import (
    Answered,
    Asked,
    ModelFault,
    Prompt,
    Said,
    Spent,
    ToolDefinition,
)
from codemode.ab.otlp import trace
from codemode.ab.plan import parse_plan
from codemode.ab.session import converse
from codemode.ab.shown import BadBody, Inner, Outcome, arguments, calls_in, key_of
from codemode.ab.wires import WIRES
from codemode.core.tool import Binding, Tool, Toolset

TOOLS = (ToolDefinition(name="look", description="Looks.", schema={"type": "object"}),)


def model_of(api: str, **over: Any) -> Any:
    return parse_plan(raw_plan("http://x", model={"api": api, **over}), origin="").model


def said_by(api: str) -> Said:
    """One message of text and two calls, the second with broken arguments where it can be."""
    if api == "openai":
        calls = [
            {"id": "1", "function": {"name": "look", "arguments": '{"at": 1}'}},
            {"id": "2", "function": {"name": "look", "arguments": "{broken"}},
        ]
        message = {"role": "assistant", "content": "Now.", "tool_calls": calls}
        usage = {
            "prompt_tokens": 10,
            "completion_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 4},
        }
        answer = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}
    else:
        blocks = [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "Now."},
            {"type": "tool_use", "id": "1", "name": "look", "input": {"at": 1}},
            {"type": "tool_use", "id": "2", "name": "look", "input": "no object"},
        ]
        usage = {"input_tokens": 6, "output_tokens": 3, "cache_read_input_tokens": 4}
        answer = {"content": blocks, "stop_reason": "tool_use", "usage": usage, "model": "m"}
    return WIRES[api].read(answer)


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_both_forms_are_read_alike(api: str):
    said = said_by(api)

    assert said.text == "Now."
    assert [(one.id, one.name, one.args) for one in said.calls] == [
        ("1", "look", {"at": 1}),
        ("2", "look", None),
    ]
    assert said.spent == Spent(input=6, cached=4, output=3)


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_the_models_own_message_goes_back_as_it_came(api: str):
    said = said_by(api)
    answers = (Answered(id="1", name="look", text="x"), Answered(id="2", name="look", text="no"))
    body = WIRES[api].request(
        model_of(api), "Be brief.", TOOLS, [Prompt("Do."), said, answers], seed=1
    )

    json.dumps(body)
    if api == "openai":
        assert [one["role"] for one in body["messages"]] == [
            *("system", "user", "assistant", "tool", "tool")
        ]
        assert body["messages"][2]["tool_calls"][1]["function"]["arguments"] == "{broken"
        assert body["max_completion_tokens"] == 4096
    else:
        assert body["system"] == "Be brief."
        assert [one["role"] for one in body["messages"]] == ["user", "assistant", "user"]
        assert body["messages"][1]["content"][0]["signature"] == "s"
        assert [one["tool_use_id"] for one in body["messages"][2]["content"]] == ["1", "2"]
    assert "seed" not in body


def test_what_only_some_services_know_is_sent_when_asked():
    model = model_of("openai", send_seed=True, output_limit_name="max_tokens", temperature=0.0)
    body = WIRES["openai"].request(model, "", TOOLS, [Prompt("Do.")], seed=7)

    assert (body["seed"], body["max_tokens"], body["temperature"]) == (7, 4096, 0.0)
    assert "max_completion_tokens" not in body


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize("answer", [None, [], {}, {"choices": []}, {"content": [1]}, "text"])
def test_an_answer_of_no_known_form_is_a_fault(api: str, answer: Any):
    with pytest.raises(ModelFault):
        WIRES[api].read(answer)


# -- a session -----------------------------------------------------------------------------------


class Recited:
    """Says given messages, one after another."""

    def __init__(self, *said: Said | Exception) -> None:
        self._said = list(said)
        self.heard: list[Any] = []

    async def say(self, system: str, tools: Any, history: list[Any], *, seed: int) -> Said:
        self.heard = list(history)
        one = self._said.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    async def close(self) -> None: ...


class Echo:
    name: Any = "mcp"
    system = "Echo."
    tools = TOOLS

    async def call(self, asked: Asked) -> Outcome:
        inner = (Inner(tool="hub.read", state="applied", duration_ms=2.0),)
        return Outcome(text=f"heard {asked.id}", inner=inner)


def said(*ids: str, stop: str = "") -> Said:
    calls = tuple(Asked(id=id, name="look", args={}, args_text="{}") for id in ids)
    return Said(text="", calls=calls, spent=Spent(input=5, output=1), raw={}, stop=stop)


async def talk(model: Recited, **over: Any) -> tuple[Any, list[Spent]]:
    paid: list[Spent] = []
    given: dict[str, Any] = {"seed": 1, "max_turns": 9, "timeout_s": 5.0, **over}
    return await converse(model, Echo(), "Do.", on_spent=paid.append, **given), paid


async def test_calls_of_one_message_are_all_answered_before_the_next():
    model = Recited(said("a", "b"), said())

    session, paid = await talk(model)

    assert (session.end, session.n_turns, session.n_calls) == ("answered", 2, 2)
    assert [one.text for one in model.heard[-1]] == ["heard a", "heard b"]
    assert session.spent == Spent(input=10, output=2)
    assert len(paid) == 2


@pytest.mark.parametrize(
    ("messages", "over", "end"),
    [
        ([said("a"), said("b")], {"max_turns": 2}, "max_turns"),
        ([said("a"), ModelFault("HTTP 500")], {}, "model_error"),
        ([said("a"), said(stop="length")], {}, "cut_off"),
        ([said("a"), said(stop="stop")], {}, "answered"),
    ],
)
async def test_how_sessions_end(messages: list[Any], over: dict[str, Any], end: str):
    session, _ = await talk(Recited(*messages), **over)

    assert session.end == end


async def test_a_trace_is_whole_and_says_what_was_inside_a_run():
    session, _ = await talk(Recited(said("a"), said()))
    kept = trace(session, task="t", surface="mcp", seed=1, model="m")

    spans = kept["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert [one["name"] for one in spans] == [
        *("invoke_agent mcp", "chat m", "execute_tool look", "execute_tool hub.read", "chat m")
    ]
    ids = {one["spanId"] for one in spans}
    assert len(ids) == len(spans)
    assert all(one["parentSpanId"] in ids for one in spans[1:])
    assert spans[3]["parentSpanId"] == spans[2]["spanId"]
    for one in spans:
        assert int(one["startTimeUnixNano"]) <= int(one["endTimeUnixNano"])


# -- the dispatcher ------------------------------------------------------------------------------


def tool() -> Tool:
    properties = {
        "owner": {"type": "string"},
        "labels": {"type": "array"},
        "n": {"type": "integer"},
        "title": {"type": "string"},
        "day": {"type": ["integer", "null"]},
    }
    return Tool(
        toolset=Toolset(name="hub", description="x"),
        name="do_it",
        description="Does it.",
        when_to_use="Now.",
        args={"type": "object", "required": ["title"], "properties": properties},
        returns=None,
        effect="write",
        binding=Binding(via="fake", spec=None),
    )


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("", {}),
        ("A title", {"title": "A title"}),
        ("7|octo", {"title": "7", "owner": "octo"}),
        ("t||a, b|3", {"title": "t", "labels": ["a", "b"], "n": 3}),
        ('t||["a,b"]', {"title": "t", "labels": ["a,b"]}),
        ("t||||null", {"title": "t", "day": None}),
    ],
)
def test_what_stands_between_pipes(body: str, given: dict[str, Any]):
    assert key_of(tool()) == "HUB_DO_IT"
    assert arguments(tool(), body) == given


@pytest.mark.parametrize(
    ("body", "why"), [("a|b|c|1|2|3", "6 parts"), ("t|||x", "n is not integer")]
)
def test_what_does_not_fit_between_pipes(body: str, why: str):
    with pytest.raises(BadBody, match=why):
        arguments(tool(), body)


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "{}", '{"calls": [1]}', '{"calls": [{}]}'])
def test_an_answer_that_lists_no_calls_has_none(text: str):
    assert calls_in(text) == ()
