"""The report as one HTML page: no script, nothing fetched, opens from disk."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from codemode.core.measure import plot
from codemode.core.measure.call import CLASSES
from codemode.core.measure.compare import Comparison
from codemode.core.measure.report import Totals


def page(
    totals: Totals,
    *,
    title: str,
    n_problems: int = 0,
    comparison: Comparison | None = None,
) -> str:
    """
    The whole page.

    Args:
        comparison: Of a before-and-after report; *totals* is then the after side.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = lambda share: "–" if share is None else f"{100 * share:.1f}%"
    template = environment.from_string(
        files("codemode.traces").joinpath("report.html.j2").read_text(encoding="utf-8")
    )
    shares = [session.share for session in totals.sessions]
    rows, axis = plot.share_rows(totals.share, shares)
    bars, unit = plot.token_bars(totals)
    longest = totals.longest
    marks, time_axis = plot.timeline(longest) if longest is not None else ([], None)
    return template.render(
        title=title,
        totals=totals,
        classes=CLASSES,
        plot=plot,
        rows=rows,
        axis=axis,
        n_hidden=max(0, totals.n_sessions - min(len(shares), plot.MAX_ROWS)),
        bars=bars,
        unit=unit,
        longest=longest,
        marks=marks,
        time_axis=time_axis,
        n_problems=n_problems,
        comparison=comparison,
        side_rows=plot.side_rows(comparison) if comparison is not None else [],
    )
