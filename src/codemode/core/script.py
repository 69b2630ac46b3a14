"""
What a model wrote, made runnable.

`normalise` turns a fenced answer, an arrow function, a ``main``, a module or
bare statements into one runnable form and remembers where every character came
from, so that each message names the line and column that was submitted.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from codemode.core import script_python, script_typescript
from codemode.core.run import Diagnostic, Language
from codemode.core.submitted import choose_block, detect_language, outside
from codemode.core.syntax import Mapped, Source, at, line_column, origin, read

__all__ = ["MAX_SCRIPT_CHARS", "Script", "detect_language", "normalise"]

MAX_SCRIPT_CHARS = 64 * 1024
"""Longest script that is looked at, in code points."""


MAX_OPEN_BRACKETS = 2000
"""Looked at before parsing, because a parser's recovery from endless opening is slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """
    One script in its runnable form.

    Args:
        submitted: Exactly what arrived.
        runnable: What an engine runs: for TypeScript an ES module whose default
            export is an async function of no arguments that returns the result;
            for Python statements with top-level ``await`` and ``return`` allowed.
        typed: What a checker reads: `runnable`, character for character as long, with
            the imports of types that no engine can run.
        spans: ``(runnable offset, submitted offset, length)`` of every run of
            characters that was kept, ascending; the rest was inserted.
        toolsets: Identifiers imported from ``tools`` (as written or added for the
            script), such as ``github``.
        notes: What was done, as diagnostics of severity ``note``.
        problems: Why it cannot be run, as diagnostics of severity ``error``. A
            script with problems is never run; the check reports them.
        syntax_error: Set if the submitted text does not parse by itself, whatever
            its runnable form does. The compiler's own words are better, if it has some.
    """

    language: Language
    submitted: str
    runnable: str
    spans: tuple[tuple[int, int, int], ...]
    typed: str = ""
    toolsets: tuple[str, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    syntax_error: Diagnostic | None = None

    def position(self, line: int, column: int) -> tuple[int, int]:
        """Submitted line and column of a line and column of `runnable`; all from 1."""
        return self.locate(at(self.runnable, line, column))

    def locate(self, offset: int) -> tuple[int, int]:
        """Submitted line and column of a code point offset in `runnable`."""
        return line_column(self.submitted, origin(self.spans, offset))

    def runnable_offset(self, line: int, column: int) -> int:
        """Offset in `runnable` of a submitted line and column: the other way round."""
        offset = at(self.submitted, line, column)
        after = [span for span in self.spans if offset < span[1] + span[2]]
        if not after:
            return len(self.runnable)
        here, there, _ = min(after, key=lambda span: max(span[1] - offset, 0))
        return here + max(0, offset - there)


def normalise(text: str, language: Language | None, *, toolsets: Collection[str]) -> Script:
    """
    Make *text* runnable. Never raises: what cannot be run says so in ``problems``.

    Args:
        language: None to find it out (`detect_language`).
        toolsets: Every toolset's identifier in that language. One that is used
            but not imported is imported for the script.
    """
    language = language or detect_language(text)
    if len(text) > MAX_SCRIPT_CHARS:
        message = f"The script has {len(text)} characters; at most {MAX_SCRIPT_CHARS} are read."
        return _refused(text, language, "too-long", message)
    if _open_brackets(text) > MAX_OPEN_BRACKETS:
        return _refused(text, language, "too-deep", "The script is nested too deeply to be read.")
    block = choose_block(text, language) if "```" in text or "~~~" in text else None
    clean = Mapped.whole(text).edit(outside(text, block))
    source = read(clean.text, language)
    if source.is_too_deep():
        return _refused(text, language, "too-deep", "The script is nested too deeply to be read.")
    if language == "typescript":
        form = script_typescript.make_runnable(source, toolsets)
    else:
        form = script_python.make_runnable(source, toolsets)
    mapped = clean.edit(form.edits)
    script = Script(
        language=language,
        submitted=text,
        runnable=clean.edit([*form.edits, *form.erasures]).text,
        typed=mapped.text,
        spans=mapped.spans,
        toolsets=form.toolsets,
    )

    def placed(remarks: list[tuple[int, str, str]], severity: str) -> tuple[Diagnostic, ...]:
        found = []
        for offset, code, message in remarks:
            line, column = line_column(text, origin(clean.spans, offset))
            found.append(
                Diagnostic(
                    line=line,
                    column=column,
                    severity="error" if severity == "error" else "note",
                    code=code,
                    message=message,
                )
            )
        return tuple(found)

    broken = placed([broken_at(source)], "error") if source.root.has_error else ()
    return replace(
        script,
        notes=placed(form.notes, "note"),
        problems=placed(form.problems, "error"),
        syntax_error=broken[0] if broken else None,
    )


def broken_at(source: Source) -> tuple[int, str, str]:
    """Offset, code and message of the first place that does not parse."""
    node = source.first_error()
    if node is None:
        return 0, "syntax", "Syntax error."
    shown = source.of(node).strip().split("\n")[0][:40]
    what = f"`{shown}` is not understood here" if shown else f"`{node.type}` is missing here"
    return source.start(node), "syntax", f"Syntax error: {what}. Write it in a simpler form."


def _open_brackets(text: str) -> int:
    """Most brackets open at once, those inside strings included: an upper bound."""
    deepest = depth = 0
    for char in text:
        if char in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")]}":
            depth = max(0, depth - 1)
    return deepest


def _refused(text: str, language: Language, code: str, message: str) -> Script:
    problem = Diagnostic(line=1, column=1, severity="error", code=code, message=message)
    return Script(language=language, submitted=text, runnable="", spans=(), problems=(problem,))
