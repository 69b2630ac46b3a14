"""The process that one Python script runs in: frames on descriptor 3, warm until `run`."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import forgotten
import outcome
import printing
import script
import stubs

sys.path.pop(0)

CHANNEL = 3
REHEARSAL = """
from tools import rehearsal, ToolError
import asyncio
values = await asyncio.gather(*[rehearsal.call(n=n) for n in range(2)])
try:
    await rehearsal.missing()
except ToolError as error:
    problem = str(error)
return {"values": values, "problem": problem}
"""


def read_frame() -> dict[str, Any] | None:
    """The next frame, waiting for it; None when the harness is gone."""
    head = _read_exactly(4)
    body = _read_exactly(int.from_bytes(head, "big")) if head else b""
    return json.loads(body) if body else None


def _read_exactly(size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        block = os.read(CHANNEL, size - len(data))
        if not block:
            return b""
        data += block
    return bytes(data)


def send(frame: dict[str, Any]) -> None:
    """Write one frame whole. The harness always reads, so this does not wait long."""
    body = json.dumps(frame, separators=(",", ":"), allow_nan=False).encode()
    view = memoryview(len(body).to_bytes(4, "big") + body)
    while view:
        view = view[os.write(CHANNEL, view) :]


def answered(calls: stubs.Calls) -> None:
    """A reply has arrived. Frames come whole from the harness, so reading one may wait."""
    frame = read_frame()
    if frame is None:
        os._exit(0)
    if frame["type"] == "reply":
        calls.reply(frame)


async def run(job: dict[str, Any], calls: stubs.Calls) -> dict[str, Any]:
    """The fields of `done`."""
    sys.modules.update(stubs.modules(job["names"], calls))
    try:
        main = script.compile_script(job["source"], job["input"])
        calls.tell({"type": "started"})
        with forgotten.races_noticed(calls):
            value = await main()
            await forgotten.settle(calls)
        return outcome.succeeded(value, calls, job["limits"]["max_result_bytes"])
    except BaseException as error:  # sys.exit and KeyboardInterrupt are the script's own too
        return outcome.failed(error, job["source"], calls)


async def rehearse() -> None:
    """Run a script that nobody sees, so that the first real one finds everything loaded."""

    def send(frame: dict[str, Any]) -> None:
        json.dumps(frame)
        if frame["type"] == "call":
            loop.call_soon(calls.reply, {"type": "reply", "id": frame["id"], "value": None})

    loop = asyncio.get_running_loop()
    calls = stubs.Calls(send)
    job = {
        "source": REHEARSAL,
        "names": {"rehearsal": {"call": {"tool": "rehearsal.call"}}},
        "input": None,
        "limits": {"max_result_bytes": 1000},
    }
    await run(job, calls)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tools"]:
        del sys.modules[name]


async def serve() -> None:
    """Warm up, wait for `run`, run it, and end."""
    await rehearse()
    send({"warm": platform.python_version()})
    loop = asyncio.get_running_loop()
    assigned: asyncio.Future[dict[str, Any] | None] = loop.create_future()
    loop.add_reader(CHANNEL, lambda: assigned.done() or assigned.set_result(read_frame()))
    frame = await assigned
    if frame is None:
        return
    calls = stubs.Calls(send)
    out, err = printing.capture(send)
    loop.add_reader(CHANNEL, answered, calls)
    done = await run(frame["job"], calls)
    out.flush()
    err.flush()
    send({"type": "done", **done})
    os._exit(0)  # no atexit, no thread and no destructor of the script's delays the end


def main() -> None:
    os.set_inheritable(CHANNEL, False)
    sys.set_int_max_str_digits(0)
    asyncio.run(serve())


if __name__ == "__main__":
    main()
