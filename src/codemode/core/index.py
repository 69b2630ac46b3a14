"""
The compact index: what a directory holds, in as many words as fit a budget.

Every toolset is always there. Tools are named, then described in half a dozen words, then
in a dozen, toolset by toolset in turn, so that a large toolset never crowds out a small one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from codemode.core.names import camel, python_name
from codemode.core.run import Language
from codemode.core.tool import Directory, Tool

TIERS = (0, 6, 12)
"""Words about a tool: only its name, half a dozen, a dozen."""

_SENTENCE = re.compile(r"(?<=[.!?])\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactIndex:
    """
    Args:
        size: By the caller's measure; at most the budget, unless the toolsets alone exceed it.
        n_tools: In the directory.
        n_named: Of them named in *text*; the others are counted there.
        n_described: Of the named ones, those with words behind the name.
        tools: Ids of those named.
    """

    text: str
    size: int
    n_tools: int
    n_named: int
    n_described: int
    tools: frozenset[str]


def first_words(text: str, n: int) -> str:
    """
    At most *n* words of the first sentence.

    >>> first_words("Open an issue in a repository. Then close it.", 4)
    'Open an issue in ...'
    """
    words = _SENTENCE.split(text.strip(), maxsplit=1)[0].split()
    if len(words) <= n:
        return " ".join(words).rstrip(".")
    return " ".join(words[:n]).rstrip(".,;:") + " ..."


def tool_path(tool: Tool, language: Language) -> str:
    """``github.issuesCreate`` or ``github.issues_create``."""
    spell = camel if language == "typescript" else python_name
    return f"{spell(tool.toolset.name)}.{spell(tool.name)}"


def compact_index(
    directory: Directory,
    *,
    budget: int,
    measure: Callable[[str], int] = len,
    language: Language = "typescript",
) -> CompactIndex:
    """
    The index of *directory* within *budget*.

    Args:
        measure: What a text costs, such as its tokens. Lines are measured one by one, so
            parts should cost together what they cost alone, or less.
    """
    draft = _Draft(directory, measure, language)
    if draft.size > budget:
        draft = _Draft(directory, measure, language, about=0)
    for tier in range(len(TIERS)):
        draft.fill(tier, budget)
    text = draft.text()
    while (size := measure(text)) > budget and draft.shrink():
        text = draft.text()
    described = sum(tier > 0 for tier in draft.tiers.values())
    return CompactIndex(
        text=text,
        size=size,
        n_tools=len(directory),
        n_named=len(draft.tiers),
        n_described=described,
        tools=frozenset(draft.tiers),
    )


class _Draft:
    """An index that grows. *tiers*: tool id -> tier, in the order they were given."""

    def __init__(
        self,
        directory: Directory,
        measure: Callable[[str], int],
        language: Language,
        *,
        about: int = 12,
    ) -> None:
        """*about*: words about each toolset."""
        self._toolsets: Mapping[str, Sequence[Tool]] = directory.toolsets
        self._measure = measure
        self._language: Language = language
        self._about = about
        self.tiers: dict[str, int] = {}
        self.size = measure(self.text())

    def fill(self, tier: int, budget: int) -> None:
        """Bring tools to *tier*, one of each toolset in turn, while they fit."""
        queues = [iter(tools) for tools in self._toolsets.values()]
        while queues:
            queues = [queue for queue in queues if self._raise_next(queue, tier, budget)]

    def _raise_next(self, queue: Iterator[Tool], tier: int, budget: int) -> bool:
        """False: the toolset has no more tools, or its next one does not fit."""
        tool = next(queue, None)
        if tool is None:
            return False
        now = self.tiers.get(tool.id, -1)
        if now != tier - 1:
            return False
        grown = self._measure(self._part(tool, tier)) - (
            self._measure(self._part(tool, now)) if now >= 0 else 0
        )
        if self.size + grown > budget:
            return False
        self.tiers[tool.id] = tier
        self.size += grown
        return True

    def shrink(self) -> bool:
        """Take a step back: the tool raised last that is at the highest tier."""
        if not self.tiers:
            return False
        highest = max(self.tiers.values())
        last = next(one for one in reversed(self.tiers) if self.tiers[one] == highest)
        if highest == 0:
            del self.tiers[last]
        else:
            self.tiers[last] = highest - 1
        return True

    def _name(self, tool: Tool) -> str:
        return tool_path(tool, self._language).partition(".")[2]

    def _part(self, tool: Tool, tier: int) -> str:
        """What a tool adds to the text."""
        if tier == 0:
            return f" {self._name(tool)},"
        return f"  {self._name(tool)}: {first_words(tool.description, TIERS[tier])}\n"

    def text(self) -> str:
        """The whole index; ends in a newline."""
        return "".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for tools in self._toolsets.values():
            toolset = tools[0].toolset
            name = tool_path(tools[0], self._language).partition(".")[0]
            about = first_words(toolset.description, self._about) if self._about else ""
            yield f"{name} ({len(tools)}){': ' if about else ''}{about}\n"
            named = [tool for tool in tools if tool.id in self.tiers]
            for tool in named:
                if self.tiers[tool.id] > 0:
                    yield self._part(tool, self.tiers[tool.id])
            bare = [self._name(tool) for tool in named if self.tiers[tool.id] == 0]
            hidden = len(tools) - len(named)
            if bare:
                yield f"  {', '.join(bare)}{', ...' if hidden else ''}\n"
            if hidden and named:
                yield f"  {hidden} more: search\n"
