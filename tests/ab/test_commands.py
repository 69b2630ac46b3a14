"""``codemode ab``: init, tasks, run and report as commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from ab.conftest import KEY_ENV, raw_plan
from ab.scripted import KEY, ScriptedModel
from codemode.edges import ab
from codemode.testing import FakeReply


def invoke(*args: str) -> tuple[int, str, str]:
    app = typer.Typer()
    ab.register(app)

    @app.callback()
    def main() -> None: ...

    done = CliRunner().invoke(app, ["ab", *args])
    return done.exit_code, done.stdout, done.stderr


def test_init_writes_a_plan_once(tmp_path: Path):
    path = str(tmp_path / "ab.toml")

    assert invoke("init", path)[0] == 0
    code, out, _ = invoke("init", path, "--json")
    assert code == 2
    assert "there already" in json.loads(out)["error"]["message"]


def test_tasks_shows_the_words_of_a_seed():
    code, out, _ = invoke("tasks", "--json", "--seed", "2")

    assert code == 0
    rows = json.loads(out)
    assert len(rows) == 30
    assert all(len(row["toolsets"]) >= 2 and row["prompt"] for row in rows)


def test_run_and_report(tmp_path: Path, scripted: ScriptedModel):
    plan, out = tmp_path / "plan.json", str(tmp_path / "results")
    raw = raw_plan(f"{scripted.upstream.url}/v1", surfaces=["mcp", "dispatch"])
    plan.write_text(json.dumps(raw))

    code, text, err = invoke("run", str(plan), "--out", out)
    assert code == 0, err
    assert "4 of 4 sessions finished" in text
    assert "announce_release mcp seed 1: solved" in err

    page = tmp_path / "page.html"
    code, text, err = invoke("report", "--out", out, "--html", str(page))
    assert code == 0, err
    assert text.startswith("NOT A RESULT")
    assert "mcp against dispatch: 2 pairs of 2 tasks" in text
    assert "fewer than 5 tasks: no interval" in text
    assert "NOT A RESULT" in page.read_text()
    assert KEY not in text + err + page.read_text()


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    code, out, _ = invoke("run", str(tmp_path / "no.toml"), "--out", str(tmp_path), "--json")
    assert code != 0
    assert "codemode ab init" in json.loads(out)["error"]["hint"]

    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(raw_plan("http://127.0.0.1:9")))
    monkeypatch.delenv(KEY_ENV, raising=False)
    code, out, _ = invoke("run", str(plan), "--out", str(tmp_path / "r"), "--json")
    assert code != 0
    assert KEY_ENV in json.loads(out)["error"]["message"]
    assert not (tmp_path / "r").exists()

    code, out, _ = invoke("report", "--out", str(tmp_path), "--json")
    assert code != 0
    assert "holds no results" in json.loads(out)["error"]["message"]


def test_a_service_that_sends_the_key_elsewhere_does_not_get_it_there(key: str, tmp_path: Path):
    """A redirect is a fault: the key is for the address in the plan."""
    there = ScriptedModel([1])
    with there.upstream:
        headers = {"Location": f"{there.upstream.url}/v1/chat/completions"}
        here = ScriptedModel([1], fumbles=lambda n: FakeReply(status=307, headers=headers))
        with here.upstream:
            plan = tmp_path / "plan.json"
            plan.write_text(json.dumps(raw_plan(f"{here.upstream.url}/v1")))
            code, out, _ = invoke("run", str(plan), "--out", str(tmp_path / "r"), "--json")

    assert code == 1
    assert json.loads(out)["stopped"] == "model_errors"
    assert there.upstream.requests == []
