"""One run on one sandbox: assign, answer calls, collect what it says, end in time."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from codemode.core.frames import Frame
from codemode.core.run import (
    Answer,
    CallError,
    FileData,
    Job,
    LogLine,
    Outcome,
    Reply,
    ScriptError,
    Status,
    ToolCall,
    Usage,
)
from codemode.errors import BadArguments, OutcomeUnknown
from codemode.sandbox._sandbox import Sandbox, SandboxWorkspace

SETTLE_S = 1.0
"""How long calls in flight may take to record themselves once a run has ended."""

STATUS: dict[str, Status] = {"timeout": "timed_out", "cancelled": "cancelled"}


class ContainerRun:
    """
    One assignment.

    Args:
        why_lost: Asked when the sandbox ended by itself; says whether memory was why.
    """

    def __init__(
        self, sandbox: Sandbox, job: Job, answer: Answer, why_lost: Callable[[], Awaitable[bool]]
    ) -> None:
        self._sandbox, self._job, self._answer, self._why_lost = sandbox, job, answer, why_lost
        self._workspace = SandboxWorkspace(sandbox)
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._n_calls = 0
        self._logs: list[LogLine] = []
        self._log_bytes = self._lost_log_bytes = 0
        self._began = time.monotonic()

    async def outcome(self) -> Outcome:
        """Run to the end. Cancelling it drops calls not yet sent; the caller ends the sandbox."""
        try:
            async with asyncio.timeout(self._job.limits.wall_s):
                return await self._converse()
        except TimeoutError:
            seconds = self._job.limits.wall_s
            hint = "Do less in one run, or ask for a longer timeout."
            return self._ended(
                "timed_out",
                ScriptError(
                    code="timeout", message=f"The run took longer than {seconds:g} s.", hint=hint
                ),
            )
        finally:
            await self._settle()

    async def _converse(self) -> Outcome:
        try:
            for file in self._job.files:
                await self._workspace.write_file(file.path, file.data)
            await self._sandbox.send({"type": "run", "job": encode_job(self._job)})
        except BadArguments as error:
            return self._ended("failed", ScriptError(code=error.code, message=error.message))
        except (ConnectionError, OutcomeUnknown):
            return await self._lost()
        while True:
            frame = await self._sandbox.next_frame()
            if frame is None:
                return await self._lost()
            match frame["type"]:
                case "log":
                    self._log(frame)
                case "call":
                    if not self._call(frame):
                        return self._broken("it made more calls at once than it may")
                case "done":
                    return self._done(frame)

    def _call(self, frame: Frame) -> bool:
        number = frame["id"]
        if number in self._calls or len(self._calls) >= self._job.limits.max_in_flight:
            return False  # the harness keeps both rules, so this is not the harness
        self._n_calls += 1
        call = ToolCall(id=number, tool=frame["tool"], args=frame["args"])
        task = asyncio.create_task(self._answer_call(call))
        self._calls[number] = task
        task.add_done_callback(lambda _: self._calls.pop(number, None))
        return True

    async def _answer_call(self, call: ToolCall) -> None:
        reply = await self._answer(call, self._workspace)
        # Making room comes before telling the sandbox, which may call again at once.
        self._calls.pop(call.id, None)
        with contextlib.suppress(ConnectionError):  # the run is ending; `next_frame` says why
            await self._sandbox.send(encode_reply(call.id, reply))

    def _log(self, frame: Frame) -> None:
        text = frame["text"]
        size = len(text.encode("utf-8", "replace"))
        if self._log_bytes + size > self._job.limits.max_log_bytes:
            self._lost_log_bytes += size
            return
        self._log_bytes += size
        stream = "stderr" if frame["stream"] == "stderr" else "stdout"
        self._logs.append(LogLine(stream=stream, text=text))

    def _done(self, frame: Frame) -> Outcome:
        usage = frame.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        cost = {
            "cpu_ms": _number(usage.get("cpu_ms")),
            "peak_memory_mib": _number(usage.get("peak_memory_mib")),
        }
        cut = tuple(str(item) for item in frame.get("truncated") or ())
        if frame["status"] == "succeeded":
            return self._ended(
                "succeeded",
                None,
                value=frame.get("value"),
                has_value="value" in frame,
                files=self._files(frame),
                truncated=cut,
                **cost,
            )
        error = frame.get("error")
        error = error if isinstance(error, dict) else {}
        code = str(error.get("code") or "exception")
        return self._ended(
            STATUS.get(code, "failed"),
            ScriptError(
                code=code,
                message=str(error.get("message") or ""),
                line=int(_number(error.get("line"))),
                column=int(_number(error.get("column"))),
                hint=str(error.get("hint") or ""),
            ),
            files=self._files(frame),
            truncated=cut,
            **cost,
        )

    def _files(self, frame: Frame) -> tuple[FileData, ...]:
        found = []
        for item in frame.get("files") or ():
            path, data = str(item["path"]), base64.b64decode(item["data"])
            if is_workspace_path(path):
                found.append(FileData(path=path, data=data))
        return tuple(found)

    async def _lost(self) -> Outcome:
        if self._sandbox.problem is not None:
            return self._broken(self._sandbox.problem.message)
        if await self._why_lost():
            limit = self._job.limits.memory_mib
            message = f"The script used more than its {limit} MiB of memory."
            return self._ended("failed", ScriptError(code="out_of_memory", message=message))
        return self._ended(
            "engine_lost",
            ScriptError(
                code="crashed",
                message="The sandbox ended without a result.",
                hint="Calls in flight may have been applied; see the call list.",
            ),
        )

    def _broken(self, how: str) -> Outcome:
        message = f"The sandbox broke the protocol: {how}"
        return self._ended("engine_lost", ScriptError(code="protocol_error", message=message))

    def _ended(
        self,
        status: Status,
        error: ScriptError | None,
        *,
        cpu_ms: float = 0.0,
        peak_memory_mib: float = 0.0,
        truncated: tuple[str, ...] = (),
        **fields: Any,
    ) -> Outcome:
        if self._lost_log_bytes:
            truncated = (*truncated, f"logs: {self._lost_log_bytes} bytes dropped")
        return Outcome(
            status=status,
            error=error,
            logs=tuple(self._logs),
            usage=Usage(
                wall_ms=(time.monotonic() - self._began) * 1000,
                cpu_ms=cpu_ms,
                peak_memory_mib=peak_memory_mib,
                n_calls=self._n_calls,
            ),
            truncated=truncated,
            **fields,
        )

    async def _settle(self) -> None:
        """Calls whose answer nobody waits for are cancelled; those in flight record themselves."""
        running = set(self._calls.values())
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=SETTLE_S)


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


def is_workspace_path(path: str) -> bool:
    """
    Whether a path from a sandbox is a plain relative one.

    >>> is_workspace_path("out/a.txt"), is_workspace_path("../a"), is_workspace_path("/etc/x")
    (True, False, False)
    """
    parts = path.split("/")
    return "\0" not in path and "\\" not in path and not {"", ".", ".."} & set(parts)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
