"""The commands of the A/B harness: init, tasks, run, report."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codemode.core.tool import JsonValue
from codemode.edges import terminal
from codemode.edges.command import JsonFlag, fail, wait_for
from codemode.errors import CodemodeError, ConfigError

if TYPE_CHECKING:
    from codemode.ab.harness import Done
    from codemode.service import Codemode

FolderOption = Annotated[Path, typer.Option("--out", help="Folder that keeps the results.")]
ab_app = typer.Typer(
    help="The same tasks under four ways of showing the tools, with a model of your own.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Put the commands of this module into *app*."""
    app.add_typer(ab_app, name="ab")


class ServedTools:
    """The tools of ``codemode mcp``, called as its clients call them."""

    def __init__(
        self, server: Any, definitions: Sequence[Mapping[str, Any]], instructions: str
    ) -> None:
        self._server = server
        self.definitions = definitions
        self.instructions = instructions

    async def call(self, name: str, args: Mapping[str, JsonValue]) -> tuple[str, bool]:
        from mcp.server.mcpserver.exceptions import ToolError

        try:
            answer = await self._server.call_tool(name, dict(args))
        except ToolError as error:
            return str(error), True
        text = "\n".join(part.text for part in answer.content if hasattr(part, "text"))
        return text, bool(answer.is_error)


async def served_tools(codemode: Codemode) -> ServedTools:
    """What an MCP client is shown of *codemode*."""
    from codemode.edges.mcp import build_server

    server = build_server(codemode)
    definitions = [
        {
            "name": tool.name,
            "description": tool.description or "",
            "inputSchema": tool.input_schema,
        }
        for tool in await server.list_tools()
    ]
    return ServedTools(server, definitions, server.instructions or "")


@ab_app.command("init")
def init(
    path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("ab.toml"),
    as_json: JsonFlag = False,
) -> None:
    """Write a commented plan."""
    from codemode.ab.plan import TEMPLATE

    if path.exists():
        wrong = ConfigError(f"{path} is there already.", hint="Name another file.")
        fail(wrong, as_json=as_json, code=2)
    path.write_text(TEMPLATE, encoding="utf-8")
    terminal.show_json({"path": str(path)}) if as_json else terminal.show(f"written: {path}")


@ab_app.command("tasks")
def tasks(
    seed: Annotated[int, typer.Option(help="Of the world that prompts are made from.")] = 1,
    as_json: JsonFlag = False,
) -> None:
    """List the tasks with the words that a model gets."""
    from codemode.ab.seeded import seeded
    from codemode.ab.tasks import TASKS

    rows = [
        {"task": name, "toolsets": list(task.toolsets), "prompt": task.posed(seeded(seed))[0]}
        for name, task in TASKS.items()
    ]
    if as_json:
        terminal.show_json(rows)
        return
    for row in rows:
        terminal.show(f"{row['task']} ({' + '.join(row['toolsets'])})", style="bold")
        terminal.show(f"  {row['prompt']}")


@ab_app.command("run")
def run(
    plan: Annotated[Path, typer.Argument(help="The plan, TOML or JSON.")],
    out: FolderOption,
    as_json: JsonFlag = False,
) -> None:
    """Run a plan, or what is left of it. Exit 0 complete, 1 a cap or the model ended it early."""
    from codemode.ab.client import HttpModel
    from codemode.ab.harness import run_plan
    from codemode.ab.plan import read_plan

    def progress(n: int, n_all: int, cell: tuple[str, str, int], ended: Any) -> None:
        how = f"broke off: {ended}" if isinstance(ended, str) else ended.end
        if not isinstance(ended, str):
            how = "solved" if ended.solved else f"not solved ({ended.end})"
        terminal.show(f"{n}/{n_all} {cell[0]} {cell[1]} seed {cell[2]}: {how}", error=True)

    # The MCP server logs every request of every library; what matters here is said by `progress`.
    logging.getLogger("httpx").setLevel(logging.WARNING)

    async def work() -> Done:
        wanted = read_plan(plan)
        model = HttpModel(wanted.model)
        try:
            return await run_plan(wanted, out, model, served_tools, progress=progress)
        finally:
            await model.close()

    try:
        done = wait_for(work(), as_json=as_json)
    except KeyboardInterrupt:
        terminal.show("Stopped. The same command goes on where this ended.", error=True)
        raise typer.Exit(130) from None
    if as_json:
        terminal.show_json(
            {
                "stopped": done.stopped,
                "finished_before": done.n_before,
                "finished_now": done.n_now,
                "sessions": done.n_all,
                "fault": done.fault or None,
            }
        )
    else:
        terminal.show(
            f"{done.n_before + done.n_now} of {done.n_all} sessions finished, {done.n_now} of "
            f"them now; ended: {done.stopped}"
        )
        if done.fault:
            terminal.show(f"the model's service said: {done.fault}", style="yellow", error=True)
        terminal.show(f"codemode ab report --out {out}", error=True)
    raise typer.Exit(0 if done.stopped == "complete" else 1)


@ab_app.command("report")
def report(
    out: FolderOption,
    html: Annotated[Path | None, typer.Option(help="Write a page there too.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare the surfaces of a finished or unfinished experiment."""
    from codemode.ab.page import page
    from codemode.ab.report import compared, report_json, report_lines

    try:
        found = compared(out)
    except CodemodeError as error:
        fail(error, as_json=as_json)
    if html is not None:
        html.write_text(page(found), encoding="utf-8")
    if as_json:
        terminal.show_json(report_json(found))
        return
    for heading, rows in report_lines(found):
        if isinstance(heading, str):
            terminal.show(heading)
        else:
            terminal.table(heading, rows)
