"""Plans: what is fixed, and what is refused before the first call."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from ab.conftest import raw_plan
from codemode.ab.client import HttpModel
from codemode.ab.harness import cells
from codemode.ab.plan import TEMPLATE, parse_plan, read_plan
from codemode.errors import ConfigError, MissingSecret

URL = "http://127.0.0.1:9/v1"


def test_the_written_plan_is_a_plan_and_takes_a_model():
    plan = parse_plan(tomllib.loads(TEMPLATE), origin="template")

    assert len(plan.task_names) * len(plan.seeds) == plan.sample_size == 60
    assert not plan.is_scripted


def test_the_hash_is_of_values_not_of_their_order_or_comments(tmp_path: Path):
    raw = raw_plan(URL)
    path = tmp_path / "plan.toml"
    path.write_text("# nothing\n" + TEMPLATE)

    assert (
        parse_plan(raw, origin="").hash == parse_plan(dict(reversed(raw.items())), origin="").hash
    )
    assert read_plan(path).hash == parse_plan(tomllib.loads(TEMPLATE), origin="").hash
    assert parse_plan(raw_plan(URL, seeds=[2]), origin="").hash != parse_plan(raw, origin="").hash


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ({"sample_size": 3}, "2 tasks times 1 seeds are 2"),
        ({"tasks": ["nothing"]}, "no task 'nothing'"),
        ({"seeds": [1, 1]}, "seeds names something twice"),
        ({"surfaces": ["mcp"]}, "baseline 'dispatch'"),
        ({"toolsets": ["github"]}, "lacks what tasks need"),
        ({"caps": {"max_usd": 1.0}, "model": {"input_usd": None}}, "needs model.input_usd"),
        ({"extra": 1}, "extra: Extra inputs"),
        ({"model": {"base_url": "ftp://x"}}, "model.base_url"),
        ({"model": {"api": "other"}}, "model.api"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(over: dict[str, Any], said: str):
    with pytest.raises(ConfigError, match=said):
        parse_plan(raw_plan(URL, **over), origin="p")


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path):
    path = tmp_path / "plan.toml"
    with pytest.raises(ConfigError, match="No such file"):
        read_plan(path)
    path.write_text("name = ")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_plan(path)


def test_a_missing_key_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CODEMODE_TEST_MODEL_KEY", raising=False)

    with pytest.raises(MissingSecret, match="CODEMODE_TEST_MODEL_KEY is not set"):
        HttpModel(parse_plan(raw_plan(URL), origin="").model)


def test_surfaces_of_a_task_stand_together_and_take_turns():
    plan = parse_plan(raw_plan(URL, seeds=[1, 2], sample_size=4), origin="")

    order = list(cells(plan))

    assert len(set(order)) == len(order) == 16
    for at in range(0, 16, 4):
        assert len({(task, seed) for task, _, seed in order[at : at + 4]}) == 1
    assert [order[at][1] for at in range(0, 16, 4)] == ["dispatch", "mcp", "search", "stubs"]
    assert [seed for _, _, seed in order] == [1] * 8 + [2] * 8


def test_money_is_counted_by_kind_of_token():
    plan = parse_plan(raw_plan(URL, model={"cached_usd": 0.1}), origin="")

    assert plan.cost_usd(input=1_000_000, cached=1_000_000, output=100_000) == pytest.approx(2.1)
    bare = parse_plan(raw_plan(URL, model={"input_usd": None}), origin="")
    assert bare.cost_usd(input=1, cached=0, output=1) is None
