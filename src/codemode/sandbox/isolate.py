"""
The isolate engine: no daemon, no root, pip wheels only.

TypeScript runs in a Deno process that has no permission at all, Python in Monty; both
are processes of their own, with an environment of their own, killed after one run. An
escape from V8 or Monty is the host's user, so scripts that nobody trusts belong in the
container engine. There is no file system and there are no programs.

``MONTY_LIMITS`` says what Python cannot do here; the check refuses it beforehand.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from codemode.core.run import Answer, Engine, Job, Outcome, ScriptError
from codemode.errors import EngineUnavailable
from codemode.sandbox._calls import Calls, Logs
from codemode.sandbox._deno import DenoPool
from codemode.sandbox._monty import MontyPool

__all__ = ["ENGINE", "MONTY_LIMITS", "IsolateEngine"]

MONTY_LIMITS: Final = (
    # (what a script writes, what happens in Monty)
    (
        "class X(Base): with any base, metaclass=",
        "refused as syntax; so no exceptions of one's own",
    ),
    ("except* and ExceptionGroup", "refused as syntax"),
    ("async for, async with, yield, yield from", "refused as syntax"),
    ("del x", "refused as syntax, except on subscripts"),
    ("import * from any module", "refused"),
    ("ToolError(message, code=...)", "raise ToolError(text) works; keywords do not"),
    ("type(e).__name__ of a ToolError", "'Error', because it travels as csv.Error"),
    (
        "getattr(e, 'code')",
        "finds nothing; write e.code, which works, also in f-strings of one line",
    ),
    ("asyncio.create_task, TaskGroup, wait, as_completed, timeout", "do not exist; gather does"),
    (
        "asyncio.gather(return_exceptions=True)",
        "not supported; catch inside a function of one's own",
    ),
    ("uuid, statistics, contextlib, io, inspect, traceback, sys.modules", "do not exist"),
    ("open, pathlib on real files, os.environ, subprocess, socket", "do not exist"),
    ("raise ValueError(a, b)", "exceptions take one text"),
    ("globals, locals, vars, __import__, callable", "do not exist"),
)
"""Tried with Monty 1.4; anything else that it lacks says so in its own words."""


def _harness() -> Path:
    package = Path(__file__).resolve().parent.parent
    installed = package / "shipped" / "sandbox_image"
    folder = installed if installed.is_dir() else package.parent.parent / "sandbox_image"
    return folder / "harness" / "deno.mjs"


class IsolateEngine:
    """
    See `codemode.core.run.Engine`.

    Args:
        warm: Idle processes to keep for each language.
        deno: Path of the Deno program; "" for the one that the deno wheel brings.
    """

    name = "isolate"
    runtime = ""
    capabilities = frozenset({"typescript", "python", "memory_limit", "cpu_limit"})

    def __init__(self, *, warm: int = 2, deno: str = "") -> None:
        self._warm = warm
        self._deno_path = deno
        self._deno: DenoPool | None = None
        self._monty: MontyPool | None = None

    async def start(self) -> None:
        """
        Make both languages ready.

        Raises:
            EngineUnavailable: If either does not start here.
        """
        if self._deno is not None:
            return
        deno = DenoPool(self._deno_path or _find_deno(), _harness(), warm=self._warm)
        monty = MontyPool(warm=self._warm)
        try:
            await deno.start()
            await monty.start()
        except BaseException:
            await deno.close()
            await monty.close()
            raise
        self._deno, self._monty = deno, monty

    async def run(self, job: Job, answer: Answer) -> Outcome:
        """Run *job* once; see `codemode.core.run.Engine.run`."""
        if self._deno is None or self._monty is None:
            raise EngineUnavailable("The isolate engine is not started.")
        if job.files or job.collect_files:
            message = "The isolate engine has no files."
            hint = "Use the container engine."
            error = ScriptError(code="needs_container", message=message, hint=hint)
            return Outcome(status="failed", error=error)
        began = time.monotonic()
        calls = Calls(answer, max_in_flight=job.limits.max_in_flight)
        logs = Logs(job.limits.max_log_bytes)
        pool = self._deno if job.language == "typescript" else self._monty
        try:
            outcome = await pool.run(job, calls, logs)
        finally:
            await calls.close()
        usage = replace(
            outcome.usage, wall_ms=(time.monotonic() - began) * 1000, n_calls=calls.n_calls
        )
        lines = logs.close()
        truncated = tuple(dict.fromkeys((*outcome.truncated, *logs.truncated)))
        return replace(outcome, logs=lines, usage=usage, truncated=truncated)

    async def close(self) -> None:
        """End every process. Idempotent."""
        deno, self._deno = self._deno, None
        monty, self._monty = self._monty, None
        if deno is not None:
            await deno.close()
        if monty is not None:
            await monty.close()


def _find_deno() -> str:
    try:
        from deno import find_deno_bin
    except ImportError:
        raise EngineUnavailable(
            "The deno package is not installed.", hint="Reinstall codemode; it brings Deno."
        ) from None
    found: str = find_deno_bin()
    return found


def ENGINE(*, warm: int = 2, deno: str = "") -> Engine:
    """An `IsolateEngine`, not started."""
    return IsolateEngine(warm=warm, deno=deno)
