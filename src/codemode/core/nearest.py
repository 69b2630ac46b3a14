"""Names that look or read like another name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

MAX_NAME = 256

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])|[^\W_a-zA-Z0-9]+")


def nearest(name: str, known: Iterable[str], *, limit: int = 3, cutoff: float = 0.6) -> list[str]:
    """
    The names most like *name*, best first; the order of words does not matter.

    Comparing takes the product of both lengths, so a text longer than `MAX_NAME` has none.

    >>> nearest("createIssue", ["issuesCreate", "issuesList", "pullsGet"])
    ['issuesCreate']
    """
    if len(name) > MAX_NAME:
        return []
    spelled = SequenceMatcher(b=name.lower(), autojunk=False)
    sorted_words = SequenceMatcher(b=_in_order(name), autojunk=False)
    scored: list[tuple[float, str]] = []
    for candidate in known:
        best = 0.0
        for matcher, text in ((spelled, candidate.lower()), (sorted_words, _in_order(candidate))):
            matcher.set_seq1(text)
            if matcher.real_quick_ratio() > cutoff and matcher.quick_ratio() > cutoff:
                best = max(best, matcher.ratio())
        if best > cutoff:
            scored.append((-best, candidate))
    return [candidate for _, candidate in sorted(scored)[:limit]]


def _in_order(name: str) -> str:
    return " ".join(sorted(word.lower().rstrip("s") for word in _WORDS.findall(name)))
