"""``generated/`` is what the shipped directory gives, file for file, in both directions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codemode import bindings, targets
from codemode.core.tool import Directory, Toolset
from codemode.generate import generate
from codemode.store.generated import compare, read_templates
from codemode.store.rows import load_directory
from codemode.store.shipped import shipped

from .judge import tool


@pytest.mark.parametrize("name", targets.names())
def test_the_committed_stubs_are_those_of_the_directory(name: str) -> None:
    directory = load_directory(shipped("directory"), bindings.load_all())
    assert directory.quarantined == ()
    made = generate(directory, targets.load(name), read_templates(name))
    difference = compare(shipped("generated") / name, made.files)
    assert not difference, f"run codemode generate: {difference}"


@pytest.mark.parametrize("name", targets.names())
def test_what_a_row_leaves_out_is_reported(name: str) -> None:
    described = {"$ref": "#/$defs/Described"}
    properties = {
        "a": {"type": "string", "description": "Said here."},
        "b": described,
        "c": {"$ref": "#/$defs/Alias"},
        "d": {"type": "string"},
        "e": {"$ref": "#/$defs/Bare"},
        "f": {"type": "string", "description": " "},
        "g": {"$ref": "#/$defs/Circle"},
        "h": True,
    }
    toolset = Toolset(
        name="cases",
        description="Cases.",
        defs={
            "Described": {"type": "string", "description": "Said there."},
            "Alias": described,
            "Bare": {"type": "string"},
            "Circle": {"$ref": "#/$defs/Circle"},
        },
    )
    full = tool("full", {"type": "object", "properties": properties}, toolset=toolset)
    bare = replace(full, name="bare", when_to_use="", args={"type": "object", "properties": {}})
    directory = Directory([full, bare])

    made = generate(directory, targets.load(name), read_templates(name))

    assert made.undescribed == tuple(f"cases.full.{argument}" for argument in "defgh")
    assert made.unwritten == ("cases.bare",)
    assert "Use when:" in targets.load(name).declaration(full)
    assert "Use when:" not in targets.load(name).declaration(bare)


def test_the_shipped_rows_leave_nothing_out() -> None:
    directory = load_directory(shipped("directory"), bindings.load_all())
    made = generate(directory, targets.load("python"), read_templates("python"))
    assert (made.undescribed, made.unwritten) == ((), ())
