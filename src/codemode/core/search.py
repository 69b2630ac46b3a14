"""
Ranked search over a directory: field-weighted BM25 that knows how names are written.

Words are split at case and separators and lightly stemmed, so that ``issuesCreate``,
``issues_create`` and "creating an issue" meet; a word that no tool has falls back
to the nearest ones that do (prefix, then spelling).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from codemode.core.tool import Directory, Tool

WEIGHTS = {
    "name": 4.0,
    "toolset": 2.5,
    "lead": 2.5,
    "when_to_use": 2.0,
    "description": 2.0,
    "args": 0.7,
}
"""How much a word counts for where it stands. Names are what people half remember; a
description leads with what the tool does and to what ("Open an issue")."""

_K1, _B = 1.2, 0.5
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_STOP = frozenset(
    "a an and any are as at be by can do does for from get has have how i if in into is it its me "
    "my of on one or our that the their them then this to use used want was what when where which "
    "who with you your".split()
)
_FUZZY = 0.6
"""What a word that only looks like the asked one is worth."""

MAX_QUERY_CHARS = 1000
MAX_QUERY_WORDS = 64
"""What comes after is not read: a query costs the same however long it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """
    Answer of one search.

    Args:
        tools: Best first, at most the limit.
        n_matching: How many tools match at all, for "N of M".
    """

    tools: tuple[Tool, ...]
    n_matching: int


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    for suffix, least in (("ations", 6), ("ation", 6), ("ings", 5), ("ing", 5), ("ies", 4)):
        if word.endswith(suffix) and len(word) - len(suffix) >= least - 3:
            return word[: -len(suffix)] + ("y" if suffix == "ies" else "")
    for suffix in ("ers", "er", "ed", "es", "s", "e"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            return word[: -len(suffix)]
    return word


def words(text: str) -> Iterator[str]:
    """Stemmed words of *text*, stop words left out; camelCase and snake_case split."""
    for match in _WORD.finditer(text):
        word = match.group().lower()
        if word not in _STOP:
            yield _stem(word)


def _fields(tool: Tool) -> Iterator[tuple[str, str]]:
    yield "name", tool.name
    yield "toolset", f"{tool.toolset.name} {tool.toolset.description}"
    yield "when_to_use", tool.when_to_use
    yield "description", tool.description
    yield "lead", " ".join(list(words(tool.description))[:2])
    properties = tool.args.get("properties", {})
    yield "args", " ".join(properties) if isinstance(properties, dict) else ""


class Index:
    """
    Search over one directory. Built once; answers are deterministic.

    Args:
        directory: Indexed whole; memory is linear in its words.
    """

    __slots__ = ("_alike", "_directory", "_idf", "_postings", "_sorted")

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        weights: list[dict[str, float]] = []
        for tool in directory.tools:
            counts: dict[str, float] = defaultdict(float)
            for name, text in _fields(tool):
                for word, n in Counter(words(text)).items():
                    counts[word] += WEIGHTS[name] * n
            weights.append(counts)
        mean = sum(sum(counts.values()) for counts in weights) / max(len(weights), 1)
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for position, counts in enumerate(weights):
            norm = _K1 * (1 - _B + _B * sum(counts.values()) / (mean or 1))
            for word, weight in counts.items():
                self._postings[word].append((position, weight * (_K1 + 1) / (weight + norm)))
        self._sorted = sorted(self._postings)
        self._alike: dict[tuple[str, int], list[str]] = defaultdict(list)
        for word in self._sorted:
            self._alike[word[0], len(word)].append(word)
        total = len(weights)
        self._idf = {
            word: math.log(1 + (total - len(rows) + 0.5) / (len(rows) + 0.5))
            for word, rows in self._postings.items()
        }

    def search(self, query: str, *, limit: int = 10, toolset: str | None = None) -> Found:
        """
        Best tools for *query*. An empty query lists tools in order of id.

        Args:
            limit: At least 1; applied after ranking.
            toolset: Only tools of this toolset.
        """
        asked = list(dict.fromkeys(words(query[:MAX_QUERY_CHARS])))[:MAX_QUERY_WORDS]
        tools = self._directory.tools
        if not asked:
            listed = [tool for tool in tools if toolset in (None, tool.toolset.name)]
            return Found(tools=tuple(listed[:limit]), n_matching=len(listed))
        scores: dict[int, float] = defaultdict(float)
        for word in asked:
            for known, worth in self._known(word):
                for position, score in self._postings[known]:
                    scores[position] += worth * self._idf[known] * score
        wanted = "".join(asked)
        ranked = sorted(
            (-(score + (5.0 if self._is_name(tools[at], query, wanted) else 0.0)), tools[at].id, at)
            for at, score in scores.items()
            if toolset in (None, tools[at].toolset.name)
        )
        best = tuple(tools[at] for _, _, at in ranked[:limit])
        return Found(tools=best, n_matching=len(ranked))

    def _known(self, word: str) -> list[tuple[str, float]]:
        """The word itself, or the indexed ones nearest to it, with their worth."""
        if word in self._postings:
            return [(word, 1.0)]
        if len(word) < 3:
            return []
        start = bisect_left(self._sorted, word)
        longer = [known for known in self._sorted[start : start + 200] if known.startswith(word)]
        if longer:
            return [(known, _FUZZY) for known in sorted(longer, key=len)[:3]]
        # Misspellings keep their first letter and about their length.
        lengths = range(len(word) - 2, len(word) + 3)
        alike = [known for length in lengths for known in self._alike.get((word[0], length), ())]
        near = get_close_matches(word, alike, n=2, cutoff=0.75)
        return [(known, _FUZZY) for known in near]

    @staticmethod
    def _is_name(tool: Tool, query: str, wanted: str) -> bool:
        """The query is the tool's own name, in whatever way it is written."""
        return query.strip() == tool.id or wanted in (
            "".join(words(tool.name)),
            "".join(words(tool.id)),
        )
