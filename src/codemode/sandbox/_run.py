"""One run on one sandbox: assign, answer calls, collect what it says, end in time."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from codemode.core.frames import Frame
from codemode.core.run import (
    Answer,
    CallError,
    FileData,
    Job,
    Outcome,
    Reply,
    ScriptError,
    Status,
    Stream,
    ToolCall,
    Usage,
)
from codemode.errors import BadArguments, OutcomeUnknown, ProtocolError
from codemode.sandbox._calls import Calls, Logs
from codemode.sandbox._ends import out_of_memory, too_long
from codemode.sandbox._sandbox import Sandbox, SandboxWorkspace

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
                    stream: Stream = "stderr" if frame["stream"] == "stderr" else "stdout"
                    self._logs.line(stream, frame["text"])
                case "call":
                    call = ToolCall(id=frame["id"], tool=frame["tool"], args=frame["args"])
                    # Waiting for a slot here is the back-pressure on what calls too fast.
                    await self._calls.start(call, partial(self._deliver, call.id))
                case "done":
                    return self._done(frame)

    def _deliver(self, number: int, reply: Reply) -> None:
        try:
            self._sandbox.post(encode_reply(number, reply))
        except ProtocolError:  # larger than any frame may be
            error = CallError(code="response_too_large", message="The answer is too large.")
            self._sandbox.post(encode_reply(number, Reply(error=error)))

    def _done(self, frame: Frame) -> Outcome:
        usage = frame.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        outcome = Outcome(
            status="succeeded",
            value=frame.get("value"),
            has_value="value" in frame,
            files=_files(frame),
            usage=Usage(
                cpu_ms=_number(usage.get("cpu_ms")),
                peak_memory_mib=_number(usage.get("peak_memory_mib")),
            ),
            truncated=tuple(str(item) for item in frame.get("truncated") or ()),
        )
        if frame["status"] == "succeeded":
            return outcome
        error = frame.get("error")
        error = error if isinstance(error, dict) else {}
        code = str(error.get("code") or "exception")
        return replace(
            outcome,
            status=STATUS.get(code, "failed"),
            value=None,
            has_value=False,
            error=ScriptError(
                code=code,
                message=str(error.get("message") or ""),
                line=int(_number(error.get("line"))),
                column=int(_number(error.get("column"))),
                hint=str(error.get("hint") or ""),
            ),
        )

    async def _lost(self) -> Outcome:
        if self._sandbox.problem is not None:
            message = f"The sandbox broke the protocol: {self._sandbox.problem.message}"
            return _failed("engine_lost", "protocol_error", message)
        if await self._why_lost():
            return out_of_memory(self._job.limits)
        hint = "Calls in flight may have been applied; see the call list."
        return _failed("engine_lost", "crashed", "The sandbox ended without a result.", hint)


def _failed(status: Status, code: str, message: str, hint: str = "") -> Outcome:
    return Outcome(status=status, error=ScriptError(code=code, message=message, hint=hint))


def _files(frame: Frame) -> tuple[FileData, ...]:
    found = []
    for item in frame.get("files") or ():
        path, data = str(item["path"]), base64.b64decode(item["data"])
        if is_workspace_path(path):
            found.append(FileData(path=path, data=data))
    return tuple(found)


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
