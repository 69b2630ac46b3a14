"""Warm containers: idle harnesses that a run is assigned to with one frame."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from codemode.errors import CodemodeError
from codemode.sandbox._sandbox import Sandbox

LOG = logging.getLogger(__name__)
BACKOFF_S = (0.5, 2.0, 5.0, 15.0)


@dataclass(slots=True)
class Warm:
    """One idle sandbox, and when it was made (monotonic)."""

    sandbox: Sandbox
    made: float


class Pool:
    """
    Keeps *size* sandboxes ready; each serves once and never returns.

    Args:
        make: Makes one, ready to be assigned.
        destroy: Removes one; never raises.
        max_idle_s: Older ones are replaced.

    A sandbox is taken in one step of the event loop, so two runs cannot have the
    same one. Counters: *hits* and *misses* of `take`.
    """

    def __init__(
        self,
        make: Callable[[], Awaitable[Sandbox]],
        destroy: Callable[[Sandbox], Awaitable[None]],
        *,
        size: int,
        max_idle_s: float,
        max_making: int | None = None,
    ) -> None:
        self.size = size
        self.hits = self.misses = 0
        self._make, self._destroy = make, destroy
        self._max_idle_s = max_idle_s
        self._warm: deque[Warm] = deque()
        self._max_making = max_making or max(2, os.cpu_count() or 2)
        self._making = 0
        self._failures = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._closed = False

    @property
    def ready(self) -> int:
        """How many are warm now."""
        return sum(warm.sandbox.alive for warm in self._warm)

    def take(self) -> Sandbox | None:
        """A warm sandbox, which is the caller's from now on, or None. Refills behind it."""
        found: Sandbox | None = None
        while self._warm and found is None:
            warm = self._warm.popleft()
            if warm.sandbox.alive and time.monotonic() - warm.made < self._max_idle_s:
                found = warm.sandbox
            else:  # it ended or is too old: destroyed, never mended
                self._spawn(self._destroy(warm.sandbox))
        if found is None:
            self.misses += 1
        else:
            self.hits += 1
        self.refill()
        return found

    def add(self, sandbox: Sandbox) -> None:
        """Put one in that was made elsewhere."""
        self._warm.append(Warm(sandbox, time.monotonic()))
        self._changed.set()

    def refill(self) -> None:
        """Start making what is missing, a few at a time."""
        while (
            not self._closed
            and len(self._warm) + self._making < self.size
            and self._making < self._max_making
        ):
            self._making += 1
            self._spawn(self._make_one())

    async def filled(self, *, deadline_s: float) -> bool:
        """Wait until *size* are warm; False if that takes longer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline_s):
                while self.ready < self.size:
                    self.refill()
                    self._changed.clear()
                    await self._changed.wait()
        return self.ready >= self.size

    async def close(self) -> None:
        """Remove every sandbox that is warm or being made."""
        self._closed = True
        while self._warm:
            self._spawn(self._destroy(self._warm.popleft().sandbox))
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _make_one(self) -> None:
        try:
            if self._failures:
                await asyncio.sleep(BACKOFF_S[min(self._failures, len(BACKOFF_S)) - 1])
                if self._closed:
                    return
            sandbox = await self._make()
        except CodemodeError as error:
            self._failures += 1
            LOG.warning("cannot warm a sandbox: %s", error.message)
        else:
            self._failures = 0
            if self._closed:
                await self._destroy(sandbox)
            else:
                self.add(sandbox)
        finally:
            self._making -= 1
            self._changed.set()
            if self._failures <= len(BACKOFF_S):  # a later `take` tries again
                self.refill()

    def _spawn(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            await work

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
