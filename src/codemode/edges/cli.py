"""The command line. Names, options and exit codes here are a contract."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from codemode.edges import ab, measure, replay, scripts, surfaces, terminal, upkeep
from codemode.edges.command import (
    ConfigOption,
    DirectoryOption,
    EngineOption,
    JsonFlag,
    configured,
    wait_for,
)
from codemode.errors import CodemodeError

app = typer.Typer(
    name="codemode",
    help="A directory of tools as a typed API, and one sandboxed run of a script against it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
for commands in (scripts, upkeep, measure, replay, surfaces, ab):
    commands.register(app)


@app.command()
def mcp(directory: DirectoryOption = None, config: ConfigOption = None) -> None:
    """Serve search, describe, check and run to an MCP client on standard input and output."""
    from codemode.edges.mcp import build_server
    from codemode.service import Codemode

    settings = configured(config, directory, as_json=False)

    async def work() -> None:
        async with Codemode.open(settings) as codemode:
            await build_server(codemode).run_stdio_async()

    wait_for(work(), as_json=False)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option()] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535)] = None,
    directory: DirectoryOption = None,
    config: ConfigOption = None,
) -> None:
    """Serve HTTP. Needs an API key in the configured environment variable."""
    from codemode.edges.serving import serve_http

    settings = configured(config, directory, as_json=False)
    wait_for(serve_http(settings, host=host, port=port), as_json=False)


@app.command()
def demo(
    engine: EngineOption = None,
    as_json: JsonFlag = False,
) -> None:
    """The main job in both languages, against a service on this machine."""
    from codemode.edges.demo import run_demo

    code = wait_for(run_demo(engine=engine or "auto", as_json=as_json), as_json=as_json)
    raise typer.Exit(code)


def main() -> None:
    """Entry point of the ``codemode`` program."""
    try:
        app()
    except Exception as error:  # a fault of ours: one line and exit 3, never "the script failed"
        if os.environ.get("CODEMODE_DEBUG"):
            raise
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = f"{where.tb_frame.f_code.co_name}:{where.tb_lineno}" if where else "?"
        wrong = CodemodeError(
            f"codemode itself failed: {type(error).__name__} in {place}.",
            hint="Please report it; CODEMODE_DEBUG=1 shows where it happened.",
        )
        terminal.show_fault(wrong, as_json="--json" in sys.argv)
        sys.exit(3)
