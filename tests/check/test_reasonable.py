"""
Scripts as models write them pass: a false refusal costs more than a missed mistake.

Each file of ``tests/cases/reasonable/<language>/`` runs in the container, so it is clean
there; on isolate nothing may be held against it but that it needs the container.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from codemode.core.gate_python import NEEDS_CONTAINER
from codemode.core.run import Language

from .world import Check

FOLDER = Path(__file__).resolve().parent.parent / "cases" / "reasonable"
LANGUAGES: dict[str, Language] = {".ts": "typescript", ".py": "python"}
SCRIPTS = sorted(path for path in FOLDER.glob("*/*") if path.suffix in LANGUAGES)

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
async def test_a_reasonable_script_passes(path: Path, check: Check) -> None:
    text, language = path.read_text("utf-8"), LANGUAGES[path.suffix]
    report = await check(text, language, "container")
    assert report.is_clean, report.diagnostics

    report = await check(text, language, "isolate")
    errors = {one.code for one in report.diagnostics if one.severity == "error"}
    assert errors <= ({NEEDS_CONTAINER} if language == "python" else set()), report.diagnostics


async def test_there_are_enough_of_each_language() -> None:
    for language in ("ts", "py"):
        assert sum(path.parent.name == language for path in SCRIPTS) >= 40
