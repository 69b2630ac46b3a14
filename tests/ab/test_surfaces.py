"""What the four surfaces answer to mistakes: an error that a model can mend, never an exception."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ab.conftest import raw_plan
from codemode.ab.conversation import Asked, Said, Spent
from codemode.ab.harness import world_service
from codemode.ab.otlp import trace
from codemode.ab.plan import parse_plan
from codemode.ab.report import discovery
from codemode.ab.session import ChatStep, Session, ToolStep
from codemode.ab.shown import PREFIX, surfaces
from codemode.edges.ab import served_tools


def ask(name: str, args: Any) -> Asked:
    is_object = isinstance(args, dict)
    text = json.dumps(args) if is_object else str(args)
    return Asked(id="1", name=name, args=args if is_object else None, args_text=text)


def run(script: str) -> Asked:
    return ask(f"{PREFIX}run", {"script": script, "language": "python"})


GOOD, BAD = "from tools import slack\nreturn await slack.", "from tools import slack\nawait slack."
MISTAKES = {
    "mcp": [
        (ask("slack_nothing", {}), "no tool"),
        (ask("slack_chat_post_message", "{broken"), "no JSON object"),
        (ask("slack_chat_post_message", {"chanel": "C01"}), "channel"),
        (ask("slack_chat_post_message", {"channel": "nowhere", "text": "x"}), "channel_not_found"),
        (ask("github_orgs_list_members", {"org": "octo"}), "404"),
    ],
    "dispatch": [
        (ask("other", {}), "no tool"),
        (ask("dispatch", "{broken"), "ERR|invalid arguments"),
        (ask("dispatch", {"key": 3}), "ERR|invalid arguments"),
        (ask("dispatch", {"key": "SLACK_NOTHING"}), "ERR|no key"),
        (ask("dispatch", {"key": "DIRECTORY_GET", "body": "X"}), "ERR|no key"),
        (ask("dispatch", {"key": "TOOLS_IN", "body": "X"}), "ERR|no category"),
        (ask("dispatch", {"key": "GITHUB_ISSUES_GET", "body": "o|r|x"}), "ERR|invalid argument"),
        (ask("dispatch", {"key": "SLACK_CHAT_DELETE", "body": "C01|1"}), "ERR|"),
    ],
    "search": [
        (ask(f"{PREFIX}nothing", {}), "no tool"),
        (ask(f"{PREFIX}search", "{broken"), "no JSON object"),
        (ask(f"{PREFIX}search", {"quary": "x"}), "query"),
        (run(f"{BAD}chat_post_message(chanel='C01')"), "chanel"),
    ],
    "stubs": [
        (ask(f"{PREFIX}search", {"query": "x"}), "no tool"),
        (ask(f"{PREFIX}run", {"scrip": "x"}), "script"),
        (run(f"{GOOD}nothing()"), "nothing"),
    ],
}


async def test_every_mistake_is_answered():
    plan = parse_plan(raw_plan("http://127.0.0.1:9"), origin="")
    async with world_service(plan) as (world, codemode):
        shown = surfaces(codemode, await served_tools(codemode), plan)
        assert set(shown) == set(MISTAKES)
        before = world.state.copy()
        for name, mistakes in MISTAKES.items():
            for asked, said in mistakes:
                outcome = await shown[name].call(asked)
                assert said in outcome.text, (name, asked, outcome.text)
                if name in ("mcp", "dispatch"):
                    assert outcome.is_error, (name, asked)
        assert world.state == before

        posted = await shown["stubs"].call(run(f"{GOOD}chat_post_message(channel='C01', text='a')"))
        assert [(one.tool, one.state) for one in posted.inner] == [
            ("slack.chat_post_message", "applied")
        ]
        assert world.state != before
        assert {tool.name for tool in shown["stubs"].tools} == {f"{PREFIX}run"}
        assert len(shown["mcp"].tools) == len(codemode.directory) <= 128
        assert all(len(tool.name) <= 64 for tool in shown["mcp"].tools)
        for path in ("tools/github.pyi", "tools/slack.pyi", "tools/stripe.pyi"):
            assert f"# {path}" in shown["stubs"].system


REPAIRS = [
    ("search", run(f"{GOOD}chat_post_message(chanel='C01')"), run(f"{GOOD}auth_test()")),
    ("stubs", run(f"{GOOD}nothing()"), run(f"{GOOD}auth_test()")),
    (
        "mcp",
        ask("slack_chat_post_message", {"chanel": "C01"}),
        ask("slack_chat_post_message", {"channel": "C01", "text": "x"}),
    ),
    (
        "dispatch",
        ask("dispatch", {"key": "GITHUB_ISSUES_GET", "body": "octo|api|x"}),
        ask("dispatch", {"key": "GITHUB_ISSUES_GET", "body": "octo|api|1"}),
    ),
]


async def test_mending_a_call_is_repair_on_every_surface(tmp_path: Path):
    """No surface is counted more kindly: a refused script is a mistake as a refused call is."""
    plan = parse_plan(raw_plan("http://127.0.0.1:9"), origin="")
    async with world_service(plan) as (_, codemode):
        shown = surfaces(codemode, await served_tools(codemode), plan)
        for name, bad, good in REPAIRS:
            session = Session(prompt="x", start_ns=1, end_ns=99)
            for at, asked in enumerate((bad, good)):
                one = replace(asked, id=str(at))
                said = Said(text="", calls=(one,), spent=Spent(input=1), raw={})
                outcome = await shown[name].call(one)
                start = 10 * at + 1
                session.steps += [
                    ChatStep(start_ns=start, end_ns=start + 1, said=said),
                    ToolStep(start_ns=start + 2, end_ns=start + 3, asked=one, outcome=outcome),
                ]
            path = tmp_path / f"{name}.json"
            path.write_text(json.dumps(trace(session, task="t", surface=name, seed=1, model="m")))

            counts = discovery(path).counts

            assert counts["repair"] == 1, (name, counts)


async def test_only_what_points_at_the_world_may_be_shown():
    from codemode.errors import ConfigError

    names = [*parse_plan(raw_plan("http://x"), origin="").toolsets]
    plan = parse_plan(raw_plan("http://x", toolsets=[*names, "git"]), origin="")
    with pytest.raises(ConfigError, match="'git' is not an HTTP one"):
        async with world_service(plan):
            pass
    plan = parse_plan(raw_plan("http://x", toolsets=[*names, "nothing"]), origin="")
    with pytest.raises(ConfigError, match="no shipped toolset 'nothing'"):
        async with world_service(plan):
            pass
