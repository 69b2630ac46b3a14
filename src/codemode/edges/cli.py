"""The command line. Names, options and exit codes here are a contract."""

from __future__ import annotations

import asyncio
import getpass
import json
import shlex
import signal
import sys
from collections.abc import Coroutine
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from codemode.core.render import report_json, result_json
from codemode.core.run import FileData, Language, Preview, Status
from codemode.edges import terminal
from codemode.errors import CodemodeError, report
from codemode.store.config import Config, read_config
from codemode.store.runs import RunStore

T = TypeVar("T")

EXIT: dict[Status, int] = {
    "succeeded": 0,
    "failed": 1,
    "refused": 2,
    "engine_lost": 3,
    "timed_out": 4,
    "cancelled": 130,
}

app = typer.Typer(
    name="codemode",
    help="A directory of tools as a typed API, and one sandboxed run of a script against it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
runs_app = typer.Typer(help="Past runs.", no_args_is_help=True)
credentials_app = typer.Typer(help="Secrets that tools need.", no_args_is_help=True)
image_app = typer.Typer(help="The sandbox image.", no_args_is_help=True)
import_app = typer.Typer(help="Turn what you have into rows.", no_args_is_help=True)
app.add_typer(runs_app, name="runs")
app.add_typer(credentials_app, name="credentials")
app.add_typer(image_app, name="image")
app.add_typer(import_app, name="import")

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

_LANGUAGES: dict[str, Language] = {
    "ts": "typescript",
    "typescript": "typescript",
    "mts": "typescript",
    "js": "typescript",
    "mjs": "typescript",
    "py": "python",
    "python": "python",
}


def fail(error: CodemodeError, *, as_json: bool, code: int | None = None) -> NoReturn:
    """Say what is wrong and what to do next; end with the error's exit code."""
    if as_json:
        detail = {"code": error.code, "message": error.message, "hint": error.hint}
        terminal.show_json({"error": detail})
    else:
        terminal.show(f"error: {error.message}", style="red", error=True)
        if error.hint:
            terminal.show(f"  {error.hint}", error=True)
    raise typer.Exit(report(error)[1] if code is None else code)


def wait_for(work: Coroutine[Any, Any, T], *, as_json: bool, label: str = "") -> T:
    """Run *work* to its end, with a spinner if *label* is given; errors become exit codes."""
    try:
        if as_json or not label or not terminal.err.is_terminal:
            return asyncio.run(work)
        columns = (SpinnerColumn(), TextColumn(label), TimeElapsedColumn())
        with Progress(*columns, console=terminal.err, transient=True) as progress:
            progress.add_task(label)
            return asyncio.run(work)
    except CodemodeError as error:
        fail(error, as_json=as_json)


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
    return text, _LANGUAGES.get(language or suffix)


@app.command()
def generate(
    directory: DirectoryOption = None,
    target: Annotated[str, typer.Option(help="typescript, python or all.")] = "all",
    out: Annotated[Path, typer.Option(help="Folder that gets one folder per target.")] = Path(
        "generated"
    ),
    check: Annotated[bool, typer.Option("--check", help="Fail if OUT is stale.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on quarantined rows.")] = False,
    report_file: Annotated[
        Path | None, typer.Option("--report", help="Write the report as JSON to FILE.")
    ] = None,
    as_json: JsonFlag = False,
    config: ConfigOption = None,
) -> None:
    """Write typed stubs of the directory."""
    from codemode.service import generation  # what a command does not need is not imported

    settings = configured(config, directory, as_json=as_json)
    try:
        done = generation.generate(settings, target=target, out=out, check=check)
    except CodemodeError as error:
        fail(error, as_json=as_json)
    if report_file is not None:
        report_file.write_text(json.dumps(done.as_json(), indent=2) + "\n", encoding="utf-8")
    if as_json:
        terminal.show_json(done.as_json())
    else:
        for row in done.quarantined:
            where = f"{row.file}:{row.line}:{row.column}" if row.line else row.file
            what = ".".join(part for part in (row.toolset, row.row, row.field) if part)
            terminal.show(f"quarantined: {where}: {what}: {row.message}", style="red", error=True)
        for path in done.changed:
            terminal.show(f"{'stale' if check else 'written'}: {path}", error=True)
        terminal.show(
            f"{done.n_tools} tools, {done.n_files} files, {len(done.changed)} changed, "
            f"{len(done.quarantined)} rows quarantined, {len(done.losses)} losses, "
            f"{len(done.untyped)} rows without returns"
        )
    if check and done.changed:
        if not as_json:
            terminal.show("Stale: run codemode generate.", style="red", error=True)
        raise typer.Exit(1)
    if strict and done.quarantined:
        raise typer.Exit(1)


@app.command()
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

    answer = wait_for(work(), as_json=as_json, label="Checking")
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


@app.command()
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


@app.command()
def search(
    query: str,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 10,
    directory: DirectoryOption = None,
    target: Annotated[Literal["ts", "py"], typer.Option()] = "ts",
    as_json: JsonFlag = False,
    config: ConfigOption = None,
) -> None:
    """Find tools by what they do."""
    from codemode.service import Codemode

    settings = configured(config, directory, as_json=as_json)

    async def work() -> Any:
        async with Codemode.open(settings) as codemode:
            return codemode.search(query, limit=limit, language=_LANGUAGES[target])

    answer = wait_for(work(), as_json=as_json, label="Searching")
    if as_json:
        terminal.show_json(answer)
        return
    for found in answer["tools"]:
        terminal.show(found["signature"], style="bold")
        terminal.show(f"  {found['description']} {found['when_to_use']} [{found['effect']}]")
    terminal.show(f"{answer['n_shown']} of {answer['n_matching']}", error=True)


@app.command()
def describe(
    tools: Annotated[list[str], typer.Argument(metavar="TOOL...")],
    target: Annotated[Literal["ts", "py"], typer.Option()] = "ts",
    directory: DirectoryOption = None,
    as_json: JsonFlag = False,
    config: ConfigOption = None,
) -> None:
    """Full declarations of tools. Exit 1 if one is unknown."""
    from codemode.service import Codemode

    settings = configured(config, directory, as_json=as_json)

    async def work() -> Any:
        async with Codemode.open(settings) as codemode:
            return codemode.describe(tools, language=_LANGUAGES[target])

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


@import_app.command("mcp")
def import_mcp(
    source: Annotated[str, typer.Argument(help="A saved tools/list answer, or a stdio command.")],
    toolset: Annotated[str, typer.Option(help="Name of the toolset, snake_case.")],
    out: Annotated[Path, typer.Option(help="Folder of toolset files.")] = Path("directory"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Rows from an MCP server's tools. What a person wrote in an existing file is kept."""
    from codemode.importers import mcp as importer

    words = [source] if Path(source).is_file() else shlex.split(source)
    work = importer.import_mcp(words, toolset=toolset, out=out, dry_run=dry_run)
    done = wait_for(work, as_json=as_json, label="Importing")
    if as_json:
        lists = {one.name: getattr(done, one.name) for one in fields(done) if one.name != "file"}
        terminal.show_json({**lists, "path": str(done.path), "n_rows": done.n_rows})
        return
    for line in done.lines():
        terminal.show(line, error=True)
    verb = "would be written to" if dry_run else "written to"
    terminal.show(f"{done.n_rows} rows {verb} {done.path}")


@runs_app.command("list")
def runs_list(
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    as_json: JsonFlag = False,
    config: ConfigOption = None,
) -> None:
    """The latest runs, newest first."""
    settings = configured(config, None, as_json=as_json)
    rows = RunStore(settings.state_folder / "runs").latest(limit=limit)
    if as_json:
        terminal.show_json([{name: getattr(row, name) for name in row.__slots__} for row in rows])
        return
    terminal.table(
        ["run", "at", "status", "engine", "calls", "ms"],
        ([r.run_id, r.at, r.status, r.engine, r.n_calls, round(r.wall_ms)] for r in rows),
    )


@runs_app.command("show")
def runs_show(run_id: str, as_json: JsonFlag = False, config: ConfigOption = None) -> None:
    """One run, whole."""
    record = _record(run_id, config, as_json=as_json)
    terminal.show_json(record) if as_json else terminal.show_value(record)


@runs_app.command("logs")
def runs_logs(run_id: str, as_json: JsonFlag = False, config: ConfigOption = None) -> None:
    """What one run printed."""
    record = _record(run_id, config, as_json=as_json)
    if as_json:
        terminal.show_json(record["logs"])
        return
    for line in record["logs"]:
        terminal.show(line["text"].rstrip("\n"), error=line["stream"] == "stderr")


def _record(run_id: str, config: Path | None, *, as_json: bool) -> dict[str, Any]:
    settings = configured(config, None, as_json=as_json)
    try:
        return RunStore(settings.state_folder / "runs").read(run_id)
    except CodemodeError as error:
        fail(error, as_json=as_json, code=2)


@credentials_app.command("list")
def credentials_list(as_json: JsonFlag = False, config: ConfigOption = None) -> None:
    """Which credentials there are, where each may go, and whether its secret is found."""
    from codemode.service import doctor

    settings = configured(config, None, as_json=as_json)
    work = doctor.credential_states(settings)
    rows = wait_for(work, as_json=as_json, label="Looking up")
    if as_json:
        terminal.show_json(rows)
        return
    terminal.table(
        ["credential", "scheme", "destinations", "looked up in", "found"],
        (
            [
                row["name"],
                row["scheme"],
                " ".join(row["destinations"]),
                row["provider"],
                "yes" if row["found"] else f"no: {row['problem']}",
            ]
            for row in rows
        ),
    )


@credentials_app.command("test")
def credentials_test(name: str, as_json: JsonFlag = False, config: ConfigOption = None) -> None:
    """Exit 0 if the credential's secret is found, 1 if not. Never prints it."""
    from codemode.service import doctor

    settings = configured(config, None, as_json=as_json)
    rows = wait_for(doctor.credential_states(settings), as_json=as_json, label="Looking up")
    row = next((row for row in rows if row["name"] == name), None)
    if row is None:
        known = ", ".join(row["name"] for row in rows)
        wrong = CodemodeError(f"There is no credential {name!r}.", hint=f"Known: {known}.")
        fail(wrong, as_json=as_json, code=2)
    if as_json:
        terminal.show_json(row)
    else:
        terminal.show("found" if row["found"] else f"not found: {row['problem']}")
    raise typer.Exit(0 if row["found"] else 1)


@credentials_app.command("set")
def credentials_set(name: str, as_json: JsonFlag = False, config: ConfigOption = None) -> None:
    """Keep a secret in the operating system's keyring; read from the terminal or stdin."""
    from codemode.service import doctor

    settings = configured(config, None, as_json=as_json)
    secret = getpass.getpass("Secret: ") if sys.stdin.isatty() else sys.stdin.readline()
    try:
        where = doctor.keep_secret(settings, name, secret.rstrip("\r\n"))
    except CodemodeError as error:
        fail(error, as_json=as_json)
    if as_json:
        terminal.show_json({"name": name, "kept_in": where})
    else:
        terminal.show(f"{name}: kept in {where}")


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("codemode.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Write a commented codemode.toml."""
    if path.exists() and not force:
        wrong = CodemodeError(f"{path} is there already.", hint="--force replaces it.")
        fail(wrong, as_json=as_json, code=2)
    template = Path(__file__).with_name("codemode.toml").read_text(encoding="utf-8")
    path.write_text(template, encoding="utf-8")
    terminal.show_json({"path": str(path)}) if as_json else terminal.show(f"written: {path}")


@app.command("doctor")
def doctor_command(as_json: JsonFlag = False, config: ConfigOption = None) -> None:
    """What works here, what does not, and what to do about it. Exit 1 if something needed fails."""
    from codemode.service import doctor

    settings = configured(config, None, as_json=as_json)
    findings = wait_for(doctor.examine(settings), as_json=as_json, label="Looking")
    if as_json:
        terminal.show_json([finding.as_json() for finding in findings])
    else:
        for finding in findings:
            mark, style = ("ok", "green") if finding.ok else ("--", "yellow")
            if finding.needed and not finding.ok:
                mark, style = "!!", "red"
            terminal.show(f"{mark} {finding.name}: {finding.detail}", style=style)
            if finding.fix and not finding.ok:
                terminal.show(f"   {finding.fix}")
    raise typer.Exit(1 if any(f.needed and not f.ok for f in findings) else 0)


@image_app.command("build")
def image_build(
    ca_bundle: Annotated[
        Path | None, typer.Option(help="CA certificates for the build alone; not kept.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--base", help="With the programs of cli rows.")
    ] = True,
    as_json: JsonFlag = False,
    config: ConfigOption = None,
) -> None:
    """Build the sandbox image. Without a registry the base is made from Debian's packages."""
    from codemode.service import doctor

    settings = configured(config, None, as_json=as_json)

    def say(line: str) -> None:
        if not as_json:
            terminal.show(line, style="dim", error=True)

    work = doctor.build_image(settings, ca_bundle=ca_bundle, full=full, say=say)
    done = wait_for(work, as_json=as_json)
    terminal.show_json(done) if as_json else terminal.show(
        f"{done['name']} {done['id']} {done['size_mib']} MiB"
    )


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
    app()
