"""What a model must read, and whether one search gives a task its tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codemode.core.surfaces import (
    Searched,
    Task,
    mcp_definition,
    sufficiency,
    surfaces_json,
)
from codemode.core.tool import Binding, Tool, Toolset
from codemode.service.surfaces import ENCODING, measure_surfaces, token_counter
from codemode.store.config import Config

pytest.importorskip("bpe_openai")
AGENT_TOOLS = [{"name": "run", "description": "Run it.", "inputSchema": {"type": "object"}}]


def run_of(question: str, asked: str, tool: str) -> dict[str, Any]:
    def call(name: str, args: Any) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(args)}
        return {"role": "assistant", "tool_calls": [{"id": name, "function": function}]}

    work = {"server_name": "Zoo Hub", "tool_name": tool, "params": {}}
    messages = [call("route", {"query": asked}), call("execute-tool", work)]
    return {"task_id": "t", "Question": question, "messages": messages}


@pytest.fixture
def listing(tmp_path: Path) -> Path:
    path = tmp_path / "tools.json"
    tools = [
        {"name": name, "description": text, "inputSchema": {"type": "object", "properties": {}}}
        for name, text in (
            ("feed_otter", "Feeds an otter."),
            ("wash_bear", "Washes a bear."),
            ("count_birds", "Counts birds."),
        )
    ]
    path.write_text(json.dumps([{"name": "zoo", "tools": {"Zoo_Hub": {"tools": tools}}}]))
    return path


async def test_recorded_tasks_are_searched_by_their_text_and_by_the_agents_words(
    listing: Path, tmp_path: Path
):
    traces = tmp_path / "traces"
    traces.mkdir()
    (traces / "a.json").write_text(
        json.dumps(
            [
                run_of("The otter is hungry", "wash something", "feed_otter"),
                run_of("Something with feathers", "count the birds", "count_birds"),
                run_of("Nothing of this listing", "x", "elsewhere"),
            ]
        )
    )

    found = await measure_surfaces(
        Config(),
        agent_tools=AGENT_TOOLS,
        instructions="Search, then run.",
        tools=listing,
        traces=[str(traces)],
    )

    assert (found.n_tools, found.n_toolsets, found.n_without_tools) == (3, 1, 1)
    by_text, by_agent = (
        next(one for one in found.searches if one.query == query and one.limit == 5)
        for query in ("the task's text", "the recorded agent's first query")
    )
    assert (by_text.n_tasks, by_text.n_complete) == (2, 1)
    assert (by_agent.n_tasks, by_agent.n_complete) == (2, 1)
    assert by_text.answer_tokens > 0
    assert by_text.describe_tokens > 0
    assert found.index_complete == 2
    said = surfaces_json(found)
    assert said["encoding"] == ENCODING
    assert [one["surface"] for one in said["surfaces"]] == [
        *("mcp tools", "full stubs", "full stubs", "signatures", "signatures"),
        *("compact index", "search + describe + run"),
    ]


async def test_the_aims_for_the_shipped_directory(tmp_path: Path):
    """The index of what is shipped stays far below its bound; the agent's tools are given."""
    found = await measure_surfaces(
        Config(state=tmp_path), agent_tools=AGENT_TOOLS, instructions="", budget=20_000
    )

    by_name = {(one.name, one.language): one for one in found.surfaces}
    index = by_name["compact index", "typescript"]
    assert index.tokens <= 20_000
    assert index.n_named == found.n_tools
    assert index.tokens < by_name["signatures", "typescript"].tokens
    assert by_name["signatures", "python"].tokens < by_name["full stubs", "python"].tokens
    assert by_name["search + describe + run", ""].tokens == token_counter()(
        json.dumps(AGENT_TOOLS, separators=(",", ":"))
    )


def test_a_plain_definition_brings_its_definitions_along():
    toolset = Toolset(
        name="hub",
        description="x",
        defs={
            "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}},
            "B": {"type": "string"},
            "C": {"type": "null"},
        },
    )
    tool = Tool(
        toolset=toolset,
        name="do",
        description="Does it.",
        when_to_use="When needed.",
        args={"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
        returns=None,
        effect="read",
        binding=Binding(via="fake", spec=None),
    )

    said = mcp_definition(tool)

    assert said["name"] == "hub_do"
    assert said["description"] == "Does it. When needed."
    assert set(said["inputSchema"]["$defs"]) == {"A", "B"}


def test_sufficiency_of_nothing_and_of_something():
    assert sufficiency("q", 5, []).interval.high == 1.0
    task = Task(where="t", text="x", asked="", used=frozenset({"a", "b"}))
    some = Searched(task=task, found=frozenset({"a"}), answer_tokens=10, describe_tokens=4)
    every = Searched(task=task, found=task.used, answer_tokens=30, describe_tokens=4)

    found = sufficiency("q", 5, [some, every])

    assert (found.n_complete, found.recall, found.answer_tokens) == (1, 0.75, 20.0)
