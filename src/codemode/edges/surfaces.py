"""The command that counts what a model must read of a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from codemode.core.surfaces import Surfaces, surfaces_json
from codemode.edges import terminal
from codemode.edges.command import (
    ConfigOption,
    DirectoryOption,
    JsonFlag,
    configured,
    fail,
    wait_for,
)
from codemode.errors import ConfigError


def register(app: typer.Typer) -> None:
    """Put the commands of this module into *app*."""
    app.command()(surfaces)


def surfaces(
    traces: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TRACE...]", help="Recorded tasks; with --tools."),
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option(help="Tools of a recording instead of a directory; with traces."),
    ] = None,
    budget: Annotated[
        int, typer.Option(min=1, help="Tokens that the compact index may take.")
    ] = 20_000,
    directory: DirectoryOption = None,
    as_json: JsonFlag = False,
    config: ConfigOption = None,
) -> None:
    """Count the o200k tokens of each way of showing a directory to a model.

    With recorded tasks also: are the tools that a task used in the first answer of one search?
    """
    from codemode.edges.ab import served_tools
    from codemode.service import Codemode
    from codemode.service.surfaces import measure_surfaces

    if bool(traces) != bool(tools):
        wrong = ConfigError(
            "Recorded tasks need the tools they could call, and the other way round.",
            hint="codemode surfaces --tools TOOLS.json TRACE...",
        )
        fail(wrong, as_json=as_json, code=2)
    settings = configured(config, directory, as_json=as_json)

    async def work() -> Any:
        async with Codemode.open(settings) as codemode:
            served = await served_tools(codemode)
        return await measure_surfaces(
            settings,
            agent_tools=served.definitions,
            instructions=served.instructions,
            budget=budget,
            tools=tools,
            traces=traces or (),
        )

    found = wait_for(work(), as_json=as_json, label="Counting tokens")
    terminal.show_json(surfaces_json(found)) if as_json else _show(found)


def _show(found: Surfaces) -> None:
    terminal.show(f"{found.n_tools} tools in {found.n_toolsets} toolsets, {found.encoding}")
    terminal.table(
        ["surface", "language", "tokens", "tools named", "discovery still needed"],
        (
            [one.name, one.language, one.tokens, one.n_named, one.still_needed or "none"]
            for one in found.surfaces
        ),
    )
    if not found.searches:
        return
    terminal.show("Are the tools that a task used in the first answer of one search?")
    terminal.table(
        ["query", "limit", "tasks", "sufficient", "95% interval", "recall", "answer", "describe"],
        (
            [
                one.query,
                one.limit,
                one.n_tasks,
                one.n_complete,
                f"{one.interval.low:.2f} to {one.interval.high:.2f}",
                f"{one.recall:.2f}",
                f"{one.answer_tokens:.0f}",
                f"{one.describe_tokens:.0f}",
            ]
            for one in found.searches
        ),
    )
    terminal.show(
        f"Tasks whose tools are all named in the compact index: {found.index_complete}; "
        f"recorded tasks without a tool of this listing: {found.n_without_tools}"
    )
