"""How a run ended, as its sandbox tells it. A script may have forged every word."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codemode.core.frames import Frame
from codemode.core.run import FileData, Limits, Outcome, ScriptError, Status, Usage
from codemode.errors import ProtocolError
from codemode.sandbox._ends import result_outcome

ENDS: dict[str, Status] = {"cancelled": "cancelled"}
"""Codes that are ends of their own; a container's harness also measures time."""
MOST_CUTS = 20


def read_done(frame: Frame, limits: Limits, ends: Mapping[str, Status] = ENDS) -> Outcome:
    """
    A ``done`` frame that a `Channel` let through as an `Outcome`.

    Raises:
        ProtocolError: If a file is not base64.
    """
    parts: dict[str, Any] = {
        "usage": _usage(frame),
        "truncated": tuple(cut[:500] for cut in (frame.get("truncated") or ())[:MOST_CUTS]),
        "files": _files(frame),
    }
    if frame["status"] == "succeeded":
        if "value" not in frame:
            return Outcome(status="succeeded", **parts)
        return replace(result_outcome(frame["value"], limits), **parts)
    told = frame.get("error") or {}
    code = told.get("code") or "exception"
    error = ScriptError(
        code=code[:100],
        message=told.get("message", "The script failed.")[:20_000],
        line=told.get("line", 0),
        column=told.get("column", 0),
        hint=(told.get("hint") or "")[:2000],
    )
    return Outcome(status=ends.get(code, "failed"), error=error, **parts)


def broken(error: ProtocolError) -> Outcome:
    """The run of a sandbox that sent what no frame can be."""
    message = f"The sandbox broke the protocol: {error.message}"
    return Outcome(status="engine_lost", error=ScriptError(code="protocol_error", message=message))


def is_workspace_path(path: str) -> bool:
    """
    Whether a path from a sandbox is a plain relative one.

    >>> is_workspace_path("out/a.txt"), is_workspace_path("../a"), is_workspace_path("/etc/x")
    (True, False, False)
    """
    parts = path.split("/")
    return "\0" not in path and "\\" not in path and not {"", ".", ".."} & set(parts)


def _usage(frame: Frame) -> Usage:
    told = frame.get("usage") or {}
    return Usage(
        cpu_ms=float(told.get("cpu_ms", 0)), peak_memory_mib=float(told.get("peak_memory_mib", 0))
    )


def _files(frame: Frame) -> tuple[FileData, ...]:
    found = []
    for item in frame.get("files") or ():
        try:
            data = base64.b64decode(item["data"], validate=True)
        except ValueError:
            raise ProtocolError("a file is not base64") from None
        if is_workspace_path(item["path"]):
            found.append(FileData(path=item["path"], data=data))
    return tuple(found)
