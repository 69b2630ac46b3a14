"""
What a model wrote, made runnable.

`normalise` turns a fenced answer, an arrow function, a ``main``, a module or
bare statements into one runnable form and remembers where every character came
from, so that each message names the line and column that was submitted.
"""

from __future__ import annotations

from dataclasses import dataclass

from codemode.core.run import Diagnostic, Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """
    One script in its runnable form.

    Args:
        submitted: Exactly what arrived.
        runnable: What an engine runs: for TypeScript an ES module whose default
            export is an async function of no arguments that returns the result;
            for Python statements with top-level ``await`` and ``return`` allowed.
        spans: ``(runnable offset, submitted offset, length)`` of every run of
            characters that was kept, ascending; the rest was inserted.
        toolsets: Identifiers imported from ``tools`` (as written or added for the
            script), such as ``github``.
        notes: What was done, as diagnostics of severity ``note``.
    """

    language: Language
    submitted: str
    runnable: str
    spans: tuple[tuple[int, int, int], ...]
    toolsets: tuple[str, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
