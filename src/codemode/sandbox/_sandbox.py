"""One container as the host holds it: a channel of frames, and the files and programs inside."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import secrets
import socket
from collections import deque
from typing import Any

from codemode.core.frames import PROTOCOL, Channel, Frame
from codemode.core.run import Command, CommandResult
from codemode.errors import BadArguments, EngineUnavailable, OutcomeUnknown, ProtocolError
from codemode.sandbox._seal import KEY_BYTES, Unsealer
from codemode.sandbox._stream import StreamParser

READ_BYTES = 256 * 1024
SEND_S = 30.0
FILE_S = 30.0
MAX_UNREAD_FRAMES = 256
MAX_DIAGNOSTIC_BYTES = 4096


class Sandbox:
    """
    The host's end of one container's stdio.

    Args:
        id: The container's.
        stream: Attached before the container was started; non-blocking.

    Frames of a run are taken with `next_frame`; answers to `write_file`,
    `read_file` and `run_command` go to whoever asked.
    """

    def __init__(self, id: str, stream: socket.socket) -> None:
        self.id = id
        self.versions: dict[str, str] = {}
        self.problem: ProtocolError | None = None
        self.diagnostic = bytearray()
        self._stream = stream
        self._channel = Channel()
        self._key = secrets.token_bytes(KEY_BYTES)
        self._parser, self._unsealer = StreamParser(), Unsealer(self._key)
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue(MAX_UNREAD_FRAMES)
        self._asked: dict[int, asyncio.Future[Frame]] = {}
        self._ids = itertools.count(1)
        self._unsent: deque[bytes] = deque()
        self._sender: asyncio.Task[None] | None = None
        self._ended = False
        self._reader = asyncio.create_task(self._read(), name=f"sandbox {id[:12]}")

    @property
    def alive(self) -> bool:
        return not self._ended

    async def greet(self, *, deadline_s: float) -> None:
        """
        Say hello and wait for `ready`.

        Raises:
            EngineUnavailable: If the harness does not answer or ends.
            ProtocolError: If it speaks another protocol.
        """
        try:
            async with asyncio.timeout(deadline_s):
                await self.send({"type": "hello", "protocol": PROTOCOL, "key": self._key.hex()})
                frame = await self.next_frame()
        except TimeoutError:
            frame = None
        if frame is None:
            if self.problem is not None:
                raise self.problem
            said = self.diagnostic.decode("utf-8", "replace").strip()
            raise EngineUnavailable(
                f"The sandbox did not become ready.{' It said: ' + said[-500:] if said else ''}",
                hint="Rebuild the image: codemode image build",
            )
        self.versions = dict(frame.get("versions") or {})

    def post(self, frame: Frame) -> None:
        """
        Hand over one frame without waiting; in order with all others.

        Raises:
            ProtocolError: If it is larger than a frame may be.
        """
        data = self._channel.send(frame)
        if self._ended:
            return
        if self._sender is None or self._sender.done():
            with contextlib.suppress(OSError):  # a full socket too; the task below finds the rest
                data = data[self._stream.send(data) :]
            if not data:
                return
            self._sender = asyncio.create_task(self._send_rest())
        self._unsent.append(data)

    async def send(self, frame: Frame) -> None:
        """
        Hand over one frame and wait until the daemon has all of it.

        Raises:
            ConnectionError: If the sandbox is gone or does not read within `SEND_S`.
        """
        self.post(frame)
        if self._sender is not None:
            await asyncio.shield(self._sender)
        if self._ended:
            raise ConnectionError("the sandbox is gone")

    async def _send_rest(self) -> None:
        loop = asyncio.get_running_loop()
        while self._unsent:
            try:
                async with asyncio.timeout(SEND_S):
                    await loop.sock_sendall(self._stream, self._unsent.popleft())
            except (OSError, TimeoutError):
                self._unsent.clear()
                self._end()

    async def next_frame(self) -> Frame | None:
        """The next frame of the run; None when the sandbox is gone (see `problem`)."""
        if self._ended and self._frames.empty():
            return None
        return await self._frames.get()

    async def ask(self, frame: Frame, *, deadline_s: float) -> Frame:
        """
        Send *frame* with an id and wait for the frame that answers it.

        Raises:
            OutcomeUnknown: If the sandbox is gone or does not answer in time.
        """
        number = next(self._ids)
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        what = frame["type"]
        try:
            if self._ended:
                raise ConnectionError
            await self.send({**frame, "id": number})
            async with asyncio.timeout(deadline_s):
                return await answer
        except (ConnectionError, TimeoutError) as error:
            how = "ended" if isinstance(error, ConnectionError) else "did not answer"
            raise OutcomeUnknown(f"The sandbox {how} during {what}.") from None
        finally:
            self._asked.pop(number, None)

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                data = await loop.sock_recv(self._stream, READ_BYTES)
                if not data:
                    break
                for name, piece in self._parser.receive(data):
                    if name == "stderr":
                        self.diagnostic += piece
                        del self.diagnostic[:-MAX_DIAGNOSTIC_BYTES]
                        continue
                    for sealed in self._unsealer.receive(piece):
                        for frame in await self._decoded(sealed):
                            await self._deliver(frame)
                    if self._unsealer.is_broken:
                        self._unsealer.receive(b"")  # raises; what came before it went out
        except ProtocolError as error:
            self.problem = error
        except OSError:
            pass
        finally:
            self._end()

    async def _decoded(self, sealed: bytes) -> list[Frame]:
        if self._channel.is_large(sealed):
            return await asyncio.to_thread(self._channel.receive, sealed)
        return self._channel.receive(sealed)

    async def _deliver(self, frame: Frame) -> None:
        if frame["type"] in ("done_file", "file", "command_result"):
            answer = self._asked.get(frame["id"])
            if answer is not None and not answer.done():
                answer.set_result(frame)
            return
        await self._frames.put(frame)

    def _end(self) -> None:
        self._ended = True
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the sandbox ended"))
                answer.exception()  # whoever asked may have gone
        with contextlib.suppress(asyncio.QueueFull):
            self._frames.put_nowait(None)

    def close(self) -> None:
        """Let go of the channel; the harness ends itself on that."""
        self._reader.cancel()
        if self._sender is not None:
            self._sender.cancel()
        self._end()
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)
        self._stream.close()


class SandboxWorkspace:
    """
    Files and programs of one sandbox (`codemode.core.run.Workspace`).

    Raises (every method):
        BadArguments: The path is not one of the workspace's, or the file cannot be had.
        OutcomeUnknown: The sandbox ended before it answered.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def run_command(self, command: Command) -> CommandResult:
        frame = await self._sandbox.ask(
            {
                "type": "command",
                "binaries": list(command.binaries),
                "argv": list(command.argv),
                "stdin": _base64(command.stdin),
                "cwd": command.cwd,
                "env": dict(command.env),
                "timeout_s": command.timeout_s,
                "max_output_bytes": command.max_output_bytes,
            },
            deadline_s=command.timeout_s + FILE_S,
        )
        exit_code = frame.get("exit_code")
        return CommandResult(
            exit_code=exit_code if isinstance(exit_code, int) else None,
            stdout=_bytes(frame["stdout"]),
            stderr=_bytes(frame["stderr"]),
            timed_out=frame.get("timed_out") is True,
            truncated=frame.get("truncated") is True,
        )

    async def read_file(self, path: str, *, max_bytes: int) -> bytes:
        frame = await self._sandbox.ask(
            {"type": "read_file", "path": path, "max_bytes": max_bytes}, deadline_s=FILE_S
        )
        return _bytes(_unless_refused(frame).get("data"))

    async def write_file(self, path: str, data: bytes) -> None:
        frame = await self._sandbox.ask(
            {"type": "write_file", "path": path, "data": _base64(data)}, deadline_s=FILE_S
        )
        _unless_refused(frame)


def _unless_refused(frame: Frame) -> Frame:
    if frame.get("error"):
        raise BadArguments(
            f"The workspace refused {str(frame['error'])[:500]}.",
            hint="Paths are relative to the workspace and name regular files.",
        )
    return frame


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise OutcomeUnknown("The sandbox answered with bytes that are not base64.") from None
