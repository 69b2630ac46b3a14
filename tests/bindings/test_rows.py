"""What the rows of cli, python, mcp and local have in common: written for people, and true."""

from __future__ import annotations

import re
from collections import Counter

import jsonschema_rs
import pytest
from tests.bindings.goldens import rows

from codemode.bindings import load_all
from codemode.store.rows import load_directory
from codemode.store.shipped import shipped

VIAS = ("cli", "python", "mcp", "local")
ROWS = [
    pytest.param(file, row, id=f"{file['toolset']}.{row['name']}")
    for via in VIAS
    for file, row in rows(via)
]


def test_there_are_enough_of_each():
    counted = Counter(via for via in VIAS for _ in rows(via))
    assert counted["cli"] >= 20
    assert counted["python"] >= 16
    assert counted["mcp"] >= 18
    assert counted["local"] >= 5


def test_none_is_quarantined():
    directory = load_directory(shipped("directory"), load_all())
    assert directory.quarantined == ()


@pytest.mark.parametrize(("file", "row"), ROWS)
def test_a_row_is_complete(file, row):
    assert {"returns", "effect", "idempotent", "where", "source", "verified", "example"} <= set(row)
    for field in ("description", "when_to_use"):
        assert re.match(r"[A-Z'].*\.$", row[field]), (field, row[field])
        assert len(row[field]) <= 160, field
    for name, schema in row["args"]["properties"].items():
        assert schema.get("description", "").endswith("."), name
    assert row["args"]["additionalProperties"] is False
    if row["effect"] == "read" and row["where"] != "local":
        assert row["idempotent"]


@pytest.mark.parametrize(("file", "row"), ROWS)
def test_the_example_fits_the_row(file, row):
    defs = file.get("$defs", {})
    for part in ("args", "returns"):
        if part in row["example"]:
            schema = {**row[part], "$defs": defs}
            jsonschema_rs.Draft202012Validator(schema).validate(row["example"][part])


def test_no_two_rows_say_the_same():
    said = Counter(
        row[field]
        for via in VIAS
        for _, row in rows(via)
        for field in ("description", "when_to_use")
    )
    assert [text for text, n in said.items() if n > 1] == []


def test_rows_stand_in_order():
    for via in VIAS:
        names = [(file["toolset"], row["name"]) for file, row in rows(via)]
        assert names == sorted(names)
