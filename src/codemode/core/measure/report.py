"""What tallies add up to, as one value that every edge renders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from codemode.core.measure.call import CLASSES, CallClass
from codemode.core.measure.stats import Interval, Pair, wilson
from codemode.core.measure.tally import Discovery, SessionTally, Sums

PHASES = {"before": "before the first work call", "after": "from the first work call on"}
MAX_SESSIONS = 20_000
"""Sessions listed one by one; further ones are in the sums only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Discovery's share of some calls. *name* says which: a trace, an agent, a tool, a phase."""

    name: str
    counts: Mapping[str, int]

    @property
    def n(self) -> int:
        return sum(self.counts.values())

    @property
    def pair(self) -> Pair:
        return self.counts["discovery"], self.n

    @property
    def share(self) -> float | None:
        """None without calls."""
        return self.counts["discovery"] / self.n if self.n else None

    @property
    def interval(self) -> Interval:
        return wilson(*self.pair)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session in the report. *task* pairs sessions of two recordings."""

    path: str
    session: str
    format: str
    task: str
    share: Share
    repairs: int


@dataclass(slots=True)
class Totals:
    """Everything read so far. `add` takes each session once, when it has ended."""

    classes: dict[CallClass, Sums] = field(default_factory=lambda: {c: Sums() for c in CLASSES})
    discovery: Discovery = field(default_factory=Discovery)
    phases: Counter[tuple[str, CallClass]] = field(default_factory=Counter)
    tools: Counter[tuple[str, CallClass]] = field(default_factory=Counter)
    agents: Counter[tuple[str, CallClass]] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    repairs: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    from_script: int = 0
    sessions: list[Session] = field(default_factory=list)
    n_sessions: int = 0
    longest: SessionTally | None = None

    def add(self, tally: SessionTally) -> None:
        for cls in CLASSES:
            self.classes[cls].add(tally.classes[cls])
        self.discovery.add(tally.discovery)
        for name in ("phases", "tools", "agents", "rules", "repairs", "tokens"):
            getattr(self, name).update(getattr(tally, name))
        self.from_script += tally.from_script
        self.n_sessions += 1
        if self.longest is None or _interest(tally) > _interest(self.longest):
            self.longest = tally
        if len(self.sessions) < MAX_SESSIONS:
            self.sessions.append(
                Session(
                    path=tally.path,
                    session=tally.session,
                    format=tally.format,
                    task=tally.task,
                    share=Share(name=_label(tally), counts=tally.counts),
                    repairs=tally.repairs.total(),
                )
            )

    @property
    def counts(self) -> dict[str, int]:
        """Calls by class."""
        return {cls: self.classes[cls].n for cls in CLASSES}

    @property
    def share(self) -> Share:
        return Share(name="total", counts=self.counts)

    def by_agent(self) -> list[Share]:
        return _shares(self.agents)

    def by_tool(self) -> list[Share]:
        return _shares(self.tools)

    def by_phase(self) -> list[Share]:
        """Up to the first work call of each session, and from it on."""
        found = {share.name: share for share in _shares(self.phases)}
        return [
            Share(name=name, counts=found[phase].counts)
            for phase, name in PHASES.items()
            if phase in found
        ]


def _interest(tally: SessionTally) -> tuple[int, int]:
    return tally.classes["discovery"].n, tally.n_calls


def _label(tally: SessionTally) -> str:
    return f"{tally.path} {tally.session[:8]}" if tally.session else tally.path


Counted: TypeAlias = Counter[tuple[str, CallClass]]


def _shares(counted: Counted) -> list[Share]:
    """One `Share` a name, most calls first."""
    by_name: dict[str, dict[str, int]] = {}
    for (name, cls), n in counted.items():
        by_name.setdefault(name, dict.fromkeys(CLASSES, 0))[cls] += n
    shares = [Share(name=name, counts=counts) for name, counts in by_name.items()]
    return sorted(shares, key=lambda share: (-share.n, share.name))


def share_json(share: Share) -> dict[str, Any]:
    """Shares as fractions; *interval95* is Wilson's."""
    interval = share.interval
    return {
        "name": share.name,
        "calls": share.n,
        "counts": dict(share.counts),
        "discovery_share": share.share,
        "interval95": [interval.low, interval.high],
    }


def report_json(totals: Totals) -> dict[str, Any]:
    """The report beside the calls in ``measure --json``."""
    found = totals.discovery
    return {
        "sessions": totals.n_sessions,
        "share": share_json(totals.share),
        "by_trace": [
            share_json(one.share) | {"session": one.session, "task": one.task}
            for one in totals.sessions
        ],
        "by_agent": [share_json(share) for share in totals.by_agent()],
        "by_tool": [share_json(share) for share in totals.by_tool()],
        "by_phase": [share_json(share) for share in totals.by_phase()],
        "by_rule": dict(totals.rules.most_common()),
        "from_script": totals.from_script,
        "discovery": {
            "judged": found.judged,
            "led_nowhere": found.nowhere,
            "told_nothing_new": found.nothing_new,
            "undecided": found.undecided,
        },
        "repairs_by_tool": dict(totals.repairs.most_common()),
        "provider_tokens": dict(totals.tokens),
        "by_class": {cls: _sums_json(totals.classes[cls]) for cls in CLASSES},
    }


def _sums_json(sums: Sums) -> dict[str, Any]:
    return {
        "calls": sums.n,
        "seconds": round(sums.seconds, 3) if sums.n_timed else None,
        "timed_calls": sums.n_timed,
        "text_chars": sums.text_chars,
        "text_tokens": sums.text_tokens or None,
    }


HEADINGS = (
    "trace", "session", "task", "format", "calls", *CLASSES, "discovery_share", "low95", "high95",
)  # fmt: skip


def csv_rows(sessions: Iterable[Session]) -> Iterable[tuple[object, ...]]:
    """One row a session, under `HEADINGS`."""
    for one in sessions:
        share, interval = one.share, one.share.interval
        yield (
            one.path, one.session, one.task, one.format, share.n,
            *(share.counts[cls] for cls in CLASSES),
            "" if share.share is None else round(share.share, 4),
            round(interval.low, 4), round(interval.high, 4),
        )  # fmt: skip
