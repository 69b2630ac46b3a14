"""
Frames that only the harness can have written.

The harness's stdout is a pipe that a script might find a way to (gVisor lets it
be opened through ``/proc/1/fd``). So `hello` carries a random key, which the
harness reads before there is a script, and each frame that comes back stands
behind a keyed hash of its place in the stream and its bytes. No I/O here.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from hashlib import blake2b

from codemode.core.frames import MAX_FRAME_BYTES
from codemode.errors import ProtocolError

KEY_BYTES = 32
TAG_BYTES = 16
HEAD_BYTES = TAG_BYTES + 4


@dataclass(slots=True)
class Unsealer:
    """
    Sealed bytes in, frames' bytes (length and body) out.

    Args:
        key: What `hello` carried.
    """

    key: bytes
    _buffer: bytearray = field(default_factory=bytearray)
    _n_frames: int = 0
    _problem: ProtocolError | None = None

    @property
    def is_broken(self) -> bool:
        """The next `receive` raises."""
        return self._problem is not None

    def receive(self, data: bytes) -> list[bytes]:
        """
        Frames completed by *data*, in order, each with its four bytes of length.

        Raises:
            ProtocolError: If a frame was not written by the harness, or is out of place.
                Those before it are returned first; the next call then raises.
        """
        if self._problem is not None:
            raise self._problem
        buffer = self._buffer
        buffer += data
        frames: list[bytes] = []
        at = 0
        while len(buffer) - at >= HEAD_BYTES:
            size = int.from_bytes(buffer[at + TAG_BYTES : at + HEAD_BYTES], "big")
            if size > MAX_FRAME_BYTES:
                self._problem = ProtocolError(f"frame announces {size} bytes")
                break
            end = at + HEAD_BYTES + size
            if len(buffer) < end:
                break
            tag, frame = bytes(buffer[at : at + TAG_BYTES]), bytes(buffer[at + TAG_BYTES : end])
            if not hmac.compare_digest(tag, seal(self.key, self._n_frames, frame)):
                self._problem = ProtocolError("a frame was not written by the harness")
                break
            at = end
            self._n_frames += 1
            frames.append(frame)
        del buffer[:at]
        if self._problem is not None and not frames:
            raise self._problem
        return frames


def seal(key: bytes, number: int, frame: bytes) -> bytes:
    """The tag of frame *number* (from 0)."""
    digest = blake2b(number.to_bytes(8, "big"), key=key, digest_size=TAG_BYTES)
    digest.update(frame)
    return digest.digest()
