"""The module ``tools`` of one run: toolsets, functions, ``search``, ``describe``, ``ToolError``."""

from __future__ import annotations

import asyncio
import difflib
import sys
import types
from collections import Counter
from collections.abc import Callable, Coroutine, Generator
from typing import Any, NoReturn

from values import BadValue, to_json


class ToolError(Exception):
    """Why a call has no value."""

    def __init__(
        self,
        message: str = "",
        *,
        code: str = "error",
        status: int | None = None,
        retryable: bool = False,
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.retryable = retryable
        self.hint = hint


ToolError.__module__ = "tools"


class UnknownTool(ToolError, AttributeError):
    """A tool that is not there; an AttributeError too, so that hasattr and getattr work."""


UnknownTool.__module__, UnknownTool.__qualname__ = "tools", "ToolError"


class Call(Coroutine[Any, Any, Any]):
    """
    A call that starts when it is awaited, gathered or made a task.

    It is a Coroutine so that ``asyncio.create_task`` takes it.
    """

    __slots__ = ("_calls", "_steps", "_value", "args", "problem", "tool")

    def __init__(
        self, calls: Calls, tool: str, args: dict[str, Any], problem: ToolError | None
    ) -> None:
        self._calls, self.tool, self.args, self.problem = calls, tool, args, problem
        self._steps: Generator[Any, Any, Any] | None = None
        calls.made(self)

    def _start(self) -> Generator[Any, Any, Any]:
        if self._steps is None:
            self._calls.started(self)
            self._steps = self._perform().__await__()
        return self._steps

    async def _perform(self) -> Any:
        if self.problem is not None:
            raise self.problem
        reply = await self._calls.send(self.tool, self.args)
        error = reply.get("error")
        if error is None:
            return reply.get("value")
        raise ToolError(
            error["message"],
            code=error["code"],
            status=error.get("status"),
            retryable=bool(error.get("retryable")),
            hint=error.get("hint") or "",
        )

    def __await__(self) -> Generator[Any, Any, Any]:
        if self._steps is not None:
            raise RuntimeError(f"this call of {self.tool} was already awaited")
        return (yield from self._start())

    def send(self, value: Any) -> Any:
        return self._start().send(value)

    def throw(self, *error: Any) -> Any:
        return self._start().throw(*error)

    def close(self) -> None:
        if self._steps is None:
            self._calls.started(self)
        else:
            self._steps.close()

    def __repr__(self) -> str:
        return f"<call of {self.tool}, not awaited>"


class Calls:
    """
    Calls of one run: made, started, in flight.

    Args:
        send: Takes one frame; kept as `tell`.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self.tell = send
        self._waiting: dict[int, tuple[str, asyncio.Future[dict[str, Any]]]] = {}
        self._idle: dict[int, Call] = {}
        self._last_id = 0
        self.raced = False
        self._answered = asyncio.Event()

    def made(self, call: Call) -> None:
        self._idle[id(call)] = call

    def started(self, call: Call) -> None:
        self._idle.pop(id(call), None)

    async def send(self, tool: str, args: dict[str, Any]) -> dict[str, Any]:
        """Send one call and wait for its reply frame."""
        self._last_id += 1
        number = self._last_id
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (tool, future)
        self.tell({"type": "call", "id": number, "tool": tool, "args": args})
        return await future

    def reply(self, frame: dict[str, Any]) -> None:
        _, future = self._waiting.pop(frame["id"], ("", None))
        if future is not None and not future.done():
            future.set_result(frame)
        self._answered.set()

    def forgotten(self) -> list[tuple[str, int]]:
        """Tools whose calls were never awaited, and how often."""
        return sorted(Counter(call.tool for call in self._idle.values()).items())

    def is_waiting(self) -> bool:
        """Whether some code still waits for an answer; a call that was cancelled does not."""
        return any(not future.done() for _, future in self._waiting.values())

    async def answered(self) -> None:
        """Wait for the next answer."""
        self._answered.clear()
        await self._answered.wait()

    def running(self) -> list[str]:
        """Tools whose calls have no answer yet."""
        return sorted(tool for tool, _ in self._waiting.values())


class Namespace(types.ModuleType):
    """A module that explains what it does not have."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        known = [key for key in vars(self) if not key.startswith("_")]
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        path = self.__name__.removeprefix("tools.")
        prefix = "" if path == "tools" else f"{path}."
        hint = (
            f"Did you mean {', '.join(prefix + one for one in near)}?"
            if near
            else 'Use await search("...") to find a tool.'
        )
        raise UnknownTool(f"There is no {path}.{name}.", code="unknown_tool", hint=hint)

    def __getitem__(self, name: object) -> NoReturn:
        raise UnknownTool(
            f"{self.__name__}[{name!r}] is not how a tool is reached.",
            code="unknown_tool",
            hint=f"Write {self.__name__.removeprefix('tools.')}.{name}.",
        )

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise UnknownTool(
            f"{self.__name__} is not a tool.",
            code="unknown_tool",
            hint='Use await search("what you need"), or call one of its functions.',
        )


def _function(calls: Calls, path: str, tool: str, renames: dict[str, str]) -> Callable[..., Call]:
    def function(*given: object, **named: object) -> Call:
        return _make(calls, path, tool, given, {renames.get(k, k): v for k, v in named.items()})

    function.__name__ = function.__qualname__ = path.rpartition(".")[2]
    return function


def _make(
    calls: Calls, path: str, tool: str, given: tuple[object, ...], named: dict[str, Any]
) -> Call:
    if given:
        message = f"{path} takes named arguments only, not {len(given)} by position."
        hint = f"Call it as {path}(name=value)."
        return Call(calls, tool, {}, ToolError(message, code="bad_arguments", hint=hint))
    try:
        return Call(calls, tool, to_json(named, path), None)
    except BadValue as bad:
        return Call(calls, tool, {}, ToolError(str(bad), code="bad_arguments", hint=bad.hint))


def modules(names: dict[str, dict[str, Any]], calls: Calls) -> dict[str, types.ModuleType]:
    """
    ``tools`` and ``tools.<toolset>`` for *names*, ready for `sys.modules`.

    Args:
        names: toolset -> function -> ``{"tool": id, "renames": {keyword: wire name}}``.
    """

    def search(*given: object, **named: object) -> Call:
        arguments = {**dict(zip(("query", "limit"), given, strict=False)), **named}
        return _make(calls, "search", "codemode.search", given[2:], arguments)

    def describe(*given: Any, **named: object) -> Call:
        flat = [n for one in given for n in (one if isinstance(one, (list, tuple)) else [one])]
        arguments = {**({"names": flat} if given else {}), **named}
        return _make(calls, "describe", "codemode.describe", (), arguments)

    tools = Namespace("tools")
    tools.__path__ = []  # type: ignore[attr-defined]  # so that tools.github can be imported
    found: dict[str, types.ModuleType] = {"tools": tools}
    for toolset, functions in names.items():
        namespace = Namespace(f"tools.{toolset}")
        for name, entry in functions.items():
            function = _function(
                calls, f"{toolset}.{name}", entry["tool"], entry.get("renames") or {}
            )
            setattr(namespace, name, function)
        setattr(tools, toolset, namespace)
        found[namespace.__name__] = namespace
    for name, value in (("search", search), ("describe", describe), ("ToolError", ToolError)):
        setattr(tools, name, value)
    tools.__all__ = [*names, "search", "describe", "ToolError"]  # type: ignore[attr-defined]
    sys.modules.pop("tools", None)
    return found
