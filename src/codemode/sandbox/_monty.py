"""Python sandboxes of the isolate engine: one Monty worker process per run."""

from __future__ import annotations

import asyncio
import atexit
import difflib
import re
import time
from collections import Counter, deque
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any

from pydantic_monty import (
    AsyncMonty,
    AsyncMontySession,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySyntaxError,
)

from codemode.core.run import Job, Limits, NameTable, Outcome, ScriptError, ToolCall
from codemode.errors import EngineUnavailable
from codemode.sandbox._calls import Calls, Logs
from codemode.sandbox._ends import out_of_cpu, out_of_memory, result_outcome, too_long
from codemode.sandbox._monty_source import OWN, Prepared, Unrunnable, prepare
from codemode.sandbox._prelude import CAUSE, LEFT, PRELUDE
from codemode.sandbox._values import BadValue, to_json

SCRIPT_FILE = "<python-input-2>"
"""What Monty calls the third thing a session is fed: prelude, tools, script."""

CARRIER = "_csv.Error"
"""Monty has no exceptions of a script's own, so a ToolError travels as this one."""

START_S = 20.0
CHECKOUT_S = 30.0
AT_EXIT_S = 0.05
"""Monty's threads let go of Python objects just after the last answer; one that finds the
interpreter gone aborts the process (seen with 1.4, about one exit in three)."""

MAX_WORKERS = 64
MAX_SUSPENSIONS = 10_000_000
"""Host calls per run as Monty counts them; the wall deadline is the real bound."""


def _let_threads_end() -> None:
    time.sleep(AT_EXIT_S)


@dataclass(slots=True)
class _Session:
    feed: AsyncMontySession
    limits: tuple[int, float]


class MontyPool:
    """
    Workers that have the prelude, each ready for one job.

    Args:
        warm: How many to keep ready for the default limits.
    """

    def __init__(self, *, warm: int) -> None:
        self._warm = warm
        self._default = _key(Limits())
        self._pool: AsyncMonty | None = None
        self._ready: deque[_Session] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """
        Start the workers.

        Raises:
            EngineUnavailable: If Monty does not start here.
        """
        self._pool = AsyncMonty(
            min_processes=max(1, self._warm),
            max_processes=MAX_WORKERS,
            checkout_timeout=CHECKOUT_S,
            max_checkouts_per_worker=1,
        )
        atexit.unregister(_let_threads_end)
        atexit.register(_let_threads_end)
        try:
            async with asyncio.timeout(START_S):
                await self._pool.__aenter__()
                self._ready.append(await self._make(self._default))
        except (MontyError, OSError, RuntimeError, TimeoutError) as error:
            raise EngineUnavailable(
                f"Monty does not start: {str(error) or type(error).__name__}.",
                hint="Reinstall codemode; it brings Monty.",
            ) from None
        self._refill()

    async def run(self, job: Job, calls: Calls, logs: Logs) -> Outcome:
        """
        Run *job* in a worker of its own.

        Raises:
            EngineUnavailable: If no worker can be had.
        """
        try:
            prepared = prepare(job.source, job.names)
        except Unrunnable as refused:
            return Outcome(status="failed", error=refused.error)
        for _ in range(self._warm + 2):
            session = await self._take(_key(job.limits))
            run = _Run(session.feed, job, prepared, calls, logs)
            try:
                async with asyncio.timeout(job.limits.wall_s):
                    if await run.is_ready():
                        return await run.outcome()
            except TimeoutError:
                return too_long(job.limits)
            finally:
                self._later(_leave(session.feed))
                self._refill()
            # The worker had died while idle: nothing of the script has happened.
        raise EngineUnavailable("Monty's workers die before they run anything.")

    async def close(self) -> None:
        """End every worker. Idempotent."""
        self._warm = 0
        tasks, self._tasks = list(self._tasks), set()
        await asyncio.gather(*tasks, return_exceptions=True)
        while self._ready:
            await _leave(self._ready.popleft().feed)
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.__aexit__(None, None, None)

    async def _take(self, limits: tuple[int, float]) -> _Session:
        if limits == self._default and self._ready:
            return self._ready.popleft()
        try:
            return await self._make(limits)
        except (MontyError, OSError, TimeoutError) as error:
            raise EngineUnavailable(
                f"No Monty worker can be had: {str(error) or type(error).__name__}.",
                hint="Run fewer scripts at once.",
            ) from None

    async def _make(self, limits: tuple[int, float]) -> _Session:
        if self._pool is None:
            raise EngineUnavailable("The isolate engine is closed.")
        memory_mib, cpu_s = limits
        feed = self._pool.checkout(
            limits={
                "max_memory": memory_mib * 2**20,
                "max_feed_duration_secs": cpu_s,
                "max_suspensions": MAX_SUSPENSIONS,
            },
            script_name="script.py",
        )
        await feed.__aenter__()
        try:
            await feed.feed_run(PRELUDE)
        except BaseException:
            await _leave(feed)
            raise
        return _Session(feed, limits)

    def _refill(self) -> None:
        making = sum(task.get_name() == "making" for task in self._tasks)
        for _ in range(self._warm - len(self._ready) - making):
            self._later(self._add(), name="making")

    async def _add(self) -> None:
        try:
            self._ready.append(await self._make(self._default))
        except (MontyError, OSError, TimeoutError, EngineUnavailable):
            return  # the next run finds out and says so

    def _later(self, work: Coroutine[Any, Any, None], *, name: str = "leaving") -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _leave(feed: AsyncMontySession) -> None:
    try:
        async with asyncio.timeout(CHECKOUT_S):
            await feed.__aexit__(None, None, None)
    except (MontyError, TimeoutError):
        return  # the worker is gone, which is what was wanted


def _key(limits: Limits) -> tuple[int, float]:
    return (limits.memory_mib, limits.cpu_s)


class _Run:
    """One job in one session."""

    def __init__(
        self,
        feed: AsyncMontySession,
        job: Job,
        prepared: Prepared,
        calls: Calls,
        logs: Logs,
    ) -> None:
        self._feed = feed
        self._job = job
        self._prepared = prepared
        self._calls = calls
        self._logs = logs
        self._renames = {
            f"{toolset}.{name}": tool.renames
            for toolset, tools in job.names.items()
            for name, tool in tools.items()
        }
        self._raised: dict[str, tuple[str, str]] = {}  # message -> (code, hint)
        self._running: Counter[str] = Counter()
        self._last_id = 0

    async def is_ready(self) -> bool:
        """Build what the script imports; False if the worker is not there any more."""
        try:
            await self._feed.feed_run(self._tools())
        except MontyCrashedError:
            return False
        return True

    async def outcome(self) -> Outcome:
        """Run the script and say how it ended."""
        try:
            returned = await self._feed.feed_run(
                self._prepared.text,
                inputs={"input": self._job.input},
                external_lookup={"_host": self._host},
                print_callback=self._logs.write,
            )
            outcome = await self._succeeded(returned)
        except MontyCrashedError as error:
            message = f"The sandbox ended by itself: {error}"
            crashed = ScriptError(code="crashed", message=message[:2000])
            return Outcome(status="engine_lost", error=crashed)
        except (MontyRuntimeError, MontySyntaxError) as error:
            outcome = await self._failed(error)
        except MontyError as error:
            told = ScriptError(code="exception", message=str(error)[:8000])
            outcome = Outcome(status="failed", error=told)
        running = sorted(self._running.elements())
        if running:
            cut = f"calls still running when the script ended: {', '.join(running)}"
            outcome = replace(outcome, truncated=(*outcome.truncated, cut))
        return outcome

    def _tools(self) -> str:
        """Source that builds what the script imports."""
        lines: list[str] = []
        for toolset, tools in self._job.names.items():
            lines += [f"class _ns_{toolset}:", "    pass", f"_n = _ns_{toolset}()"]
            lines += [
                f"_n.{name} = _function({f'{toolset}.{name}'!r}, {tool.tool!r})"
                for name, tool in tools.items()
            ]
            lines.append(f"_all[{toolset!r}] = _n")
        lines += ["class _ns_tools:", "    pass", "_n = _ns_tools()"]
        lines += [f"_n.{toolset} = _all[{toolset!r}]" for toolset in self._job.names]
        lines += [
            "_n.search = _all['search'] = _search",
            "_n.describe = _all['describe'] = _describe",
            "_n.ToolError = _all['ToolError'] = _csv.Error",
            "_all[''] = _n",
        ]
        for bound in self._prepared.bindings:
            values = ",".join(_lookup(what) for what in bound)
            lines.append(f"_t.append(({values}))")
        return "\n".join(lines)

    async def _host(
        self, path: str, tool: str, n_args: int, kwargs: dict[str, Any], unfit: list[str] | None
    ) -> tuple[bool, Any]:
        """Called by the prelude; ``(True, value)`` or ``(False, error fields)``."""
        if n_args:
            message = f"{path} takes named arguments only, not {n_args} by position."
            return self._refuse(message, f"Call it as {path}(name=value).")
        try:
            if unfit:
                raise BadValue(*unfit)
            renames = self._renames.get(path, {})
            args = to_json({renames.get(key, key): item for key, item in kwargs.items()}, path)
        except BadValue as bad:
            return self._refuse(str(bad), bad.hint)
        self._last_id += 1
        self._running[tool] += 1
        reply = await self._calls.ask(ToolCall(id=self._last_id, tool=tool, args=args))
        self._running[tool] -= 1
        error = reply.error
        if error is None:
            return True, reply.value
        self._raised[error.message] = (error.code, error.hint)
        return False, (error.code, error.message, error.status, error.retryable, error.hint)

    def _refuse(self, message: str, hint: str) -> tuple[bool, Any]:
        self._raised[message] = ("bad_arguments", hint)
        return False, ("bad_arguments", message, None, False, hint)

    async def _succeeded(self, returned: Any) -> Outcome:
        forgotten = Counter(await self._feed.feed_run(LEFT))
        if forgotten:
            listed = ", ".join(f"{t} ({n} times)" if n > 1 else t for t, n in forgotten.items())
            error = ScriptError(
                code="not_awaited",
                message=f"Called but never awaited, so nothing was sent: {listed}.",
                hint="Put await before the call, or await asyncio.gather(...).",
            )
            return Outcome(status="failed", error=error)
        if not (isinstance(returned, tuple) and returned[:1] == ("codemode:result",)):
            return Outcome(status="succeeded")
        _, unfit, value = returned
        try:
            if unfit:
                raise BadValue(*unfit)
            return result_outcome(to_json(value, "result"), self._job.limits)
        except BadValue as bad:
            error = ScriptError(code="bad_result", message=str(bad), hint=bad.hint)
            return Outcome(status="failed", error=error)

    async def _failed(self, error: MontyRuntimeError | MontySyntaxError) -> Outcome:
        message = error.display("type-msg")
        frames = error.traceback()
        if not frames and message.startswith("TimeoutError: feed time limit"):
            return out_of_cpu(self._job.limits)
        if message.startswith("MemoryError: memory limit exceeded"):
            return out_of_memory(self._job.limits)
        code, hint = "exception", ""
        if isinstance(error, MontySyntaxError):
            code = "syntax"
        elif message.startswith(CARRIER):
            text = message.removeprefix(CARRIER).removeprefix(": ")
            code, hint = self._raised.get(text, ("error", ""))
            message = f"ToolError: {text}"
        else:
            code, message, hint = _explain(message, self._job.names)
        line = column = 0
        for frame in frames:
            if frame.filename == SCRIPT_FILE:
                line, column = frame.line, self._prepared.column(frame.line, frame.column)
        if line in self._prepared.cause_lines and (cause := await self._feed.feed_run(CAUSE)):
            name = "ToolError" if cause[0] == "Error" and cause[1] in self._raised else cause[0]
            message += f"\nCaused by: {name}: {cause[1]}"
        told = ScriptError(code=code, message=message[:8000], line=line, column=column, hint=hint)
        return Outcome(status="failed", error=told)


def _lookup(what: str) -> str:
    toolset, _, function = what.partition(".")
    return f"_all[{toolset!r}]" + (f".{function}" if function else "")


MISSING = re.compile(r"'_ns_(\w+)' object has no attribute '(\w+)'")
MISUSED = re.compile(r"'_ns_(\w+)' object is not (subscriptable|callable)")
UNDEFINED = re.compile(r"name '(\w+)' is not defined")
SEARCH = 'Use await search("...") to find a tool.'


def _explain(message: str, names: NameTable) -> tuple[str, str, str]:
    """Code, message and hint of a mistake that is about tools."""
    if found := MISSING.search(message):
        toolset, name = found.groups()
        is_root = toolset == "tools"
        known = [*names, *OWN] if is_root else list(names.get(toolset, ()))
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        paths = near if is_root else [f"{toolset}.{one}" for one in near]
        hint = f"Did you mean {', '.join(paths)}?" if paths else SEARCH
        return "unknown_tool", f"ToolError: There is no {toolset}.{name}.", hint
    if found := MISUSED.search(message):
        return "unknown_tool", f"ToolError: {found[1]} is not a tool.", SEARCH
    if found := UNDEFINED.search(message):
        near = difflib.get_close_matches(found[1], [*names, *OWN], n=3, cutoff=0.5)
        return "exception", message, f"Did you mean {', '.join(near)}?" if near else ""
    return "exception", message, ""
