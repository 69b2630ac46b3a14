"""
What a model is told about its typical mistakes, word for word.

``tests/cases/mistakes/<language>/NN_name.<ts|py>`` is what was submitted and
``NN_name.txt`` is the whole answer. ``UPDATE_GOLDEN=1`` writes the answers anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codemode.core.run import CheckReport, Language

from .world import Check

FOLDER = Path(__file__).resolve().parent.parent / "cases" / "mistakes"
LANGUAGES: dict[str, Language] = {".ts": "typescript", ".py": "python"}
SCRIPTS = sorted(path for path in FOLDER.glob("*/*") if path.suffix in LANGUAGES)

pytestmark = pytest.mark.asyncio(loop_scope="session")


def shown(report: CheckReport) -> str:
    lines = []
    for one in report.diagnostics:
        place = f"{one.line}:{one.column}"
        lines.append(f"{place} {one.severity} {one.code}")
        lines.append(f"    {one.message}")
        if one.suggestions:
            lines.append(f"    nearest: {', '.join(one.suggestions)}")
        if one.signature:
            lines.append(f"    {one.signature}")
    return "\n".join(lines) + "\n"


def read(path: Path) -> str:
    return path.read_text("utf-8")


@pytest.mark.case("C23", "C25", "R27", "R29")
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
async def test_a_mistake_is_refused_with_the_message_that_mends_it(path: Path, check: Check):
    engine = "isolate" if path.stem.endswith("_isolate") else "container"
    report = await check(read(path), LANGUAGES[path.suffix], engine)
    golden = path.with_suffix(".txt")
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown(report), encoding="utf-8")

    assert shown(report) == read(golden)
    assert report.is_clean == path.stem.endswith("_note")


async def test_there_are_enough_mistakes_of_each_language():
    for language in ("ts", "py"):
        assert sum(path.parent.name == language for path in SCRIPTS) >= 20
