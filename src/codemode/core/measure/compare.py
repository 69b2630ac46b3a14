"""Before and after: how much discovery's share changed, and what may be concluded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from codemode.core.measure.report import Session, Totals
from codemode.core.measure.stats import (
    N_RESAMPLES,
    Interval,
    Pair,
    RandRange,
    bootstrap_paired,
    bootstrap_unpaired,
    difference,
)

Method: TypeAlias = Literal["paired bootstrap", "unpaired bootstrap", "unpaired score", "none"]
MIN_SESSIONS = 5
"""With fewer on a side, drawing sessions says nothing; the score interval stands in."""
MAX_DRAWS = 4_000_000
"""Draws of one bootstrap; long recordings get fewer resamples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One recording. *n_sessions* have calls."""

    discovery: int
    calls: int
    n_sessions: int

    @property
    def share(self) -> float | None:
        return self.discovery / self.calls if self.calls else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """
    Args:
        change: Share after minus share before; None if a side has no calls.
        interval: 95 %, of *change*.
        n_pairs: Tasks recorded on both sides, if they were paired.
        unpaired: Tasks left out because only one side has them.
        sentence: What can and cannot be concluded, in plain words.
    """

    before: Side
    after: Side
    change: float | None
    interval: Interval
    method: Method
    n_pairs: int = 0
    unpaired: int = 0
    sentence: str


def compare(
    before: Totals, after: Totals, randrange: RandRange, *, pair_by_task: bool = False
) -> Comparison:
    """
    The change of discovery's share from *before* to *after*.

    With *pair_by_task* only tasks that both have are compared. A task is the id that the
    trace gives, else the file's name; several sessions of a task are taken together.
    """
    if pair_by_task:
        return _paired(_by_task(before.sessions), _by_task(after.sessions), randrange)
    one = [session.share.pair for session in before.sessions if session.share.n]
    two = [session.share.pair for session in after.sessions if session.share.n]
    left, right = _side(one), _side(two)
    if not one or not two:
        return _conclude(left, right, Interval(-1.0, 1.0), "none")
    score = difference((left.discovery, left.calls), (right.discovery, right.calls))
    if min(len(one), len(two)) < MIN_SESSIONS:
        return _conclude(left, right, score, "unpaired score")
    n = max(200, min(N_RESAMPLES, MAX_DRAWS // (len(one) + len(two))))
    drawn = bootstrap_unpaired(one, two, randrange, n=n)
    # a side without any discovery never varies when it is redrawn, yet is not certain
    spread = Interval(min(score.low, drawn.low), max(score.high, drawn.high))
    return _conclude(left, right, spread, "unpaired bootstrap")


def _paired(before: dict[str, Pair], after: dict[str, Pair], randrange: RandRange) -> Comparison:
    tasks = sorted(before.keys() & after.keys())
    pairs = [(before[task], after[task]) for task in tasks]
    left, right = _side([a for a, _ in pairs]), _side([b for _, b in pairs])
    alone = len(before.keys() ^ after.keys())
    if not left.calls or not right.calls:
        return _conclude(left, right, Interval(-1.0, 1.0), "none", len(pairs), alone)
    n = max(200, min(N_RESAMPLES, MAX_DRAWS // len(pairs)))
    spread = bootstrap_paired(pairs, randrange, n=n)
    return _conclude(left, right, spread, "paired bootstrap", len(pairs), alone)


def _by_task(sessions: Iterable[Session]) -> dict[str, Pair]:
    found: dict[str, Pair] = {}
    for session in sessions:
        task = session.task or session.path.rsplit("/", 1)[-1].split(".", 1)[0]
        k, n = found.get(task, (0, 0))
        found[task] = (k + session.share.pair[0], n + session.share.n)
    return found


def _side(pairs: Sequence[Pair]) -> Side:
    return Side(
        discovery=sum(k for k, _ in pairs), calls=sum(n for _, n in pairs), n_sessions=len(pairs)
    )


def _conclude(
    before: Side, after: Side, interval: Interval, method: Method, n_pairs: int = 0, alone: int = 0
) -> Comparison:
    change = None
    if before.share is not None and after.share is not None:
        change = after.share - before.share
    return Comparison(
        before=before,
        after=after,
        change=change,
        interval=interval,
        method=method,
        n_pairs=n_pairs,
        unpaired=alone,
        sentence=" ".join(_sentences(before, after, change, interval, method, n_pairs, alone)),
    )


def _sentences(
    before: Side,
    after: Side,
    change: float | None,
    interval: Interval,
    method: Method,
    n_pairs: int,
    alone: int,
) -> Iterable[str]:
    if change is None:
        yield "Nothing can be concluded: " + (
            "no task with calls is on both sides." if n_pairs or alone else "a side has no calls."
        )
        return
    yield (
        f"Discovery went from {before.discovery} of {before.calls} calls "
        f"({_percent(before.share)}) to {after.discovery} of {after.calls} "
        f"({_percent(after.share)}): {_points(change)} points, 95% interval "
        f"{_points(interval.low)} to {_points(interval.high)} ({method}, "
        + (f"{n_pairs} tasks)." if n_pairs else f"{before.n_sessions} and "
           f"{after.n_sessions} sessions).")
    )  # fmt: skip
    few = min(n_pairs or before.n_sessions, n_pairs or after.n_sessions) < MIN_SESSIONS
    if few and method != "unpaired score":
        yield f"With fewer than {MIN_SESSIONS} tasks the interval is not to be relied on."
    elif interval.excludes(0.0):
        word = "fewer" if change < 0 else "more"
        yield (
            f"The interval leaves out zero: in recordings like these, {word} of the calls are "
            "discovery after than before."
        )
    else:
        yield "The interval includes zero: these recordings do not show a change."
    if method == "unpaired score":
        yield (
            "It takes calls as independent of each other, which calls of one session are not: "
            "the true interval is wider."
        )
    if not n_pairs:
        yield "The sides may differ in tasks, so the change may come from those."
    if alone:
        yield f"{alone} tasks that only one side has were left out."
    yield "Why it changed, and whether the tasks were done as well, is not in these numbers."


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.1f}%"


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"


def comparison_json(found: Comparison) -> dict[str, Any]:
    """What ``measure --before A --after B --json`` answers."""
    return {
        "before": _side_json(found.before),
        "after": _side_json(found.after),
        "change": found.change,
        "interval95": [found.interval.low, found.interval.high],
        "method": found.method,
        "pairs": found.n_pairs,
        "left_out": found.unpaired,
        "conclusion": found.sentence,
    }


def _side_json(side: Side) -> dict[str, Any]:
    return {
        "discovery": side.discovery,
        "calls": side.calls,
        "sessions": side.n_sessions,
        "share": side.share,
    }
