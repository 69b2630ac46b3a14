"""JSON Schema to types: sizes, reports and inputs that are no schema at all."""

from __future__ import annotations

import time
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.core.note import note
from codemode.core.schema import MAX_DEPTH, Reader
from codemode.core.spelling import modern
from codemode.core.tool import Binding, Tool, Toolset
from codemode.core.types import (
    INTEGER,
    NULL,
    STRING,
    UNKNOWN,
    Array,
    Field,
    Literal,
    Map,
    Object,
    Reference,
    Type,
    Union,
    Unknown,
    children,
    union,
)


def a_tool(args: Any, returns: Any = None, defs: Any = None) -> Tool:
    return Tool(
        toolset=Toolset(name="t", description="T.", defs=defs or {}),
        name="x",
        description="X.",
        when_to_use="Always.",
        args=args,
        returns=returns,
        effect="read",
        binding=Binding(via="none", spec=None),
    )


def read(returns: Any, defs: Any = None) -> Type:
    return Reader(defs or {}).read(a_tool({"type": "object"}, returns, defs)).returns


def size(type_: Type) -> int:
    return 1 + sum(size(child) for child in children(type_))


@pytest.mark.case("S25")
def test_a_graph_of_shared_definitions_stays_as_small_as_it_is() -> None:
    """N0 holds N1 twice, N1 holds N2 twice, ...: 2^16 paths, 17 definitions."""
    defs = {
        f"N{n}": {
            "type": "object",
            "properties": {side: {"$ref": f"#/$defs/N{n + 1}"} for side in ("left", "right")},
        }
        for n in range(16)
    } | {"N16": {"type": "object", "properties": {"leaf": {"type": "string"}}}}
    for args, shared in (
        ({"type": "object", "properties": {"n": {"$ref": "#/$defs/N0"}}}, defs),
        ({"type": "object", "properties": {"n": {"$ref": "#/$defs/N0"}}, "$defs": defs}, {}),
    ):
        reader = Reader(shared)
        types = reader.read(a_tool(args, defs=shared))

        named = {**reader.named, **types.named}
        assert len(named) == 17
        assert sum(map(size, named.values())) == 16 * 3 + 2


@pytest.mark.case("S25")
def test_a_long_chain_is_read_without_recursion() -> None:
    chain = {
        f"N{n}": {"type": "object", "properties": {"next": {"$ref": f"#/$defs/N{n + 1}"}}}
        for n in range(1500)
    } | {"N1500": {"type": "object", "properties": {"leaf": {"type": "string"}}}}
    aliases = {f"A{n}": {"$ref": f"#/$defs/A{n + 1}"} for n in range(1500)} | {
        "A1500": {"type": "string"}
    }
    choices = {
        f"C{n}": {"anyOf": [{"$ref": f"#/$defs/C{n + 1}"}, {"type": "null"}]} for n in range(1500)
    } | {"C1500": {"type": "string"}}
    started = time.process_time()
    reader = Reader({**chain, **aliases, **choices})
    args = {"n": {"$ref": "#/$defs/N0"}, "a": {"$ref": "#/$defs/A0"}, "c": {"$ref": "#/$defs/C0"}}
    types = reader.read(a_tool({"type": "object", "properties": args}))

    assert len(reader.named) == 1501 + 1500
    assert isinstance(types.args, Object)
    assert [field.type for field in types.args.fields] == [
        Reference("N0"),
        STRING,
        Reference("C0"),
    ]
    assert time.process_time() - started < 30  # a power of two would never end


def test_depth_without_names_is_bounded() -> None:
    schema: Any = {"type": "string"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"n": schema}}
    types = Reader({}).read(a_tool({"type": "object", "properties": {"v": schema}}))

    assert size(types.args) <= MAX_DEPTH + 3
    assert any("nested more than" in one.reason for one in types.dropped)


@pytest.mark.case("S39")
def test_a_huge_enum_is_widened_and_reported() -> None:
    types = Reader({}).read(a_tool({"properties": {"v": {"enum": [f"v{n}" for n in range(5000)]}}}))

    assert types.args == Object((Field("v", STRING, False),))
    assert [one.path for one in types.dropped] == ["/args/properties/v"]
    assert "5000" in types.dropped[0].reason


@pytest.mark.case("S49")
def test_values_that_are_no_json_are_rendered() -> None:
    odd = [Decimal("1.5"), {1, 2}, datetime(2026, 1, 1), float("nan"), float("inf"), object()]
    for value in odd:
        assert isinstance(read({"enum": [value, "a"]}), Unknown)
        assert isinstance(read({"const": value}), Unknown)
        assert note({"default": value, "description": "It is."}).startswith("It is. Default ")


@pytest.mark.case("S21")
def test_both_spellings_of_definitions_mean_the_same() -> None:
    defs = {"X": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    one = Reader({}).read(
        a_tool({"properties": {"v": {"$ref": "#/definitions/X"}}, "definitions": defs})
    )
    two = Reader({}).read(a_tool({"properties": {"v": {"$ref": "#/$defs/X"}}, "$defs": defs}))
    assert (one.args, one.named) == (two.args, two.named)


def test_own_definitions_come_before_the_toolset_s() -> None:
    shared = {"X": {"type": "object", "properties": {"far": {"type": "string"}}}}
    reader = Reader(shared)
    own = {"X": {"type": "object", "properties": {"near": {"type": "string"}}}}
    args = {"properties": {"v": {"$ref": "#/$defs/X"}}, "$defs": own}
    types = reader.read(a_tool(args, {"$ref": "#/$defs/X"}))

    assert types.named == {"X_Args_X": Object((Field("near", STRING, False),))}
    assert types.returns == Reference("X")
    assert reader.named == {"X": Object((Field("far", STRING, False),))}


@pytest.mark.case("S19")
def test_nothing_is_fetched() -> None:
    types = Reader({}).read(a_tool({"properties": {"v": {"$ref": "https://example.com/x.json"}}}))

    assert isinstance(types.args, Object)
    assert types.args.fields[0].type == Unknown(
        "$ref to 'https://example.com/x.json', which is not fetched"
    )
    assert [one.path for one in types.dropped] == ["/args/properties/v"]


@pytest.mark.case("S23")
@pytest.mark.parametrize(
    "ref", ["#/__proto__/x", "#/constructor", "#/$defs/__proto__", "#/$defs/x"]
)
def test_pointers_follow_the_document_s_own_keys_only(ref: str) -> None:
    types = Reader({}).read(a_tool({"properties": {"v": {"$ref": ref}}, "$defs": {}}))
    assert len(types.dropped) == 1
    assert ref in types.dropped[0].reason or "__proto__" in types.dropped[0].reason


@pytest.mark.case("S51")
def test_a_default_fills_in_after_the_call() -> None:
    """Before: it may be left out. After: what the schema of the answer requires is there."""
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}
    before = Reader({}).read(a_tool(schema))
    after = read({**schema, "required": ["n"]})

    assert before.args == Object((Field("n", INTEGER, False, "Default 3."),))
    assert after == Object((Field("n", INTEGER, True, "Default 3."),))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    "type properties items required enum const anyOf allOf oneOf $ref $defs "
                    "additionalProperties patternProperties prefixItems nullable not a b".split()
                )
                | st.text(max_size=3),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_anything_at_all_is_read_without_a_crash(schema: Any) -> None:
    if isinstance(schema, dict):
        Reader({"a": schema}).read(a_tool(schema, schema))
        modern(schema)
    else:
        read(schema)


def test_unions_are_flat_and_without_repeats() -> None:
    assert union([STRING, union([NULL, STRING]), INTEGER]) == Union((STRING, INTEGER, NULL))
    assert union([Literal("a"), STRING]) == STRING
    assert union([Literal(1), Literal(True), Literal(1.0)]) == Union(
        (Literal(1), Literal(True), Literal(1.0))
    )
    assert union([STRING, UNKNOWN]) == UNKNOWN


def test_an_object_without_declared_properties_is_a_map() -> None:
    assert read({"type": "object"}) == Map(UNKNOWN)
    assert read({"type": "array"}) == Array(UNKNOWN)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            {"type": "integer", "exclusiveMinimum": 1},
        ),
        (
            {"definitions": {"A": {}}, "$ref": "#/definitions/A"},
            {"$ref": "#/$defs/A", "$defs": {"A": {}}},
        ),
        (
            {"enum": ["a"], "type": "string", "nullable": True},
            {"enum": ["a", None], "type": ["string", "null"]},
        ),
        (
            {"$ref": "#/components/schemas/A", "nullable": True},
            {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]},
        ),
        ({"dependencies": {"a": ["b"]}}, {"dependentRequired": {"a": ["b"]}}),
        ({"type": "file"}, {"type": "string", "format": "file"}),
        (
            {"type": "object", "properties": {"a": {"type": "string", "required": True}}},
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        ),
        (
            {"properties": {"nullable": {"type": "string"}}},
            {"properties": {"nullable": {"type": "string"}}},
        ),
    ],
)
def test_older_spellings_are_rewritten(old: Any, new: Any) -> None:
    assert modern(old) == new
    assert modern(new) == new
