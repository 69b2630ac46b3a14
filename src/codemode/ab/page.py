"""The report as one HTML page: no script, nothing fetched, opens from disk."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from codemode.ab.report import LIMITS, NOT_A_RESULT, Compared, Difference, conclusion, said
from codemode.core.measure.stats import Interval

WIDTH = 360
"""Of a plot's axis, in the page's own units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A dot with its interval on an axis of `WIDTH`."""

    label: str
    text: str
    x: float
    low: float
    high: float


def page(found: Compared) -> str:
    """The whole page."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["said"] = said
    template = environment.from_string(
        files("codemode.ab").joinpath("report.html.j2").read_text(encoding="utf-8")
    )
    return template.render(
        found=found,
        note=NOT_A_RESULT if found.is_scripted else LIMITS,
        solved=[_share(one.name, one.n_solved, one.n, one.interval) for one in found.surfaces],
        discovery=[
            _share(one.name, *one.discovery.pair, one.discovery.interval) for one in found.surfaces
        ],
        changes=[
            (what, [mark for mark in marks if mark is not None], low, high)
            for what, marks, low, high in _changes(found)
        ],
        conclusion=conclusion,
        width=WIDTH,
    )


def _share(label: str, k: int, n: int, interval: Interval) -> Mark:
    return Mark(
        label=label,
        text=f"{k} of {n}",
        x=WIDTH * (k / n if n else 0),
        low=WIDTH * interval.low,
        high=WIDTH * interval.high,
    )


def _changes(found: Compared) -> list[tuple[str, list[Mark | None], str, str]]:
    """Differences from the baseline, one plot for each thing that is compared."""
    if not found.against:
        return []
    plots = []
    for at, first in enumerate(found.against[0].differences):
        group = [(one.surface, one.differences[at]) for one in found.against]
        edge = max((_reach(one) for _, one in group), default=0.0) or 1.0
        marks = [_change(name, one, edge) for name, one in group]
        ends = [said(end, first.unit, signed=True) for end in (-edge, edge)]
        plots.append((first.what, marks, ends[0], ends[1]))
    return plots


def _reach(difference: Difference) -> float:
    ends = [difference.change]
    if difference.interval is not None:
        ends += [difference.interval.low, difference.interval.high]
    return max(map(abs, ends))


def _change(name: str, difference: Difference, edge: float) -> Mark | None:
    if difference.interval is None:
        return None

    def x(value: float) -> float:
        return WIDTH / 2 * (1 + value / edge)

    return Mark(
        label=name,
        text=said(difference.change, difference.unit, signed=True),
        x=x(difference.change),
        low=x(difference.interval.low),
        high=x(difference.interval.high),
    )
