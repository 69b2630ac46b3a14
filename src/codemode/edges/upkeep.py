"""The commands of whoever keeps a directory and a machine: generate, import, runs, doctor..."""

from __future__ import annotations

import getpass
import json
import shlex
import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from codemode.edges import terminal
from codemode.edges.command import (
    ConfigOption,
    DirectoryOption,
    JsonFlag,
    configured,
    fail,
    wait_for,
)
from codemode.errors import CodemodeError
from codemode.store.runs import RunStore

runs_app = typer.Typer(help="Past runs.", no_args_is_help=True)
credentials_app = typer.Typer(help="Secrets that tools need.", no_args_is_help=True)
image_app = typer.Typer(help="The sandbox image.", no_args_is_help=True)
import_app = typer.Typer(help="Turn what you have into rows.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Put the commands of this module into *app*."""
    for command in (generate, init):
        app.command()(command)
    app.command("doctor")(doctor_command)
    app.add_typer(import_app, name="import")
    app.add_typer(runs_app, name="runs")
    app.add_typer(credentials_app, name="credentials")
    app.add_typer(image_app, name="image")


def generate(
    directory: DirectoryOption = None,
    target: Annotated[str, typer.Option(help="typescript, python or all.")] = "all",
    out: Annotated[Path, typer.Option(help="Folder that gets one folder per target.")] = Path(
        "generated"
    ),
    check: Annotated[bool, typer.Option("--check", help="Fail if OUT is stale.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on incomplete rows.")] = False,
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
            terminal.show(f"quarantined: {row}", style="red", error=True)
        for argument in done.undescribed:
            terminal.show(f"undescribed: {argument}: give the argument a description", error=True)
        for tool in done.unwritten:
            terminal.show(f"unwritten: {tool}: write when_to_use in its row", error=True)
        for path in done.changed:
            terminal.show(f"{'stale' if check else 'written'}: {path}", error=True)
        terminal.show(
            f"{done.n_tools} tools, {done.n_files} files, {len(done.changed)} changed, "
            f"{len(done.quarantined)} rows quarantined, {len(done.losses)} losses, "
            f"{len(done.untyped)} rows without returns, "
            f"{len(done.undescribed)} arguments undescribed, "
            f"{len(done.unwritten)} rows unwritten"
        )
    if check and done.changed:
        if not as_json:
            terminal.show("Stale: run codemode generate.", style="red", error=True)
        raise typer.Exit(1)
    if strict and not done.is_complete:
        raise typer.Exit(1)


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

    try:
        words = [source] if Path(source).is_file() else shlex.split(source)
    except ValueError:  # a quote that is not closed: no command line
        words = [source]
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
