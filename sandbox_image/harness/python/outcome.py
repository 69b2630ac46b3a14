"""How a script ended, as the fields of `done`."""

from __future__ import annotations

import asyncio
import difflib
import json
import sys
import types
from collections.abc import Iterator
from typing import Any

import script
from stubs import Calls, ToolError
from values import BadValue, to_json

MOST_CHARACTERS = 8000
MOST_NESTED = 5


def succeeded(value: Any, calls: Calls, max_result_bytes: int) -> dict[str, Any]:
    """The script returned *value*; it still fails if it forgot an await or cannot be said."""
    forgotten = calls.forgotten()
    if forgotten:
        listed = ", ".join(f"{tool} ({n} times)" if n > 1 else tool for tool, n in forgotten)
        return _error(
            "not_awaited",
            f"Called but never awaited, so nothing was sent: {listed}.",
            hint="Put await before the call, or await asyncio.gather(...).",
        )
    if value is script.NOTHING:
        return {"status": "succeeded", "truncated": _truncated(calls)}
    try:
        result = to_json(value, "result")
    except BadValue as bad:
        return _error("bad_result", str(bad), hint=bad.hint)
    size = len(json.dumps(result, separators=(",", ":"), ensure_ascii=False).encode())
    if size > max_result_bytes:
        message = f"The result has {size} bytes; a run may return {max_result_bytes}."
        return _error("result_too_large", message, hint="Return a summary, or write a file.")
    return {"status": "succeeded", "value": result, "truncated": _truncated(calls)}


def failed(error: BaseException, source: str, calls: Calls) -> dict[str, Any]:
    """The script raised *error*."""
    line, column = _place(error, source)
    code, hint = "exception", ""
    if isinstance(error, ToolError):
        code, hint = error.code, error.hint
    elif isinstance(error, SyntaxError) and error.filename == script.FILENAME:
        code = "syntax"
    elif isinstance(error, MemoryError):
        code = "out_of_memory"
    else:
        hint = _hint(error)
    return _error(code, message_of(error)[:MOST_CHARACTERS], line, column, hint)


def _error(
    code: str, message: str, line: int = 0, column: int = 0, hint: str = ""
) -> dict[str, Any]:
    error = {
        "code": _clean(code),
        "message": _clean(message),
        "line": line,
        "column": column,
        "hint": _clean(hint),
    }
    return {"status": "failed", "error": error, "truncated": []}


def _clean(text: object) -> str:
    """A script can raise a ToolError of its own making."""
    return str(text).encode("utf-8", "replace").decode()


def _truncated(calls: Calls) -> list[str]:
    running = calls.running()
    return [f"calls still running when the script ended: {', '.join(running)}"] if running else []


def message_of(error: BaseException, level: int = 0) -> str:
    """Type and text, with causes and the members of a group."""
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:
        text = "(its text cannot be read)"
    name = type(error).__qualname__
    lines = [f"{name}: {text}" if text else name]
    if level < MOST_NESTED:
        if isinstance(error, BaseExceptionGroup):
            for i, one in enumerate(error.exceptions[:20], 1):
                lines.append(_indent(f"{i}) {message_of(one, level + 1)}"))
            if len(error.exceptions) > 20:
                lines.append(_indent(f"and {len(error.exceptions) - 20} more"))
        if error.__cause__ is not None:
            lines.append(f"Caused by: {message_of(error.__cause__, level + 1)}")
    return "\n".join(lines).encode("utf-8", "replace").decode()


def _indent(block: str) -> str:
    return "\n".join(f"  {line}" for line in block.split("\n"))


def _place(error: BaseException, source: str) -> tuple[int, int]:
    """Line and column (code points) in the script, from 1; zeros if unknown."""
    if isinstance(error, SyntaxError) and error.filename == script.FILENAME:
        return error.lineno or 0, error.offset or 0
    places = [*_script_frames(error.__traceback__)]
    if not places and isinstance(error, BaseExceptionGroup):
        return _place(error.exceptions[0], source)
    if not places:
        return 0, 0
    line, byte_column = places[-1]
    lines = source.split("\n")
    before = lines[line - 1].encode()[:byte_column] if 0 < line <= len(lines) else b""
    return line, len(before.decode("utf-8", "ignore")) + 1


def _script_frames(traceback: types.TracebackType | None) -> Iterator[tuple[int, int]]:
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == script.FILENAME:
            positions = list(code.co_positions())[traceback.tb_lasti // 2]
            yield traceback.tb_lineno, positions[2] or 0
        traceback = traceback.tb_next


def _hint(error: BaseException) -> str:
    if isinstance(error, NameError) and error.name:
        tools = sys.modules["tools"]
        main = vars(sys.modules["__main__"])
        known = [*tools.__all__, *(name for name in main if not name.startswith("_"))]
        near = difflib.get_close_matches(error.name, known, n=3, cutoff=0.5)
        return f"Did you mean {', '.join(near)}?" if near else ""
    if isinstance(error, SystemExit):
        return "End the script with return; exit() counts as a failure."
    if isinstance(error, ModuleNotFoundError):
        return "The sandbox has the standard library, the image's packages, and tools."
    if isinstance(error, RuntimeError) and "running event loop" in str(error):
        return "The script already runs in an event loop: await the coroutine itself."
    if isinstance(error, asyncio.CancelledError):
        return "A task that the script waited for was cancelled."
    return ""
