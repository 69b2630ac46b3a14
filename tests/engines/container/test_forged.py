"""Frames that a script writes to its own channel: whatever they hold, its run ends as one."""

from __future__ import annotations

import pytest

from codemode.core.run import Job, Limits, Outcome, Reply, ToolCall, Workspace
from codemode.sandbox.container import ContainerEngine

pytestmark = [
    pytest.mark.docker,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.case("attack:45", "T13"),
]
FORGE = """
import os, time
for body in {bodies!r}:
    os.write(3, len(body).to_bytes(4, "big") + body)
time.sleep({wait})
return "mine"
"""
ENDS = {
    "half a pair": rb'{"type":"done","status":"succeeded","value":"\ud800"}',
    "half a pair in a call": rb'{"type":"call","id":6,"tool":"t.f","args":{"\ud800":1}}',
    "a number for an id": b'{"type":"call","id":1' + b"0" * 400 + b',"tool":"t.f","args":{}}',
    "too many digits": b'{"type":"done","status":"succeeded","value":1' + b"0" * 5000 + b"}",
    "too deep": b'{"type":"call","id":6,"tool":"t.f","args":{"x":'
    + b"[" * 500
    + b"]" * 500
    + b"}}",
    "an error that is none": b'{"type":"done","status":"failed","error":[1]}',
    "a stream that is none": b'{"type":"log","stream":"stdin","text":""}',
}
FAILED = b'{"type":"done","status":"failed","error":%s}'
CLEANED = {
    "half a pair in an error": FAILED % rb'{"code":"\ud800","message":"\ud800"}',
    "a line beyond any": FAILED % (b'{"code":"x","message":"m","line":1' + b"0" * 400 + b"}"),
}


async def nothing(call: ToolCall, workspace: Workspace | None) -> Reply:
    return Reply(value=None)


async def forged(engine: ContainerEngine, body: bytes) -> Outcome:
    source = FORGE.format(bodies=[body], wait=3)
    limits = Limits(wall_s=30.0)
    return await engine.run(
        Job(run_id="r", language="python", source=source, names={}, limits=limits), nothing
    )


@pytest.mark.parametrize("body", ENDS.values(), ids=ENDS.keys())
async def test_a_broken_frame_is_the_end_of_its_run(engine: ContainerEngine, body: bytes) -> None:
    outcome = await forged(engine, body)

    assert outcome.status in ("engine_lost", "failed")
    assert outcome.error is not None
    assert outcome.error.code in ("protocol_error", "crashed")
    assert outcome.value is None


@pytest.mark.parametrize("body", CLEANED.values(), ids=CLEANED.keys())
async def test_what_can_be_mended_is(engine: ContainerEngine, body: bytes) -> None:
    outcome = await forged(engine, body)

    assert outcome.status == "failed"
    assert outcome.error is not None
    assert outcome.error.line == 0
    (outcome.error.code + outcome.error.message).encode()
