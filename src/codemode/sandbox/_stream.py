"""
The attached stdio of a container: Docker's multiplexed stream, taken apart.

Each piece has eight bytes of header: the stream (0 stdin, 1 stdout, 2 stderr),
three zeros, and a big-endian length. No I/O here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from codemode.errors import ProtocolError

HEADER_BYTES = 8
STREAMS = {0: "stdout", 1: "stdout", 2: "stderr"}
MAX_PIECE_BYTES = 16 * 1024 * 1024
"""The daemon copies in blocks of at most 32 KiB; far more than that is not Docker."""


@dataclass(slots=True)
class StreamParser:
    """Feed it whatever arrived; it yields ``(stream, bytes)`` and keeps the rest."""

    _buffer: bytearray = field(default_factory=bytearray)

    def receive(self, data: bytes) -> list[tuple[str, bytes]]:
        """
        Pieces completed by *data*, in order.

        Raises:
            ProtocolError: If a header is none.
        """
        buffer = self._buffer
        buffer += data
        pieces: list[tuple[str, bytes]] = []
        at = 0
        while len(buffer) - at >= HEADER_BYTES:
            kind, zeros = buffer[at], bytes(buffer[at + 1 : at + 4])
            size = int.from_bytes(buffer[at + 4 : at + 8], "big")
            if kind not in STREAMS or zeros != b"\0\0\0" or size > MAX_PIECE_BYTES:
                raise ProtocolError("the daemon's stream is not multiplexed stdio")
            if len(buffer) - at < HEADER_BYTES + size:
                break
            start = at + HEADER_BYTES
            pieces.append((STREAMS[kind], bytes(buffer[start : start + size])))
            at = start + size
        del buffer[:at]
        return pieces
