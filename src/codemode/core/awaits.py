"""
Forgotten ``await``, in both languages: where the promise of a tool call goes.

Neither compiler says it: a call that nobody waits for is a correct expression.
A promise is followed outwards from the call until somebody waits for it
(`Verdict.FINE`), nobody can (`Verdict.LOST`), or it leaves sight (`Verdict.AWAY`,
which is no error).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple, TypeAlias

from tree_sitter import Node

from codemode.core.syntax import Source

MAX_DEPTH = 50
"""How many variables a promise is followed through; then it is out of sight."""

Kind: TypeAlias = Literal["one", "many"]
"""One promise, or a list (or other holder) of promises."""


class Verdict(Enum):
    """Where a promise ended."""

    FINE = "fine"
    AWAY = "away"
    LOST = "lost"
    NO_USE = "no use"  # putting more into a list of promises waits for none


class Fate(NamedTuple):
    """What became of a promise; *node* and *message* say where and how it got lost."""

    verdict: Verdict
    node: Node
    message: str = ""


class Lost(NamedTuple):
    """A forgotten ``await``: where it shows, the call it belongs to, and what to do."""

    node: Node
    call: Node
    message: str


class Step(NamedTuple):
    """Go on from *node*, which is again a promise or a holder of some."""

    node: Node
    kind: Kind


@dataclass(slots=True)
class Flow:
    """
    State of one search.

    Args:
        depth: Variables being followed right now, one inside the other.
        known: What became of a variable's promises; None while it is being followed.
        waiting: Functions whose every call is a promise too.
    """

    source: Source
    reads: dict[str, list[Node]]
    depth: int = 0
    known: dict[tuple[str, Kind], Fate | None] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)


def variable(
    flow: Flow, name: str, kind: Kind, node: Node, follow: Callable[[Flow, Node, Kind], Fate]
) -> Fate:
    """A promise kept in a variable is as good as the best use of that variable."""
    if (name, kind) in flow.known or flow.depth >= MAX_DEPTH:
        return flow.known.get((name, kind)) or Fate(Verdict.AWAY, node)
    flow.known[name, kind] = None
    flow.depth += 1
    fate = flow.known[name, kind] = _best(flow, name, kind, node, follow)
    flow.depth -= 1
    return fate


def _best(
    flow: Flow, name: str, kind: Kind, node: Node, follow: Callable[[Flow, Node, Kind], Fate]
) -> Fate:
    fates = [follow(flow, read, kind) for read in flow.reads.get(name, [])]
    fates = [fate for fate in fates if fate.verdict is not Verdict.NO_USE]
    if any(fate.verdict is Verdict.FINE for fate in fates):
        return Fate(Verdict.FINE, node)
    lost = [fate for fate in fates if fate.verdict is Verdict.LOST]
    if lost:
        return lost[0]
    if fates:
        return Fate(Verdict.AWAY, node)
    return Fate(Verdict.LOST, node, f"`{name}` is never awaited.")
