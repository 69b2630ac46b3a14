"""Where the marks of the report's plots stand. Numbers only; the page draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from codemode.core.measure.call import CLASSES, CallClass
from codemode.core.measure.compare import Comparison
from codemode.core.measure.report import Share, Totals
from codemode.core.measure.tally import SessionTally

WIDTH = 860
LABELS = 250
RIGHT = 150
ROW = 26
MAX_ROWS = 40
_SPAN = WIDTH - LABELS - RIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRow:
    """Positions in pixels; *y* is the row's middle."""

    label: str
    full: str
    y: float
    dot: float
    low: float
    high: float
    text: str
    total: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A horizontal bar from `LABELS` on; *width* in pixels."""

    cls: str
    label: str
    y: float
    width: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One call on the timeline."""

    cls: CallClass
    x: float
    y: float
    width: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Ticks: (position, text). *height* is that of the plot."""

    ticks: tuple[tuple[float, str], ...]
    height: float
    label: str = ""


def share_rows(total: Share, shares: Sequence[Share]) -> tuple[list[ShareRow], Axis]:
    """The total first, then at most `MAX_ROWS` shares, most calls first."""
    most = sorted((one for one in shares if one.n), key=lambda one: (-one.n, one.name))
    most = most[:MAX_ROWS]
    folder = shared_folder([one.name for one in most])
    rows = [_share_row(total, "all calls", ROW * 0.5, total=True)]
    rows += [
        _share_row(share, shortened(share.name[len(folder) :]), ROW * (number + 0.5), total=False)
        for number, share in enumerate(most, 1)
    ]
    ticks = tuple((LABELS + _SPAN * tenth / 4, f"{25 * tenth}%") for tenth in range(5))
    return rows, Axis(ticks=ticks, height=ROW * len(rows))


def side_rows(comparison: Comparison) -> list[ShareRow]:
    """Before, then after: the calls that were compared."""
    sides = ("before", comparison.before), ("after", comparison.after)
    return [
        _share_row(
            Share(name=name, counts={"discovery": side.discovery, "": side.calls - side.discovery}),
            name,
            ROW * (number + 0.5),
            total=False,
        )
        for number, (name, side) in enumerate(sides)
    ]


def _share_row(share: Share, label: str, y: float, *, total: bool) -> ShareRow:
    interval, value = share.interval, share.share or 0.0
    return ShareRow(
        label=label,
        full=label if total else share.name,
        y=y,
        dot=_x(value),
        low=_x(interval.low),
        high=_x(interval.high),
        text=f"{100 * value:.0f}% ({share.counts['discovery']} of {share.n})",
        total=total,
    )


def _x(share: float) -> float:
    return round(LABELS + _SPAN * share, 1)


def token_bars(totals: Totals) -> tuple[list[Bar], str]:
    """
    What each class of call cost, in the best unit that the traces give, and that unit.

    Provider tokens where messages state them; else tokens or characters of what calls
    sent and got.
    """
    provider = {cls: totals.tokens[cls] for cls in (*CLASSES, "answer")}
    if any(provider.values()):
        return _bars(provider), "tokens that the provider counted for the messages asking"
    counted: dict[str, int] = {cls: totals.classes[cls].text_tokens for cls in CLASSES}
    if any(counted.values()):
        return _bars(counted), "o200k tokens of arguments and answers"
    chars: dict[str, int] = {cls: totals.classes[cls].text_chars for cls in CLASSES}
    return _bars(chars), "characters of arguments and answers"


def _bars(values: dict[str, int]) -> list[Bar]:
    most, whole = max(values.values(), default=0) or 1, sum(values.values()) or 1
    return [
        Bar(
            cls=cls,
            label="no call" if cls == "answer" else cls,
            y=ROW * (number + 0.5),
            width=round(_SPAN * n / most, 1),
            text=f"{n:,} ({100 * n / whole:.0f}%)",
        )
        for number, (cls, n) in enumerate((cls, n) for cls, n in values.items() if n)
    ]


def timeline(tally: SessionTally) -> tuple[list[Mark], Axis]:
    """Calls of one session in lanes by class: over time if the trace has it, else in order."""
    ticks = tally.timeline
    lanes = {cls: number for number, cls in enumerate(CLASSES)}
    left, span = 110, WIDTH - 110 - 20
    timed = bool(ticks) and all(tick.start_s is not None for tick in ticks)
    if timed:
        last = max(0.001, *(tick.end_s or tick.start_s or 0.0 for tick in ticks))
        step = _step(last)
        marks_at = [step * n for n in range(floor(last / step) + 1)]
        axis = tuple((left + span * at / last, f"{at:g} s") for at in marks_at)
    else:
        last = float(max(1, len(ticks)))
        step = max(1.0, ceil(_step(last)))
        at = [step * n for n in range(floor(last / step) + 1)]
        axis = tuple((left + span * one / last, f"{one:g}") for one in at)
    marks = []
    for number, tick in enumerate(ticks):
        start = (tick.start_s or 0.0) if timed else number + 0.1
        end = (tick.end_s or start) if timed else number + 0.9
        marks.append(
            Mark(
                cls=tick.cls,
                x=round(left + span * start / last, 1),
                y=ROW * (lanes[tick.cls] + 0.5),
                width=round(max(3.0, span * (end - start) / last), 1),
                text=f"{number + 1}. {tick.name}: {tick.cls} ({tick.rule})",
            )
        )
    label = "seconds since the first call" if timed else "order of calls (no times in the trace)"
    return marks, Axis(ticks=axis, height=ROW * len(CLASSES), label=label)


def _step(last: float) -> float:
    """A round step that gives four to ten ticks."""
    base = 10.0 ** floor(log10(last / 4)) if last > 0 else 1.0
    return next((base * m for m in (1, 2, 5, 10) if last / (base * m) <= 8), base * 10)


def shared_folder(paths: Sequence[str]) -> str:
    """What all *paths* begin with, up to and with a slash."""
    first, last = min(paths, default=""), max(paths, default="")
    pairs = enumerate(zip(first, last, strict=False))
    same = next((n for n, (a, b) in pairs if a != b), min(len(first), len(last)))
    return first[: first.rfind("/", 0, same) + 1]


def shortened(name: str, n: int = 30) -> str:
    """The end of a path says more than its beginning."""
    return name if len(name) <= n else "…" + name[-(n - 1) :]
