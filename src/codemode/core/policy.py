"""What a run may do. One question, one function, one ordered table of answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from codemode.core.run import Preview
from codemode.core.tool import RESERVED_TOOLSET, Directory, Effect, Tool

Action: TypeAlias = Literal["allow", "ask", "deny"]

EFFECTS: frozenset[Effect] = frozenset({"read", "write", "destructive"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """
    One line of a policy.

    Args:
        action: ``ask`` lets the call through once a person says yes.
        tools: Patterns over tool ids, such as ``github.*``; any of them may match.
        effects: Effects the rule is about.
        label: What audit events call it, such as ``policy.toml:3``.
    """

    action: Action
    tools: tuple[str, ...] = ("*",)
    effects: frozenset[Effect] = EFFECTS
    label: str

    def matches(self, tool: Tool) -> bool:
        return tool.effect in self.effects and any(
            fnmatchcase(tool.id, pattern) for pattern in self.tools
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """
    Rules in order. `decide` reads them; an empty list allows nothing.

    Args:
        max_calls: Calls a run may make, or None for the run's own limit.
    """

    rules: tuple[Rule, ...] = ()
    max_calls: int | None = None

    def allowing(self, patterns: Iterable[str], *, label: str = "--allow") -> Policy:
        """This policy with *patterns* allowed first. A deny rule still wins."""
        rule = Rule(action="allow", tools=tuple(patterns), label=label)
        return replace(self, rules=(rule, *self.rules)) if rule.tools else self

    def denying(self, patterns: Iterable[str], *, label: str = "deny") -> Policy:
        """This policy with *patterns* denied."""
        rule = Rule(action="deny", tools=tuple(patterns), label=label)
        return replace(self, rules=(rule, *self.rules)) if rule.tools else self


DEFAULT = Policy(
    rules=(
        Rule(action="allow", effects=frozenset({"read"}), label="default:read"),
        Rule(action="ask", effects=frozenset({"write", "destructive"}), label="default:write"),
    )
)
"""Without a policy file: reads go through, everything else asks a person first."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer, and the rule that gave it (for the audit log)."""

    action: Action
    rule: str


def decide(policy: Policy, tool: Tool, preview: Preview | None = None) -> Decision:
    """
    Decide one tool. First match wins:

    ==  =====================================  ==============
    1   any deny rule matches                  deny
    2   the preview is closed and lacks it     deny
    3   the first other rule that matches      its action
    4   nothing matches                        deny
    ==  =====================================  ==============

    The call budget comes before this: it counts calls, not tools.
    """
    for rule in policy.rules:
        if rule.action == "deny" and rule.matches(tool):
            return Decision("deny", rule.label)
    if preview is not None and not preview.is_open and tool.id not in preview.tools:
        return Decision("deny", "preview")
    for rule in policy.rules:
        if rule.action != "deny" and rule.matches(tool):
            return Decision(rule.action, rule.label)
    return Decision("deny", "nothing matches")


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What a policy says of a whole preview, before anything runs. Ids sorted."""

    allowed: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    denied: tuple[tuple[str, str], ...] = ()
    """``(tool id, rule)``"""


def review(policy: Policy, directory: Directory, preview: Preview) -> Review:
    """Decide every tool that *preview* names; unknown ones are left to the check."""
    allowed: list[str] = []
    ask: list[str] = []
    denied: list[tuple[str, str]] = []
    for tool_id in sorted(preview.tools):
        if tool_id.startswith(f"{RESERVED_TOOLSET}.") or tool_id not in directory:
            continue
        decision = decide(policy, directory.get(tool_id), preview)
        if decision.action == "allow":
            allowed.append(tool_id)
        elif decision.action == "ask":
            ask.append(tool_id)
        else:
            denied.append((tool_id, decision.rule))
    return Review(allowed=tuple(allowed), ask=tuple(ask), denied=tuple(denied))
