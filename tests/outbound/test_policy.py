"""The policy: its table, its file, and what it says of a whole preview."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.core.policy import DEFAULT, Policy, Rule, decide, review
from codemode.core.run import Preview, PreviewCall
from codemode.core.tool import Directory
from codemode.errors import ConfigError
from codemode.store.policy import parse_policy, read_policy
from outbound.flows import http_tool

EFFECTS = ("read", "write", "destructive")


def rule(action: str, *tools: str, effects: tuple[str, ...] = EFFECTS) -> Rule:
    return Rule(
        action=action,  # type: ignore[arg-type]
        tools=tools or ("*",),
        effects=frozenset(effects),  # type: ignore[arg-type]
        label=f"{action}:{','.join(tools)}",
    )


def preview(*tools: str, is_open: bool = False) -> Preview:
    return Preview(
        calls=tuple(PreviewCall(tool=t, effect="read", line=1, column=1) for t in tools),
        open_reasons=("dynamic",) if is_open else (),
    )


def test_the_default() -> None:
    actions = {effect: decide(DEFAULT, http_tool(effect=effect)).action for effect in EFFECTS}
    assert actions == {"read": "allow", "write": "ask", "destructive": "ask"}


def test_nothing_matches_is_denied() -> None:
    assert decide(Policy(), http_tool()).action == "deny"
    assert decide(Policy(rules=(rule("allow", "other.*"),)), http_tool()).action == "deny"


RULES = st.builds(
    rule,
    st.sampled_from(["allow", "ask", "deny"]),
    st.sampled_from(["*", "shop.*", "shop.get", "*.get", "other.*"]),
    effects=st.sets(st.sampled_from(EFFECTS), min_size=1).map(tuple),
)


@given(st.lists(RULES, max_size=6), st.sampled_from(EFFECTS))
def test_a_denial_wins_wherever_it_stands_and_else_the_first_match(
    rules: list[Rule], effect: str
) -> None:
    tool = http_tool(effect=effect)
    got = decide(Policy(rules=tuple(rules)), tool)
    matching = [each.action for each in rules if each.matches(tool)]
    if "deny" in matching or not matching:
        assert got.action == "deny"
    else:
        assert got.action == matching[0]
    # The order of allow and ask among themselves matters; that of deny does not.
    for order in itertools.islice(itertools.permutations(rules), 24):
        if "deny" in matching:
            assert decide(Policy(rules=order), tool).action == "deny"


@given(st.lists(RULES, max_size=6), st.sampled_from(EFFECTS))
def test_allowing_never_undoes_a_denial_and_denying_always_works(
    rules: list[Rule], effect: str
) -> None:
    tool, policy = http_tool(effect=effect), Policy(rules=tuple(rules))
    denied = any(each.action == "deny" and each.matches(tool) for each in rules)
    assert decide(policy.allowing(["shop.get"]), tool).action == ("deny" if denied else "allow")
    assert decide(policy.denying(["*"]), tool).action == "deny"
    assert decide(policy.allowing([]), tool) == decide(policy, tool)


def test_the_preview_caps_but_an_open_one_does_not() -> None:
    tool = http_tool()
    assert decide(DEFAULT, tool, preview("shop.get")).action == "allow"
    assert decide(DEFAULT, tool, preview("shop.other")).rule == "preview"
    assert decide(DEFAULT, tool, preview(is_open=True)).action == "allow"


def test_review_sorts_a_preview_before_anything_runs() -> None:
    directory = Directory(
        [http_tool("a"), http_tool("b", effect="write"), http_tool("c", effect="destructive")]
    )
    policy = DEFAULT.denying(["shop.c"], label="no-c")
    got = review(policy, directory, preview("shop.c", "shop.b", "shop.a", "shop.unknown"))
    assert got.allowed == ("shop.a",)
    assert got.ask == ("shop.b",)
    assert got.denied == (("shop.c", "no-c"),)
    assert not review(policy, directory, preview("codemode.search")).allowed


FILE = """\
max_calls = 50

[[rule]]
tools = ["shop.*"]
effects = ["read"]
action = "allow"

[[rule]]
tools = ["shop.pay"]
action = "ask"

[[deny]]
tools = ["*.delete_*"]
"""


def test_a_file_decides_in_its_order_and_names_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(FILE)
    policy = read_policy(path)
    assert policy.max_calls == 50
    got = {
        name: decide(policy, http_tool(name, effect=effect))
        for name, effect in (
            ("get", "read"),
            ("pay", "write"),
            ("delete_x", "read"),
            ("z", "write"),
        )
    }
    assert {name: (each.action, each.rule) for name, each in got.items()} == {
        "get": ("allow", "policy.toml:3"),
        "pay": ("ask", "policy.toml:8"),
        "delete_x": ("deny", "policy.toml:12"),
        "z": ("deny", "nothing matches"),
    }


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("max_call = 5", "line 1: unknown key 'max_call'", "max_calls, deny, rule"),
        ("\n[[rule]]\naction = 'allow'\ntool = ['x']", "line 4: unknown key 'tool'", "tools"),
        ("[[rule]]\naction = 'permit'", "line 2: rule.0.action", ""),
        ("[[rule]]\ntools = ['a.b']", "line 1: rule.0.action", ""),
        ("[[deny]]\n\n[[deny]]\ntools = []", "line 1: deny.0.tools", ""),
        ("[[deny]]\ntools = ['A b']", "line 1: 'A b' is no pattern", "github.*"),
        ("[[deny]]\ntools = ['a']\neffects = ['none']", "line 3: deny.0.effects.0", ""),
        ("max_calls = -1", "line 1: max_calls", ""),
        ("max_calls = '5'", "line 1: max_calls", ""),
        ("x = [", "not TOML", ""),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_line(text: str, said: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_policy(text, origin="p.toml")
    assert said in caught.value.message
    assert hint in caught.value.hint


def test_an_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml cannot be read: No such file"):
        read_policy(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_policy(tmp_path / "bad.toml")
