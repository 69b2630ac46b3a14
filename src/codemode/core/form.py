"""What a language's rules make of a script: edits and remarks about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from codemode.core.syntax import Edit


@dataclass(slots=True)
class Form:
    """
    How to make a source runnable.

    Args:
        notes: ``(offset, code, message)`` about what was done.
        problems: The same, about why it cannot be run.
        erasures: Edits that keep every offset: what a checker sees and an engine does not.
    """

    edits: list[Edit] = field(default_factory=list)
    erasures: list[Edit] = field(default_factory=list)
    toolsets: tuple[str, ...] = ()
    notes: list[tuple[int, str, str]] = field(default_factory=list)
    problems: list[tuple[int, str, str]] = field(default_factory=list)
