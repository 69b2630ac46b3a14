"""One checker a language for the whole session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import pytest_asyncio

from codemode import targets
from codemode.check import Checker
from codemode.check.python import PythonChecker
from codemode.check.report import check_script
from codemode.check.typescript import TypeScriptChecker
from codemode.core.run import CheckReport, Language

from .world import STUBS, Check, made, names_of


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def checkers() -> AsyncIterator[dict[Language, Checker]]:
    found: dict[Language, Checker] = {
        "typescript": cast(Checker, TypeScriptChecker()),
        "python": cast(Checker, PythonChecker()),
    }
    yield found
    for checker in found.values():
        await checker.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def check(checkers: dict[Language, Checker]) -> Check:
    async def run(text: str, language: Language, engine: str = "container") -> CheckReport:
        return await check_script(
            made(text, language),
            names=names_of(language),
            target=targets.load(language),
            stubs=STUBS[language],
            checker=checkers[language],
            engine=engine,
            timeout_s=60,
        )

    return run
