"""
A language server as a child process: just enough of LSP to ask for diagnostics.

One request at a time per document is all a checker needs, so the client has no
queue and no cache: it frames JSON, matches answers to requests, answers the
server's own questions, and dies loudly.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codemode.errors import CheckUnavailable

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""A server that answers more than this is broken."""

MEMORY_CHECK_S = 0.25
"""How often a server's memory is looked at while it works."""

_DOCTOR = "Run `codemode doctor` to see what the checkers need."


class TooLarge(CheckUnavailable):
    """The server was killed for its size; the same question would end the same way."""


class LanguageServer:
    """
    One running server.

    Args:
        name: For messages, such as ``ty``.
        argv: Program and arguments; no shell.
        env: The whole environment of the child; nothing of the host's is added.
        folder: Working folder and workspace root.
        settings: Section -> answer for ``workspace/configuration``.
        max_memory_mib: The server is killed when its resident memory passes this.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        folder: Path,
        settings: Mapping[str, Any] | None = None,
        initialization: Any = None,
        max_memory_mib: int = 4096,
    ) -> None:
        self.name = name
        self._argv = tuple(argv)
        self._env = dict(env)
        self._folder = folder
        self._settings = dict(settings or {})
        self._initialization = initialization
        self._max_memory_mib = max_memory_mib
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._last_id = 0
        self._held = b""

    @property
    def is_alive(self) -> bool:
        """Started, and neither exited nor closed."""
        return (
            self._process is not None
            and self._process.returncode is None
            and not (self._reader is not None and self._reader.done())
        )

    @property
    def pid(self) -> int:
        """Process id, or 0 before the start."""
        return self._process.pid if self._process else 0

    async def start(self, *, timeout_s: float) -> None:
        """
        Start the program and say hello.

        Raises:
            CheckUnavailable: If it cannot be started or does not answer in time.
        """
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=self._env,
                cwd=self._folder,
                start_new_session=True,
            )
        except OSError as error:
            raise CheckUnavailable(
                f"{self.name} cannot be started: {error.strerror or error}.", hint=_DOCTOR
            ) from None
        self._reader = asyncio.create_task(self._read())
        uri = self._folder.as_uri()
        await self.request(
            "initialize",
            {
                "processId": None,
                "rootUri": uri,
                "workspaceFolders": [{"uri": uri, "name": "check"}],
                "initializationOptions": self._initialization,
                "capabilities": {
                    "general": {"positionEncodings": ["utf-16"]},
                    "textDocument": {
                        "diagnostic": {"dynamicRegistration": False},
                        "synchronization": {"dynamicRegistration": False},
                    },
                    "workspace": {"configuration": True, "workspaceFolders": True},
                },
            },
            timeout_s=timeout_s,
        )
        self.notify("initialized", {})

    async def request(self, method: str, params: Any, *, timeout_s: float) -> Any:
        """
        Ask, and wait for the answer.

        Raises:
            CheckUnavailable: If the server died, answered an error or passed the
                deadline. After a passed deadline it is killed: its state is unknown.
        """
        self._last_id += 1
        number = self._last_id
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            async with asyncio.timeout(timeout_s):
                await self._send({"id": number, "method": method, "params": params})
                while not future.done():
                    await asyncio.wait({future}, timeout=MEMORY_CHECK_S)
                    if await self.too_large():
                        raise TooLarge(
                            f"{self.name} needed more than {self._max_memory_mib} MiB.",
                            hint="The script's types are too hard to check: simplify them.",
                        )
                return await future
        except TimeoutError:
            await self.kill()
            raise CheckUnavailable(
                f"{self.name} did not answer within {timeout_s:g} s.",
                hint="The script may be too hard to check: simplify it, or allow more time.",
            ) from None
        except asyncio.CancelledError:
            # Half a check leaves a document in an unknown version.
            await self.kill()
            raise
        finally:
            self._waiting.pop(number, None)

    def notify(self, method: str, params: Any) -> None:
        """Tell without an answer; goes out with the next request, in one write."""
        self._held += _framed({"method": method, "params": params})

    async def kill(self) -> None:
        """End the process now. Idempotent."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None
        self._fail(f"{self.name} was stopped.")

    async def too_large(self) -> bool:
        """Whether the server uses more memory than allowed; it is then killed."""
        if not self.is_alive or self._resident_mib() <= self._max_memory_mib:
            return False
        await self.kill()
        return True

    def _resident_mib(self) -> float:
        if not sys.platform.startswith("linux"):
            return 0.0
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            return 0.0
        return pages * 4096 / 2**20

    async def _send(self, message: dict[str, Any]) -> None:
        process = self._process
        if process is None or process.stdin is None or not self.is_alive:
            raise CheckUnavailable(f"{self.name} died, or was never started.", hint=_DOCTOR)
        try:
            held, self._held = self._held, b""
            process.stdin.write(held + _framed(message))
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise CheckUnavailable(f"{self.name} died.", hint=_DOCTOR) from None

    async def _read(self) -> None:
        assert self._process is not None
        stream = self._process.stdout
        assert stream is not None
        try:
            while True:
                size = 0
                while (line := (await stream.readline()).strip()) or not size:
                    if not line and stream.at_eof():
                        raise EOFError
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        size = int(value)
                if size > MAX_MESSAGE_BYTES:
                    raise ValueError(f"message of {size} bytes")
                await self._receive(json.loads(await stream.readexactly(size)))
        except (EOFError, asyncio.IncompleteReadError, ValueError, CheckUnavailable) as error:
            detail = f" ({error})" if isinstance(error, ValueError) else ""
            self._fail(f"{self.name} died while checking{detail}.")

    async def _receive(self, message: dict[str, Any]) -> None:
        if "method" in message:
            if "id" in message:
                await self._send({"id": message["id"], "result": self._answer(message)})
            return
        future = self._waiting.get(message.get("id", 0))
        if future is None or future.done():
            return
        if "error" in message:
            text = str(message["error"].get("message", ""))[:300]
            future.set_exception(CheckUnavailable(f"{self.name}: {text}", hint=_DOCTOR))
        else:
            future.set_result(message.get("result"))

    def _answer(self, message: dict[str, Any]) -> Any:
        if message["method"] == "workspace/configuration":
            items = message["params"]["items"]
            return [self._settings.get(item.get("section", "")) for item in items]
        return None

    def _fail(self, text: str) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(CheckUnavailable(text, hint=_DOCTOR))


def _framed(message: dict[str, Any]) -> bytes:
    text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
    body = text.encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n" % len(body) + body
