"""What the sessions of an experiment add up to, surface by surface, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeAlias

from codemode.ab.plan import SCRIPTED, Plan, SurfaceName
from codemode.ab.results import Finished, read_results
from codemode.core.measure.meter import Meter
from codemode.core.measure.report import Share, Totals
from codemode.core.measure.stats import Interval, Pair, bootstrap_paired, pooled, wilson
from codemode.core.measure.stats import difference as score_difference
from codemode.traces import formats, rule_table
from codemode.traces.source import Source

MIN_TASKS = 5
"""With fewer tasks on both sides the bootstrap says nothing; no interval is given."""

NOT_A_RESULT = (
    "NOT A RESULT: the model was scripted. These numbers show that the harness works; they say "
    "nothing about any model or surface."
)
LIMITS = (
    "This is one model on thirty small tasks of one made-up world. It says which surface this "
    "model did better with here; it does not say why, nor what other models, tools or tasks "
    "would give."
)

Unit: TypeAlias = Literal["share", "each"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceSums:
    """
    One surface.

    Args:
        discovery: Classes of all its calls, those of scripts included.
        ends: How sessions ended.
        usd: None without prices.
    """

    name: SurfaceName
    sessions: tuple[Finished, ...]
    discovery: Share
    ends: Counter[str]
    usd: float | None

    @property
    def n(self) -> int:
        return len(self.sessions)

    @property
    def n_solved(self) -> int:
        return sum(one.solved for one in self.sessions)

    @property
    def solved(self) -> float | None:
        return self.n_solved / self.n if self.n else None

    @property
    def interval(self) -> Interval:
        return wilson(self.n_solved, self.n)

    def mean(self, of: Callable[[Finished], float]) -> float | None:
        return sum(map(of, self.sessions)) / self.n if self.n else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """
    Args:
        unit: ``share``: of 1; ``each``: per session.
        baseline, other: Pooled over the tasks that both have.
        interval: 95 %, of the difference; None with fewer than `MIN_TASKS` tasks.
    """

    what: str
    unit: Unit
    baseline: float
    other: float
    interval: Interval | None

    @property
    def change(self) -> float:
        return self.other - self.baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """One surface against the baseline, on the (task, seed) that both have finished."""

    surface: SurfaceName
    n_tasks: int
    n_pairs: int
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """
    The whole report.

    Args:
        is_scripted: The model was a stand-in: nothing here is a result.
    """

    plan: Plan
    is_scripted: bool
    surfaces: tuple[SurfaceSums, ...]
    against: tuple[Against, ...]

    @property
    def n_finished(self) -> int:
        return sum(one.n for one in self.surfaces)

    @property
    def n_planned(self) -> int:
        return self.plan.sample_size * len(self.plan.surfaces)

    @property
    def models(self) -> tuple[str, ...]:
        """Names that the service answered under."""
        return tuple(sorted({one.model for each in self.surfaces for one in each.sessions}))


def compared(folder: Path) -> Compared:
    """
    Read *folder* and add it up; traces are measured as ``codemode measure`` does.

    Raises:
        ConfigError: If it holds no results.
    """
    plan, finished = read_results(folder)
    by_surface: dict[SurfaceName, list[Finished]] = {name: [] for name in plan.surfaces}
    for session in finished:
        by_surface[_name(plan, session.surface)].append(session)
    shares = {one.trace: discovery(folder / one.trace) for one in finished}
    return Compared(
        plan=plan,
        is_scripted=plan.is_scripted or any(one.model.startswith(SCRIPTED) for one in finished),
        surfaces=tuple(_sums(name, sessions, shares) for name, sessions in by_surface.items()),
        against=tuple(
            _against(name, by_surface[plan.baseline], sessions, shares)
            for name, sessions in by_surface.items()
            if name != plan.baseline
        ),
    )


def _name(plan: Plan, name: str) -> SurfaceName:
    return next(one for one in plan.surfaces if one == name)


REFUSED = {"argument_errors": ["check_failed"]}
"""A script that the check refused is an argument error: the run after it is repair."""


def discovery(path: Path) -> Share:
    """Calls of one trace by class."""
    totals = Totals()
    table = rule_table(REFUSED)
    with path.open("rb") as stream:
        format = formats.load("otel_genai")
        meter = Meter(table, totals, path=str(path), format=format.name)
        for record in format.read(Source(str(path), stream)):
            meter.take(record)
        meter.close()
    return totals.share


def _sums(name: SurfaceName, sessions: Sequence[Finished], shares: dict[str, Share]) -> SurfaceSums:
    counts: Counter[str] = Counter()
    for one in sessions:
        counts.update(shares[one.trace].counts)
    costs = [one.usd for one in sessions]
    known = [cost for cost in costs if cost is not None]
    return SurfaceSums(
        name=name,
        sessions=tuple(sessions),
        discovery=Share(name=name, counts=counts),
        ends=Counter(one.end for one in sessions),
        usd=sum(known) if len(known) == len(costs) else None,
    )


def _against(
    name: SurfaceName,
    baseline: Sequence[Finished],
    other: Sequence[Finished],
    shares: dict[str, Share],
) -> Against:
    left = {(one.task, one.seed): one for one in baseline}
    right = {(one.task, one.seed): one for one in other}
    both = sorted(left.keys() & right.keys())

    def difference(what: str, unit: Unit, pair: Callable[[Finished], Pair]) -> Difference:
        tasks: dict[str, tuple[list[Pair], list[Pair]]] = {}
        for key in both:
            before, after = tasks.setdefault(key[0], ([], []))
            before.append(pair(left[key]))
            after.append(pair(right[key]))
        pairs = [(_added(a), _added(b)) for a, b in tasks.values()]
        interval = None
        if len(pairs) >= MIN_TASKS:
            # seeded: the same results give the same report
            interval = bootstrap_paired(pairs, Random(5).randrange)  # noqa: S311
            if unit == "share" and interval.low == interval.high:
                # tasks that all agree leave nothing to draw; the sample is small all the same
                interval = score_difference(
                    _added(a for a, _ in pairs), _added(b for _, b in pairs)
                )
        return Difference(
            what=what,
            unit=unit,
            baseline=pooled([a for a, _ in pairs]),
            other=pooled([b for _, b in pairs]),
            interval=interval,
        )

    return Against(
        surface=name,
        n_tasks=len({task for task, _ in both}),
        n_pairs=len(both),
        differences=(
            difference("tasks solved", "share", lambda one: (int(one.solved), 1)),
            difference("discovery's share of calls", "share", lambda one: shares[one.trace].pair),
            difference(
                "discovery calls", "each", lambda one: (shares[one.trace].counts["discovery"], 1)
            ),
            difference("repair calls", "each", lambda one: (shares[one.trace].counts["repair"], 1)),
            difference("model messages", "each", lambda one: (one.turns, 1)),
            difference("tokens", "each", lambda one: (one.tokens, 1)),
            difference("milliseconds", "each", lambda one: (round(one.seconds * 1000), 1)),
        ),
    )


def _added(pairs: Iterable[Pair]) -> Pair:
    held = list(pairs)
    return sum(k for k, _ in held), sum(n for _, n in held)


# -- how it is said ------------------------------------------------------------------------------


def said(value: float, unit: Unit, *, signed: bool = False) -> str:
    """
    >>> said(0.125, "share"), said(0.125, "share", signed=True), said(1234.5, "each")
    ('12.5%', '+12.5 points', '1,234.5')
    """
    if unit == "share":
        return f"{100 * value:+.1f} points" if signed else f"{100 * value:.1f}%"
    return f"{value:+,.1f}" if signed else f"{value:,.1f}"


def conclusion(difference: Difference) -> str:
    """What the interval allows to say."""
    if difference.interval is None:
        return f"fewer than {MIN_TASKS} tasks: no interval"
    if difference.interval.excludes(0.0):
        return "fewer" if difference.change < 0 else "more"
    return "no difference shown"


def report_lines(found: Compared) -> Iterator[tuple[str | list[str], list[list[Any]]]]:
    """A text with no rows, or headings with rows."""
    plan = found.plan
    if found.is_scripted:
        yield NOT_A_RESULT, []
    yield (
        f"{plan.name}: {found.n_finished} of {found.n_planned} sessions, model "
        f"{plan.model.name} ({', '.join(found.models) or 'none yet'}), plan {plan.hash[:12]}",
        [],
    )
    if found.n_finished < found.n_planned:
        yield "Not complete: what is missing may differ from what is there.", []
    yield (
        ["surface", "solved", "95% interval", "discovery", "messages", "tokens", "s", "usd"],
        [
            [
                one.name,
                f"{one.n_solved}/{one.n}",
                f"{said(one.interval.low, 'share')} to {said(one.interval.high, 'share')}",
                f"{one.discovery.pair[0]}/{one.discovery.n}",
                _mean(one, lambda each: each.turns),
                _mean(one, lambda each: each.tokens),
                _mean(one, lambda each: each.seconds),
                "" if one.usd is None else f"{one.usd:.2f}",
            ]
            for one in found.surfaces
        ],
    )
    for other in found.against:
        yield (
            f"{other.surface} against {plan.baseline}: {other.n_pairs} pairs of {other.n_tasks} "
            "tasks, paired bootstrap over tasks (score interval where all tasks agree)",
            [],
        )
        yield (
            ["what", plan.baseline, other.surface, "difference", "95% interval", "shown"],
            [
                [
                    one.what,
                    said(one.baseline, one.unit),
                    said(one.other, one.unit),
                    said(one.change, one.unit, signed=True),
                    ""
                    if one.interval is None
                    else f"{said(one.interval.low, one.unit, signed=True)} to "
                    f"{said(one.interval.high, one.unit, signed=True)}",
                    conclusion(one),
                ]
                for one in other.differences
            ],
        )
    yield NOT_A_RESULT if found.is_scripted else LIMITS, []


def _mean(sums: SurfaceSums, of: Callable[[Finished], float]) -> str:
    mean = sums.mean(of)
    return "" if mean is None else f"{mean:,.1f}"


def report_json(found: Compared) -> dict[str, Any]:
    """What ``codemode ab report --json`` answers."""
    return {
        "is_result": not found.is_scripted,
        "note": NOT_A_RESULT if found.is_scripted else LIMITS,
        "plan": {"name": found.plan.name, "hash": found.plan.hash},
        "model": {"asked": found.plan.model.name, "answered": list(found.models)},
        "finished": found.n_finished,
        "planned": found.n_planned,
        "baseline": found.plan.baseline,
        "surfaces": [
            {
                "surface": one.name,
                "sessions": one.n,
                "solved": one.n_solved,
                "interval95": [one.interval.low, one.interval.high],
                "calls": dict(one.discovery.counts),
                "ends": dict(one.ends),
                "messages": one.mean(lambda each: each.turns),
                "tokens": one.mean(lambda each: each.tokens),
                "seconds": one.mean(lambda each: each.seconds),
                "usd": one.usd,
            }
            for one in found.surfaces
        ],
        "against_baseline": [
            {
                "surface": other.surface,
                "tasks": other.n_tasks,
                "pairs": other.n_pairs,
                "differences": [
                    {
                        "what": one.what,
                        "baseline": one.baseline,
                        "other": one.other,
                        "change": one.change,
                        "interval95": None
                        if one.interval is None
                        else [one.interval.low, one.interval.high],
                    }
                    for one in other.differences
                ],
            }
            for other in found.against
        ],
        "unsolved": [
            {"task": one.task, "surface": one.surface, "seed": one.seed, "end": one.end,
             "problems": list(one.problems)}
            for each in found.surfaces
            for one in each.sessions
            if not one.solved
        ],
    }  # fmt: skip
