"""How runs end, in one wording for both languages."""

from __future__ import annotations

import json

from codemode.core.run import Limits, Outcome, ScriptError
from codemode.core.tool import JsonValue


def result_outcome(value: JsonValue, limits: Limits) -> Outcome:
    """The script returned *value*, which is JSON already."""
    size = len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())
    if size > limits.max_result_bytes:
        error = ScriptError(
            code="result_too_large",
            message=f"The result has {size} bytes; a run may return {limits.max_result_bytes}.",
            hint="Return a summary, or write a file.",
        )
        return Outcome(status="failed", error=error)
    return Outcome(status="succeeded", value=value, has_value=True)


def too_long(limits: Limits) -> Outcome:
    return _timed_out(f"The script did not end within {limits.wall_s:g} s.")


def out_of_cpu(limits: Limits) -> Outcome:
    return _timed_out(f"The script used more than {limits.cpu_s:g} s of processor time.")


def _timed_out(message: str) -> Outcome:
    hint = "Do less in one run, or raise the limit."
    return Outcome(
        status="timed_out", error=ScriptError(code="timeout", message=message, hint=hint)
    )


def out_of_memory(limits: Limits) -> Outcome:
    error = ScriptError(
        code="out_of_memory",
        message=f"The script used more than {limits.memory_mib} MiB of memory.",
        hint="Work on fewer items at a time.",
    )
    return Outcome(status="failed", error=error)
