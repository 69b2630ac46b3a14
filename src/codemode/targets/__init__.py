"""
Target languages. To add one, add a module here that defines ``TARGET``; the
generator, the CLI and the contract tests find it by its file name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol

from codemode.core.run import Language, NameTable
from codemode.core.tool import Directory, Tool


@dataclass(frozen=True, slots=True, order=True)
class GeneratedFile:
    """*path* is relative to the target's folder; *text* ends in a newline."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """
    What a schema says that a target cannot say; the validator still enforces it.

    Args:
        path: JSON pointer inside the row's ``args`` or ``returns``.
    """

    tool: str
    path: str
    reason: str


class Target(Protocol):
    """A language stubs are written in. Everything here is pure."""

    name: str
    language: Language

    def files(
        self, directory: Directory, templates: Mapping[str, str], losses: list[Loss]
    ) -> Iterator[GeneratedFile]:
        """
        Every file of the target, sorted by path; equal input, equal bytes.

        Args:
            templates: Template name -> text, read by the rim from ``templates/<name>/``.
            losses: Appended to.

        Raises:
            NameCollision: If two rows become one identifier.
        """
        ...

    def toolset_name(self, toolset: str) -> str:
        """Identifier of a toolset: ``google_calendar`` -> ``googleCalendar``."""
        ...

    def tool_name(self, tool: str) -> str:
        """Identifier of a row's name; a pure function of it alone."""
        ...

    def signature(self, tool: Tool) -> str:
        """One line: ``github.issuesCreate({ owner: string, ... }): Promise<Issue>``."""
        ...

    def declaration(self, tool: Tool) -> str:
        """The tool's docstring, declaration and the types it needs; what describe shows."""
        ...

    def names(self, directory: Directory, toolsets: tuple[str, ...]) -> NameTable:
        """Name table for toolset identifiers (in this language); unknown ones are left out."""
        ...


def names() -> list[str]:
    """Names of all targets, sorted."""
    return sorted(
        module.name for module in iter_modules(__path__) if not module.name.startswith("_")
    )


def load(name: str) -> Target:
    """
    Import one target.

    Raises:
        ModuleNotFoundError: If there is none of that name.
    """
    target: Target = import_module(f"{__name__}.{name}").TARGET
    return target
