"""Recorded calls as lines of a script, and what schema and stubs say of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codemode.core.measure.call import TraceCall
from codemode.core.replay import (
    LANGUAGES,
    Recorded,
    Replay,
    line_of,
    pages,
    recorded,
    refusals,
    replay_json,
    schema_problem,
)
from codemode.core.run import Diagnostic
from codemode.core.tool import Binding, Tool, Toolset
from codemode.service.replay import read_calls, read_tools, replay

SHARED = Path(__file__).resolve().parents[3] / "shared" / "traces"
SCHEMA = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "title": {"type": "string"},
        "n": {"type": "integer", "minimum": 1},
        "state": {"enum": ["open", "closed"]},
        "class": {"type": "string"},
    },
}


def tool(schema: dict[str, Any] = SCHEMA) -> Tool:
    return Tool(
        toolset=Toolset(name="hub", description="x"),
        name="issue_open",
        description="Open an issue.",
        when_to_use="Sometimes.",
        args=schema,
        returns=None,
        effect="write",
        binding=Binding(via="fake", spec=None),
    )


def call(name: str | None, args: Any) -> TraceCall:
    return TraceCall(id="c1", name=name, args=args)


@pytest.mark.parametrize(
    ("name", "args", "server", "inner", "found"),
    [
        ("issue_open", {"title": "a"}, "", "issue_open", {"title": "a"}),
        ("mcp__hub__issue_open", {"title": "a"}, "hub", "issue_open", {"title": "a"}),
        (
            "execute-tool",
            {"server_name": "hub", "tool_name": "issue_open", "params": {"title": "a"}},
            "hub",
            "issue_open",
            {"title": "a"},
        ),
        (
            "execute-tool",
            {"server_name": "hub", "tool_name": "issue_open", "params": '{"title": "a"}'},
            "hub",
            "issue_open",
            {"title": "a"},
        ),
        ("issue_open", "{broken", "", "issue_open", None),
    ],
)
def test_what_a_call_carried(name: str, args: Any, server: str, inner: str, found: Any):
    assert recorded(call(name, args), where="t") == Recorded(
        where="t", server=server, name=inner, args=found
    )


def test_a_call_without_a_name_is_none():
    assert recorded(call(None, {}), where="t") is None


HARD = {
    "title": 'line\nbreak "quoted" \u2028 \U0001f600',
    "n": -3,
    "state": None,
    "class": True,
    "no-identifier": [1.5, {"__proto__": {"a": []}}],
}


def test_a_typescript_line_says_exactly_what_was_recorded():
    line = line_of(tool(), HARD, path="hub.issueOpen", language="typescript")

    assert "\n" not in line
    literal = line.removeprefix("await hub.issueOpen(").removesuffix(");")
    assert json.loads(literal.replace('["__proto__"]', '"__proto__"')) == HARD


def test_a_python_line_says_exactly_what_was_recorded():
    line = line_of(tool(), HARD, path="hub.issue_open", language="python")

    assert "\n" not in line
    got: dict[str, Any] = {}
    spelled = line.removeprefix("await hub.issue_open")
    exec(f"def keep(**all): got.update(all)\nkeep{spelled}", {"got": got})
    assert got == {**{k: v for k, v in HARD.items() if k != "class"}, "class_": True}


def test_pages_keep_lines_and_calls_together():
    lines = [f"line {n}" for n in range(10)]

    cut = list(pages(lines, max_chars=20))

    assert [n for page in cut for n in page.calls] == list(range(10))
    for page in cut:
        assert page.text.splitlines() == [lines[n] for n in page.calls]
    assert len(list(pages(["x" * 50, "y"], max_chars=20))) == 2
    assert list(pages([])) == []


def test_a_refusal_is_the_first_error_of_its_line():
    page = next(pages(["a", "b", "c"]))

    def said(line: int, severity: Any, message: str) -> Diagnostic:
        return Diagnostic(line=line, column=1, severity=severity, code="X1", message=message)

    found = [said(2, "error", "one"), said(2, "error", "two"), said(3, "warning", "three")]
    assert refusals(page, found) == {1: "X1: one"}


@pytest.mark.parametrize(
    ("args", "said"),
    [({"title": "a"}, ""), ({}, "title"), ({"title": "a", "n": 0}, "n:"), ({"title": 1}, "title:")],
)
def test_the_schema_says_where(args: Any, said: str):
    found = schema_problem(SCHEMA, args)

    assert (found == "") == (said == "")
    assert said in found


def test_an_old_draft_is_read_as_it_was_written():
    old = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {"n": {"type": "number", "minimum": 0, "exclusiveMinimum": True}},
    }

    assert schema_problem(old, {"n": 0})
    assert not schema_problem(old, {"n": 1})


# -- with the real checkers ----------------------------------------------------------------------


@pytest.fixture
def listing_file(tmp_path: Path) -> Path:
    path = tmp_path / "tools.json"
    tools = [{"name": "issue-open", "description": "Open one.", "inputSchema": SCHEMA}]
    path.write_text(json.dumps({"server": "Hub One", "tools": tools}))
    return path


async def test_each_kind_of_disagreement_is_told_apart(listing_file: Path):
    listing, left_out = read_tools(listing_file)
    assert left_out == []
    calls = [
        Recorded(where=str(at), server=server, name="issue-open", args=args)
        for at, (server, args) in enumerate(
            [
                ("hub_one", {"title": "fine", "class": "a"}),
                ("Hub One", {"title": 3}),  # both refuse
                ("", {"title": "a", "n": 0}),  # a minimum is more than a type says
                ("", {"title": "a", "extra": 1}),  # stubs alone refuse unknown names
                ("elsewhere", {"title": "a"}),
                ("", ["no", "object"]),
            ]
        )
    ]
    calls.append(Recorded(where="x", server="", name="nothing", args={}))

    found = await replay(calls, listing)

    assert [one.kind("typescript") for one in found.calls] == [
        "accepted",
        "caught",
        "missed",
        "false refusal",
    ]
    assert [one.kind("python") for one in found.calls] == [
        "accepted",
        "caught",
        "missed",
        "false refusal",
    ]
    assert found.unreadable == 1
    assert sum(found.unknown.values()) == 2
    assert [one.call.where for one in found.differing()] == ["2", "3"]
    said = replay_json(found)
    assert said["break_their_schema"] == 2
    assert said["languages"]["python"] == {
        "refused_before_running": 2,
        "caught": 1,
        "missed": 1,
        "false_refusals": 1,
        "accepted": 1,
    }


async def test_nothing_recorded_needs_no_checker(listing_file: Path):
    listing, _ = read_tools(listing_file)

    found: Replay = await replay([], listing)

    assert found.calls == []


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")
async def test_the_recorded_runs():
    listing, left_out = read_tools(SHARED / "livemcpbench_tools.json")
    calls, problems = read_calls([str(SHARED / "livemcpbench")])

    found = await replay(calls, listing)

    assert (left_out, problems) == ([], [])
    assert len(listing.directory) == 527
    assert len(found.calls) == 97
    assert found.n_broken == 17
    for language in LANGUAGES:
        assert found.counts(language) == {
            "caught": 17,
            "missed": 0,
            "false refusal": 0,
            "accepted": 80,
        }
