"""
What runs is at most warned about; what a tool's types say stays an error beside it.

Each kind of excuse is held from both sides: the habit itself, and a mistake of the
promised kinds (property, literal, tool, ``await``) written in the midst of that habit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.core.run import Language
from codemode.core.syntax import read

from .world import Check, made

FOLDER = Path(__file__).resolve().parent.parent / "cases" / "habits"
LANGUAGES: dict[str, Language] = {".ts": "typescript", ".py": "python"}


def scripts(kind: str) -> list[Any]:
    found = sorted((FOLDER / kind).iterdir())
    return [pytest.param(path, id=path.name) for path in found if path.suffix in LANGUAGES]


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("path", scripts("fine"))
async def test_a_habit_that_runs_is_no_error(check: Check, path: Path) -> None:
    report = await check(path.read_text("utf-8"), LANGUAGES[path.suffix])
    assert report.is_clean, report.diagnostics


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("path", scripts("wrong"))
async def test_a_mistake_amid_a_habit_is_still_one(check: Check, path: Path) -> None:
    """Its first line says what some error has to name."""
    text = path.read_text("utf-8")
    sign = text.splitlines()[0].partition("told: ")[2]
    assert sign

    report = await check(text, LANGUAGES[path.suffix])

    errors = [one.message for one in report.diagnostics if one.severity == "error"]
    assert any(sign in message for message in errors), report.diagnostics


@pytest.mark.asyncio(loop_scope="session")
async def test_warnings_are_one_of_a_kind(check: Check) -> None:
    lines = [f"const r{n} = {{}};\nr{n}.a = 1;\nr{n}.b = new Date() - {n};\n" for n in range(9)]
    report = await check("".join(lines) + "return 1;", "typescript")
    assert [one.severity for one in report.diagnostics] == ["warning", "warning"]


NAMES = st.lists(
    st.sampled_from(["Issue", "User as Person", "issues_list", "issues_get as get", "Label"]),
    min_size=1, max_size=5, unique=True,
)  # fmt: skip


@given(NAMES, st.sampled_from([", ", ",", ",\n    ", ",\n"]), st.booleans())
def test_types_are_left_out_of_what_runs(names: list[str], comma: str, has_end: bool) -> None:
    inside = comma.join(names)
    text = f"from tools.github import ({inside}{',' * has_end})\nreturn 1\n"
    if "\n" not in comma and not has_end:
        text = text.replace("(", "").replace(")", "")

    script = made(text, "python")

    assert not read(script.runnable, "python").root.has_error, script.runnable
    compile(script.runnable.replace("return 1", "pass"), "script", "exec")
    assert len(script.runnable) == len(script.typed)
    assert script.typed == text
    tools = [name for name in names if name[0].islower()]
    for name in names:
        assert (name in script.runnable) == (name in tools)
    assert script.runnable.count(",") >= len(tools) - 1
