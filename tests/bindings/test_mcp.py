"""MCP servers as real processes: what comes back, and what a dead one leaves behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from codemode.bindings._servers import load_servers
from codemode.bindings.mcp import BINDING, McpSender
from codemode.core.call import McpRequest, SendContext
from codemode.core.tool import Binding, Tool, Toolset
from codemode.errors import (
    BadAnswer,
    ConfigError,
    MissingSecret,
    OutcomeUnknown,
    ResponseTooLarge,
    UpstreamError,
    UpstreamTimeout,
)
from codemode.store.shipped import shipped

WILD = Path(__file__).with_name("wild_server.py")


def context(**changes):
    values = {"workspace": None, "timeout_s": 30.0, "max_response_bytes": 1_000_000, "run_id": "r"}
    return SendContext(**{**values, **changes})


def wild(tmp_path, **settings):
    settings = {"command": [sys.executable, str(WILD)], **settings}
    servers = load_servers(shipped("directory") / "servers.json", {"wild": settings})
    return McpSender(servers, state=tmp_path / "state", cache=tmp_path / "cache")


@pytest.fixture
async def sender(tmp_path):
    made = wild(tmp_path)
    yield made
    await made.close()


def tool(name, *, effect="read", returns=None, **binding):
    return Tool(
        toolset=Toolset(name="wild", description="A server for tests."),
        name=name,
        description="One thing.",
        when_to_use="In a test.",
        args={"type": "object"},
        returns=returns,
        effect=effect,
        binding=Binding(
            via="mcp",
            spec=BINDING.parse({"server": "wild", "tool": name, **binding}, args={}),
        ),
    )


async def call(sender, called, args=None, **changes):
    request = BINDING.prepare(called, args or {}, {})
    return BINDING.read(called, request, await sender.send(request, context(**changes)))


@pytest.mark.case("R19")
async def test_text_parts_are_joined(sender):
    assert await call(sender, tool("parts", returns={"type": "string"})) == "first\nsecond"
    assert await call(sender, tool("parts")) == "first\nsecond"


async def test_structured_content_is_preferred_and_exact(sender):
    assert await call(sender, tool("structured")) == {"n": 2**60}


async def test_an_answer_beside_its_output_schema_is_given_all_the_same(sender):
    assert await call(sender, tool("mismatch")) == {"n": "not a number"}


async def test_text_is_read_as_json_only_where_the_row_promises_a_value(sender):
    assert await call(sender, tool("json", returns={"type": "object"})) == {"n": 1}
    assert await call(sender, tool("json", returns={"type": "string"})) == '{"n": 1}'
    with pytest.raises(BadAnswer, match="should answer with JSON"):
        await call(sender, tool("parts", returns={"type": "object"}))


@pytest.mark.case("R17")
async def test_an_error_answer_raises_with_its_whole_text(sender):
    with pytest.raises(UpstreamError, match=r"fails: no such\nrecord"):
        await call(sender, tool("fails"))


async def test_media_is_refused_unless_the_row_takes_it(sender):
    with pytest.raises(BadAnswer, match="image") as caught:
        await call(sender, tool("image"))
    assert "base64" in caught.value.hint
    (part,) = await call(sender, tool("image", media="base64"))
    assert (part["type"], part["data"], part["mimeType"]) == ("image", "AAEC", "image/png")


async def test_text_inside_resources_and_links_counts_as_text(sender):
    assert await call(sender, tool("resource")) == "inside\nx:2"


async def test_an_unknown_tool_is_the_server_s_refusal(sender):
    with pytest.raises(UpstreamError, match="no tool nothing") as caught:
        await call(sender, tool("nothing", effect="write"))
    assert type(caught.value) is UpstreamError
    assert caught.value.status == -32602


async def test_an_answer_that_breaks_the_protocol_may_have_been_applied(sender):
    with pytest.raises(OutcomeUnknown, match="breaks the protocol"):
        await call(sender, tool("nonsense", effect="write"))
    with pytest.raises(UpstreamError, match="breaks the protocol") as caught:
        await call(sender, tool("nonsense"))
    assert type(caught.value) is UpstreamError
    assert await call(sender, tool("parts")) == "first\nsecond"


async def test_a_server_that_prints_before_it_speaks_is_understood(tmp_path):
    sender = wild(tmp_path, args=["--chatty"])
    assert await call(sender, tool("parts")) == "first\nsecond"
    await sender.close()


async def test_an_answer_larger_than_the_run_may_receive_is_an_error(sender):
    with pytest.raises(ResponseTooLarge):
        await call(sender, tool("long"), {"n": 5000}, max_response_bytes=4000)
    assert len(await call(sender, tool("long"), {"n": 3000}, max_response_bytes=4000)) == 3000


async def test_one_process_serves_all_runs(sender):
    first, second = await asyncio.gather(
        call(sender, tool("pid"), run_id="a"), call(sender, tool("pid"), run_id="b")
    )
    assert first == second
    assert int(first) != os.getpid()


async def test_a_server_per_run_is_its_own_and_ends_with_the_run(tmp_path):
    sender = wild(tmp_path, session="run")
    try:
        first = await call(sender, tool("pid"), run_id="a")
        assert first == await call(sender, tool("pid"), run_id="a")
        assert first != await call(sender, tool("pid"), run_id="b")
        await sender.end_run("a")
        with pytest.raises(ProcessLookupError):
            os.kill(int(first), 0)
    finally:
        await sender.close()


async def test_the_server_sees_only_the_environment_it_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("A_SECRET_OF_THE_HOST", "seeded-4711")
    sender = wild(tmp_path, env={"GREETING": "for-the-server"})
    try:
        seen = await call(sender, tool("environment", returns={"type": "object"}))
    finally:
        await sender.close()
    assert "seeded-4711" not in json.dumps(seen)
    assert seen["GREETING"] == "for-the-server"
    host = {key for key, value in seen.items() if os.environ.get(key) == value}
    assert host <= {"LC_ALL", "TZ", "SHELL", "TERM", "PATH"}  # fixed values, equal by chance
    assert seen["HOME"] == str(tmp_path / "state" / "wild")


@pytest.mark.case("E8", "attack:29")
@pytest.mark.parametrize("way", ["env", "secret_env"])
async def test_a_secret_of_a_server_never_comes_back(tmp_path, monkeypatch, way):
    monkeypatch.setenv("MY_TOKEN", "seeded-4711")
    given = {"TOKEN": "seeded-4711"} if way == "env" else {"TOKEN": "MY_TOKEN"}
    sender = wild(tmp_path, **{way: given})
    try:
        text = await call(sender, tool("environment", returns={"type": "string"}))
        with pytest.raises(UpstreamError) as refused:
            await call(sender, tool("nothing"))
    finally:
        await sender.close()
    assert '"TOKEN": "[secret removed]"' in text
    assert "[secret removed]" in str(refused.value)
    sender = wild(tmp_path, args=["--refuse"], **{way: given})
    with pytest.raises(UpstreamError, match="bad day") as failed:
        await call(sender, tool("pid"))
    await sender.close()
    for said in (text, str(refused.value), str(failed.value), repr(sender._servers)):
        assert "seeded-4711" not in said


async def test_a_secret_that_is_not_set_is_said_before_the_server_starts(tmp_path):
    sender = wild(tmp_path, secret_env={"TOKEN": "NOT_SET_ANYWHERE"})
    with pytest.raises(MissingSecret, match="NOT_SET_ANYWHERE"):
        await call(sender, tool("pid"))
    await sender.close()


async def test_closing_while_a_server_starts_leaves_no_process(tmp_path):
    file = tmp_path / "pid"
    program = f"import os, time; open({str(file)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    sender = wild(tmp_path, command=[sys.executable, "-c", program])
    waiting = asyncio.create_task(call(sender, tool("pid")))
    async with asyncio.timeout(30):
        while not (file.exists() and file.read_text()):  # noqa: ASYNC110  another process writes it
            await asyncio.sleep(0.02)
    await sender.close()
    with pytest.raises(UpstreamError, match="was stopped"):
        await waiting
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)


async def test_roots_reach_the_server_as_arguments_and_as_roots(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    roots = [str(tmp_path / "one"), str(tmp_path / "two")]
    sender = wild(tmp_path, args=["{roots}", "--data={data}"], roots=roots, cwd=roots[1])
    try:
        place = await call(sender, tool("place", returns={"type": "object"}))
        told = await call(sender, tool("roots", returns={"type": "array"}))
    finally:
        await sender.close()
    assert place == {"argv": [*roots, f"--data={tmp_path}/state/wild"], "cwd": roots[1]}
    assert told == [f"file://{root}" for root in roots]


@pytest.mark.parametrize(
    ("effect", "error"), [("read", UpstreamTimeout), ("write", OutcomeUnknown)]
)
async def test_a_late_answer_ends_the_call_and_not_the_server(sender, effect, error):
    before = await call(sender, tool("pid"))
    with pytest.raises(error):
        await call(sender, tool("sleep", effect=effect), {"s": 20}, timeout_s=0.3)
    assert await call(sender, tool("pid")) == before


async def test_killing_the_server_in_mid_write_is_an_unknown_outcome(sender, tmp_path):
    pid = int(await call(sender, tool("pid")))
    lost = asyncio.create_task(call(sender, tool("sleep", effect="write"), {"s": 60}))
    read = asyncio.create_task(call(sender, tool("sleep", effect="read"), {"s": 60}))
    await asyncio.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(OutcomeUnknown) as caught:
        await lost
    assert not caught.value.retryable
    with pytest.raises(UpstreamError) as caught:
        await read
    assert caught.value.retryable
    assert not isinstance(caught.value, OutcomeUnknown)
    assert int(await call(sender, tool("pid"))) != pid


async def test_a_server_that_ends_itself_after_writing_is_not_asked_again(sender, tmp_path):
    file = tmp_path / "applied"
    with pytest.raises(OutcomeUnknown):
        await call(sender, tool("die", effect="destructive"), {"file": str(file)})
    assert file.read_text() == "applied"
    file.unlink()
    assert await call(sender, tool("parts")) == "first\nsecond"
    assert not file.exists()


async def test_an_idle_server_that_died_is_started_again(sender):
    pid = int(await call(sender, tool("pid")))
    (opened,) = sender._sessions.values()
    os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(10):
        await opened.result()._stop.wait()
    assert int(await call(sender, tool("pid"))) != pid


async def test_closing_ends_every_process(tmp_path):
    sender = wild(tmp_path)
    pid = int(await call(sender, tool("pid")))
    await sender.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_server_that_cannot_start_says_why(tmp_path):
    sender = wild(tmp_path, args=["--refuse"])
    with pytest.raises(UpstreamError, match="bad day") as caught:
        await call(sender, tool("pid"))
    assert "mcp_servers.wild" in caught.value.hint
    await sender.close()
    sender = wild(tmp_path, command=["no-such-program-anywhere"])
    with pytest.raises(UpstreamError, match="no-such-program-anywhere"):
        await call(sender, tool("pid"))
    await sender.close()


async def test_a_server_that_never_greets_is_given_up(tmp_path):
    sender = wild(
        tmp_path, command=[sys.executable, "-c", "import time; time.sleep(60)"], start_timeout_s=0.5
    )
    with pytest.raises(UpstreamError, match=r"did not start within 0\.5 s"):
        await call(sender, tool("pid"))
    await sender.close()


async def test_a_server_without_its_root_says_what_to_write(tmp_path):
    servers = load_servers(shipped("directory") / "servers.json", {})
    sender = McpSender(servers, state=tmp_path, cache=tmp_path)
    request = McpRequest(server="git", tool="git_status", arguments={}, effect="read")
    with pytest.raises(UpstreamError, match="needs a folder") as caught:
        await sender.send(request, context())
    assert "[mcp_servers.git]" in caught.value.hint
    with pytest.raises(UpstreamError, match="no MCP server 'gitt'"):
        await sender.send(McpRequest(server="gitt", tool="x", arguments={}), context())


def test_settings_are_checked_and_never_shown():
    file = shipped("directory") / "servers.json"
    with pytest.raises(ConfigError, match=r"mcp_servers\.git: rootz"):
        load_servers(file, {"git": {"rootz": ["/"]}})
    with pytest.raises(ConfigError, match="command is missing"):
        load_servers(file, {"mine": {}})
    with pytest.raises(ConfigError) as caught:
        load_servers(file, {"git": {"env": {"TOKEN": ["seeded-4711"]}}})
    assert "seeded-4711" not in str(caught.value)
    server = load_servers(file, {"git": {"env": {"TOKEN": "seeded-4711"}}})["git"]
    assert "seeded-4711" not in repr(server)
