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
from codemode.store.config import Config


def register(app: typer.Typer) -> None:
    """Put the commands of this module into *app*."""
    app.command()(surfaces)


def surfaces(
    traces: Annotated[
        list[Path] | None,
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
    from codemode.service.surfaces import measure_surfaces

    if bool(traces) != bool(tools):
        wrong = ConfigError(
            "Recorded tasks need the tools they could call, and the other way round.",
            hint="codemode surfaces --tools TOOLS.json TRACE...",
        )
        fail(wrong, as_json=as_json, code=2)
    settings = configured(config, directory, as_json=as_json)

    async def work() -> Any:
        agent_tools, instructions = await shown_to_agents(settings)
        return await measure_surfaces(
            settings,
            agent_tools=agent_tools,
            instructions=instructions,
            budget=budget,
            tools=tools,
            traces=traces or (),
        )

    found = wait_for(work(), as_json=as_json, label="Counting tokens")
    terminal.show_json(surfaces_json(found)) if as_json else _show(found)


async def shown_to_agents(config: Config) -> tuple[list[dict[str, Any]], str]:
    """Definitions and instructions of the MCP server, exactly as a client gets them."""
    from codemode.edges.mcp import build_server
    from codemode.service import Codemode

    async with Codemode.open(config) as codemode:
        server = build_server(codemode)
        shown = [
            {
                "name": tool.name,
                "description": tool.description or "",
                "inputSchema": tool.input_schema,
            }
            for tool in await server.list_tools()
        ]
        return shown, server.instructions or ""


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
