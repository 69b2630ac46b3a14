"""Rules as data: the shipped table, an operator's before it, and what is refused."""

from __future__ import annotations

import pytest

from codemode.core.measure.call import TraceCall
from codemode.core.measure.rules import Classifier, read_table
from codemode.core.measure.words import programs, tools_in, words
from codemode.errors import ConfigError
from codemode.traces import rule_table


def call(name: str | None, args: object = None, **more: object) -> TraceCall:
    return TraceCall(id="1", name=name, args=args, **more)  # type: ignore[arg-type]


def classed(name: str | None, args: object = None, **more: object) -> str:
    return Classifier(rule_table()).classify(call(name, args, **more))[0]


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("ToolSearch", "discovery"),
        ("getToolSchema", "discovery"),
        ("GET_TOOLS_DOCS", "discovery"),
        ("mcp__hub__list_tools", "discovery"),
        ("tools/list", "discovery"),
        ("codemode.search", "discovery"),
        ("mcp__tools__find_flights", "work"),  # a server called tools does not make it so
        ("search_files", "work"),
        ("toolbox_list", "work"),
        ("retool_search", "work"),
        ("list_categories", "work"),
        ("CATEGORIES", "work"),  # a discovery key only through the dispatcher
        ("mcp__notion__API-post-search", "work"),
        ("mcp__gmail__authenticate", "setup"),
        ("logIn", "setup"),
        ("list_connections", "work"),
        ("catalogue_indexing", "work"),
        (None, "unclassified"),
        ("", "unclassified"),
    ],
)
def test_names(name: str | None, cls: str) -> None:
    assert classed(name) == cls


@pytest.mark.parametrize(
    ("command", "cls"),
    [
        ("jq --help", "discovery"),
        ("gh issue create --help 2>&1 | head -40", "discovery"),
        ("java -help", "discovery"),
        ("ls -h", "discovery"),
        ("man 1 zstd | head", "discovery"),
        ("which ffmpeg sox", "discovery"),
        ("command -v rg >/dev/null", "discovery"),
        ("cat .claude/skills/pdf/SKILL.md", "discovery"),
        ("df -h /", "work"),
        ("jq --help-me", "work"),
        ("jq --help && rm -r x", "work"),
        ("make; jq --help", "work"),
        ("grep -- --help notes.md", "work"),
        ("manage.py migrate", "work"),
        ("gh auth login --with-token < t", "setup"),
        ("docker login ghcr.io", "setup"),
        ("git log --login", "work"),
    ],
)
def test_shell_commands(command: str, cls: str) -> None:
    assert classed("Bash", {"command": command}) == cls


def errors(*results: tuple[str, bool], name: str = "act") -> list[str]:
    one = Classifier(rule_table())
    return [
        one.classify(
            call(name, {"n": n}, result=text, is_error=flag, message=str(n))
        )[0]
        for n, (text, flag) in enumerate(results)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "flag", "repairs"),
    [
        ("Invalid arguments: stop is required", True, True),
        ('{"error": "Validation error: timeout must be an integer"}', False, True),
        ("<tool_use_error>InputValidationError: x</tool_use_error>", False, True),
        ("MCP error -32602: bad", True, True),
        ("HTTP 422", True, True),
        ("TypeError: unexpected keyword argument 'a'", False, True),
        ("request timed out: n must be small", True, False),
        ("503 service unavailable, invalid parameter later", True, False),
        ("ConnectionError: peer closed", True, False),
        ("permission denied", True, False),
        ("The book says: invalid arguments fail.", False, False),
        ("validation of the model went well", False, False),
    ],
)
def test_what_makes_the_next_call_a_repair(text: str, flag: bool, repairs: bool) -> None:
    assert errors((text, flag), ("ok", False), ("ok", False)) == [
        "work",
        "repair" if repairs else "work",
        "work",
    ]


def test_each_error_owes_one_repair() -> None:
    bad = ("Invalid arguments", True)
    assert errors(bad, bad, ("ok", False), ("ok", False)) == ["work", "repair", "repair", "work"]


def test_calls_side_by_side_do_not_repair_each_other() -> None:
    one = Classifier(rule_table())
    for message, cls in (("m1", "work"), ("m1", "work"), ("m2", "repair")):
        bad = call("act", result="Invalid arguments", is_error=True, message=message)
        assert one.classify(bad)[0] == cls


def test_repair_is_of_the_tool_inside_a_wrapper() -> None:
    one = Classifier(rule_table())

    def through(tool: str) -> str:
        args = {"server_name": "s", "tool_name": tool, "params": {}}
        bad = call("execute-tool", args, result="Invalid arguments", is_error=True)
        return one.classify(bad)[0]

    assert [through(tool) for tool in ("a", "b", "a", "b")] == ["work", "work", "repair", "repair"]


def test_an_operators_rules_come_first() -> None:
    extra = {
        "rules": [
            {"name": "our-catalogue", "class": "discovery", "tool": ["acme_*_catalogue", "helpme"]},
            {"name": "dry", "class": "setup", "attribute": "mode", "matches": "^dry"},
            {"name": "inside", "class": "setup", "when": "from_script"},
        ],
        "wrappers": [{"tool": "gateway", "inner": ["target"]}],
        "argument_errors": ["computer says no"],
    }
    one = Classifier(rule_table(extra))
    cases = [
        (call("acme_parts_catalogue"), "discovery", "our-catalogue"),
        (call("ToolSearch"), "discovery", "named-tool-search"),
        (call("act", {"mode": "dry run"}), "setup", "dry"),
        (call("act", from_script=True), "setup", "inside"),
        (call("gateway", {"target": "search_tools"}), "discovery", "tool-and-search-words"),
        (call("gateway", {"goal": "x"}), "unclassified", "unreadable-wrapper"),
        (call("x", result="computer says no", is_error=True), "work", "any-other-call"),
        (call("x"), "repair", "same-tool-after-argument-error"),
    ]
    for given, cls, rule in cases:
        found = one.classify(given)
        assert (found[0], found[1].name) == (cls, rule)


def test_a_table_that_matches_nothing_leaves_calls_unclassified() -> None:
    cls, rule, _ = Classifier(read_table({})).classify(call("act"))
    assert (cls, rule.name) == ("unclassified", "nothing-matches")


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"name": "a", "class": "discovry", "tool": "x"}, "class must be one of"),
        ({"name": "a", "class": "work", "tol": "x"}, "unknown key 'tol'"),
        ({"name": "a", "class": "work"}, "needs tool, words"),
        ({"name": "a", "class": "work", "when": "monday"}, "when must be one of"),
        ({"name": "a", "class": "work", "attribute": "x"}, "belong together"),
        ({"name": "a", "class": "work", "attribute": "x", "matches": "("}, "regular expression"),
    ],
)
def test_a_rule_that_cannot_be_used_is_named(rule: dict, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        rule_table({"rules": [rule]})
    assert str(caught.value).startswith("[measure]: a")


@pytest.mark.parametrize("extra", [{"wrappers": [{"tool": "x"}]}, {"argument_errors": ["("]}])
def test_other_parts_are_checked_too(extra: dict) -> None:
    with pytest.raises(ConfigError):
        rule_table(extra)


def test_words_and_programs_and_names() -> None:
    assert words("getToolSchema2") == ("get", "tool", "schema2")
    assert words("HTTPToolList") == ("http", "tool", "list")
    assert programs("A=1 sudo /usr/bin/jq . x | head && man zstd") == ("jq", "head", "zstd")
    assert tools_in('{"tools": ["kv_put", {"name": "kv_get"}]}') == {"kv_put", "kv_get"}
    assert "kv_put" in tools_in("KV_PUT | KV_GET")
    assert "issueslist" in tools_in('"name": "github.issuesList"')
