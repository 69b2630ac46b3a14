"""
What every engine promises, as scripts and what must come of them.

One module per section of the behaviour list. A case is written once per language in the
runnable form (TypeScript: the body of the default export, see `ts`); the suite runs it on
every engine that declares what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from codemode.core.run import Language, Limits, Outcome, Status

UNSET: Any = object()
ROOM = Limits(wall_s=20.0, cpu_s=10.0)


@dataclass(frozen=True, kw_only=True)
class Case:
    """
    Args:
        ids: Lines of the behaviour list (or ``attack:N``).
        needs: Capabilities beside the language; ``python_needs`` for Python alone.
        unless: Capabilities that make the promise another one.
        value: The result; `UNSET` if there must be none.
        code: The error's code, if the run must fail.
        message: Parts that the error's message must have.
        hint: Parts that the error's hint must have.
        logs: ``(stream, text)`` in order, or None where they do not matter.
        also: Anything else; raises AssertionError.
    """

    name: str
    ids: tuple[str, ...]
    typescript: str | None = None
    python: str | None = None
    needs: frozenset[str] = frozenset()
    python_needs: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    limits: Limits = ROOM
    input: Any = None
    status: Status = "succeeded"
    value: Any = UNSET
    code: str = ""
    message: tuple[str, ...] = ()
    hint: tuple[str, ...] = ()
    line: int = 0
    column: int = 0
    logs: tuple[tuple[str, str], ...] | None = None
    also: Callable[[Outcome, Any], None] | None = field(default=None, compare=False)

    def source(self, language: Language) -> str | None:
        return self.typescript if language == "typescript" else self.python

    def applies(self, language: Language, capabilities: frozenset[str]) -> bool:
        """Whether an engine of *capabilities* promises this in *language*."""
        if self.source(language) is None or self.unless & capabilities:
            return False
        extra = self.python_needs if language == "python" else frozenset()
        return self.needs | extra | {language} <= capabilities


def ts(body: str) -> str:
    """*body* as a module; its first line is line 1."""
    imports = 'import { desk, search, describe, ToolError } from "tools"; '
    return f"{imports}export default async () => {{ {body}\n}};"


def py(body: str) -> str:
    """*body* after the import, on line 1."""
    return f"from tools import desk, search, describe, ToolError; import asyncio\n{body}"


def failed(code: str, *message: str, **more: Any) -> dict[str, Any]:
    """Expectations of a run that fails with *code*."""
    return {"status": "failed", "code": code, "message": message, **more}


def cases() -> Iterator[Case]:
    """All cases of all modules here, found by file name."""
    for module in iter_modules(__path__):
        yield from import_module(f"{__name__}.{module.name}").CASES
