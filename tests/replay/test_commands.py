"""``codemode replay`` and ``codemode surfaces`` as commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from codemode.edges import replay, surfaces


def invoke(*args: str) -> tuple[int, str, str]:
    app = typer.Typer()
    replay.register(app)
    surfaces.register(app)
    done = CliRunner().invoke(app, list(args))
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def recording(tmp_path: Path) -> tuple[str, str]:
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps({"tools": [{"name": "count", "inputSchema": schema}]}))
    calls = [
        {"id": str(at), "type": "function", "function": {"name": name, "arguments": args}}
        for at, (name, args) in enumerate(
            [("count", '{"n": 1}'), ("count", '{"n": "one"}'), ("other", "{}")]
        )
    ]
    trace = tmp_path / "trace.json"
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": calls}]
    trace.write_text(json.dumps({"model": "m", "messages": messages}))
    return str(tools), str(trace)


def test_replay_answers_in_json_and_in_lines(recording: tuple[str, str]):
    tools, trace = recording

    code, out, _ = invoke("replay", trace, "--tools", tools, "--json")
    assert code == 0
    said = json.loads(out)
    assert (said["checkable"], said["break_their_schema"]) == (2, 1)
    assert said["unknown_tools"] == {"other": 1}
    assert {one["caught"] for one in said["languages"].values()} == {1}

    code, out, err = invoke("replay", trace, "--tools", tools)
    assert code == 0
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["typescript", "2", "1", "1", "0", "0"],
        ["python", "2", "1", "1", "0", "0"],
    ]
    assert "not in the listing: other (1)" in err


def test_what_cannot_be_read_is_an_error_that_names_it(recording: tuple[str, str], tmp_path: Path):
    tools, trace = recording
    gone = str(tmp_path / "gone.json")

    code, out, _ = invoke("replay", gone, "--tools", tools, "--json")
    assert code != 0
    assert "gone.json" in json.loads(out)["error"]["message"]
    code, out, _ = invoke("replay", trace, "--tools", gone, "--json")
    assert code != 0
    assert "gone.json" in json.loads(out)["error"]["message"]


def test_surfaces_of_the_shipped_directory_keep_their_aims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("bpe_openai")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    code, out, _ = invoke("surfaces", "--json")

    assert code == 0
    tokens = {
        (one["surface"], one["language"]): one["tokens"] for one in json.loads(out)["surfaces"]
    }
    assert 0 < tokens["search + describe + run", None] < 1_200
    assert tokens["compact index", "typescript"] <= 20_000


def test_tasks_without_their_tools_are_refused(recording: tuple[str, str]):
    code, out, _ = invoke("surfaces", recording[1], "--json")

    assert code == 2
    assert "--tools" in json.loads(out)["error"]["hint"]
