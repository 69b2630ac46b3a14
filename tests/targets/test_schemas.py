"""Schemas and values, judged by the checkers that judge scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codemode.core.tool import Directory

from .judge import Case, Verdict, judge, stubs, tool

FOLDER = Path(__file__).parent.parent / "cases" / "schemas"
CASES = {
    case["name"]: case
    for path in sorted(FOLDER.glob("*.json"))
    for case in json.loads(path.read_text())
}
LANGUAGES = ("typescript", "python")


@pytest.fixture(scope="session", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def verdicts(language: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    cases = [
        Case(name=name, schema=case["schema"], valid=case["valid"], invalid=case["invalid"])
        for name, case in CASES.items()
    ]
    return judge(cases, language, tmp_path_factory.mktemp(language))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.case(*case["case"])) for name, case in CASES.items()],
)
def test_the_checker_takes_valid_values_and_refuses_others(
    name: str, language: str, verdicts: dict[str, Verdict]
) -> None:
    case, verdict = CASES[name], verdicts[name]

    assert len(verdict.valid) == len(case["valid"])
    refused = [pair for pair in zip(case["valid"], verdict.valid, strict=True) if pair[1]]
    taken = [v for v, said in zip(case["invalid"], verdict.invalid, strict=True) if not said]
    assert not refused
    assert not taken


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "losses" in case])
def test_what_no_type_says_is_listed_by_its_place(name: str, language: str) -> None:
    case = CASES[name]
    generated = stubs(Directory([tool(name, case["schema"])]), language)

    paths = {loss.path for loss in generated.losses}
    assert set(case["losses"]) <= paths
    assert all(loss.tool in (f"cases.{name}", "cases") for loss in generated.losses)
