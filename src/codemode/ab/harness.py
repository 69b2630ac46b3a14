"""Runs a plan: every task on every surface with every seed, once, until done or a cap."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from codemode.ab.conversation import Model, Spent
from codemode.ab.judge import differences
from codemode.ab.otlp import trace
from codemode.ab.plan import Plan, SurfaceName
from codemode.ab.results import Cell, Finished, Results
from codemode.ab.seeded import seeded
from codemode.ab.session import Session, converse
from codemode.ab.shown import AgentTools, Surface, surfaces
from codemode.ab.tasks import TASKS
from codemode.ab.world import KEYED, TOKEN, World
from codemode.errors import ConfigError
from codemode.service import Codemode
from codemode.store.config import Config, parse_config
from codemode.store.shipped import shipped

Stopped: TypeAlias = Literal["complete", "max_tokens", "max_usd", "max_seconds", "model_errors"]
Progress: TypeAlias = Callable[[int, int, Cell, "Finished | str"], None]
"""(sessions finished, sessions in all, cell, how it ended)."""
MakeTools: TypeAlias = Callable[[Codemode], Awaitable[AgentTools]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """
    Args:
        stopped: Why no further session was started.
        n_before: Sessions that were finished already and not repeated.
        fault: What the model's service said last, if it broke sessions off.
    """

    stopped: Stopped
    n_before: int
    n_now: int
    n_all: int
    fault: str = ""


def cells(plan: Plan) -> Iterator[tuple[str, SurfaceName, int]]:
    """
    Every session in its order: seed by seed, task by task, all surfaces of a task together.

    Which surface comes first moves on from task to task, so that none is always the first
    and a cap ends all surfaces within a task of each other.
    """
    n = 0
    for seed in plan.seeds:
        for task in plan.task_names:
            for at in range(len(plan.surfaces)):
                yield task, plan.surfaces[(n + at) % len(plan.surfaces)], seed
            n += 1


async def run_plan(
    plan: Plan,
    folder: Path,
    model: Model,
    make_tools: MakeTools,
    *,
    progress: Progress = lambda *_: None,
    clock_s: Callable[[], float] = time.monotonic,
) -> Done:
    """
    Do what *plan* says and *folder* does not have yet.

    Raises:
        ConfigError: If the folder holds results of another plan.
    """
    order = list(cells(plan))
    with Results(folder, plan) as results:
        n_before = len(results.finished)
        left = [cell for cell in order if cell not in results.finished]
        if not left:
            return Done(stopped="complete", n_before=n_before, n_now=0, n_all=len(order))
        async with world_service(plan) as (world, codemode):
            shown = surfaces(codemode, await make_tools(codemode), plan)
            errors, fault = 0, ""
            stopped: Stopped = "complete"
            for cell in left:
                if reached := over_cap(plan, results):
                    stopped = reached
                    break
                ended = await _one(plan, cell, shown[cell[1]], world, model, results, clock_s)
                progress(len(results.finished), len(order), cell, ended)
                if isinstance(ended, Finished):
                    errors = 0
                    continue
                errors, fault = errors + 1, ended
                if errors >= plan.stop.model_errors_in_a_row:
                    stopped = "model_errors"
                    break
        n_now = len(results.finished) - n_before
        if stopped == "complete" and len(results.finished) < len(order):
            stopped = "model_errors"
        return Done(stopped=stopped, n_before=n_before, n_now=n_now, n_all=len(order), fault=fault)


def over_cap(plan: Plan, results: Results) -> Stopped | None:
    """The cap that what was spent so far has reached, sessions that broke off included."""
    if sum(one.total for one in results.spent) >= plan.caps.max_tokens:
        return "max_tokens"
    if plan.caps.max_usd is not None and _usd(plan, results.spent) >= plan.caps.max_usd:
        return "max_usd"
    if results.seconds >= plan.caps.max_seconds:
        return "max_seconds"
    return None


def _usd(plan: Plan, spent: list[Spent]) -> float:
    costs = [plan.cost_usd(input=s.input, cached=s.cached, output=s.output) for s in spent]
    return sum(cost for cost in costs if cost is not None)


async def _one(
    plan: Plan,
    cell: tuple[str, SurfaceName, int],
    surface: Surface,
    world: World,
    model: Model,
    results: Results,
    clock_s: Callable[[], float],
) -> Finished | str:
    """Run one session; a text says why it is not finished."""
    task, name, seed = cell
    start = seeded(seed)
    prompt, wanted = TASKS[task].posed(start)
    world.reset(start)
    mark = clock_s()

    def pay(spent: Spent) -> None:
        nonlocal mark
        now = clock_s()
        results.pay(cell, spent, now - mark)
        mark = now

    session = await converse(
        model,
        surface,
        prompt,
        seed=seed,
        max_turns=plan.caps.max_turns,
        timeout_s=plan.caps.session_seconds,
        on_spent=pay,
    )
    if session.end == "model_error":
        return session.fault
    problems = tuple(differences(wanted, world.state))
    finished = _finished(plan, cell, session, problems)
    kept = trace(session, task=task, surface=name, seed=seed, model=plan.model.name)
    results.finish(finished, kept)
    return finished


def _finished(plan: Plan, cell: Cell, session: Session, problems: tuple[str, ...]) -> Finished:
    task, surface, seed = cell
    spent = session.spent
    models = [one.said.model for one in session.steps if hasattr(one, "said") and one.said.model]
    return Finished(
        task=task,
        surface=surface,
        seed=seed,
        solved=not problems,
        problems=problems,
        end=session.end,
        turns=session.n_turns,
        calls=session.n_calls,
        input=spent.input,
        cached=spent.cached,
        output=spent.output,
        seconds=round(session.seconds, 3),
        usd=plan.cost_usd(input=spent.input, cached=spent.cached, output=spent.output),
        trace=f"traces/{surface}/{task}.{seed}.json",
        model=models[-1] if models else plan.model.name,
    )


@asynccontextmanager
async def world_service(plan: Plan) -> AsyncIterator[tuple[World, Codemode]]:
    """
    The world on loopback, and the service whose toolsets all point there.

    Nothing else can be reached: every toolset of the plan goes to the world's address.

    Raises:
        ConfigError: If the plan names a toolset that is not shipped, or not an HTTP one.
    """
    world = World(seeded(plan.seeds[0]))
    with tempfile.TemporaryDirectory(prefix="codemode-ab-") as name, world.upstream:
        config = _config(plan, Path(name), world)
        async with Codemode.open(config) as codemode:
            for tool in codemode.directory:
                if tool.binding.via != "http":
                    raise ConfigError(
                        f"The toolset {tool.toolset.name!r} is not an HTTP one.",
                        hint="Only HTTP toolsets can be pointed at the world of the tasks.",
                    )
            yield world, codemode


def _config(plan: Plan, folder: Path, world: World) -> Config:
    rows = folder / "directory"
    rows.mkdir()
    for toolset in plan.toolsets:
        source = shipped("directory") / f"{toolset}.json"
        if not source.is_file():
            raise ConfigError(f"There is no shipped toolset {toolset!r}.")
        shutil.copy(source, rows / source.name)
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(TOKEN, encoding="utf-8")
    url = world.upstream.url
    given = {"provider": "file", "path": str(token), "destinations": [url]}
    raw = {
        "directory": str(rows),
        "state": str(folder / "state"),
        "allow_addresses": [world.upstream.address],
        "engine": {"name": plan.engine},
        "policy": {"allow": ["*"]},
        "toolsets": {name: {"base_url": f"{url}/{name}"} for name in plan.toolsets},
        "credentials": dict.fromkeys(KEYED, given),
    }
    return parse_config(raw, origin="the harness", base=folder)
