"""
One MCP server process and the session with it.

The SDK's connection has to be opened and closed by one task; that task is the
`Session`'s own, and calls from any other task go through it. When the server
dies, the calls in flight end and the session is `closed`; whoever wants to go on
makes a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
import warnings
from collections.abc import AsyncIterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp import ClientSession, MCPError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.shared.message import SessionMessage

from codemode.bindings._servers import Answer, ServerGone, ServerRefused, Start
from codemode.core.scrub import Scrubber
from codemode.core.tool import JsonValue
from codemode.errors import UpstreamError

# The SDK logs lines it cannot read, whole and with a traceback: they may hold secrets.
logging.getLogger("mcp.client.stdio").propagate = False
logging.getLogger("mcp.client.stdio").addHandler(logging.NullHandler())

CLOSE_S = 10.0
SHOWN_STDERR_BYTES = 2_000


class Session:
    """
    A running server.

    Args:
        name: For messages.
        start: The command line and the whole environment.
        roots: Folders the server is told about.
        idle_s: Close after so many seconds without a call; None: stay.
    """

    def __init__(
        self, name: str, start: Start, *, roots: Sequence[Path] = (), idle_s: float | None = None
    ) -> None:
        self.name = name
        self.closed = False
        self._start = start
        self._scrubber = Scrubber(start.secrets)
        self._roots = tuple(roots)
        self._idle_s = idle_s
        self._stop = asyncio.Event()
        self._n_in_flight = 0
        self._used_s = 0.0
        self._session: ClientSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._stderr: IO[str] | None = None

    async def open(self, timeout_s: float) -> None:
        """
        Start the process and greet it.

        Raises:
            UpstreamError: If it cannot be started or does not greet back in time.
        """
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._own(ready), name=f"mcp server {self.name}")
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.shield(ready)
        except TimeoutError:
            await self.close()
            raise UpstreamError(
                f"The MCP server {self.name} did not start within {timeout_s:g} s. {self._said()}",
                retryable=True,
            ) from None
        except BaseException:
            await self.close()
            raise

    async def call(self, tool: str, arguments: Mapping[str, JsonValue], timeout_s: float) -> Answer:
        """
        Raises:
            ServerGone: Its connection ended; the session is `closed`.
            ServerRefused: It answered with a protocol error.
            TimeoutError: It did not answer in time; the session lives on.
            ValueError: Its answer breaks the protocol.
        """
        session = self._session
        if session is None or self.closed:
            raise ServerGone("the server is not running")
        request = types.CallToolRequest(
            params=types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        )
        self._n_in_flight += 1
        try:
            async with asyncio.timeout(timeout_s):
                # Not call_tool: it fails an answer that does not fit its output schema.
                result = await session.send_request(request, types.CallToolResult)
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED or self.closed:
                self.closed = True
                self._stop.set()
                raise ServerGone(self._scrubber.text(error.message)) from None
            raise ServerRefused(error.code, self._scrubber.text(error.message)) from None
        finally:
            self._n_in_flight -= 1
            self._used_s = asyncio.get_running_loop().time()
        dumped = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return Answer(
            content=self._scrubber.value(dumped.get("content", [])),
            structured=self._scrubber.value(result.structured_content),
            is_error=bool(result.is_error),
        )

    async def close(self) -> None:
        """End the process and wait for it, at most `CLOSE_S` seconds. Idempotent."""
        self.closed = True
        self._stop.set()
        if self._task is not None:
            if self._session is None:
                self._task.cancel()  # it is still starting and would not see the stop
            _, pending = await asyncio.wait({self._task}, timeout=CLOSE_S)
            for task in pending:
                task.cancel()
                await asyncio.wait({task}, timeout=CLOSE_S)

    async def _own(self, ready: asyncio.Future[None]) -> None:
        parameters = StdioServerParameters(
            command=self._start.command,
            args=list(self._start.args),
            env=dict(self._start.env),
            cwd=self._start.cwd,
        )
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as self._stderr:
            try:
                relay, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
                async with (
                    stdio_client(parameters, errlog=self._stderr) as (received, write),
                    anyio.create_task_group() as watch,
                    ClientSession(read, write, **self._callbacks()) as session,
                ):
                    watch.start_soon(self._watch, received, relay)
                    await session.initialize()
                    self._session = session
                    if not ready.done():
                        ready.set_result(None)
                    await self._until_stopped()
                    watch.cancel_scope.cancel()
            except (Exception, asyncio.CancelledError) as error:
                if not ready.done():
                    ready.set_exception(self._failed(error))
                if isinstance(error, asyncio.CancelledError):
                    raise
            finally:
                self.closed = True
                self._session = None

    async def _watch(
        self,
        received: AsyncIterable[SessionMessage | Exception],
        relay: MemoryObjectSendStream[SessionMessage | Exception],
    ) -> None:
        """Pass messages on; the SDK does not tell when the server's end is closed."""
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with relay:
                async for message in received:
                    await relay.send(message)
        self.closed = True
        self._stop.set()

    def _callbacks(self) -> dict[str, Any]:
        if not self._roots:
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer protocols drop roots; these servers use them
            roots = [types.Root.model_validate({"uri": root.as_uri()}) for root in self._roots]

        async def list_roots(context: object) -> types.ListRootsResult:
            return types.ListRootsResult(roots=roots)

        return {"list_roots_callback": list_roots}

    async def _until_stopped(self) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._idle_s):
                    await self._stop.wait()
            idle_s = asyncio.get_running_loop().time() - self._used_s
            if self._idle_s is not None and not self._n_in_flight and idle_s >= self._idle_s:
                return

    def _failed(self, error: BaseException) -> UpstreamError:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        reason = self._scrubber.text(str(error) or type(error).__name__)
        return UpstreamError(
            f"The MCP server {self.name} could not be started: {reason}. {self._said()}".strip(),
            hint=f"Check [mcp_servers.{self.name}] in codemode.toml.",
        )

    def _said(self) -> str:
        """The end of what the server wrote to stderr."""
        if self._stderr is None or self._stderr.closed:
            return ""
        self._stderr.flush()
        self._stderr.seek(0)
        return self._scrubber.text(self._stderr.read()[-SHOWN_STDERR_BYTES:].strip())
