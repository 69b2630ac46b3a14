"""
The run protocol: length-prefixed JSON frames between host and harness.

A frame is four bytes of big-endian length, then that many bytes of UTF-8 JSON,
an object with ``type``. The host speaks first. What may come in which state is
one table; anything else is a `ProtocolError` that ends that run alone.

Host to harness:

=============  ===================================================================
hello          protocol, key (seals what comes back; see sandbox/_seal)
run            job: {run_id, language, source, names, input, limits, collect_files}
write_file     id, path, data (base64)              -> done_file
read_file      id, path, max_bytes                  -> file
command        id, binaries, argv, stdin (base64), cwd, env, timeout_s,
               max_output_bytes                     -> command_result
reply          id, value | error {code, message, status, retryable, hint}
cancel         (end the script now; ``done`` follows)
=============  ===================================================================

Harness to host:

==============  ==================================================================
ready           protocol, language versions {typescript?, python?}
started         (the first line of the script is about to run)
call            id, tool, args
log             stream, text
done_file       id, error?
file            id, data (base64) | error
command_result  id, exit_code, stdout (base64), stderr (base64), timed_out, truncated
done            status (succeeded | failed), value?, error {code, message, line,
                column, hint}?, files [{path, data (base64)}]?, usage {cpu_ms,
                peak_memory_mib}, truncated [...]
==============  ==================================================================

``done`` without ``value`` means that the script returned nothing; ``value: null``
means that it returned null.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from typing import Any, TypeAlias

from codemode.core.frame_fields import FIELDS, wrong_field
from codemode.errors import ProtocolError

PROTOCOL = 1
"""Raised when either side would misread the other; `ready` carries it."""

MAX_FRAME_BYTES = 96 * 1024 * 1024
LARGE_BYTES = 256 * 1024
"""Frames beyond this are read in a thread, beside the event loop."""
MAX_DEPTH = 100
"""Nested arrays and objects in one value; the same bound in both languages."""

Frame: TypeAlias = dict[str, Any]


class State(Enum):
    """Where a channel is, as the host sees it."""

    NEW = "new"
    READY = "ready"
    RUNNING = "running"
    DONE = "done"
    BROKEN = "broken"


RECEIVABLE: dict[State, dict[str, State]] = {
    # state: {frame type the harness may send: the state after it}
    State.NEW: {"ready": State.READY},
    State.READY: {
        "done_file": State.READY,
        "file": State.READY,
        "command_result": State.READY,
    },
    State.RUNNING: {
        "started": State.RUNNING,
        "call": State.RUNNING,
        "log": State.RUNNING,
        "done_file": State.RUNNING,
        "file": State.RUNNING,
        "command_result": State.RUNNING,
        "done": State.DONE,
    },
    State.DONE: {},
    State.BROKEN: {},
}


def encode(frame: Frame) -> bytes:
    """
    One frame as bytes.

    Raises:
        ProtocolError: If it is larger than `MAX_FRAME_BYTES` or not JSON.
    """
    try:
        body = json.dumps(frame, separators=(",", ":"), allow_nan=False, ensure_ascii=True).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise ProtocolError(f"frame {frame.get('type')!r} is not JSON: {error}") from None
    if len(body) > MAX_FRAME_BYTES:
        raise ProtocolError(f"frame {frame.get('type')!r} has {len(body)} bytes")
    return len(body).to_bytes(4, "big") + body


def _no_constant(name: str) -> Any:
    raise ProtocolError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ProtocolError(f"{text[:40]} is not a finite number")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ProtocolError("an object has the same key twice")
    return found


STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A JSON string; one without an end reaches to the end, so that nothing is read twice."""
NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
STEP = [1 if byte in b"[{" else -1 for byte in range(256)]
DEPTH_BLOCK = 65536
LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""Only text with such an escape can hold half a pair; most has none."""


def _is_deeper(body: bytes, most: int) -> bool:
    """Whether brackets outside strings nest more than *most* deep; linear, no recursion."""
    if body.count(b"[") + body.count(b"{") <= most:
        return False
    brackets = STRING.sub(b"", body).translate(None, NOT_BRACKETS)
    depth = 0
    for at in range(0, len(brackets), DEPTH_BLOCK):
        steps = map(STEP.__getitem__, brackets[at : at + DEPTH_BLOCK])
        depths = list(accumulate(steps, initial=depth))
        if max(depths) > most:
            return True
        depth = depths[-1]
    return False


def decode(body: bytes) -> Frame:
    """
    One frame's JSON, strictly.

    Raises:
        ProtocolError: On bad UTF-8, half a surrogate pair, bad JSON, NaN, infinities,
            integers of more digits than Python reads, repeated keys, nesting deeper than
            `MAX_DEPTH`, or a body that is no object with ``type``.
    """
    if _is_deeper(body, MAX_DEPTH + 10):
        raise ProtocolError(f"frame is nested more than {MAX_DEPTH} deep")
    try:
        frame = json.loads(
            body.decode(),
            parse_constant=_no_constant,
            parse_float=_finite,
            object_pairs_hook=_unique,
        )
        if LONE_SURROGATE.search(body):
            json.dumps(frame, ensure_ascii=False).encode()
    except UnicodeError:
        raise ProtocolError("frame has text that is not Unicode") from None
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"frame is not JSON: {type(error).__name__}") from None
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        raise ProtocolError("frame is not an object with a type")
    return frame


@dataclass(slots=True)
class Channel:
    """
    The host's end of one channel: bytes in, frames out. No I/O.

    Feed it whatever arrived; it yields whole frames and keeps the rest.
    """

    max_frame_bytes: int = MAX_FRAME_BYTES
    state: State = State.NEW
    _buffer: bytearray = field(default_factory=bytearray)
    _problem: ProtocolError | None = None

    def is_large(self, data: bytes) -> bool:
        """Whether *data* completes a frame that takes long to read (`LARGE_BYTES`)."""
        head = (bytes(self._buffer[:4]) + data[:4])[:4]
        size = int.from_bytes(head, "big")
        return size > LARGE_BYTES and len(self._buffer) + len(data) >= 4 + size

    def receive(self, data: bytes) -> list[Frame]:
        """
        Frames completed by *data*, in order.

        Raises:
            ProtocolError: The channel is `State.BROKEN` for good. Frames that were whole
                before the broken one are returned first; the next call then raises.
        """
        if self._problem is not None:
            raise self._problem
        buffer = self._buffer
        buffer += data
        frames: list[Frame] = []
        at = 0
        try:
            while len(buffer) - at >= 4:
                size = int.from_bytes(buffer[at : at + 4], "big")
                if size > self.max_frame_bytes:
                    raise ProtocolError(f"frame announces {size} bytes")
                if len(buffer) - at < 4 + size:
                    break
                frame = decode(bytes(buffer[at + 4 : at + 4 + size]))
                at += 4 + size
                self._step(frame)
                frames.append(frame)
        except ProtocolError as problem:
            self.state = State.BROKEN
            self._problem = problem
            if not frames:
                raise
        del buffer[:at]
        return frames

    def send(self, frame: Frame) -> bytes:
        """Bytes for *frame*; ``run`` moves the channel from READY to RUNNING."""
        if frame["type"] == "run":
            if self.state is not State.READY:
                raise ProtocolError(f"cannot assign a run while {self.state.value}")
            self.state = State.RUNNING
        return encode(frame)

    def _step(self, frame: Frame) -> None:
        kind = frame["type"]
        allowed = RECEIVABLE[self.state]
        if kind not in allowed:
            raise ProtocolError(f"frame {kind[:40]!r} while {self.state.value}")
        wrong = wrong_field(frame, *FIELDS[kind])
        if wrong is not None:
            raise ProtocolError(f"frame {kind!r} has no proper {wrong!r}")
        if kind == "ready" and frame["protocol"] != PROTOCOL:
            raise ProtocolError(
                f"the sandbox speaks protocol {frame['protocol']}, this host {PROTOCOL}",
                hint="Rebuild the image: codemode image build",
            )
        self.state = allowed[kind]
