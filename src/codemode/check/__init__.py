"""
Checkers: one module per language, each a language server held open.

A checker answers what the compiler says of a script against the stubs of the
directory in use; the gate's own rules (no suppression, no stray import, no
forgotten ``await``) live beside it and are the same in every edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from codemode.core.run import Diagnostic, Language
from codemode.core.script import Script


class Checker(Protocol):
    """One language's checker. Made once a service; started on first use."""

    language: Language

    async def check(
        self, script: Script, stubs: Mapping[str, str], *, engine: str, timeout_s: float
    ) -> list[Diagnostic]:
        """
        What is wrong with *script*, in submitted lines and columns, sorted.

        Args:
            stubs: ``path -> text`` of the target's files. The same mapping object
                (by identity) means unchanged stubs, so nothing is written again.
            engine: ``isolate`` or ``container``: which modules and syntax exist.

        Raises:
            CheckUnavailable: If the checker is missing, died, or passed *timeout_s*.
        """
        ...

    async def close(self) -> None: ...
