"""Arguments against a row's schema: what is said when they do not fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from codemode.core import json_schema, validate
from codemode.core.nearest import nearest
from codemode.core.tool import Directory, Tool
from codemode.core.validate import Validators
from codemode.errors import BadArguments, UnknownTool
from outbound.flows import http_tool

ISSUE = {
    "type": "object",
    "required": ["owner", "title"],
    "properties": {
        "owner": {"type": "string", "minLength": 1},
        "title": {"type": "string"},
        "state": {"enum": ["open", "closed"]},
        "labels": {"type": "array", "items": {"$ref": "#/$defs/Label"}},
        "due": {"type": "string", "format": "date-time"},
        "size": {"type": "integer", "maximum": 2**70},
        "doc": {"type": "string", "format": "file"},
    },
}
DEFS = {
    "Label": {
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "parent": {"$ref": "#/$defs/Label"}},
    },
    "Unused": {"$ref": "https://elsewhere.example/schema"},
}
FINE = {"owner": "o", "title": "t"}


def tool(args: Any = ISSUE, **kwargs: Any) -> Tool:
    made = http_tool("create", args={"type": "object"}, defs=DEFS, effect="write", **kwargs)
    return replace(made, args=args)


def said(args: Any, schema: Any = ISSUE) -> str:
    with pytest.raises(BadArguments) as caught:
        Validators().check_args(tool(schema), args)
    return caught.value.message.removeprefix("shop.create: ")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"state": "open", "due": "2026-01-01T00:00:00Z", "size": 2**70, "doc": "a/b.txt"},
        {"labels": [{"name": "x", "parent": {"name": "y"}}]},
        {"size": 1.0},
    ],
)
def test_what_fits(more: dict[str, Any]) -> None:
    Validators().check_args(tool(), FINE | more)


def test_the_message_names_path_expectation_and_nearest_names() -> None:
    assert said({"owner": "o"}) == '"title" is a required property.'
    assert said(FINE | {"titl": 1}) == "there is no argument 'titl' (did you mean title?)."
    assert said(FINE | {"Owner": 1}) == "there is no argument 'Owner' (did you mean owner?)."
    assert said(FINE | {"owner": 5}) == 'owner: 5 is not of type "string".'
    assert said(FINE | {"state": "opne"}) == 'state: "opne" is not one of "open" or "closed".'
    nested = said(FINE | {"labels": [{"name": "x"}, {"name": 1}]})
    assert nested == 'labels.1.name: 1 is not of type "string".'
    deep = said(FINE | {"labels": [{"name": "x", "parent": {"nam": "y"}}]})
    assert deep.startswith("labels.0.parent: ")
    assert said(FINE | {"due": "soon"}) == 'due: "soon" is not a "date-time".'
    assert "2361183241434822606848" in said(FINE | {"size": 2**71})


@pytest.mark.case("E3")
@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../b", "a\\b", "", "a\0b"])
def test_files_are_inside_the_workspace(path: str) -> None:
    assert "doc" in said(FINE | {"doc": path})


def test_the_hint_lists_the_parameters_required_first() -> None:
    with pytest.raises(BadArguments) as caught:
        Validators().check_args(tool(), {})
    assert caught.value.hint == (
        "Parameters: owner: string, title: string, doc?: file, due?: string, labels?: array, "
        "size?: integer, state?: open|closed."
    )


def test_a_row_that_allows_more_arguments_gets_them() -> None:
    extra = {"x": "y"}
    Validators().check_args(
        tool(ISSUE | {"additionalProperties": {"type": "string"}}), FINE | extra
    )
    assert "x" in said(FINE | extra, ISSUE | {"additionalProperties": False})
    Validators().check_args(tool({"allOf": [ISSUE]}), FINE | extra)


def test_long_values_are_not_quoted_at_length_and_errors_are_counted() -> None:
    assert len(said(FINE | {"state": "x" * 100_000})) < 500
    many = said(FINE | {"labels": [1, 2, 3, 4, 5, 6, 7]})
    assert many.endswith("and 2 more.")


def test_own_definitions_come_before_the_toolsets() -> None:
    own = ISSUE | {"$defs": {"Label": {"type": "string"}}}
    Validators().check_args(tool(own), FINE | {"labels": ["plain"]})


def test_a_schema_that_cannot_be_compiled_stops_no_call() -> None:
    broken = {"type": "object", "properties": {"a": {"$ref": "https://elsewhere.example/x"}}}
    Validators().check_args(tool(broken), {"a": 1})


def test_a_pattern_that_backtracks_is_bounded() -> None:
    schema = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$(?=x)"}}}
    with pytest.raises(BadArguments):
        Validators().check_args(tool(schema), {"a": "a" * 60 + "!"})


def test_answers_are_described_not_refused() -> None:
    returns = {"type": "object", "properties": {"n": {"type": "integer"}}}
    made, validators = replace(tool(), returns=returns), Validators()
    assert validators.mismatch(made, {"n": 1, "more": 2}) == ""
    assert validators.mismatch(made, {"n": "x"}) == 'n: "x" is not of type "integer"'
    assert validators.mismatch(replace(made, returns=None), {"n": "x"}) == ""
    assert validators.mismatch(made, 2**80) != ""


def test_validators_are_compiled_once_per_tool_and_per_directory() -> None:
    validators = Validators()
    made = tool()
    validators.check_args(made, FINE)
    compiled = validators._args[id(made)][1]
    validators.check_args(made, FINE)
    assert validators._args[id(made)][1] is compiled
    reloaded = tool(ISSUE | {"required": ["owner"]})
    validators.check_args(reloaded, {"owner": "o"})


@pytest.mark.case("attack:49")
def test_however_many_unknown_names_few_are_compared_and_the_rest_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[str] = []
    real = validate.get_close_matches

    def counted(name: str, *args: Any, **kwargs: Any) -> Any:
        compared.append(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(validate, "get_close_matches", counted)
    monkeypatch.setattr(json_schema.Validator, "errors", counted_errors([]))
    closed = ISSUE | {"additionalProperties": False}
    for schema in (ISSUE, closed):
        text = said(FINE | {f"title{n}": n for n in range(400_000)}, schema)
        assert text == "400002 arguments; a call takes at most 1000."
        assert compared == []
    text = said(FINE | {f"title{n}": n for n in range(900)})
    assert text.endswith("; nor 897 others that were given.")
    assert len(compared) == 3
    monkeypatch.undo()
    monkeypatch.setattr(validate, "get_close_matches", counted)
    compared.clear()
    assert len(said(FINE | {f"title{n}": n for n in range(900)}, closed)) < 600
    assert len(compared) == 3
    compared.clear()
    assert len(said(FINE | {"t" * 1_000_000: 1})) < 200
    assert compared == []


def counted_errors(calls: list[int]) -> Any:
    real = json_schema.Validator.errors

    def errors(self: Any, value: Any) -> Any:
        found = real(self, value)
        calls.append(len(found))
        return found

    return errors


@pytest.mark.parametrize(
    "value",
    [
        {"labels": [1] * 400_000},
        {"labels": [{"name": 1, "parent": {"name": 2}}] * 3000},
        {"labels": ["x" * 5_000_000, 2, 3]},
    ],
)
def test_of_a_large_value_only_the_first_error_is_made(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    monkeypatch.setattr(json_schema.Validator, "errors", counted_errors(made))
    text = said(FINE | value)
    assert made == [1]
    assert len(text) < 500


@pytest.mark.parametrize(
    "pattern",
    [r"^(a+)+$", r"^(a|a)*$", r"^(a+)+$(?=x)", r"(a*)*(?=c)b", r"(.*)(.*)(.*)(.*)(?=zz)qq"],
)
def test_no_pattern_takes_more_than_linear_time_or_its_bound(pattern: str) -> None:
    # A backtracking engine without a bound would not come back in the life of the machine.
    schema = {"type": "object", "properties": {"a": {"pattern": pattern}}}
    with pytest.raises(BadArguments):
        Validators().check_args(tool(schema), {"a": "a" * 5000 + "!"})


def test_a_pattern_that_is_not_known_or_too_large_leaves_the_rest_in_force() -> None:
    for pattern in ("(", r"(a)\9", r"^(?:\w{1,100}){1,100}x$"):
        schema = {
            "type": "object",
            "properties": {"a": {"pattern": pattern, "type": "string"}, "pattern": {"const": 1}},
        }
        Validators().check_args(tool(schema), {"a": "anything", "pattern": 1})
        assert "a: 5" in said({"a": 5}, schema)
        assert said({"pattern": 2}, schema)


def test_a_text_too_long_for_a_name_is_compared_with_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("compared")

    monkeypatch.setattr("codemode.core.tool.get_close_matches", never)
    monkeypatch.setattr("codemode.core.nearest.SequenceMatcher", never)
    directory = Directory([http_tool()])
    assert directory.nearest("x" * 100_000) == ()
    assert nearest("x" * 100_000, ["x" * 99_999]) == []
    with pytest.raises(UnknownTool) as caught:
        directory.get("x" * 100_000)
    assert len(caught.value.message) < 1000
