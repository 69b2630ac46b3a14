"""
An engine without a sandbox, for tests of what stands around one.

Instead of the submitted script it runs a function of your own, in this process::

    async def script(sandbox):
        issue = await sandbox.call("github.issues_get", number=1)
        sandbox.print("found", issue["title"])
        return {"title": issue["title"]}

    async with Codemode.open(config, engine=FakeEngine(script)) as cm: ...

Calls, limits, logs, results and errors end as they would in a real engine; nothing is
isolated, so never give it code that came from a model.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Final, TypeAlias

from codemode.core.run import (
    Answer,
    CallError,
    Engine,
    Job,
    Outcome,
    ScriptError,
    Stream,
    ToolCall,
    Usage,
)
from codemode.core.tool import JsonValue
from codemode.errors import EngineUnavailable
from codemode.sandbox._calls import Calls, Logs
from codemode.sandbox._ends import result_outcome, too_long
from codemode.sandbox._values import BadValue, to_json

__all__ = ["ENGINE", "NOTHING", "FakeEngine", "FakeSandbox", "ToolError"]

NOTHING: Final = object()
"""What a fake script returns for "no result at all", which is not None."""


class ToolError(Exception):
    """Why a call has no value; `error` holds code, message, status, retryable and hint."""

    def __init__(self, error: CallError) -> None:
        super().__init__(error.message)
        self.error = error


class _Call:
    """A call that starts when it is awaited."""

    def __init__(self, sandbox: FakeSandbox, tool: str, args: dict[str, Any]) -> None:
        self._sandbox = sandbox
        self.tool = tool
        self._args = args

    def __await__(self) -> Generator[Any, None, JsonValue]:
        return self._sandbox._perform(self, self._args).__await__()


class FakeSandbox:
    """
    What a fake script is given.

    Args:
        job: The job as a real engine would get it; `Job.source` is not run.
    """

    def __init__(self, job: Job, calls: Calls, logs: Logs) -> None:
        self.job = job
        self._calls = calls
        self._logs = logs
        self._idle: list[_Call] = []
        self._last_id = 0

    @property
    def input(self) -> JsonValue:
        return self.job.input

    def call(self, tool: str, /, **args: Any) -> Awaitable[JsonValue]:
        """
        Call a tool by id; arguments as on the wire. Await it.

        Raises:
            ToolError: When awaited, if the call has no value.
        """
        call = _Call(self, tool, args)
        self._idle.append(call)
        return call

    def print(self, *values: object, stream: Stream = "stdout") -> None:
        """Log one line."""
        self._logs.line(stream, " ".join(str(value) for value in values))

    @property
    def forgotten(self) -> Counter[str]:
        """Tools whose calls were never awaited, and how often."""
        return Counter(call.tool for call in self._idle)

    async def _perform(self, call: _Call, args: dict[str, Any]) -> JsonValue:
        if call in self._idle:
            self._idle.remove(call)
        try:
            sent = to_json(args, call.tool)
        except BadValue as bad:
            refused = CallError(code="bad_arguments", message=str(bad), hint=bad.hint)
            raise ToolError(refused) from None
        self._last_id += 1
        reply = await self._calls.ask(ToolCall(id=self._last_id, tool=call.tool, args=sent))
        if reply.error is not None:
            raise ToolError(reply.error)
        return reply.value


FakeScript: TypeAlias = Callable[[FakeSandbox], Awaitable[Any]]


class FakeEngine:
    """
    See `codemode.core.run.Engine`.

    Args:
        script: Run for every job; None returns nothing at once.
    """

    name = "fake"
    runtime = ""
    capabilities: frozenset[str] = frozenset()

    def __init__(self, script: FakeScript | None = None) -> None:
        self.script = script
        self.jobs: list[Job] = []
        self._started = False

    async def start(self) -> None:
        self._started = True

    async def run(self, job: Job, answer: Answer) -> Outcome:
        """Run the fake script in place of *job*'s; see `codemode.core.run.Engine.run`."""
        if not self._started:
            raise EngineUnavailable("The fake engine is not started.")
        self.jobs.append(job)
        began = time.monotonic()
        calls = Calls(answer, max_in_flight=job.limits.max_in_flight)
        logs = Logs(job.limits.max_log_bytes)
        sandbox = FakeSandbox(job, calls, logs)
        try:
            async with asyncio.timeout(job.limits.wall_s):
                value = await self.script(sandbox) if self.script else NOTHING
            outcome = _ended(value, sandbox)
        except TimeoutError:
            outcome = too_long(job.limits)
        except ToolError as error:
            told = error.error
            outcome = _failed(told.code, f"ToolError: {told.message}", told.hint)
        except Exception as error:
            outcome = _failed("exception", f"{type(error).__name__}: {error}")
        finally:
            await calls.close()
        return Outcome(
            status=outcome.status,
            value=outcome.value,
            has_value=outcome.has_value,
            error=outcome.error,
            logs=logs.close(),
            truncated=logs.truncated,
            usage=Usage(wall_ms=(time.monotonic() - began) * 1000, n_calls=calls.n_calls),
        )

    async def close(self) -> None:
        self._started = False


def _ended(value: Any, sandbox: FakeSandbox) -> Outcome:
    if forgotten := sandbox.forgotten:
        listed = ", ".join(f"{t} ({n} times)" if n > 1 else t for t, n in forgotten.items())
        message = f"Called but never awaited, so nothing was sent: {listed}."
        return _failed("not_awaited", message, "Put await before the call.")
    if value is NOTHING:
        return Outcome(status="succeeded")
    try:
        return result_outcome(to_json(value, "result"), sandbox.job.limits)
    except BadValue as bad:
        return _failed("bad_result", str(bad), bad.hint)


def _failed(code: str, message: str, hint: str = "") -> Outcome:
    return Outcome(status="failed", error=ScriptError(code=code, message=message, hint=hint))


def ENGINE(*, script: FakeScript | None = None) -> Engine:
    """A `FakeEngine`, not started."""
    return FakeEngine(script)
