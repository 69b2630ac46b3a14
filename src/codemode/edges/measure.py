"""``codemode measure``: what the calls in recorded traces were for."""

from __future__ import annotations

import csv
import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from codemode.core.measure.call import CLASSES, Problem
from codemode.core.measure.compare import Comparison, compare, comparison_json
from codemode.core.measure.meter import Meter
from codemode.core.measure.plot import shared_folder, shortened
from codemode.core.measure.report import HEADINGS, Share, Totals, csv_rows, report_json
from codemode.core.measure.rules import RuleTable
from codemode.core.measure.tally import Classed
from codemode.edges import terminal
from codemode.errors import CodemodeError, TraceError, report
from codemode.store.config import read_config

SEED = 20
"""Of the bootstrap, so that the same traces give the same interval."""
MAX_PROBLEMS = 1_000
SHOWN = 20

Emit = Callable[[Classed], None]


class _Reader:
    """Reads traces one after the other and remembers what could not be read."""

    def __init__(
        self, table: RuleTable, *, format: str | None, count_tokens: Callable[[str], int] | None
    ) -> None:
        self.table = table
        self.format = format
        self.count_tokens = count_tokens
        self.problems: list[Problem] = []
        self.n_problems = 0
        self.n_read = 0

    def trouble(self, problem: Problem) -> None:
        self.n_problems += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)
        if self.n_problems <= SHOWN:
            terminal.show(f"note: {problem}", style="yellow", error=True)
        elif self.n_problems == SHOWN + 1:
            terminal.show("note: more could not be read; --json lists it", error=True)

    def read(self, names: Iterable[str], totals: Totals) -> Iterator[tuple[str, str, _Calls]]:
        """
        (path, format, calls) of each trace; calls must be taken before the next trace.

        Raises:
            TraceError: At once, if a name means nothing.
        """
        from codemode.traces.open import find

        return self._read(find(names), totals)

    def _read(self, found: list[Any], totals: Totals) -> Iterator[tuple[str, str, _Calls]]:
        from codemode.traces.open import opened, recognise, unknown

        with _progress(sum(one.size_bytes for one in found)) as advance:
            for one in found:
                try:
                    with opened(one, advance) as source:
                        format = recognise(source, self.format)
                        if format is None:
                            if one.named:
                                self.trouble(unknown(source))
                            else:
                                terminal.show(f"skipped: {one.path}: not a trace", error=True)
                            continue
                        self.n_read += 1
                        meter = Meter(
                            self.table,
                            totals,
                            path=source.path,
                            format=format.name,
                            count_tokens=self.count_tokens,
                        )
                        calls = _Calls(self, source, format, meter)
                        yield source.path, format.name, calls
                        for _ in calls:  # what the caller left
                            pass
                except TraceError as error:
                    self.trouble(Problem(path=one.path, line=0, reason=error.message))


class _Calls:
    """The classed calls of one trace, once."""

    def __init__(self, reader: _Reader, source: Any, format: Any, meter: Meter) -> None:
        self._meter = meter
        self._left = self._read(reader, source, format)

    @property
    def counts(self) -> dict[str, int]:
        """Final once the calls have been taken."""
        return self._meter.counts

    def __iter__(self) -> Iterator[Classed]:
        return self._left

    def _read(self, reader: _Reader, source: Any, format: Any) -> Iterator[Classed]:
        from codemode.traces.open import records

        for record in records(source, format):
            if isinstance(record, Problem):
                reader.trouble(record)
            elif (classed := self._meter.take(record)) is not None:
                yield classed
        self._meter.close()


def measure(
    traces: Annotated[
        list[str] | None,
        typer.Argument(metavar="TRACE...", help="Files, folders, patterns, or - for stdin."),
    ] = None,
    before: Annotated[
        list[str] | None, typer.Option("--before", help="Traces from before a change.")
    ] = None,
    after: Annotated[
        list[str] | None, typer.Option("--after", help="Traces from after it.")
    ] = None,
    pair_by: Annotated[
        Literal["task"] | None,
        typer.Option("--pair-by", help="Compare only what both sides did: task id or file name."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say of each call which rule classed it.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer with JSON on standard output.")
    ] = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="One line a session, comma-separated.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the report as one page to FILE.")
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="Read as this format instead of detecting it.")
    ] = None,
    count_tokens: Annotated[
        bool,
        typer.Option("--count-tokens", help="Count o200k tokens of arguments and answers too."),
    ] = False,
    config: Annotated[
        Path | None, typer.Option("--config", help="codemode.toml whose [measure] is used.")
    ] = None,
) -> None:
    """Count what tool calls in recorded traces were for: discovery, setup, work, repair."""
    try:
        reader = _Reader(
            _rules(config), format=_known(format), count_tokens=_counter() if count_tokens else None
        )
        if before or after:
            _compare(reader, before, after, traces, pair_by == "task", as_json, html)
            return
        if not traces:
            raise TraceError("Which traces?", hint="Name files, folders, patterns, or - for stdin.")
        _measure(reader, traces, explain=explain, as_json=as_json, as_csv=as_csv, html=html)
    except CodemodeError as error:
        if as_json:
            detail = {"code": error.code, "message": error.message, "hint": error.hint}
            terminal.show_json({"error": detail})
        else:
            terminal.show(f"error: {error.message}", style="red", error=True)
            if error.hint:
                terminal.show(f"  {error.hint}", error=True)
        raise typer.Exit(report(error)[1]) from None


def register(app: typer.Typer) -> None:
    """Add ``measure`` to *app*."""
    app.command()(measure)


def _rules(config: Path | None) -> RuleTable:
    from codemode.traces import rule_table

    section = getattr(read_config(config), "measure", None)
    return rule_table(section.model_dump() if section is not None else None)


def _known(format: str | None) -> str | None:
    from codemode.traces import formats

    if format is not None and format not in formats.names():
        raise TraceError(f"There is no format {format!r}.", hint=", ".join(formats.names()))
    return format


def _counter() -> Callable[[str], int]:
    from codemode.service.surfaces import token_counter

    return token_counter()


def _measure(
    reader: _Reader,
    traces: list[str],
    *,
    explain: bool,
    as_json: bool,
    as_csv: bool,
    html: Path | None,
) -> None:
    totals = Totals()
    if as_json:
        _stream_json(reader, traces, totals)
    else:
        for path, _, calls in reader.read(traces, totals):
            for one in calls:
                if explain and not as_csv:
                    _explain(path, one)
    if html is not None:
        _write_page(html, totals, reader)
    if as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(HEADINGS)
        writer.writerows(csv_rows(totals.sessions))
    elif not as_json:
        _show(totals)
    if not reader.n_read and as_json:
        raise typer.Exit(2)  # the answer has been given, with its problems
    if not reader.n_read:
        raise TraceError("No trace could be read.", hint="--format names one if detection fails.")


def _stream_json(reader: _Reader, traces: list[str], totals: Totals) -> None:
    """Calls are written as they are read: a trace may hold more than memory does."""
    write, found = sys.stdout.write, reader.read(traces, totals)
    write('{"traces": [')
    for number, (path, format, calls) in enumerate(found):
        head = json.dumps({"path": path, "format": format})
        write((",\n" if number else "\n") + head[:-1] + ', "calls": [')
        for n, one in enumerate(calls):
            shown = {
                "id": one.call.id,
                "name": one.call.name,
                "class": one.cls,
                "rule": one.rule.name,
            }
            write((", " if n else "") + json.dumps(shown, ensure_ascii=True))
        write(f'], "counts": {json.dumps(calls.counts)}}}')
    rest = {
        "total": totals.counts,
        "report": report_json(totals),
        "problems": [
            {"path": one.path, "line": one.line, "reason": one.reason} for one in reader.problems
        ],
    }
    write("],\n" + json.dumps(rest, ensure_ascii=True)[1:] + "\n")


def _explain(path: str, one: Classed) -> None:
    tool = one.seen.inner or one.call.name or "(no name)"
    cells = (path, one.call.id, tool, one.cls, one.rule.name)
    sys.stdout.write(terminal.harmless("\t".join(cells)) + "\n")


def _compare(
    reader: _Reader,
    before: list[str] | None,
    after: list[str] | None,
    traces: list[str] | None,
    pair: bool,
    as_json: bool,
    html: Path | None,
) -> None:
    if not before or not after or traces:
        raise TraceError(
            "A comparison needs --before and --after, and nothing else.",
            hint="codemode measure --before OLD --after NEW [--pair-by task]",
        )
    sides = Totals(), Totals()
    for names, totals in zip((before, after), sides, strict=True):
        for _ in reader.read(names, totals):
            pass
    seeded = random.Random(SEED)  # noqa: S311  resampling, not a secret
    found = compare(*sides, seeded.randrange, pair_by_task=pair)
    if html is not None:
        _write_page(html, sides[1], reader, found)
    if as_json:
        terminal.show_json(comparison_json(found))
        return
    _table(
        ("side", "sessions", "calls", "discovery", "share"),
        (
            (name, side.n_sessions, side.calls, side.discovery, _percent(side.share))
            for name, side in (("before", found.before), ("after", found.after))
        ),
    )
    terminal.show(found.sentence)


def _write_page(
    path: Path,
    totals: Totals,
    reader: _Reader,
    comparison: Comparison | None = None,
) -> None:
    from codemode.traces.page import page

    title = "Discovery, before and after" if comparison else "What the calls were for"
    text = page(totals, title=title, n_problems=reader.n_problems, comparison=comparison)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}", hint="Name another --html FILE.") from None
    terminal.show(f"wrote {path}", error=True)


def _show(totals: Totals) -> None:
    """The report for people."""
    found, share = totals.discovery, totals.share
    sessions = [session.share for session in totals.sessions]
    _section("trace", sorted(sessions, key=lambda one: -one.n), total=share)
    _section("phase", totals.by_phase())
    if len(agents := totals.by_agent()) > 1:
        _section("agent", agents)
    _section("tool", totals.by_tool())
    terminal.show("\nCost", style="bold")
    _table(
        ("class", "calls", "seconds", "characters", "tokens counted", "provider tokens"),
        (
            (
                cls,
                sums.n,
                f"{sums.seconds:.1f}" if sums.n_timed else "-",
                sums.text_chars,
                sums.text_tokens or "-",
                totals.tokens[cls] or "-",
            )
            for cls, sums in totals.classes.items()
        ),
    )
    if totals.tokens["total"]:
        terminal.show(f"{totals.tokens['total']} provider tokens cannot be shared among calls.")
    if totals.repairs:
        terminal.show("\nMost repaired", style="bold")
        _table(("tool", "repairs"), totals.repairs.most_common(10))
    terminal.show("\nDiscovery", style="bold")
    interval = share.interval
    terminal.show(
        f"{share.counts['discovery']} of {share.n} calls ({_percent(share.share)}; 95% interval "
        f"{_percent(interval.low)} to {_percent(interval.high)}) in {totals.n_sessions} sessions"
    )
    terminal.show(
        f"{found.nowhere} of {found.judged} answers named no tool that was called later; "
        f"{found.nothing_new} of {found.judged} told nothing new"
        + (f"; {found.undecided} undecided" if found.undecided else "")
    )


def _section(what: str, shares: list[Share], *, total: Share | None = None) -> None:
    """The first `SHOWN` shares, and *total* below them."""
    if not shares:
        return
    shown = shares[:SHOWN]
    folder = shared_folder([one.name for one in shown]) if what == "trace" else ""
    named = [
        (shortened(one.name[len(folder) :], 40) if terminal.out.is_terminal else one.name, one)
        for one in shown
    ]
    if total is not None:
        named.append(("all", total))
    terminal.show(f"\nPer {what}" + (f" in {folder}" if folder else ""), style="bold")
    _table(
        (what, "calls", *CLASSES, "share", "95% interval"),
        (
            (
                name or "(not named)",
                one.n,
                *(one.counts[cls] for cls in CLASSES),
                _percent(one.share),
                f"{_percent(one.interval.low)} to {_percent(one.interval.high)}",
            )
            for name, one in named
        ),
    )
    if len(shares) > SHOWN:
        terminal.show(f"{SHOWN} of {len(shares)} shown; --csv and --json have all.", style="dim")


def _table(headings: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    """A table on a terminal; elsewhere lines with tabs, headings first."""
    if terminal.out.is_terminal:
        terminal.table(headings, rows)
        return
    for row in (headings, *rows):
        sys.stdout.write(terminal.harmless("\t".join(str(cell) for cell in row)) + "\n")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


@contextmanager
def _progress(total_bytes: int) -> Iterator[Callable[[int], None] | None]:
    """A bar on standard error, where a person sees it and the reading is long enough."""
    if not terminal.err.is_terminal or 0 < total_bytes < 16 * 1024 * 1024:
        yield None
        return
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=terminal.err, transient=True) as bar:
        task = bar.add_task("reading", total=total_bytes or None)
        yield lambda n: bar.advance(task, n)
