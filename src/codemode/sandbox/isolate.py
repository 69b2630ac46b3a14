"""
The isolate engine: no daemon, no root, pip wheels only.

TypeScript runs in a Deno process that has no permission at all, Python in Monty; both
are processes of their own, with an environment of their own, killed after one run. An
escape from V8 or Monty is the host's user, so scripts that nobody trusts belong in the
container engine. There is no file system and there are no programs.

``MONTY_LIMITS`` says what Python cannot do here; the check refuses it beforehand.
"""

from __future__ import annotations

import asyncio
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
    # (what a script writes that the edits of `_monty_source` do not mend, what happens)
    ("raise ToolError('x', code='y')", "ToolError takes one text"),
    ("raise ValueError('x', 'y')", "exceptions take one text"),
    ("print(repr(ToolError('x')))", "repr shows _csv.Error, which a ToolError travels as"),
    ("raise tools.ToolError('x') from e.cause", "only `from name` keeps the cause"),
    ("except ToolError: around csv.reader", "catches csv.Error too"),
    ("f-strings over several lines that hold e.code", "need Python 3.12 on the host"),
)
"""What the check does not refuse for isolate and CPython would do otherwise. Syntax,
modules and builtins that Monty lacks stand in `codemode.core.monty`."""


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
            ended = await asyncio.gather(deno.start(), monty.start(), return_exceptions=True)
            for error in ended:  # both have ended, so that closing finds all there is
                if error is not None:
                    raise error
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
