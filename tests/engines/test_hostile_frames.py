"""Frames that a script forged: whatever they hold, a run ends as an outcome."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codemode.core.frames import FIELDS, MAX_DEPTH, RECEIVABLE, Channel, State, decode
from codemode.core.run import Job, Limits, Outcome, Reply, ToolCall
from codemode.errors import ProtocolError
from codemode.sandbox._calls import Calls, Logs
from codemode.sandbox._deno import DenoProcess
from codemode.sandbox._run import ContainerRun
from codemode.sandbox._sandbox import Sandbox
from codemode.sandbox._seal import seal

pytestmark = pytest.mark.case("T13", "attack:45", "attack:47")

HUGE = "1" + "0" * 400
ODD_TEXTS = ["", "\ud800", "x\udc00\x1b[31m", "\u202e", "a" * 2000, "../up", "\0"]
SCALARS = (
    st.none()
    | st.booleans()
    | st.sampled_from([-1, 0, 2**31, 2**53, 2**63, int(HUGE), -0.5, 1e308])
    | st.integers()
    | st.sampled_from(ODD_TEXTS)
    | st.text(max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["code", "message", "line", "x"]), inner, max_size=4)
        | st.dictionaries(st.sampled_from(ODD_TEXTS), inner, max_size=2)
    ),
    max_leaves=6,
)
NAMES = sorted({name for fields in FIELDS.values() for part in fields for name in part})
ERRORS = st.fixed_dictionaries(
    {"code": VALUES, "message": VALUES},
    optional={"line": VALUES, "column": VALUES, "hint": VALUES},
)
RIGHT: dict[str, Any] = {
    # what a field usually holds, so that forged frames get past the first check
    "status": "failed",
    "id": 1,
    "tool": "desk.echo",
    "args": {},
    "stream": "stdout",
    "text": "said",
    "error": {"code": "x", "message": "m"},
    "usage": {"cpu_ms": 1, "peak_memory_mib": 2.5},
    "files": [{"path": "a", "data": "AA=="}],
    "truncated": ["logs"],
}


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    kind = draw(st.sampled_from([*FIELDS, "done", "done", "call", "log", "unknown"]))
    frame: dict[str, Any] = {"type": kind}
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=8)):
        usual = st.just(RIGHT[name]) if name in RIGHT else VALUES
        frame[name] = draw(usual | VALUES | (ERRORS if name == "error" else usual))
    for name in FIELDS.get(kind, ({}, {}))[0]:
        if name not in frame and name in RIGHT:
            frame[name] = RIGHT[name]
    return json.dumps(frame).encode()


FORGED = [
    rb'{"type":"done","status":"succeeded","value":"\ud800"}',
    rb'{"type":"done","status":"failed","error":{"code":"x","message":"\udfff"}}',
    rb'{"type":"done","status":"succeeded","truncated":["\udc00"]}',
    rb'{"type":"log","stream":"stdout","text":"\ud800"}',
    rb'{"type":"call","id":6,"tool":"\ud800","args":{"\ud800":1}}',
    b'{"type":"done","status":"failed","error":{"code":"x","message":"m","line":%s}}'
    % HUGE.encode(),
    b'{"type":"done","status":"succeeded","usage":{"cpu_ms":%s}}' % HUGE.encode(),
    b'{"type":"done","status":"succeeded","files":[{"path":"a","data":"?"}]}',
    b'{"type":"done","status":"succeeded","value":1' + b"0" * 5000 + b"}",
    b'{"type":"done","status":"succeeded","value":"\xed\xa0\x80"}',
    '{"type":"done","status":"succeeded"}'.encode("utf-16"),
]
BODIES = st.lists(frames() | st.sampled_from(FORGED) | st.binary(max_size=20), max_size=6)


def job() -> Job:
    return Job(
        run_id="r", language="python", source="", names={}, limits=Limits(wall_s=20.0, cpu_s=10.0)
    )


async def answer(call: ToolCall, workspace: object) -> Reply:
    return Reply(value=dict(call.args))


def framed(bodies: list[bytes]) -> list[bytes]:
    return [len(body).to_bytes(4, "big") + body for body in bodies]


class Gone:
    """A process that said something once and is no more."""

    pid = 2**30
    returncode = 1

    def __init__(self, said: bytes) -> None:
        self.stdout = asyncio.StreamReader()
        self.stdout.feed_data(said)
        self.stdout.feed_eof()
        self.stdin = SimpleNamespace(is_closing=lambda: True)

    async def wait(self) -> int:
        return 1


async def through_deno(bodies: list[bytes]) -> Outcome:
    process: Any = DenoProcess("", None, None, heap_mib=64)  # type: ignore[arg-type]
    process._process = Gone(b"".join(framed(bodies)))
    process._channel.state = State.READY
    calls = Calls(answer, max_in_flight=4)
    try:
        return await process.run(job(), calls, Logs(1000))
    finally:
        await calls.close()


async def through_container(bodies: list[bytes]) -> Outcome:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    sandbox = Sandbox("container", ours)
    sandbox._channel.state = State.READY

    async def no_memory_trouble() -> bool:
        return False

    run = ContainerRun(sandbox, job(), answer, no_memory_trouble)
    running = asyncio.create_task(run.outcome())
    loop = asyncio.get_running_loop()
    theirs.setblocking(False)
    try:
        await loop.sock_recv(theirs, 4)  # the job is out: the channel expects a run's frames
        for n, frame in enumerate(framed(bodies)):
            piece = seal(sandbox._key, n, frame) + frame
            await loop.sock_sendall(theirs, b"\1\0\0\0" + len(piece).to_bytes(4, "big") + piece)
        theirs.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # it has let go of us already
    try:
        return await running
    finally:
        theirs.close()


@pytest.mark.parametrize("engine", [through_deno, through_container])
def test_no_frame_makes_a_run_raise(engine: Any) -> None:
    @settings(max_examples=120, deadline=None)
    @given(BODIES)
    @example(FORGED[:1])
    def check(bodies: list[bytes]) -> None:
        outcome = asyncio.run(engine(bodies))

        assert isinstance(outcome, Outcome)
        # What an edge or a record makes of it must not raise either.
        json.dumps(asdict(outcome), default=repr, ensure_ascii=False).encode()
        assert 0 <= outcome.usage.cpu_ms <= 1e15
        if outcome.error is not None:
            assert 0 <= outcome.error.line < 1 << 31

    check()


@pytest.mark.parametrize("engine", [through_deno, through_container])
@pytest.mark.parametrize("body", FORGED)
async def test_a_forged_frame_is_told_as_such(engine: Any, body: bytes) -> None:
    outcome = await engine([body])

    assert outcome.status == "engine_lost"
    assert outcome.error is not None
    assert outcome.error.code == "protocol_error"


def test_every_frame_that_may_come_has_its_fields_checked() -> None:
    assert {kind for after in RECEIVABLE.values() for kind in after} == set(FIELDS)


def test_frames_before_a_broken_one_come_first() -> None:
    good = b'{"type":"log","stream":"stdout","text":"kept"}'
    channel = Channel(state=State.RUNNING)

    found = channel.receive(b"".join(framed([good, b"{]", good])))

    assert [frame["text"] for frame in found] == ["kept"]
    assert channel.state is State.BROKEN
    for _ in range(2):
        with pytest.raises(ProtocolError):
            channel.receive(b"")


@given(st.text(alphabet='[]{}"\\a', max_size=60), st.integers(MAX_DEPTH, MAX_DEPTH + 20))
def test_depth_is_that_of_brackets_outside_text(text: str, depth: int) -> None:
    body = b'{"type":"x","v":' + b"[" * depth + json.dumps(text).encode() + b"]" * depth + b"}"

    if depth + 1 <= MAX_DEPTH + 10:  # the frame itself is one level; envelopes have a few more
        assert decode(body)["type"] == "x"
    else:
        with pytest.raises(ProtocolError, match="nested"):
            decode(body)


@pytest.mark.parametrize("filler", ["[", '\\"', "[[", '\\"[', "{}", '",["'])
def test_megabytes_of_brackets_are_read_in_linear_steps(filler: str) -> None:
    text = json.dumps(filler * (2_000_000 // len(filler)))
    assert decode(f'{{"type":"x","v":{text}}}'.encode())["v"].startswith(filler)
    with pytest.raises(ProtocolError):
        decode(f'{{"type":"x","v":{text[:-1]}'.encode())  # a text without an end
