"""The older dispatcher, and what only a person's own machine can do."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.bindings import SenderSettings, dispatch, local
from codemode.core.call import HttpRequest, LocalRequest
from codemode.core.run import ToolCall
from codemode.core.tool import Binding, Tool
from codemode.errors import BadArguments, InvalidRow
from codemode.outbound import Outbound
from codemode.store.audit import NoAudit
from codemode.store.ledger import MemoryLedger
from codemode.store.secrets import SecretStore
from codemode.testing import FakeUpstream
from outbound.flows import Supplier, http_tool, json_response, outbound_of, real_sender, run_of

ARGS = {
    "type": "object",
    "required": ["to", "n"],
    "properties": {"n": {"type": "integer"}, "note": {"type": "string"}, "to": {"type": "string"}},
}


def dispatch_tool(template: str = "$1|$2|$3", **fields: Any) -> Tool:
    merged = {"endpoint": "https://old.example/run", "key": "tool_7", "template": template} | fields
    spec = dispatch.BINDING.parse(merged, args=ARGS)
    return replace(http_tool("send"), args=ARGS, binding=Binding(via="dispatch", spec=spec))


def sent(tool: Tool, **args: Any) -> Any:
    request = dispatch.BINDING.prepare(tool, args, {})
    assert isinstance(request, HttpRequest)
    return json.loads(request.body)


def test_values_take_their_places() -> None:
    assert sent(dispatch_tool(), to="a", n=5, note="x") == {"key": "tool_7", "input": "a|5|x"}
    assert sent(dispatch_tool("$$$2: $1"), to="a", n=5) == {"key": "tool_7", "input": "$5: a"}
    assert sent(dispatch_tool(), to="a", n=5)["input"] == "a|5|"


@given(st.text(max_size=20))
def test_no_value_becomes_more_than_one(text: str) -> None:
    tool = dispatch_tool()
    try:
        got = sent(tool, to=text, n=1, note="end")["input"]
    except BadArguments:
        assert any(mark in text for mark in "|\r\n\0")
        return
    assert got == f"{text}|1|end"
    assert got.count("|") == 2


def test_a_value_that_looks_like_a_place_is_a_value() -> None:
    assert sent(dispatch_tool(), to="$3$2", n=1, note="n")["input"] == "$3$2|1|n"
    for bad in ([1], {"a": 1}):
        with pytest.raises(BadArguments, match="plain value"):
            sent(dispatch_tool(), to=bad, n=1)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"template": "$4"}, "binding.template"),
        ({"template": "$0"}, "binding.template"),
        ({"template": ""}, "binding.template"),
        ({"endpoint": "ftp://x"}, "binding.endpoint"),
        ({"key": 5}, "binding.key"),
        ({"more": 1}, "binding.more"),
        ({"credential": 1}, "binding.credential"),
    ],
)
def test_rows_that_break_the_format(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRow) as caught:
        dispatch_tool(**fields)
    assert caught.value.field == field


async def test_a_dispatched_call_end_to_end() -> None:
    with FakeUpstream() as upstream:
        upstream.route("POST", "/run", lambda request: {"got": request.json})
        tool = dispatch_tool(endpoint=f"{upstream.url}/run")
        run = run_of(tool, bindings={"dispatch": dispatch.BINDING})
        sender = dispatch.make_sender(SenderSettings(allow_addresses=frozenset({upstream.address})))
        outbound = Outbound(
            run,
            senders={"dispatch": sender},
            ledger=MemoryLedger(),
            audit=NoAudit(),
            secrets=SecretStore({}),
        )
        reply = await outbound.answer(
            ToolCall(id=1, tool="shop.send", args={"to": "me", "n": 1}), None
        )
        await sender.close()
    assert reply.value == {"got": {"key": "tool_7", "input": "me|1|"}}


@pytest.mark.parametrize(("status", "retryable"), [(500, False), (503, True)])
def test_the_dispatchers_errors(supplier: Supplier, status: int, retryable: bool) -> None:
    run = run_of(dispatch_tool(), bindings={"dispatch": dispatch.BINDING})
    supplier.responses = [json_response('"broken"', status)]
    reply = supplier(run, "shop.send", to="a", n=1)
    assert reply.error is not None
    assert (reply.error.status, reply.error.retryable) == (status, retryable)
    assert "broken" in reply.error.message


async def test_local_tools_say_what_they_would_do_and_what_to_do_instead() -> None:
    spec = local.BINDING.parse({"capability": "clipboard.read"}, args={})
    none = {"type": "object", "properties": {}}
    tool = replace(
        http_tool("paste"), args=none, where="local", binding=Binding(via="local", spec=spec)
    )
    assert local.BINDING.prepare(tool, {}, {}) == LocalRequest(
        capability="clipboard.read", arguments={}
    )
    run = run_of(tool, bindings={"local": local.BINDING})
    outbound = outbound_of(run, real_sender())
    outbound._senders = {"local": local.make_sender(SenderSettings())}
    reply = await outbound.answer(ToolCall(id=1, tool="shop.paste", args={}), None)
    assert reply.error is not None
    assert reply.error.code == "local_unavailable"
    assert "'clipboard.read'" in reply.error.message
    assert "Ask the person" in reply.error.hint
    assert [record.state for record in outbound.records] == ["refused"]
    for fields in ({}, {"capability": ""}, {"capability": 1}, {"capability": "x", "y": 1}):
        with pytest.raises(InvalidRow):
            local.BINDING.parse(fields, args={})
