"""What every command shares: options, errors with exit codes, waiting, reading a script."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from codemode.core.run import LANGUAGE_NAMES, Language
from codemode.edges import terminal
from codemode.errors import CodemodeError, report
from codemode.store.config import Config, read_config

T = TypeVar("T")

JsonFlag = Annotated[bool, typer.Option("--json", help="Answer with JSON on standard output.")]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="codemode.toml to use instead of the one here.")
]
DirectoryOption = Annotated[
    Path | None, typer.Option("--directory", help="Folder of toolset files; default: the shipped.")
]
EngineOption = Annotated[
    Literal["auto", "container", "isolate"] | None, typer.Option("--engine", help="Sandbox engine.")
]
LanguageOption = Annotated[
    Literal["ts", "py", "typescript", "python"] | None,
    typer.Option("--language", help="When the file's name does not tell."),
]
ScriptArgument = Annotated[str, typer.Argument(metavar="SCRIPT", help="A file, or - for stdin.")]
TargetOption = Annotated[Literal["ts", "py"], typer.Option(help="Language to show.")]


def fail(error: CodemodeError, *, as_json: bool, code: int | None = None) -> NoReturn:
    """Say what is wrong and what to do next; end with the error's exit code."""
    terminal.show_fault(error, as_json=as_json)
    raise typer.Exit(report(error)[1] if code is None else code)


def wait_for(
    work: Coroutine[Any, Any, T], *, as_json: bool, label: str = "", code: int | None = None
) -> T:
    """Run *work* to its end, with a spinner if *label* is given; errors become exit codes."""
    try:
        if as_json or not label or not terminal.err.is_terminal:
            return asyncio.run(work)
        columns = (SpinnerColumn(), TextColumn(label), TimeElapsedColumn())
        with Progress(*columns, console=terminal.err, transient=True) as progress:
            progress.add_task(label)
            return asyncio.run(work)
    except CodemodeError as error:
        fail(error, as_json=as_json, code=code)


def configured(config: Path | None, directory: Path | None, *, as_json: bool) -> Config:
    """The configuration in force, with *directory* laid over it."""
    try:
        found = read_config(config)
    except CodemodeError as error:
        fail(error, as_json=as_json)
    return found if directory is None else found.model_copy(update={"directory": directory})


def read_script(name: str, language: str | None, *, as_json: bool) -> tuple[str, Language | None]:
    """Text and language of a script; None where neither name nor option tells."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        wrong = CodemodeError(f"{name}: {error.strerror}", hint="Name a file, or - for stdin.")
        fail(wrong, as_json=as_json, code=2)
    except UnicodeDecodeError as error:
        wrong = CodemodeError(f"{name}: not UTF-8 at byte {error.start}", hint="Save it as UTF-8.")
        fail(wrong, as_json=as_json, code=2)
    suffix = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    return text, LANGUAGE_NAMES.get(language or suffix)
