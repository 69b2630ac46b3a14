"""The calls of one run: how many at once, and what becomes of them when it ends."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar
from uuid import uuid4

from codemode.core.run import Answer, CallError, LogLine, Reply, Stream, ToolCall, Workspace

T = TypeVar("T")

LOG = logging.getLogger(__name__)
DRAIN_S = 10.0
"""Longest wait for calls in flight once a run is over; the outbound driver records them."""
MAX_LINES = 10_000
"""Kept of what one run printed; nobody reads more, and each costs far more than its text."""


class Calls:
    """
    Answers the calls of one run, at most *max_in_flight* at a time.

    Args:
        answer: The service's; anything it raises becomes an opaque error.
    """

    def __init__(
        self, answer: Answer, *, max_in_flight: int, workspace: Workspace | None = None
    ) -> None:
        self._answer = answer
        self._slots = asyncio.Semaphore(max_in_flight)
        self._workspace = workspace
        self._tasks: set[asyncio.Task[Any]] = set()
        self.n_calls = 0

    async def ask(self, call: ToolCall) -> Reply:
        """Wait for a slot and answer one call; `close` ends it as it ends the others."""
        async with self._slots:
            return await self._track(self._one(call))

    async def start(self, call: ToolCall, deliver: Callable[[Reply], Awaitable[None]]) -> None:
        """
        Wait for a slot, then answer *call* beside the caller and *deliver* the reply.

        The slot is free again once the reply has been delivered. The wait is the
        back-pressure on a sandbox that calls faster than it is answered.
        """
        await self._slots.acquire()
        self._track(self._deliver(call, deliver))

    async def close(self) -> None:
        """Cancel what is in flight and wait, to a bound, until it has been recorded."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=DRAIN_S)

    def _track(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _deliver(self, call: ToolCall, deliver: Callable[[Reply], Awaitable[None]]) -> None:
        try:
            await deliver(await self._one(call))
        finally:
            self._slots.release()

    async def _one(self, call: ToolCall) -> Reply:
        self.n_calls += 1
        try:
            return await self._answer(call, self._workspace)
        except Exception as error:
            # A fault of ours: the script gets an id, the operator's log the place. Not the
            # exception's text: it may quote a request with its secret.
            fault = uuid4().hex[:12]
            place = "".join(traceback.format_tb(error.__traceback__))
            LOG.error(
                "fault %s while answering %s: %s\n%s", fault, call.tool, type(error).__name__, place
            )
            message = f"The host could not answer this call (fault {fault})."
            return Reply(error=CallError(code="internal", message=message))


class Logs:
    """
    What a script printed, up to *max_bytes* of UTF-8 over both streams.

    A line costs its newline too, and there are at most `MAX_LINES`. What comes after
    the first that did not fit is counted and dropped, whatever its size.
    """

    def __init__(self, max_bytes: int) -> None:
        self._room = max_bytes
        self._lost_bytes = 0
        self._is_full = False
        self._lines: list[LogLine] = []
        self._partial: dict[Stream, str] = {"stdout": "", "stderr": ""}

    def line(self, stream: Stream, text: str) -> None:
        """One printed text, without its newline."""
        if self._is_full:
            self._lost_bytes += len(text) + 1
            return
        data = text.encode("utf-8", "replace")
        if len(data) <= self._room and len(self._lines) < MAX_LINES:
            self._room -= len(data) + 1
            self._lines.append(LogLine(stream=stream, text=data.decode()))
            return
        self._is_full = True
        kept = data[: max(0, self._room)].decode("utf-8", "ignore")
        if kept and len(self._lines) < MAX_LINES:
            self._lines.append(LogLine(stream=stream, text=kept))
            self._lost_bytes += len(data) - len(kept.encode())
        else:
            self._lost_bytes += len(data) + 1

    def write(self, stream: Stream, text: str) -> None:
        """Text as printed; a line is kept once its newline has come."""
        if self._is_full:
            self._lost_bytes += len(text)
            return
        *lines, rest = (self._partial[stream] + text).split("\n")
        for line in lines:
            self.line(stream, line)
        if len(rest) > 65536:
            self.line(stream, rest)
            rest = ""
        self._partial[stream] = rest

    def close(self) -> tuple[LogLine, ...]:
        """Every line, in order; what has no newline yet included."""
        for stream, rest in self._partial.items():
            if rest:
                self.line(stream, rest)
                self._partial[stream] = ""
        return tuple(self._lines)

    @property
    def truncated(self) -> tuple[str, ...]:
        return (f"logs: {self._lost_bytes} bytes dropped",) if self._is_full else ()
