"""A whole experiment with the scripted model: every task, every surface, ends and beginnings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ab.conftest import KEY_ENV, make_plan, raw_plan
from ab.scripted import KEY, ScriptedModel
from codemode.ab.client import HttpModel
from codemode.ab.harness import Done, cells, run_plan
from codemode.ab.page import page
from codemode.ab.plan import SURFACES, Plan
from codemode.ab.report import NOT_A_RESULT, compared, report_json, report_lines
from codemode.ab.results import read_finished, read_results
from codemode.edges import measure
from codemode.edges.ab import served_tools
from codemode.errors import ConfigError
from codemode.testing import FakeReply


async def experiment(plan: Plan, folder: Path) -> Done:
    model = HttpModel(plan.model, first_wait_s=0.0)
    try:
        return await run_plan(plan, folder, model, served_tools)
    finally:
        await model.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("surface", SURFACES)
async def test_the_thirty_tasks_are_done_on_every_surface(
    surface: str, scripted: ScriptedModel, folder: Path
):
    plan = make_plan(scripted, tasks=["all"], sample_size=30, surfaces=[surface], baseline=surface)

    done = await experiment(plan, folder)

    assert (done.stopped, done.n_now, done.fault) == ("complete", 30, "")
    _, finished = read_results(folder)
    assert {one.task: one.problems for one in finished if not one.solved} == {}
    found = compared(folder).surfaces[0]
    assert found.n_solved == 30
    counts = found.discovery.counts
    assert counts["work"] > 0
    assert counts["repair"] == counts["unclassified"] == counts["setup"] == 0
    assert (counts["discovery"] > 0) == (surface in ("dispatch", "search"))


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_either_form_of_request(api: str, scripted: ScriptedModel, folder: Path):
    url = scripted.upstream.url + ("/v1" if api == "openai" else "")
    plan = make_plan(scripted, model={"api": api, "base_url": url})

    done = await experiment(plan, folder)

    assert (done.stopped, done.n_all) == ("complete", 8)
    _, finished = read_results(folder)
    assert all(one.solved for one in finished)
    assert {one.model for one in finished} == {"scripted"}
    assert all(one.usd and one.output for one in finished)


async def test_scripts_in_typescript(key: str, folder: Path):
    scripted = ScriptedModel([1], language="typescript")
    with scripted.upstream:
        plan = make_plan(
            scripted, language="typescript", surfaces=["search", "stubs"], baseline="search"
        )
        await experiment(plan, folder)

    _, finished = read_results(folder)
    assert [one.problems for one in finished] == [()] * 4


async def test_a_finished_session_is_never_repeated(scripted: ScriptedModel, folder: Path):
    plan = make_plan(scripted, surfaces=["mcp"], baseline="mcp")
    await experiment(plan, folder)
    n = scripted.n_requests
    lines = (folder / "sessions.jsonl").read_bytes()

    again = await experiment(plan, folder)

    assert (again.stopped, again.n_before, again.n_now) == ("complete", 2, 0)
    assert scripted.n_requests == n
    assert (folder / "sessions.jsonl").read_bytes() == lines


async def test_a_line_that_a_crash_cut_is_run_again(scripted: ScriptedModel, folder: Path):
    plan = make_plan(scripted, surfaces=["mcp"], baseline="mcp")
    await experiment(plan, folder)
    path = folder / "sessions.jsonl"
    path.write_bytes(path.read_bytes()[:-10])

    again = await experiment(plan, folder)

    assert (again.n_before, again.n_now) == (1, 1)
    assert [one.cell for one in read_finished(folder)] == list(cells(plan))


async def test_a_changed_plan_does_not_go_on(scripted: ScriptedModel, folder: Path):
    await experiment(make_plan(scripted, surfaces=["mcp"], baseline="mcp"), folder)

    with pytest.raises(ConfigError, match="another plan"):
        await experiment(make_plan(scripted, surfaces=["stubs"], baseline="stubs"), folder)
    kept = json.loads((folder / "plan.json").read_text())
    kept["plan"]["seeds"] = [2]
    (folder / "plan.json").write_text(json.dumps(kept))
    with pytest.raises(ConfigError, match="edited"):
        read_results(folder)


async def test_two_processes_do_not_share_a_folder(scripted: ScriptedModel, folder: Path):
    from codemode.ab.results import Results

    plan = make_plan(scripted)
    with Results(folder, plan), pytest.raises(ConfigError, match="Another process"):
        await experiment(plan, folder)


@pytest.mark.parametrize(
    ("caps", "stopped"),
    [
        ({"max_tokens": 1}, "max_tokens"),
        ({"max_usd": 1e-9}, "max_usd"),
        ({"max_seconds": 1e-9}, "max_seconds"),
    ],
)
async def test_a_cap_ends_it_and_is_kept_over_a_restart(
    caps: dict[str, Any], stopped: str, scripted: ScriptedModel, folder: Path
):
    plan = make_plan(scripted, caps=caps, surfaces=["mcp"], baseline="mcp")

    first, second = await experiment(plan, folder), await experiment(plan, folder)

    assert (first.stopped, first.n_now) == (stopped, 1)
    assert (second.stopped, second.n_now) == (stopped, 0)


async def test_a_service_that_fails_ends_it_and_is_paid_for(key: str, folder: Path):
    """The first two messages are answered; then the service is broken until it is mended."""
    broken = True

    def fumbles(n: int) -> FakeReply | None:
        return FakeReply(status=500, json={"error": f"for {KEY}"}) if broken and n > 2 else None

    scripted = ScriptedModel([1], fumbles=fumbles)
    with scripted.upstream:
        plan = make_plan(
            scripted, surfaces=["mcp"], baseline="mcp", stop={"model_errors_in_a_row": 2}
        )
        done = await experiment(plan, folder)

        assert (done.stopped, done.n_now) == ("model_errors", 0)
        assert "HTTP 500" in done.fault
        assert KEY not in done.fault
        spent = (folder / "spent.jsonl").read_text().splitlines()
        assert len(spent) == 2

        broken = False
        again = await experiment(plan, folder)

    assert (again.stopped, again.n_now) == ("complete", 2)
    assert len((folder / "spent.jsonl").read_text().splitlines()) > 2


async def test_what_the_service_refuses_for_now_is_asked_again(key: str, folder: Path):
    scripted = ScriptedModel(
        [1], fumbles=lambda n: FakeReply(status=429, json={}) if n in (1, 3) else None
    )
    with scripted.upstream:
        plan = make_plan(scripted, surfaces=["mcp"], baseline="mcp")
        done = await experiment(plan, folder)

    assert done.stopped == "complete"


async def test_a_model_that_never_ends_is_ended(key: str, folder: Path):
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "mcp__codemode__search", "arguments": '{"query": "release"}'},
    }
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"choices": [{"message": message}], "usage": {}}
    scripted = ScriptedModel([1], fumbles=lambda n: FakeReply(json=answer))
    with scripted.upstream:
        plan = make_plan(scripted, surfaces=["search"], baseline="search", caps={"max_turns": 3})
        await experiment(plan, folder)

    _, finished = read_results(folder)
    assert [(one.end, one.turns, one.solved) for one in finished] == [("max_turns", 3, False)] * 2
    assert all(one.problems for one in finished)


async def test_a_service_that_does_not_count_still_meets_the_cap(key: str, folder: Path):
    answer = {"choices": [{"message": {"role": "assistant", "content": "Done."}}]}
    scripted = ScriptedModel([1], fumbles=lambda n: FakeReply(json=answer))
    with scripted.upstream:
        plan = make_plan(scripted, surfaces=["mcp"], baseline="mcp", caps={"max_tokens": 1000})
        done = await experiment(plan, folder)

    assert (done.stopped, done.n_now) == ("max_tokens", 1)
    _, finished = read_results(folder)
    assert finished[0].input > 1000
    assert not finished[0].solved


async def test_the_report_never_calls_a_scripted_run_a_result(
    scripted: ScriptedModel, folder: Path
):
    await experiment(make_plan(scripted), folder)

    found = compared(folder)

    assert found.is_scripted
    said = report_json(found)
    assert said["is_result"] is False
    assert [one["solved"] for one in said["surfaces"]] == [2, 2, 2, 2]
    assert {one["surface"] for one in said["against_baseline"]} == {"mcp", "search", "stubs"}
    lines = list(report_lines(found))
    assert lines[0] == (NOT_A_RESULT, [])
    html = page(found)
    assert html.count("NOT A RESULT") == 1
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")


async def test_the_traces_are_measured_side_by_side(scripted: ScriptedModel, folder: Path):
    plan = make_plan(
        scripted,
        surfaces=["dispatch", "search"],
        tasks=["announce_release", "tag_release", "unpaid_total", "holiday_notice", "ship_pull"],
        sample_size=5,
    )
    await experiment(plan, folder)
    app = typer.Typer()
    measure.register(app)
    args = ["--before", f"{folder}/traces/dispatch", "--after", f"{folder}/traces/search"]

    done = CliRunner().invoke(app, [*args, "--pair-by", "task", "--json"])

    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    found = answer.get("comparison", answer)
    assert found["pairs"] == 5
    assert found["method"] == "paired bootstrap"
    theirs = {one.name: one.discovery.pair for one in compared(folder).surfaces}
    for side, name in (("before", "dispatch"), ("after", "search")):
        assert (found[side]["discovery"], found[side]["calls"]) == theirs[name]


async def test_a_renamed_stand_in_is_found_by_what_it_answers(
    scripted: ScriptedModel, folder: Path
):
    plan = make_plan(
        scripted, surfaces=["mcp"], baseline="mcp", model={"name": "a-real-looking-name"}
    )
    await experiment(plan, folder)

    assert not plan.is_scripted
    assert compared(folder).is_scripted


async def test_no_key_is_left_anywhere(scripted: ScriptedModel, folder: Path):
    plan = make_plan(scripted, surfaces=["mcp", "search"], baseline="mcp")
    model = HttpModel(plan.model)
    assert KEY not in repr(model)
    await model.close()
    await experiment(plan, folder)

    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert len(kept) >= 7
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]


COMMAND = """
import typer
from codemode.edges import ab
app = typer.Typer(pretty_exceptions_enable=False)
ab.register(app)
@app.callback()
def main() -> None: ...
app()
"""


def command(*args: str) -> list[str]:
    return [sys.executable, "-c", COMMAND, "ab", *args]


@pytest.mark.timeout(200)
def test_killed_in_the_middle_it_goes_on_and_repeats_nothing(
    scripted: ScriptedModel, folder: Path, tmp_path: Path
):
    raw = raw_plan(
        f"{scripted.upstream.url}/v1",
        tasks=["announce_release", "tag_release", "holiday_notice", "ship_pull"],
        sample_size=4,
        surfaces=["mcp", "stubs"],
        baseline="mcp",
    )
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(raw))
    env = {**os.environ, KEY_ENV: KEY}
    running = subprocess.Popen(
        command("run", str(plan), "--out", str(folder)),
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    path = folder / "sessions.jsonl"
    deadline = time.monotonic() + 120
    while not (path.exists() and path.read_bytes().count(b"\n") >= 2):
        assert running.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait(30)
    before = [line for line in path.read_bytes().splitlines(keepends=True) if line[-1:] == b"\n"]
    assert 2 <= len(before) < 8

    again = subprocess.run(
        command("run", str(plan), "--out", str(folder), "--json"),
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert again.returncode == 0, again.stderr
    answer = json.loads(again.stdout)
    assert (answer["finished_before"], answer["finished_now"]) == (len(before), 8 - len(before))
    after = path.read_bytes().splitlines(keepends=True)
    assert after[: len(before)] == before
    cells_ = [(one.task, one.surface, one.seed) for one in read_finished(folder)]
    assert len(set(cells_)) == len(cells_) == 8
    assert KEY not in again.stdout + again.stderr
