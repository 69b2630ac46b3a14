"""
What every test run reports: which lines of the behaviour lists have no test, and which
engine keeps which promise in which language.

A test names the lines it covers with ``@pytest.mark.case("R1", "attack:45")``. A test of
an engine takes ``engine`` and ``language`` as parameters; it may be skipped only because
the engine is not available here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

# A slow machine is no fault of the code, so no example has a deadline of its own.
settings.register_profile("codemode", deadline=None)
settings.load_profile("codemode")

IDS = tuple((Path(__file__).parent / "behaviour_ids.txt").read_text().split())
ATTACK = re.compile(r"attack:\d+[a-z]?")
MARKS = {"passed": "ok", "failed": "FAIL", "error": "FAIL", "skipped": "n/a"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        ids = [str(id) for mark in item.iter_markers("case") for id in mark.args]
        for id in ids:
            item.user_properties.append(("case", id))
        params = getattr(getattr(item, "callspec", None), "params", {})
        if isinstance(params.get("engine"), tuple) and "language" in params:
            engine = "-".join(part for part in params["engine"] if part)
            item.user_properties.append(("engine", f"{engine} {params['language']}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    report = yield
    on_engine = any(name == "engine" for name, _ in report.user_properties)
    if on_engine and report.skipped and "unavailable: " not in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"an engine test may not be skipped like this: {report.longrepr}"
    return report


def pytest_terminal_summary(terminalreporter) -> None:
    covered: dict[str, str] = {}
    matrix: dict[str, dict[str, str]] = defaultdict(dict)
    for outcome, mark in MARKS.items():
        for report in terminalreporter.stats.get(outcome, []):
            properties = getattr(report, "user_properties", [])
            ids = [value for name, value in properties if name == "case"]
            covered.update(dict.fromkeys(ids, mark))
            for engine in (value for name, value in properties if name == "engine"):
                for id in ids:
                    row = matrix[id]
                    if row.get(engine) not in ("FAIL", mark):
                        row[engine] = mark
    unknown = sorted(id for id in covered if id not in IDS and not ATTACK.fullmatch(id))
    if unknown:
        terminalreporter.section("case marks that name no line")
        terminalreporter.write_line(" ".join(unknown))
    if matrix:
        terminalreporter.section("engines")
        _write_matrix(terminalreporter, matrix)
    whole = terminalreporter.config.args_source == pytest.Config.ArgsSource.TESTPATHS
    if whole and not terminalreporter.config.option.keyword:
        missing = [id for id in IDS if id not in covered]
        terminalreporter.section(f"behaviour lines without a test: {len(missing)} of {len(IDS)}")
        terminalreporter.write_line(" ".join(missing) or "none")


def _write_matrix(terminalreporter, matrix: dict[str, dict[str, str]]) -> None:
    """Rows are lines of the list, columns engines; ``-``: the engine does not declare it."""
    engines = sorted({engine for row in matrix.values() for engine in row})
    for number, engine in enumerate(engines, 1):
        terminalreporter.write_line(f"[{number}] {engine}")
    terminalreporter.write_line(
        "".join(["line".ljust(12), *(f"[{n}]".ljust(6) for n, _ in enumerate(engines, 1))])
    )
    order = {id: i for i, id in enumerate(IDS)}
    for id in sorted(matrix, key=lambda id: (order.get(id, len(order)), id)):
        cells = (matrix[id].get(engine, "-").ljust(6) for engine in engines)
        terminalreporter.write_line(id.ljust(12) + "".join(cells))
