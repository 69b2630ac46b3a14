"""The process that one Python script runs in: frames on descriptor 3, warm until `run`."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import outcome
import printing
import script
import stubs

sys.path.pop(0)

CHANNEL = 3


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


async def run(job: dict[str, Any]) -> None:
    calls = stubs.Calls(send)
    sys.modules.update(stubs.modules(job["names"], calls))
    out, err = printing.capture(send)
    asyncio.get_running_loop().add_reader(CHANNEL, answered, calls)
    try:
        main = script.compile_script(job["source"], job["input"])
        send({"type": "started"})
        value = await main()
        done = outcome.succeeded(value, calls, job["limits"]["max_result_bytes"])
    except BaseException as error:  # sys.exit and KeyboardInterrupt are the script's own too
        done = outcome.failed(error, job["source"], calls)
    out.flush()
    err.flush()
    send({"type": "done", **done})
    os._exit(0)  # no atexit, no thread and no destructor of the script's delays the end


def main() -> None:
    os.set_inheritable(CHANNEL, False)
    sys.set_int_max_str_digits(0)
    send({"warm": platform.python_version()})
    frame = read_frame()
    if frame is not None:
        asyncio.run(run(frame["job"]))


if __name__ == "__main__":
    main()
