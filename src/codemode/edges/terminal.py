"""How answers look on a terminal: plain lines when piped, tables and colour on a terminal."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from codemode.core.render import diagnostic_text
from codemode.core.run import CheckReport, Diagnostic, Preview, RunResult
from codemode.errors import CodemodeError

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""What could move the cursor, recolour, reorder or hide text, or cannot be written at all."""

_STATES = {"applied": "green", "failed": "red", "unknown": "yellow", "refused": "yellow"}
_SEVERITIES = {"error": "red", "warning": "yellow", "note": "cyan"}


def harmless(text: str) -> str:
    """*text* with control and bidirectional characters shown as ``\\x1b`` and the like."""
    return _CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def show(text: str, *, style: str = "", error: bool = False) -> None:
    """One piece of text, which may come from a script or a service."""
    (err if error else out).print(Text(harmless(text), style=style))


def show_json(value: Any) -> None:
    """JSON on one line; never coloured. What `harmless` hides is written as JSON escapes."""
    text = json.dumps(value, ensure_ascii=False)
    sys.stdout.write(_CONTROL.sub(lambda match: json.dumps(match.group())[1:-1], text) + "\n")


def show_fault(error: CodemodeError, *, as_json: bool) -> None:
    """What is wrong and what to do next."""
    if as_json:
        detail = {"code": error.code, "message": error.message, "hint": error.hint}
        show_json({"error": detail})
        return
    show(f"error: {error.message}", style="red", error=True)
    if error.hint:
        show(f"  {error.hint}", error=True)


def show_value(value: Any) -> None:
    """JSON for people."""
    show(json.dumps(value, ensure_ascii=False, indent=2))


def table(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """A table on a terminal; tab-separated lines under their headings otherwise."""
    if not out.is_terminal:
        for row in (headings, *rows):  # not through rich, which would expand the tabs
            sys.stdout.write("\t".join(harmless(str(cell)) for cell in row) + "\n")
        return
    grid = Table(*headings, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        grid.add_row(*(Text(harmless(str(cell))) for cell in row))
    out.print(grid)


def show_diagnostics(diagnostics: Iterable[Diagnostic], *, error: bool = False) -> None:
    for diagnostic in diagnostics:
        style = _SEVERITIES[diagnostic.severity]
        show(diagnostic_text(diagnostic), style=style, error=error)


def show_preview(preview: Preview, *, error: bool = False) -> None:
    """Which tools a script may call, by effect."""
    for effect, tools in preview.by_effect().items():
        if tools:
            show(f"{effect}: {', '.join(tools)}", error=error)
    for reason in preview.open_reasons:
        show(f"open: {reason}", style="yellow", error=error)


def show_report(report: CheckReport) -> None:
    show_diagnostics(report.diagnostics)
    show_preview(report.preview)
    if report.is_clean:
        show("No errors.", style="green")


def show_result(result: RunResult) -> None:
    """The value on standard output; everything about the run on standard error."""
    for line in result.logs:
        # Marked on every line, so that a script cannot print what looks like ours.
        for text in line.text.rstrip("\n").split("\n"):
            show(f"| {text}", style="dim", error=True)
    show_diagnostics(result.diagnostics, error=True)
    if result.status == "refused":
        show_preview(result.preview, error=True)
    for note in result.notes:
        show(f"note: {note}", style="cyan", error=True)
    for call in result.calls:
        detail = f" {call.status}" if call.status is not None else ""
        state = "example" if call.error == "dry_run" else call.state
        show(
            f"{call.seq:>3} {state:<8} {call.tool}{detail} {call.duration_ms:.0f} ms"
            + (f" [{call.credential}]" if call.credential else "")
            + (f" {call.error}" if call.error and call.error != "dry_run" else ""),
            style=_STATES[call.state],
            error=True,
        )
    for file in result.files:
        show(f"file: {file.path} ({len(file.data)} bytes)", error=True)
    for cut in result.truncated:
        show(f"truncated: {cut}", style="yellow", error=True)
    if result.error is not None:
        where = f"{result.error.line}:{result.error.column}: " if result.error.line else ""
        message = result.error.message.replace("\n", "\n  ")
        show(f"{result.status}: {where}{message}", style="red", error=True)
        if result.error.hint:
            show(f"  {result.error.hint}", error=True)
    if result.has_value:
        show_value(result.value)
