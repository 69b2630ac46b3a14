"""Identifiers: valid in their language, stable, and a function of the name alone."""

from __future__ import annotations

import re
from keyword import iskeyword
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.core import names
from codemode.core.names import camel, parameters, pascal, python_name, python_parameter, snake
from codemode.core.tool import Binding, Tool, Toolset
from codemode.errors import NameCollision

ANY = st.text(max_size=30)


@pytest.mark.case("N9")
@given(ANY)
def test_any_name_becomes_an_identifier(name: str) -> None:
    for identifier in (camel(name), snake(name), pascal(name)):
        assert identifier.isidentifier()
    assert not iskeyword(python_name(name))
    assert not iskeyword(pascal(name))
    assert "_" not in pascal(name).rstrip("_")


@pytest.mark.case("N13")
@given(ANY)
def test_composed_and_decomposed_names_are_one(name: str) -> None:
    for made in (camel, python_name, pascal):
        assert made(normalize("NFD", name)) == made(normalize("NFC", name))


@given(ANY)
def test_python_reads_its_identifiers_as_they_are_written(name: str) -> None:
    for identifier in (python_name(name), python_parameter(name)):
        assert normalize("NFKC", identifier) == identifier
        assert not iskeyword(identifier)


@pytest.mark.case("N3")
def test_names_in_other_scripts_are_kept_and_stay_apart() -> None:
    assert [camel("搜索"), python_name("搜索")] == ["搜索", "搜索"]
    assert camel("搜索") != camel("检索")
    assert pascal("搜索") == "T搜索"


@pytest.mark.case("N9")
def test_names_without_a_letter_stay_apart() -> None:
    given_names = ["", "+", "-", "++", "1", "!", "😀"]
    assert len({camel(name) for name in given_names}) == len(given_names)
    assert len({python_name(name) for name in given_names}) == len(given_names)
    assert camel("1password") == "_1password"


@pytest.mark.parametrize(
    ("name", "typescript", "python"),
    [
        ("issues_create", "issuesCreate", "issues_create"),
        ("issuesCreate", "issuesCreate", "issues_create"),
        ("get-item", "getItem", "get_item"),
        ("HTTPServerStart", "httpServerStart", "http_server_start"),
        ("a.b/c d", "aBCD", "a_b_c_d"),
        ("v2_list", "v2List", "v2_list"),
        ("_private_", "private", "private"),
        ("delete", "delete", "delete"),
        ("import", "import", "import_"),
        ("list", "list", "list_"),
        ("None", "none", "none"),
        ("ﬁle", "file", "file"),
    ],
)
def test_the_usual_spellings(name: str, typescript: str, python: str) -> None:
    assert (camel(name), python_name(name)) == (typescript, python)


@pytest.mark.case("N5", "N7")
def test_refusals_name_the_reason() -> None:
    assert "JavaScript looks up" in names.refuse_tool("to_string")
    assert "two underscores" in names.refuse_tool("__proto__")
    assert "already means something" in names.refuse_tool("console")
    assert names.refuse_tool("issues_create") == ""
    assert "host's own" in names.refuse_toolset("codemode")
    assert "snake_case" in names.refuse_toolset("GitHub")
    assert names.refuse_toolset("google_calendar") == ""


def a_tool(**python_names: str) -> Tool:
    return Tool(
        toolset=Toolset(name="t", description="T."),
        name="x",
        description="X.",
        when_to_use="Always.",
        args={"type": "object"},
        returns=None,
        effect="read",
        binding=Binding(via="none", spec=None),
        python_names=python_names,
    )


def test_arguments_keep_their_name_where_python_takes_it() -> None:
    chosen = parameters(a_tool(), ("maxResults", "class", "assignee.any", "名前", "", "2nd"))
    assert list(chosen.values()) == ["maxResults", "class_", "assignee_any", "名前", "arg_", "_2nd"]


def test_the_row_s_own_python_name_wins() -> None:
    assert parameters(a_tool(**{"DateSent<": "sent_before"}), ("DateSent", "DateSent<")) == {
        "DateSent": "DateSent",
        "DateSent<": "sent_before",
    }


@pytest.mark.parametrize(
    ("given_names", "python_names"),
    [
        (("a.b", "a_b"), {}),
        (("a", "b"), {"b": "a"}),
        (("a",), {"a": "not an identifier"}),
        (("a",), {"a": "class"}),
        (("\u00e9", "e\u0301"), {}),
    ],
)
def test_arguments_that_meet_are_refused(
    given_names: tuple[str, ...], python_names: dict[str, str]
) -> None:
    with pytest.raises(NameCollision, match=re.escape("t.x")):
        parameters(a_tool(**python_names), given_names)
