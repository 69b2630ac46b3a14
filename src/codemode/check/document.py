"""One document in one language server: the part that both checkers share."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from codemode.check.lsp import LanguageServer, TooLarge
from codemode.errors import CheckUnavailable

START_TIMEOUT_S = 30.0

Start = Callable[[Path], Awaitable[LanguageServer]]


class Document:
    """
    A script file in a private folder beside its stubs, held open in a server.

    Stubs are written once for each mapping object; other stubs get another folder
    and another server. One check at a time: the rest wait, inside their deadlines.

    Args:
        script_name: The file's name, such as ``script.ts``.
        lay_out: ``(folder, stubs) -> None``: writes stubs and configuration.
        start: Makes a started server for a folder.
    """

    def __init__(
        self,
        script_name: str,
        language_id: str,
        *,
        lay_out: Callable[[Path, Mapping[str, str]], None],
        start: Start,
    ) -> None:
        self._script_name = script_name
        self._language_id = language_id
        self._lay_out = lay_out
        self._start = start
        self._lock = asyncio.Lock()
        self._stubs: Mapping[str, str] | None = None
        self._folder: Path | None = None
        self._server: LanguageServer | None = None
        self._version = 0

    @property
    def folder(self) -> Path | None:
        """The private folder, while there is one."""
        return self._folder

    @property
    def server(self) -> LanguageServer | None:
        return self._server

    async def diagnose(
        self, text: str, stubs: Mapping[str, str], *, timeout_s: float
    ) -> list[dict[str, Any]]:
        """
        The server's diagnostics of *text*, as LSP gives them.

        A server that died is started again, once: a check changes nothing, so
        repeating it is safe.

        Raises:
            CheckUnavailable: If there is no server, or the deadline passed.
        """
        deadline = time.monotonic() + timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                await self._lock.acquire()
        except TimeoutError:
            raise CheckUnavailable(f"The checker was busy for {timeout_s:g} s.") from None
        try:
            for attempt in (1, 2):
                server = await self._ready(stubs, deadline)
                try:
                    return await self._pull(server, text, deadline)
                except TooLarge:
                    raise
                except CheckUnavailable:
                    await server.kill()
                    if attempt == 2 or time.monotonic() >= deadline:
                        raise
            raise AssertionError("unreachable")
        finally:
            self._lock.release()

    async def close(self) -> None:
        """End the server and remove the folder. Idempotent."""
        if self._server is not None:
            await self._server.kill()
            self._server = None
        if self._folder is not None:
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
            self._folder = None
        self._stubs = None

    async def _ready(self, stubs: Mapping[str, str], deadline: float) -> LanguageServer:
        if self._stubs is not stubs:
            await self.close()
            self._folder = await asyncio.to_thread(self._make_folder, stubs)
            self._stubs = stubs
        assert self._folder is not None
        if self._server is not None and self._server.is_alive:
            return self._server
        left = min(START_TIMEOUT_S, deadline - time.monotonic())
        try:
            async with asyncio.timeout(left):
                self._server = await self._start(self._folder)
                self._version = 0
        except TimeoutError:
            raise CheckUnavailable("The checker did not start in time.") from None
        return self._server

    def _make_folder(self, stubs: Mapping[str, str]) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="codemode-check-")).resolve()
        try:
            self._lay_out(folder, stubs)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise CheckUnavailable(f"Stubs cannot be written: {error}") from None
        return folder

    async def _pull(
        self, server: LanguageServer, text: str, deadline: float
    ) -> list[dict[str, Any]]:
        assert self._folder is not None
        uri = (self._folder / self._script_name).as_uri()
        self._version += 1
        document = {"uri": uri, "version": self._version}
        if self._version == 1:
            document |= {"languageId": self._language_id, "text": text}
            server.notify("textDocument/didOpen", {"textDocument": document})
        else:
            change = {"textDocument": document, "contentChanges": [{"text": text}]}
            server.notify("textDocument/didChange", change)
        answer = await server.request(
            "textDocument/diagnostic",
            {"textDocument": {"uri": uri}},
            timeout_s=max(0.001, deadline - time.monotonic()),
        )
        items: list[dict[str, Any]] = (answer or {}).get("items", [])
        return items


def write_stubs(folder: Path, stubs: Mapping[str, str]) -> None:
    """Write ``path -> text`` below *folder*; a path that leaves it is a bug upstream."""
    for path, text in stubs.items():
        target = folder / path
        if not target.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"stub path {path!r} leaves its folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def utf16_offset(line: str, units: int) -> int:
    """Code points in the first *units* UTF-16 units of *line*."""
    if line.isascii():
        return min(units, len(line))
    seen = 0
    for index, char in enumerate(line):
        if seen >= units:
            return index
        seen += 2 if ord(char) > 0xFFFF else 1
    return len(line)
