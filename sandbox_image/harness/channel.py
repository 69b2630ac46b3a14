"""Length-prefixed frames over file descriptors, for one event loop. Bytes are not parsed here."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Callable
from hashlib import blake2b

MAX_FRAME_BYTES = 96 * 1024 * 1024
READ_BYTES = 256 * 1024
TAG_BYTES = 16
PIPE_BYTES = 1024 * 1024


class Channel:
    """
    Whole frames in, whole frames out, without threads.

    Args:
        on_frame: Called with each frame's body, in order.
        on_end: Called once, when the other side is gone or sent what no frame can be.

    Once *key* is set, frames are sent sealed.
    """

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        on_frame: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._read_fd, self._write_fd = read_fd, write_fd
        self._on_frame, self._on_end = on_frame, on_end
        self._incoming, self._outgoing = bytearray(), bytearray()
        self.key = b""
        self._n_sealed = 0
        self._drained: asyncio.Future[None] | None = None
        self._open = True
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)
        with contextlib.suppress(OSError):  # a socket has none; files cross faster where it works
            fcntl.fcntl(write_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._loop.add_reader(read_fd, self.read)

    def read(self) -> None:
        """Take in what has arrived; also called to drain before an end is judged."""
        while self._open:
            try:
                data = os.read(self._read_fd, READ_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.close()
                self._on_end()
                return
            self._incoming += data
            if not self._split():
                self.close()
                self._on_end()
                return
            if len(data) < READ_BYTES:
                return

    def _split(self) -> bool:
        buffer = self._incoming
        while len(buffer) >= 4:
            size = int.from_bytes(buffer[:4], "big")
            if size > MAX_FRAME_BYTES:
                return False
            if len(buffer) < 4 + size:
                break
            body = bytes(buffer[4 : 4 + size])
            del buffer[: 4 + size]
            self._on_frame(body)
        return True

    def send(self, body: bytes) -> None:
        """Queue one frame; what the kernel takes now is written now."""
        if not self._open:
            return
        idle = not self._outgoing
        head = len(body).to_bytes(4, "big")
        if self.key:
            self._outgoing += self._tag(head, body)
        self._outgoing += head
        self._outgoing += body
        if idle:
            self._write()

    def _tag(self, head: bytes, body: bytes) -> bytes:
        """Proves to the host that this process wrote the frame, and in this place."""
        digest = blake2b(self._n_sealed.to_bytes(8, "big"), key=self.key, digest_size=TAG_BYTES)
        digest.update(head)
        digest.update(body)
        self._n_sealed += 1
        return digest.digest()

    def _write(self) -> None:
        try:
            while self._outgoing:
                with memoryview(self._outgoing) as view, view[:READ_BYTES] as part:
                    written = os.write(self._write_fd, part)
                del self._outgoing[:written]
        except BlockingIOError:
            self._loop.add_writer(self._write_fd, self._write)
            return
        except OSError:
            self._outgoing.clear()
        self._loop.remove_writer(self._write_fd)
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    async def drain(self) -> None:
        """Wait until everything queued was taken by the kernel."""
        while self._outgoing and self._open:
            self._drained = self._loop.create_future()
            await self._drained

    def close(self) -> None:
        """Stop watching; the descriptors stay the caller's."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._read_fd)
            self._loop.remove_writer(self._write_fd)
