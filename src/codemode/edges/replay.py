"""The command that checks recorded calls against stubs of the tools they went to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from codemode.core.replay import LANGUAGES, Replay, replay_json
from codemode.edges import terminal
from codemode.edges.command import JsonFlag, wait_for


def register(app: typer.Typer) -> None:
    """Put the commands of this module into *app*."""
    app.command()(replay)


def replay(
    traces: Annotated[
        list[str],
        typer.Argument(metavar="TRACE...", help="Files, folders, patterns, or - for stdin."),
    ],
    tools: Annotated[
        Path,
        typer.Option(
            help="The tools that could be called: a tools/list answer, or LiveMCPBench's."
        ),
    ],
    as_json: JsonFlag = False,
) -> None:
    """Check recorded calls against typed stubs: which would have been refused before running?

    Nothing is run and nothing is sent. Exit 0, whatever the calls were.
    """
    from codemode.service import replay as service

    async def work() -> Any:
        listing, left_out = service.read_tools(tools)
        calls, problems = service.read_calls(traces)
        found = await service.replay(calls, listing)
        found.left_out = left_out
        return found, problems

    found, problems = wait_for(work(), as_json=as_json, label="Checking recorded calls")
    if as_json:
        said = [{"path": one.path, "line": one.line, "reason": one.reason} for one in problems]
        terminal.show_json({**replay_json(found), "problems": said})
        return
    for problem in problems:
        terminal.show(f"not read: {problem}", style="yellow", error=True)
    _show(found)


def _show(found: Replay) -> None:
    for reason in found.left_out:
        terminal.show(f"left out: {reason}", style="yellow", error=True)
    for name, n in sorted(found.unknown.items()):
        terminal.show(f"not in the listing: {name} ({n})", style="yellow", error=True)
    if found.unreadable:
        terminal.show(f"{found.unreadable} calls whose arguments are no JSON object", error=True)
    for call in found.differing():
        for language in LANGUAGES:
            if (kind := call.kind(language)) in ("false refusal", "missed"):
                why = call.stubs[language] or call.schema
                terminal.show(f"{kind} ({language}): {call.call.where} {call.tool}: {why}")
    terminal.table(
        ["stubs", "calls", "break their schema", "refused before running", "missed", "false"],
        (
            [
                language,
                len(found.calls),
                found.n_broken,
                counts["caught"] + counts["false refusal"],
                counts["missed"],
                counts["false refusal"],
            ]
            for language in LANGUAGES
            for counts in [found.counts(language)]
        ),
    )
