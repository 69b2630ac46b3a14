"""What every target promises. A new module in targets/ is tested unasked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from jinja2 import UndefinedError

from codemode import targets
from codemode.core.tool import Binding, Directory, Tool, Toolset
from codemode.errors import InvalidRow, NameCollision
from codemode.generate import Generated, generate
from codemode.store.generated import read_templates
from codemode.targets import Target

CODE = Toolset(
    name="code_host",
    description="Repositories and issues.",
    defs={
        "Issue": {
            "type": "object",
            "required": ["number", "author"],
            "properties": {
                "number": {"type": "integer", "minimum": 1, "description": "Counts from 1."},
                "author": {"$ref": "#/$defs/User"},
                "labels": {"type": "array", "items": {"type": "string"}},
            },
        },
        "User": {
            "type": "object",
            "required": ["login"],
            "properties": {"login": {"type": "string"}, "manager": {"$ref": "#/$defs/User"}},
        },
    },
)
PDF = Toolset(name="pdf", description="Reading documents.")


def tool(name: str, *, toolset: Toolset = CODE, **more: Any) -> Tool:
    fields: dict[str, Any] = {
        "description": f"Do {name}.",
        "when_to_use": f"The job is {name}.",
        "args": {
            "type": "object",
            "required": ["owner"],
            "properties": {
                "owner": {"type": "string", "description": "Account that holds it."},
                "filter": {"type": "object", "properties": {name: {"type": "integer"}}},
            },
        },
        "returns": {"type": "object", "properties": {"filter": {"type": "object"}}},
        "effect": "read",
    } | more
    return Tool(toolset=toolset, name=name, binding=Binding(via="none", spec=None), **fields)


TOOLS = (
    tool("issues_get", returns={"$ref": "#/$defs/Issue"}),
    tool("issues_list", returns={"type": "array", "items": {"$ref": "#/$defs/Issue"}}),
    tool("issues_create", effect="write", example={"args": {"owner": "octo"}, "returns": {}}),
    tool("delete", effect="destructive", returns=None),
    tool("搜索"),
    tool("2fa"),
    tool("tree", returns={"type": "object", "properties": {"kids": {"$ref": "#"}}}),
    tool("text", toolset=PDF, args={"type": "object", "properties": {}}),
    tool("pages", toolset=PDF, returns=None),
)
DIRECTORY = Directory(TOOLS)


@pytest.fixture(params=targets.names())
def target(request: pytest.FixtureRequest) -> Target:
    return targets.load(request.param)


def made(target: Target, directory: Directory = DIRECTORY) -> Generated:
    return generate(directory, target, read_templates(target.name))


def test_it_is_found_by_its_file_name(target: Target) -> None:
    assert target.name in targets.names()
    assert target is targets.load(target.name)


def test_equal_input_gives_equal_bytes(target: Target) -> None:
    assert made(target) == made(target, Directory(TOOLS))


def test_order_of_rows_does_not_matter(target: Target) -> None:
    assert made(target, Directory(reversed(TOOLS))) == made(target)


@pytest.mark.parametrize("left_out", range(len(TOOLS)))
def test_a_new_row_only_inserts_lines(target: Target, left_out: int) -> None:
    fewer = made(target, Directory([*TOOLS[:left_out], *TOOLS[left_out + 1 :]]))

    for path, text in made(target).files.items():
        kept = iter(text.splitlines())
        assert all(line in kept for line in fewer.files.get(path, "").splitlines())


@pytest.mark.case("N15")
def test_prose_renames_nothing(target: Target) -> None:
    retold = [replace(one, description="Other words.", when_to_use="At times.") for one in TOOLS]
    identifiers = tuple(target.toolset_name(name) for name in DIRECTORY.toolsets)

    assert target.names(Directory(retold), identifiers) == target.names(DIRECTORY, identifiers)
    assert [target.signature(one) for one in retold] == [target.signature(one) for one in TOOLS]


def test_files_are_text_sorted_by_path(target: Target) -> None:
    files = made(target).files

    assert list(files) == sorted(files)
    for path, text in files.items():
        assert not path.startswith("/")
        assert ".." not in path
        assert text.endswith("\n")
        assert not re.search(r"[\r\0]| $", text, re.MULTILINE)


def test_each_toolset_has_a_file_of_its_own(target: Target) -> None:
    without = made(target, Directory(one for one in TOOLS if one.toolset is not PDF)).files
    assert len(made(target).files) == len(without) + 1


def test_no_name_is_defined_twice(target: Target) -> None:
    """Tools with a field of one name and two shapes stay apart; shared types stay shared."""
    for text in made(target).files.values():
        defined = re.findall(
            r"^\s*(?:export )?(?:type|class|function|async def|def) (\w+)|^(\w+) = ", text, re.M
        )
        assert len(defined) == len(set(defined)) > 0
    assert (
        sum(
            text.count("Issue =") + text.count("class Issue(")
            for text in made(target).files.values()
        )
        == 1
    )


def test_the_name_table_leads_to_every_tool(target: Target) -> None:
    identifiers = tuple(target.toolset_name(name) for name in DIRECTORY.toolsets)
    table = target.names(DIRECTORY, (*identifiers, "nothing"))

    assert set(table) == set(identifiers)
    assert sorted(named.tool for names in table.values() for named in names.values()) == [
        one.id for one in DIRECTORY
    ]
    for one in TOOLS:
        names = table[target.toolset_name(one.toolset.name)]
        assert names[target.tool_name(one.name)].tool == one.id


def test_the_name_table_holds_only_what_is_asked_for(target: Target) -> None:
    assert set(target.names(DIRECTORY, (target.toolset_name("pdf"),))) == {"pdf"}
    assert target.names(DIRECTORY, ()) == {}


def test_a_signature_is_one_line_and_begins_with_the_path(target: Target) -> None:
    for one in TOOLS:
        signature = target.signature(one)
        path = f"{target.toolset_name(one.toolset.name)}.{target.tool_name(one.name)}"
        assert signature.startswith(f"{path}(")
        assert "\n" not in signature


def test_a_declaration_says_all_that_a_model_needs(target: Target) -> None:
    text = target.declaration(DIRECTORY.get("code_host.issues_create"))

    for said in ("Do issues_create.", "The job is issues_create.", "write", "Account that holds"):
        assert said in text
    assert '"octo"' in text  # the example
    needed = target.declaration(DIRECTORY.get("code_host.issues_get"))
    assert "login" in needed
    assert "Issue" in needed


def test_what_the_types_do_not_say_is_listed(target: Target) -> None:
    losses = made(target).losses

    assert any(
        (loss.tool, loss.path) == ("code_host", "/$defs/Issue/properties/number")
        and "minimum" in loss.reason
        for loss in losses
    )


@pytest.mark.case("S47")
def test_tools_without_returns_are_counted(target: Target) -> None:
    assert made(target).untyped == ("code_host.delete", "pdf.pages")


@pytest.mark.case("N1", "N11")
@pytest.mark.parametrize(("one", "other"), [("get-item", "get_item"), ("getItem", "get_item")])
def test_two_rows_with_one_identifier_are_refused(target: Target, one: str, other: str) -> None:
    with pytest.raises(NameCollision) as caught:
        made(target, Directory([tool(one), tool(other)]))
    assert f"code_host.{one}" in str(caught.value)
    assert f"code_host.{other}" in str(caught.value)


@pytest.mark.case("N5", "N7")
@pytest.mark.parametrize(
    "name",
    (
        "constructor toString to_string __proto__ hasOwnProperty then "
        "console __dispatchers run_code"
    ).split(),
)
def test_names_of_language_and_harness_are_refused(target: Target, name: str) -> None:
    with pytest.raises(InvalidRow) as caught:
        made(target, Directory([tool(name)]))
    assert name in str(caught.value)
    assert caught.value.field == "name"


def test_names_of_toolsets_are_refused_too(target: Target) -> None:
    for name in ("codemode", "search", "console", "import", "Git", "a.b", "class"):
        with pytest.raises(InvalidRow):
            made(target, Directory([tool("x", toolset=replace(PDF, name=name))]))


def test_a_template_that_wants_more_is_an_error(target: Target) -> None:
    templates: Mapping[str, str] = {
        name: text + "{{ nobody_supplies_this }}"
        for name, text in read_templates(target.name).items()
    }
    with pytest.raises(UndefinedError, match="nobody_supplies_this"):
        generate(DIRECTORY, target, templates)
