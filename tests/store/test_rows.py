"""A folder of rows: what is taken, what is quarantined, and where the message points."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.bindings import load_all
from codemode.core.names import snake
from codemode.core.tool import UNWRITTEN, Directory, Quarantined, Schema
from codemode.errors import DirectoryError, InvalidRow
from codemode.store.credentials import load_credentials
from codemode.store.format import editor_schema
from codemode.store.locate import locate
from codemode.store.rows import load_directory
from codemode.store.shipped import shipped


class Echo:
    """A binding that takes ``path`` and keeps it."""

    via = "echo"
    needs_workspace = False

    def parse(self, fields: Mapping[str, Any], *, args: Schema) -> Any:
        unknown = sorted(fields.keys() - {"path", "base"})
        if unknown:
            raise InvalidRow("no such field", field=f"binding.{unknown[0]}")
        return dict(fields)


BINDINGS: Any = {"echo": Echo(), "other": Echo()}
ROW: dict[str, Any] = {
    "name": "get",
    "description": "Read one thing.",
    "when_to_use": "Its number is known.",
    "args": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "effect": "read",
    "binding": {"path": "/x"},
}


def toolset(*rows: Any, **more: Any) -> dict[str, Any]:
    return {
        "toolset": "things",
        "description": "Things.",
        "binding": {"via": "echo", "base": "b"},
        "rows": list(rows),
    } | more


def load(folder: Path, **files: Any) -> Directory:
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return load_directory(folder, BINDINGS)


def only(directory: Directory) -> Quarantined:
    assert len(directory.quarantined) == 1, directory.quarantined
    return directory.quarantined[0]


def pointed_at(folder: Path, one: Quarantined) -> str:
    """The text that line and column lead to."""
    return Path(one.file).read_text("utf-8").splitlines()[one.line - 1][one.column - 1 :]


def test_a_row_becomes_a_tool(tmp_path: Path) -> None:
    directory = load(tmp_path, things=toolset(ROW, **{"$defs": {"A": {"type": "string"}}}))

    assert directory.quarantined == ()
    tool = directory.get("things.get")
    assert (tool.description, tool.when_to_use, tool.effect) == (
        "Read one thing.",
        "Its number is known.",
        "read",
    )
    assert tool.binding.via == "echo"
    assert tool.binding.spec == {"base": "b", "path": "/x"}
    assert tool.toolset.defs == {"A": {"type": "string"}}
    assert tool.toolset.origin == "things.json"


def test_a_row_s_binding_lies_over_the_toolset_s(tmp_path: Path) -> None:
    rows = [
        ROW | {"binding": {"base": "mine"}},
        ROW | {"name": "other", "binding": {"via": "other", "path": "/y"}},
    ]
    directory = load(tmp_path, things=toolset(*rows))

    assert directory.get("things.get").binding.spec == {"base": "mine"}
    assert directory.get("things.other").binding.spec == {"path": "/y"}


def test_files_that_are_no_toolsets_are_left_alone(tmp_path: Path) -> None:
    directory = load(tmp_path, things=toolset(ROW), schema="[", credentials="[", servers="[")
    assert (len(directory), directory.quarantined) == (1, ())


def test_no_folder_is_an_error_of_the_operator(tmp_path: Path) -> None:
    with pytest.raises(DirectoryError, match="no folder"):
        load_directory(tmp_path / "missing", BINDINGS)


@pytest.mark.parametrize(
    ("change", "field", "pointed", "said"),
    [
        ({"description": None}, "description", '"description"', "must be a text"),
        ({"description": "   "}, "description", '"description"', "blank"),
        ({"description": ...}, "description", "{", "required"),
        ({"when_to_use": ...}, "when_to_use", "{", "required"),
        ({"when_to_use": ""}, "when_to_use", '"when_to_use"', "this is empty"),
        ({"when_to_use": "read  ONE thing"}, "when_to_use", '"when_to_use"', "same as description"),
        ({"effect": "maybe"}, "effect", '"effect"', "'read', 'write' or 'destructive'"),
        ({"effect": ...}, "effect", "{", "required"),
        ({"idempotent": "yes"}, "idempotent", '"idempotent"', "must be true or false"),
        ({"golden": {}}, "golden", '"golden"', "must be a list"),
        ({"example": []}, "example", '"example"', "must be an object"),
        ({"colour": 1}, "colour", '"colour"', "no field 'colour' here; there are name, descr"),
        ({"exampel": {}}, "exampel", '"exampel"', "did you mean 'example'?"),
        ({"example": {"return": 1}}, "example.return", '"return"', "did you mean 'returns'?"),
        ({"golden": [{"match": {}}]}, "golden.0.match", '"match"', "did you mean 'matches'?"),
        ({"name": "x" * 129}, "name", '"name"', "no longer than 128 characters"),
        ({"name": "getItem"}, "name", '"name"', "snake_case; write 'get_item'"),
        ({"name": "get-item"}, "name", '"name"', "snake_case; write 'get_item'"),
        ({"name": "Get"}, "name", '"name"', "snake_case; write 'get'"),
        ({"inverse": "lats"}, "inverse", '"inverse"', "no row 'lats'; did you mean 'last'?"),
        ({"inverse": "undo"}, "inverse", '"inverse"', "name the row that undoes this one"),
        ({"pages": "page"}, "pages", '"pages"', "must be an object"),
        ({"pages": {"arg": "n"}}, "pages.by", '"pages"', "required"),
        ({"pages": {"by": "leaf", "arg": "n"}}, "pages.by", '"by"', "must be 'page', 'offset'"),
        ({"pages": {"by": "page", "agr": "n", "arg": "n"}}, "pages.agr", '"agr"', "'arg'?"),
        ({"pages": {"by": "page", "arg": ""}}, "pages.arg", '"arg"', "this is empty"),
        ({"pages": {"by": "page", "arg": "m"}}, "pages.arg", '"arg"', "no argument 'm'"),
        ({"pages": {"by": "page", "arg": "n", "size": "s"}}, "pages.size", '"size"', "'s'"),
        ({"pages": {"by": "page", "arg": "n", "first": True}}, "pages.first", '"first"', "whole"),
        (
            {"pages": {"by": "page", "arg": "n", "max_size": 0}},
            "pages.max_size",
            '"max_size"',
            "1 or more",
        ),
        ({"pages": {"by": "cursor", "arg": "n"}}, "pages", '"pages"', "needs 'next'"),
        ({"pages": {"by": "last_id", "arg": "n"}}, "pages", '"pages"', "needs 'id'"),
        ({"pages": {"by": "page", "arg": "n", "max_size": 9}}, "pages", '"pages"', "'size'"),
        ({"name": ""}, "name", '"name"', "blank"),
        ({"name": "a\nb"}, "name", '"name"', "printable"),
        ({"name": "to_string"}, "name", '"name"', "JavaScript"),
        ({"name": "console"}, "name", '"name"', "already means"),
        ({"binding": {"via": "ftp"}}, "binding.via", '"via"', "echo, other"),
        ({"binding": {"pathh": "/x"}}, "binding.pathh", '"pathh"', "no such field"),
        ({"args": "object"}, "args", '"args"', "JSON Schema"),
        ({"args": ["x"]}, "args", '"args"', "JSON Schema"),
        ({"args": {"type": "array"}}, "args.type", '"type"', "object"),
        (
            {"args": {"properties": {"n": {"type": "strin"}}}},
            "args.properties.n.type",
            '"type"',
            "",
        ),
        ({"args": {"properties": {"n": 7}}}, "args.properties.n", '"n"', "not valid JSON Schema"),
        ({"args": {"required": [1]}}, "args.required.0", "1", "not valid JSON Schema"),
        ({"returns": {"$ref": "#/$defs/Gone"}}, "returns.$ref", '"$ref"', "no definition 'Gone'"),
        ({"returns": {"$ref": "#/__proto__/x"}}, "returns.$ref", '"$ref"', "__proto__"),
        ({"returns": "text"}, "returns", '"returns"', "object or a boolean"),
        ({"example": {"args": {"n": "x"}}}, "example.args.n", '"n"', "integer"),
        ({"golden": [{"args": {}}, {"args": {"n": 1.5}}]}, "golden.1.args.n", '"n"', "integer"),
        ({"python_names": {"m": "x"}}, "python_names.m", '"m"', "no argument 'm'"),
        ({"python_names": {"n": "class"}}, "python_names", '"python_names"', "identifier"),
    ],
)
def test_a_bad_row_is_quarantined_with_its_place(
    tmp_path: Path, change: dict[str, Any], field: str, pointed: str, said: str
) -> None:
    bad = {key: value for key, value in (ROW | change).items() if value is not ...}
    good = ROW | {"name": "good"}
    directory = load(tmp_path, things=toolset(good, bad, ROW | {"name": "last"}))

    assert [tool.id for tool in directory] == ["things.good", "things.last"]
    one = only(directory)
    assert one.file == str(tmp_path / "things.json")
    assert one.toolset == "things"
    assert one.row == (bad["name"] if bad["name"] else "row 2")
    assert one.field == field
    assert said in one.message
    assert pointed_at(tmp_path, one).startswith(pointed)


@pytest.mark.parametrize("row", [None, "get", 7, [], {}])
def test_a_row_that_is_no_row_stops_no_other(tmp_path: Path, row: Any) -> None:
    directory = load(tmp_path, things=toolset(row, ROW))

    assert [tool.id for tool in directory] == ["things.get"]
    assert {one.row for one in directory.quarantined} == {"row 1"}
    assert all(one.line for one in directory.quarantined)


def test_a_fault_in_the_toolset_s_binding_is_pointed_at_there(tmp_path: Path) -> None:
    file = toolset(ROW, binding={"via": "echo", "bad": 1})
    one = only(load(tmp_path, things=file))

    assert one.field == "binding.bad"
    assert pointed_at(tmp_path, one).startswith('"bad"')


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ("{\n  oops", 2, 3, "not JSON"),
        ("[]", 1, 1, "one JSON object"),
        ('{"toolset": "x", "n": NaN}', 0, 0, "NaN"),
        ("", 1, 1, "not JSON"),
    ],
)
def test_a_broken_file_stops_no_other(
    tmp_path: Path, text: str, line: int, column: int, said: str
) -> None:
    directory = load(tmp_path, broken=text, things=toolset(ROW))

    assert len(directory) == 1
    one = only(directory)
    assert (one.line, one.column) == (line, column)
    assert said in one.message


def test_bytes_that_are_no_text_stop_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(b'{"toolset": "\xff"}')
    (tmp_path / "deep.json").write_text("[" * 100_000)
    directory = load(tmp_path, things=toolset(ROW))

    assert len(directory) == 1
    assert [Path(one.file).name for one in directory.quarantined] == ["bad.json", "deep.json"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"toolset": "codemode"}, "toolset"),
        ({"toolset": "Git Hub"}, "toolset"),
        ({"toolset": "search"}, "toolset"),
        ({"description": ""}, "description"),
        ({"rows": {}}, "rows"),
        ({"colour": 1}, "colour"),
        ({"$defs": []}, "$defs"),
    ],
)
def test_a_bad_toolset_is_quarantined_whole(
    tmp_path: Path, change: dict[str, Any], field: str
) -> None:
    directory = load(tmp_path, things=toolset(ROW) | change, fine=toolset(ROW, toolset="fine"))

    assert [tool.id for tool in directory] == ["fine.get"]
    one = only(directory)
    assert (one.row, one.field) == ("", field)
    assert pointed_at(tmp_path, one).startswith(f'"{field}"')


def test_a_bad_definition_takes_only_its_users_along(tmp_path: Path) -> None:
    defs = {
        "Bad": {"type": "nonsense"},
        "User": {"type": "object", "properties": {"b": {"$ref": "#/$defs/Bad"}}},
        "Good": {"type": "string"},
    }
    rows = [
        ROW | {"returns": {"$ref": "#/$defs/User"}},
        ROW | {"name": "good", "returns": {"$ref": "#/$defs/Good"}},
    ]
    directory = load(tmp_path, things=toolset(*rows, **{"$defs": defs}))

    assert [tool.id for tool in directory] == ["things.good"]
    assert [one.field for one in directory.quarantined] == [
        "$defs.Bad.type",
        "$defs.User.properties.b.$ref",
        "returns.$ref",
    ]


@pytest.mark.case("N1")
@pytest.mark.parametrize("pair", [("get", "get"), ("get_2", "get2"), ("a_1_b", "a1_b")])
def test_rows_that_meet_are_both_quarantined(tmp_path: Path, pair: tuple[str, str]) -> None:
    rows = [ROW | {"name": name} for name in (*pair, "fine")]
    directory = load(tmp_path, things=toolset(*rows))

    assert [tool.id for tool in directory] == ["things.fine"]
    assert [one.row for one in directory.quarantined] == list(pair)
    for one in directory.quarantined:
        assert f"things.{pair[0]}" in one.message
        assert f"things.{pair[1]}" in one.message
    lines = [one.line for one in directory.quarantined]
    assert lines[0] < lines[1]


@pytest.mark.case("N1")
def test_a_row_that_would_meet_another_if_it_were_snake_case_names_it(tmp_path: Path) -> None:
    rows = [ROW | {"name": name} for name in ("get-item", "get_item")]
    one = only(load(tmp_path, things=toolset(*rows)))

    assert (one.row, one.field) == ("get-item", "name")
    assert "snake_case" in one.message
    assert "'get_item' is another row's name" in one.message


@given(st.text(min_size=1))
def test_the_snake_case_of_a_name_is_a_name(name: str) -> None:
    assert snake(snake(name)) == snake(name)


@pytest.mark.case("N11")
def test_two_files_with_one_toolset_are_both_quarantined(tmp_path: Path) -> None:
    directory = load(
        tmp_path, one=toolset(ROW), two=toolset(ROW), fine=toolset(ROW, toolset="fine")
    )

    assert [tool.id for tool in directory] == ["fine.get"]
    assert [Path(one.file).name for one in directory.quarantined] == ["one.json", "two.json"]
    assert all(
        "one.json" in one.message and "two.json" in one.message for one in directory.quarantined
    )


@pytest.mark.case("S45")
@pytest.mark.parametrize("args", [..., None])
def test_a_row_without_args_takes_none(tmp_path: Path, args: Any) -> None:
    row = {key: value for key, value in (ROW | {"args": args}).items() if value is not ...}
    directory = load(tmp_path, things=toolset(row))

    assert directory.get("things.get").args == {"type": "object", "properties": {}}


def test_older_spellings_are_taken_over(tmp_path: Path) -> None:
    args = {
        "properties": {
            "n": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
            "a": {"$ref": "#/definitions/A"},
        },
        "definitions": {"A": {"type": "string", "nullable": True}},
    }
    tool = load(tmp_path, things=toolset(ROW | {"args": args})).get("things.get")

    assert tool.args == {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "exclusiveMinimum": 0},
            "a": {"$ref": "#/$defs/A"},
        },
        "$defs": {"A": {"type": ["string", "null"]}},
    }


def test_arguments_that_are_not_listed_are_stated_to_be_free(tmp_path: Path) -> None:
    directory = load(tmp_path, things=toolset(ROW | {"args": {"type": "object"}}))
    assert directory.get("things.get").args["additionalProperties"] is True


def test_an_example_may_use_the_toolset_s_definitions(tmp_path: Path) -> None:
    args = {"type": "object", "properties": {"c": {"$ref": "#/$defs/Colour"}}}
    defs = {"$defs": {"Colour": {"enum": ["red"]}}}
    good = ROW | {"args": args, "example": {"args": {"c": "red"}}}
    bad = good | {"name": "bad", "example": {"args": {"c": "blue"}}}
    directory = load(tmp_path, things=toolset(good, bad, **defs))

    assert [tool.id for tool in directory] == ["things.get"]
    assert only(directory).field == "example.args.c"


def test_the_editor_s_schema_is_the_row_format() -> None:
    """Made by: python -m codemode.store.format > directory/schema.json"""
    held = (shipped("directory") / "schema.json").read_text("utf-8")
    assert held == json.dumps(editor_schema(), indent=2, ensure_ascii=False) + "\n"


def test_the_editor_s_schema_takes_the_shipped_directory() -> None:
    import jsonschema_rs

    validator = jsonschema_rs.validator_for(editor_schema())
    for path in shipped("directory").glob("*.json"):
        if path.name not in ("schema.json", "credentials.json", "servers.json"):
            assert [str(e) for e in validator.iter_errors(json.loads(path.read_text()))] == []
    for change in ({"effect": "maybe"}, {"colour": 1}, {"description": ""}):
        assert not validator.is_valid(toolset(ROW | change))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(JSON, st.data(), st.sampled_from([None, 1, "\t"]))
def test_a_place_is_found_by_its_path(value: Any, data: st.DataObject, indent: Any) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    path: list[str | int] = []
    node = value
    while isinstance(node, dict | list) and node:
        step = data.draw(
            st.sampled_from(list(node) if isinstance(node, dict) else range(len(node)))
        )
        path.append(step)
        node = node[step]

    line, column = locate(text, tuple(path))

    rest = "\n".join([text.split("\n")[line - 1][column - 1 :], *text.split("\n")[line:]])
    if path and isinstance(path[-1], str):
        name, end = json.JSONDecoder().raw_decode(rest)
        assert name == path[-1]
        rest = rest[end:].lstrip()[1:].lstrip()
    assert json.JSONDecoder().raw_decode(rest)[0] == node


# -- what a row says of other rows, credentials and answers ------------------------------------


def test_an_inverse_that_was_left_out_undoes_nothing(tmp_path: Path) -> None:
    rows = [
        ROW | {"name": "add", "inverse": "remove"},
        ROW | {"name": "remove", "effect": "maybe"},
        ROW | {"name": "toggle", "inverse": "toggle"},
    ]
    directory = load(tmp_path, things=toolset(*rows))

    assert only(directory).row == "remove"
    assert directory.get("things.add").inverse is None
    assert directory.get("things.toggle").inverse == "toggle"


class Keyed(Echo):
    """A binding with a credential."""

    via = "keyed"

    def parse(self, fields: Mapping[str, Any], *, args: Schema) -> Any:
        return SimpleNamespace(credential=fields.get("credential"))


@pytest.mark.parametrize("where", ["row", "toolset"])
def test_a_credential_is_one_that_there_is(tmp_path: Path, where: str) -> None:
    def loaded(name: str, credentials: tuple[str, ...] | None) -> Directory:
        own = {"credential": name}
        row = ROW | {"binding": own if where == "row" else {}}
        default = {"via": "keyed"} | (own if where == "toolset" else {})
        text = json.dumps(
            toolset(row, ROW | {"name": "free", "binding": {"via": "echo"}}, binding=default),
            indent=1,
        )
        (tmp_path / "things.json").write_text(text)
        bindings: Any = {"keyed": Keyed(), "echo": Echo()}
        return load_directory(tmp_path, bindings, credentials=credentials)

    for name, credentials in (("shop", ("shop",)), ("shop", ("bank", "shop")), ("shopp", None)):
        assert loaded(name, credentials).quarantined == ()
    directory = loaded("shopp", ("bank", "shop"))
    one = only(directory)
    assert [tool.name for tool in directory] == ["free"]
    assert (one.row, one.field) == ("get", "binding.credential")
    assert one.message == "there is no credential 'shopp'. Did you mean 'shop'?"
    assert pointed_at(tmp_path, one).startswith('"credential"')
    assert "credentials.json" in only(loaded("shopp", ())).message


@pytest.mark.parametrize(
    ("returns", "samples", "field", "pointed", "said"),
    [
        ({"type": "integer"}, {"example": {"returns": "3"}}, "example.returns", '"returns"', "int"),
        ({"type": "integer"}, {"example": {"returns": None}}, "example.returns", '"r', "null"),
        (
            {"type": "array", "items": {"$ref": "#/$defs/Thing"}},
            {"golden": [{"returns": []}, {"returns": [{"n": 1}, {"n": "x"}]}]},
            "golden.1.returns.1.n",
            '"n": "x"',
            "integer",
        ),
        (None, {"golden": [{"matches": {"type": "strin"}}]}, "golden.0.matches.type", '"type"', ""),
    ],
)
def test_an_answer_that_is_shown_fits_the_row(
    tmp_path: Path, returns: Any, samples: dict[str, Any], field: str, pointed: str, said: str
) -> None:
    thing = {"type": "object", "properties": {"n": {"type": "integer"}}}
    row = ROW | {"returns": returns} | samples
    directory = load(tmp_path, things=toolset(row, **{"$defs": {"Thing": thing}}))

    one = only(directory)
    assert one.field == field
    assert said in one.message
    assert pointed_at(tmp_path, one).startswith(pointed)


@pytest.mark.parametrize(
    "samples",
    [
        {"example": {"args": {}}},
        {"example": {"returns": {"n": 1, "more": 2}}},
        {"golden": [{"args": {"n": 1}, "matches": {"type": "object"}}]},
    ],
)
def test_an_answer_that_fits_is_taken_as_it_is(tmp_path: Path, samples: dict[str, Any]) -> None:
    object_ = {"type": "object", "properties": {"n": {"type": "integer"}}}
    for returns in (object_, True, {}, None):
        row = ROW | {"returns": returns} | samples
        tool = load(tmp_path, things=toolset(row)).get("things.get")
        assert tool.example == samples.get("example")
        assert list(tool.golden) == samples.get("golden", [])


def test_advice_that_nobody_has_written_is_none(tmp_path: Path) -> None:
    row = ROW | {"when_to_use": f"{UNWRITTEN} the server does not say."}
    assert load(tmp_path, things=toolset(row)).get("things.get").when_to_use == ""


@pytest.mark.parametrize(
    ("binding", "field", "pointed", "said"),
    [
        (
            {"via": "http", "base_url": "https://x.example", "method": "GET", "path": "/i/{item}"},
            "binding.path",
            '"path"',
            "Declare the argument 'item'",
        ),
        (
            {"via": "cli", "binary": ["x"], "argv": ["-v", {"flag": "-n", "arg": "num"}]},
            "binding.argv.1.arg",
            '"arg"',
            "'num' is not an argument",
        ),
        (
            {"via": "python", "callable": "m:f", "positional": ["m"]},
            "binding.positional.0",
            '"m"',
            "'m' is not an argument",
        ),
    ],
)
def test_a_binding_s_fault_is_pointed_at(
    tmp_path: Path, binding: dict[str, Any], field: str, pointed: str, said: str
) -> None:
    text = json.dumps(toolset(ROW | {"binding": binding}), indent=1)
    (tmp_path / "things.json").write_text(text)
    one = only(load_directory(tmp_path, load_all()))

    assert (one.row, one.field) == ("get", field)
    assert said in one.message
    assert pointed_at(tmp_path, one).startswith(pointed)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{\n oops", "things.json:2:2: the file is not JSON"),
        ('{"toolset": "things"}', "things.json:1:1: things, description: this field is required"),
        (toolset({"name": ""}), "things, row 1, name: a name is printable"),
        (toolset(ROW | {"effect": 1}), "things.get, effect: must be 'read'"),
    ],
)
def test_what_is_quarantined_says_where_in_one_line(tmp_path: Path, text: Any, shown: str) -> None:
    first = load(tmp_path, things=text).quarantined[0]
    assert shown in str(first)
    assert str(first).startswith(f"{tmp_path / 'things.json'}:{first.line}:{first.column}: ")


def test_the_shipped_files_are_named_and_sorted_as_the_readme_says() -> None:
    for path in shipped("directory").glob("*.json"):
        document = json.loads(path.read_text("utf-8"))
        if "rows" in document:
            names = [row["name"] for row in document["rows"]]
            assert document["toolset"] == path.stem
            assert names == sorted(names), path.name


def test_the_shipped_rows_name_credentials_that_there_are() -> None:
    folder = shipped("directory")
    directory = load_directory(folder, load_all(), credentials=load_credentials(folder))
    assert directory.quarantined == ()
