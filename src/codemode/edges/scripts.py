"""The commands that agents and their people use: check, run, search, describe."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from codemode.core.render import report_json, result_json
from codemode.core.run import LANGUAGE_NAMES, FileData, Preview, Status
from codemode.edges import terminal
from codemode.edges.command import (
    ConfigOption,
    DirectoryOption,
    EngineOption,
    JsonFlag,
    LanguageOption,
    ScriptArgument,
    TargetOption,
    configured,
    fail,
    read_script,
    wait_for,
)
from codemode.errors import CodemodeError

EXIT: dict[Status, int] = {
    "succeeded": 0,
    "failed": 1,
    "refused": 2,
    "engine_lost": 3,
    "timed_out": 4,
    "cancelled": 130,
}


def register(app: typer.Typer) -> None:
    """Put the commands of this module into *app*."""
    for command in (check, run, search, describe):
        app.command()(command)


def check(
    script: ScriptArgument,
    directory: DirectoryOption = None,
    engine: EngineOption = None,
    language: LanguageOption = None,
    as_json: JsonFlag = False,
    config: ConfigOption = None,
) -> None:
    """Type-check a script. Exit 0 clean, 1 diagnostics, 2 cannot check."""
    from codemode.service import Codemode

    settings = configured(config, directory, as_json=as_json)
    text, found = read_script(script, language, as_json=as_json)

    async def work() -> Any:
        async with Codemode.open(settings) as codemode:
            return await codemode.check(text, language=found, engine=engine)

    answer = wait_for(work(), as_json=as_json, label="Checking", code=2)
    if as_json:
        terminal.show_json(report_json(answer))
    else:
        terminal.show_report(answer)
    raise typer.Exit(0 if answer.is_clean else 1)


def _files(paths: list[Path], *, as_json: bool) -> list[FileData]:
    try:
        return [FileData(path=path.name, data=path.read_bytes()) for path in paths]
    except OSError as error:
        wrong = CodemodeError(f"--file {error.filename}: {error.strerror}")
        fail(wrong, as_json=as_json, code=2)


def _input(text: str | None, *, as_json: bool) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        fail(CodemodeError(f"--input is not JSON: {error}"), as_json=as_json, code=2)


async def _approve_at_terminal(preview: Preview) -> bool:
    """Ask a person once, before anything happens."""
    terminal.show("This script wants to change something:", style="yellow", error=True)
    terminal.show_preview(preview, error=True)
    terminal.show("Run it? [y/N] ", error=True)
    answer = await asyncio.to_thread(sys.stdin.readline)
    return answer.strip().lower() in ("y", "yes")


def run(
    script: ScriptArgument,
    directory: DirectoryOption = None,
    engine: EngineOption = None,
    runtime: Annotated[
        Literal["runc", "runsc"] | None, typer.Option(help="Container runtime.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds, at most the limit.")] = None,
    policy: Annotated[Path | None, typer.Option(help="Policy file.")] = None,
    allow: Annotated[
        list[str] | None, typer.Option(help="Tools that may change things, such as github.*")
    ] = None,
    input_text: Annotated[
        str | None, typer.Option("--input", help="JSON that the script sees as `input`.")
    ] = None,
    file: Annotated[list[Path] | None, typer.Option(help="Put into the workspace.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder for files that the script made.")
    ] = None,
    run_key: Annotated[
        str | None, typer.Option(help="Same key: calls already applied are not repeated.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Answer from examples.")] = False,
    language: LanguageOption = None,
    as_json: JsonFlag = False,
    config: ConfigOption = None,
) -> None:
    """Check a script, then run it once in a sandbox.

    Exit 0 succeeded, 1 script failed, 2 refused before running, 3 engine or operator fault,
    4 timed out.
    """
    from codemode.service import Codemode

    settings = configured(config, directory, as_json=as_json)
    text, found = read_script(script, language, as_json=as_json)
    files = _files(file or [], as_json=as_json)
    value = _input(input_text, as_json=as_json)
    asks = not as_json and script != "-" and sys.stdin.isatty()

    async def work() -> Any:
        cancel = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, cancel.set)
        async with Codemode.open(settings) as codemode:
            return await codemode.run(
                text,
                language=found,
                engine=engine,
                runtime=runtime,
                timeout_s=timeout,
                policy=policy,
                allow=allow or (),
                input=value,
                files=files,
                collect_files=output is not None,
                run_key=run_key,
                dry_run=dry_run,
                approve=_approve_at_terminal if asks else None,
                cancel=cancel,
            )

    # A question to a person and a spinner cannot share a terminal.
    result = wait_for(work(), as_json=as_json, label="" if asks else "Running")
    if output is not None:
        for made in result.files:
            path = output / made.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(made.data)
    if as_json:
        terminal.show_json(result_json(result))
    else:
        terminal.show_result(result)
    raise typer.Exit(EXIT[result.status])


def search(
    query: str,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 10,
    directory: DirectoryOption = None,
    target: TargetOption = "ts",
    as_json: JsonFlag = False,
    config: ConfigOption = None,
) -> None:
    """Find tools by what they do."""
    from codemode.service import Codemode

    settings = configured(config, directory, as_json=as_json)

    async def work() -> Any:
        async with Codemode.open(settings) as codemode:
            return codemode.search(query, limit=limit, language=LANGUAGE_NAMES[target])

    answer = wait_for(work(), as_json=as_json, label="Searching")
    if as_json:
        terminal.show_json(answer)
        return
    for found in answer["tools"]:
        terminal.show(found["signature"], style="bold")
        terminal.show(f"  {found['description']} {found['when_to_use']} [{found['effect']}]")
    terminal.show(f"{answer['n_shown']} of {answer['n_matching']}", error=True)


def describe(
    tools: Annotated[list[str], typer.Argument(metavar="TOOL...")],
    target: TargetOption = "ts",
    directory: DirectoryOption = None,
    as_json: JsonFlag = False,
    config: ConfigOption = None,
) -> None:
    """Full declarations of tools. Exit 1 if one is unknown."""
    from codemode.service import Codemode

    settings = configured(config, directory, as_json=as_json)

    async def work() -> Any:
        async with Codemode.open(settings) as codemode:
            return codemode.describe(tools, language=LANGUAGE_NAMES[target])

    answer = wait_for(work(), as_json=as_json, label="Reading")
    if as_json:
        terminal.show_json(answer)
    else:
        for found in answer["tools"]:
            terminal.show(found["declaration"])
        for unknown in answer["unknown"]:
            near = ", ".join(unknown["nearest"]) or "none; try codemode search"
            terminal.show(f"unknown: {unknown['name']}; nearest: {near}", style="red", error=True)
    raise typer.Exit(1 if answer["unknown"] else 0)
