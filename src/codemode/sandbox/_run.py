"""One run on one sandbox: assign, answer calls, collect what it says, end in time."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from codemode.core.frames import Frame
from codemode.core.run import (
    Answer,
    CallError,
    Job,
    Outcome,
    Reply,
    ScriptError,
    Status,
    ToolCall,
)
from codemode.errors import BadArguments, OutcomeUnknown, ProtocolError
from codemode.sandbox._calls import Calls, Logs
from codemode.sandbox._done import broken, read_done
from codemode.sandbox._ends import out_of_memory, too_long
from codemode.sandbox._sandbox import Sandbox, SandboxWorkspace

ENDS: dict[str, Status] = {"cancelled": "cancelled"}
CPU_SPENT = 0.9
"""Share of the processor time that counts as all of it: the harness looks now and then."""


class ContainerRun:
    """
    One assignment.

    Args:
        why_lost: Asked when the sandbox ended by itself; says whether memory was why.
    """

    def __init__(
        self, sandbox: Sandbox, job: Job, answer: Answer, why_lost: Callable[[], Awaitable[bool]]
    ) -> None:
        self._sandbox, self._job, self._why_lost = sandbox, job, why_lost
        self._workspace = SandboxWorkspace(sandbox)
        self._calls = Calls(
            answer, max_in_flight=job.limits.max_in_flight, workspace=self._workspace
        )
        self._logs = Logs(job.limits.max_log_bytes)

    async def outcome(self) -> Outcome:
        """
        Run to the end. Calls in flight are cancelled when it comes, which makes the
        answering side record them. The caller ends the sandbox.
        """
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._job.limits.wall_s):
                outcome = await self._converse()
        except TimeoutError:
            outcome = too_long(self._job.limits)
        finally:
            wall_ms = (time.monotonic() - began) * 1000
            self._sandbox.close()  # nothing more may come in while calls are recorded
            await self._calls.close()
        return replace(
            outcome,
            logs=self._logs.close(),
            usage=replace(outcome.usage, wall_ms=wall_ms, n_calls=self._calls.n_calls),
            truncated=tuple(dict.fromkeys((*outcome.truncated, *self._logs.truncated))),
        )

    async def _converse(self) -> Outcome:
        try:
            for file in self._job.files:
                await self._workspace.write_file(file.path, file.data)
            await self._sandbox.send({"type": "run", "job": encode_job(self._job)})
        except BadArguments as error:
            return _failed("failed", error.code, error.message)
        except (ConnectionError, OutcomeUnknown):
            return await self._lost()
        while True:
            frame = await self._sandbox.next_frame()
            if frame is None:
                return await self._lost()
            match frame["type"]:
                case "log":
                    self._logs.line(frame["stream"], frame["text"])
                case "call":
                    call = ToolCall(id=frame["id"], tool=frame["tool"], args=frame["args"])
                    # Waiting for a slot here is the back-pressure on what calls too fast.
                    await self._calls.start(call, partial(self._deliver, call.id))
                case "done":
                    return await self._done(frame)

    async def _deliver(self, number: int, reply: Reply) -> None:
        """Returns once the daemon has it, so that what is not read does not pile up here."""
        with contextlib.suppress(ConnectionError):
            try:
                await self._sandbox.send(encode_reply(number, reply))
            except ProtocolError:  # larger than any frame may be
                error = CallError(code="response_too_large", message="The answer is too large.")
                await self._sandbox.send(encode_reply(number, Reply(error=error)))

    async def _done(self, frame: Frame) -> Outcome:
        try:
            outcome = await asyncio.to_thread(read_done, frame, self._job.limits, ENDS)
        except ProtocolError as error:
            return broken(error)
        # The harness ends a script at its processor time; a script's own error may say
        # "timeout" too, for a call that nobody answered.
        spent = outcome.usage.cpu_ms >= self._job.limits.cpu_s * 1000 * CPU_SPENT
        if outcome.error is not None and outcome.error.code == "timeout" and spent:
            return replace(outcome, status="timed_out")
        return outcome

    async def _lost(self) -> Outcome:
        if self._sandbox.problem is not None:
            return broken(self._sandbox.problem)
        if await self._why_lost():
            return out_of_memory(self._job.limits)
        hint = "Calls in flight may have been applied; see the call list."
        return _failed("engine_lost", "crashed", "The sandbox ended without a result.", hint)


def _failed(status: Status, code: str, message: str, hint: str = "") -> Outcome:
    return Outcome(status=status, error=ScriptError(code=code, message=message, hint=hint))


def encode_job(job: Job) -> Frame:
    """*job* as the `run` frame carries it; files go ahead as frames of their own."""
    return {
        "run_id": job.run_id,
        "language": job.language,
        "source": job.source,
        "names": {
            toolset: {
                name: {"tool": entry.tool, "renames": dict(entry.renames)}
                for name, entry in functions.items()
            }
            for toolset, functions in job.names.items()
        },
        "input": job.input,
        "limits": asdict(job.limits),
        "collect_files": job.collect_files,
    }


def encode_reply(number: int, reply: Reply) -> Frame:
    """*reply* as a frame."""
    if reply.error is not None:
        return {"type": "reply", "id": number, "error": encode_error(reply.error)}
    return {"type": "reply", "id": number, "value": reply.value}


def encode_error(error: CallError) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.message,
        "status": error.status,
        "retryable": error.retryable,
        "hint": error.hint,
    }
