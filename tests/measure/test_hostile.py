"""Traces hold what they like: a reader reports or ignores it, and never fails."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from codemode.core.measure.call import Problem, Tokens, TraceCall
from codemode.core.measure.meter import Meter
from codemode.core.measure.report import Totals
from codemode.traces import formats, rule_table
from codemode.traces.open import find, opened

from .reading import CASES

TRACES = sorted(
    path
    for path in CASES.rglob("*.json*")
    if not path.name.endswith(".expected.json")
)  # fmt: skip
ODD: list[Any] = [
    None, True, -1, 2**70, 1.5, "", "x", "\x00\u202e", "{", "[1", [], {}, [None], [[]],
    {"type": 3}, {"id": None}, {"text": 1}, ["a", {"b": []}], {"": ""}, "9" * 30,
]  # fmt: skip
SEEDS = range(16)
TABLE = rule_table()


def mutated(value: Any, world: random.Random) -> Any:
    """*value* with about one node in fifteen replaced by something odd."""
    if world.random() < 0.07:
        return world.choice(ODD)
    if isinstance(value, dict):
        return {key: mutated(one, world) for key, one in value.items()}
    if isinstance(value, list):
        return [mutated(one, world) for one in value]
    return value


def texts(path: Path) -> list[str]:
    """The documents of a trace: its lines, or all of it."""
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".json":
        return [text]
    return [line for line in text.splitlines() if line.startswith("{") and line.endswith("}")]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_odd_values_anywhere_never_stop_a_reader(path: Path, tmp_path: Path) -> None:
    format = formats.load(path.parent.name)
    documents = [json.loads(text) for text in texts(path)]
    target = tmp_path / path.name
    for seed in SEEDS:
        world = random.Random(seed)
        target.write_text("".join(json.dumps(mutated(one, world)) + "\n" for one in documents))
        meter = Meter(TABLE, Totals(), path="p", format="f")
        with opened(find([str(target)])[0]) as source:
            for record in format.read(source):
                assert isinstance(record, TraceCall | Tokens | Problem)
                meter.take(record)
                if isinstance(record, TraceCall):
                    assert record.name is None or isinstance(record.name, str)
                    assert isinstance(record.id, str)
                    assert record.result is None or isinstance(record.result, str)
                    assert isinstance(record.args_text, str)
        meter.close()


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_prefix_of_a_trace_is_read_without_failing(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    format = formats.load(path.parent.name)
    target = tmp_path / path.name
    for end in range(0, len(data), max(1, len(data) // 25)):
        target.write_bytes(data[:end])
        with opened(find([str(target)])[0]) as source:
            source.sample()
            for record in format.read(source):
                assert isinstance(record, TraceCall | Tokens | Problem)


@pytest.mark.parametrize("name", formats.names())
def test_a_format_given_anothers_trace_does_not_fail(name: str) -> None:
    for path in TRACES:
        with opened(find([str(path)])[0]) as source:
            for record in formats.load(name).read(source):
                assert isinstance(record, TraceCall | Tokens | Problem)
