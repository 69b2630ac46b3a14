"""The toolset of the engine contract: an answer that every behaviour can be seen at."""

from __future__ import annotations

import asyncio

from codemode.core.run import (
    CallError,
    Language,
    NamedTool,
    NameTable,
    Reply,
    ToolCall,
    Workspace,
)

BUDGET = 4
FUNCTIONS = (
    "echo", "fail", "late", "slow", "meet", "numbers", "rationed", "flaky", "once", "forbidden",
    "broken",
)  # fmt: skip


def names(language: Language) -> NameTable:
    """The name table that the cases are written against."""
    desk = {name: NamedTool(tool=f"desk.{name}") for name in FUNCTIONS}
    if language == "python":
        desk["echo"] = NamedTool(tool="desk.echo", renames={"class_": "class"})
        return {"desk": desk}
    odd = {name: NamedTool(tool="desk.echo") for name in ("constructor", "toString")}
    return {"desk": desk, "odd": odd}


class Desk:
    """Answers calls and remembers them. One for each run."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.at_once = 0
        self.most_at_once = 0
        self.cancelled = 0
        self.started = asyncio.Event()
        self._met = asyncio.Event()

    async def __call__(self, call: ToolCall, workspace: Workspace | None) -> Reply:
        self.calls.append(call)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.started.set()
        try:
            return await self._answer(call)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.at_once -= 1

    async def _answer(self, call: ToolCall) -> Reply:
        name = call.tool.partition(".")[2]
        n = sum(one.tool == call.tool for one in self.calls)
        match name:
            case "echo" | "search" | "describe":
                return Reply(value=dict(call.args))
            case "fail":
                return _error(
                    "not_found", "There is no such thing.", status=404, retryable=True,
                    hint="Look elsewhere.",
                )  # fmt: skip
            case "late":
                return _error("timeout", "No answer within 30 s.", retryable=True)
            case "slow":
                await asyncio.sleep(call.args["s"])
                return Reply(value=dict(call.args))
            case "meet":
                if self.at_once == 10:
                    self._met.set()
                async with asyncio.timeout(15):
                    await self._met.wait()
                return Reply(value=dict(call.args))
            case "numbers":
                return Reply(value={"n": 2**53 + 1, "f": 0.1})
            case "rationed" | "flaky" if n > BUDGET:
                return _error("too_many_calls", "The run has used all its calls.")
            case "rationed":
                return Reply(value=n)
            case "flaky":
                return _error("upstream_error", "It broke.", status=500)
            case "once" if n == 1:
                return Reply(value=n)
            case "once":
                return _error("not_allowed", "This tool is no longer allowed.")
            case "broken":
                raise RuntimeError("hunter2 is the password")
        return _error("not_allowed", f"{call.tool} is not allowed.")


def _error(code: str, message: str, **more: object) -> Reply:
    return Reply(error=CallError(code=code, message=message, **more))  # type: ignore[arg-type]
