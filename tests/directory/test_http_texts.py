"""What a model reads about the http rows, and what the rows claim about themselves."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import combinations
from typing import Any

import jsonschema_rs
import pytest

from codemode.core.address import Destination
from upstream.rows import FOLDER, Row, http_rows, with_defs

ROWS = http_rows()
BY_ROW = pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
BOILERPLATE = re.compile(
    r"\b(use this (tool|function|endpoint|when)|this (tool|endpoint|method|operation|function)"
    r"|useful (for|when)|allows you to|the \w+ (parameter|argument)|api endpoint)\b",
    re.IGNORECASE,
)


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower())) - {"a", "an", "the", "of", "to", "and", "or"}


def alike(one: str, other: str) -> float:
    """Share of the words that two texts have in common."""
    first, second = words(one), words(other)
    return len(first & second) / max(1, len(first | second))


def test_no_row_is_left_out():
    files = [json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")]
    http = [file for file in files if file.get("binding", {}).get("via") == "http"]
    assert {row.id for row in ROWS} == {
        f"{file['toolset']}.{row['name']}" for file in http for row in file["rows"]
    }


@BY_ROW
def test_texts_say_something(row: Row):
    what, when = row.raw["description"], row.raw["when_to_use"]
    assert len(words(what)) >= 3
    assert len(words(when)) >= 5
    assert alike(what, when) < 0.5
    for text in (what, when):
        assert not BOILERPLATE.search(text)
        assert text[0].isupper() or text[0] in '"('
        assert text.rstrip('"')[-1] in ".?"
    for name, schema in row.raw["args"].get("properties", {}).items():
        note = schema.get("description", "")
        assert len(note) >= 8, name
        assert not BOILERPLATE.search(note), name
        assert words(note) - words(re.sub(r"[A-Z]", r" \g<0>", name.replace("_", " "))), name


def test_no_two_rows_say_the_same():
    by_toolset: dict[str, list[Row]] = defaultdict(list)
    for row in ROWS:
        by_toolset[row.toolset["toolset"]].append(row)
    for rows in by_toolset.values():
        for one, other in combinations(rows, 2):
            for field in ("description", "when_to_use"):
                assert alike(one.raw[field], other.raw[field]) < 0.7, (one.id, other.id, field)


def test_a_note_belongs_to_one_argument():
    """A note that fits many arguments says nothing about any of them."""
    names: dict[str, set[str]] = defaultdict(set)
    for row in ROWS:
        for name, schema in row.raw["args"].get("properties", {}).items():
            names[schema["description"]].add(re.sub(r"_?lat(itude)?|_?lon(gitude)?", "", name))
    assert [note for note, used in names.items() if len(used) > 2] == []


def test_a_mention_of_another_row_is_of_one_that_exists():
    ids = {row.id for row in ROWS}
    for row in ROWS:
        own = row.toolset["toolset"]
        texts = f"{row.raw['description']} {row.raw['when_to_use']}"
        for name in re.findall(r"\b[a-z]+(?:_[a-z]+)+(?:\.[a-z_]+)?\b", texts):
            known = name in ids or f"{own}.{name}" in ids
            wire = name in row.raw["args"].get("properties", {}) or name in json.dumps(row.toolset)
            assert known or wire, (row.id, name)
        for name in re.findall(r"\btake (\w+)", texts):
            assert f"{own}.{name}" in ids or name in {i.partition(".")[0] for i in ids}, row.id


@BY_ROW
def test_the_example_fits_the_row(row: Row):
    example = row.raw["example"]
    jsonschema_rs.validate(with_defs(row, row.raw["args"]), example["args"])
    jsonschema_rs.validate(with_defs(row, row.raw["returns"]), example["returns"])
    assert row.raw["args"]["additionalProperties"] is False


@BY_ROW
def test_effect_and_repetition_are_honest(row: Row):
    method, effect = row.raw["binding"]["method"], row.raw["effect"]
    posts_a_question = row.id in ("osv.query", "osv.query_batch")
    assert (effect == "read") == (method == "GET" or posts_a_question)
    if effect == "read":
        assert row.raw["idempotent"]
    if row.raw.get("idempotency_header"):
        assert not row.raw["idempotent"]  # one key makes one call safe, not a second one
    elif method == "POST" and effect != "read" and row.raw["idempotent"]:
        assert row.id in SAFE_TO_REPEAT
    if method == "DELETE":
        assert effect == "destructive" or row.raw.get("inverse")


SAFE_TO_REPEAT = {
    "github.issues_add_labels",  # a label that is there already stays one
    "github.pulls_request_reviewers",
    "github.repos_create_fork",  # answers the fork that exists
}


@BY_ROW
def test_claims_can_be_followed(row: Row):
    ids = {found.id for found in ROWS}
    assert row.raw["verified"] == "loopback"
    assert re.search(r"\d{4}", row.raw["source"])
    if inverse := row.raw.get("inverse"):
        assert f"{row.toolset['toolset']}.{inverse}" in ids
    if pages := row.raw.get("pages"):
        arguments = row.raw["args"]["properties"]
        assert pages["arg"] in arguments
        if "size" in pages:
            assert arguments[pages["size"]]["maximum"] >= pages["max_size"]
        if "items" in pages:
            assert isinstance(at(row.raw["example"]["returns"], pages["items"]), list)
        else:
            assert isinstance(row.raw["example"]["returns"], list)
    renamed = row.raw.get("python_names", {})
    for name in row.raw["args"].get("properties", {}):
        assert re.fullmatch(r"[a-z_][a-z0-9_]*", renamed.get(name, name)), name


def at(value: Any, path: str) -> Any:
    """The value at a ``/``-separated path."""
    for name in path.split("/"):
        value = value[name]
    return value


def test_a_credential_may_go_where_its_rows_do():
    declared = json.loads((FOLDER / "credentials.json").read_text(encoding="utf-8"))["credentials"]
    used = {row.tool.binding.spec.credential for row in ROWS} - {None}
    assert used <= set(declared)
    for row in ROWS:
        spec = row.tool.binding.spec
        if spec.credential:
            allowed = map(Destination.of, declared[spec.credential]["destinations"])
            assert Destination.of(spec.base_url) in set(allowed), row.id
    for name, entry in declared.items():
        assert entry["scheme"] in ("bearer", "basic", "header", "query"), name
        assert re.fullmatch(r"[A-Z][A-Z0-9_]+", entry["env"]), name
        assert entry["description"], name
