"""The compact index: every toolset visible, tools in tiers, never over budget."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode import bindings
from codemode.core.index import CompactIndex, compact_index, first_words
from codemode.core.names import camel
from codemode.core.tool import Binding, Directory, Tool, Toolset
from codemode.service.surfaces import token_counter
from codemode.store.rows import load_directory
from codemode.store.shipped import shipped

LONG = "Does the thing that its name says to every one of the items that it is given today."


def directory(sizes: dict[str, int]) -> Directory:
    return Directory(
        Tool(
            toolset=Toolset(name=toolset, description=f"All about {toolset}."),
            name=f"row_{at}",
            description=LONG,
            when_to_use="Sometimes.",
            args={"type": "object", "properties": {}},
            returns=None,
            effect="read",
            binding=Binding(via="fake", spec=None),
        )
        for toolset, size in sizes.items()
        for at in range(size)
    )


def build(sizes: dict[str, int], budget: int) -> CompactIndex:
    return compact_index(directory(sizes), budget=budget)


def test_with_room_every_tool_has_a_dozen_words():
    index = build({"big": 3, "small": 1}, 10_000)

    assert index.text == (
        "big (3): All about big\n"
        "  row0: Does the thing that its name says to every one of the ...\n"
        "  row1: Does the thing that its name says to every one of the ...\n"
        "  row2: Does the thing that its name says to every one of the ...\n"
        "small (1): All about small\n"
        "  row0: Does the thing that its name says to every one of the ...\n"
    )
    assert (index.n_named, index.n_described, index.size) == (4, 4, len(index.text))


def test_tiers_shrink_from_a_dozen_words_to_names_to_a_count():
    sizes = {"big": 30, "small": 2}
    full = build(sizes, 10_000)
    half = build(sizes, full.size * 6 // 10)
    names = build(sizes, full.size // 6)
    few = build(sizes, 90)

    assert "that its name ...\n" in half.text
    assert half.n_named == names.n_named == 32
    assert half.n_described > names.n_described
    assert 0 < few.n_named < 32
    assert "more: search" in few.text


def test_a_large_toolset_does_not_crowd_out_a_small_one():
    index = build({"aaa_big": 500, "small": 3}, 600)

    assert {"small.row_0", "small.row_1", "small.row_2"} <= index.tools
    assert index.n_named < 503


def test_when_even_the_toolsets_do_not_fit_their_names_stay():
    index = build({"one": 5, "two": 5}, 1)

    assert index.text == "one (5)\ntwo (5)\n"


def test_python_names():
    text = compact_index(directory({"google_calendar": 1}), budget=999, language="python").text

    assert text.startswith("google_calendar (1)")
    assert "row_0: " in text


@pytest.mark.parametrize(
    ("text", "n", "said"),
    [
        ("", 3, ""),
        ("One.", 3, "One"),
        ("One two three.", 3, "One two three"),
        ("One, two, three four. Five.", 2, "One, two ..."),
    ],
)
def test_first_words(text: str, n: int, said: str):
    assert first_words(text, n) == said


def test_nine_hundred_rows_stay_within_twenty_thousand_tokens():
    pytest.importorskip("bpe_openai")
    shipped_tools = load_directory(shipped("directory"), bindings.load_all()).tools
    tools: list[Tool] = []
    while len(tools) < 900:
        n = len(tools) // len(shipped_tools)
        for one in shipped_tools[: 900 - len(tools)]:
            name = f"{one.toolset.name}_{n}" if n else one.toolset.name
            tools.append(replace(one, toolset=replace(one.toolset, name=name)))
    large = Directory(tools)

    index = compact_index(large, budget=20_000, measure=token_counter())

    assert index.size <= 20_000
    assert index.n_named == index.n_tools == 900
    for toolset in large.toolsets:
        assert f"{camel(toolset)} (" in index.text


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.dictionaries(
        st.sampled_from(["alpha", "beta", "gamma", "delta"]), st.integers(1, 12), min_size=1
    ),
    budget=st.integers(0, 3000),
)
def test_any_budget(sizes: dict[str, int], budget: int):
    index = build(sizes, budget)

    floor = len("".join(f"{name} ({size})\n" for name, size in sizes.items()))
    assert index.size == len(index.text) <= max(budget, floor)
    for name, size in sizes.items():
        assert f"{name} ({size})" in index.text
    named = index.text.count("row")
    assert named == index.n_named == len(index.tools)
