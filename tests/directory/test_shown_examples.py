"""What a docstring shows can be pasted: every example call passes the check as it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from codemode import Codemode
from codemode.core.run import Language
from codemode.store.config import parse_config
from upstream.rows import http_rows

pytestmark = pytest.mark.asyncio(loop_scope="module")


def shown(declaration: str, language: Language) -> str:
    """The example call in a stub's documentation."""
    if language == "typescript":
        found = re.search(r"^ \* @example\n \* (await .+)$", declaration, re.MULTILINE)
        assert found, declaration
        return found[1].replace("*\\/", "*/")
    functions = [n for n in ast.parse(declaration).body if isinstance(n, ast.AsyncFunctionDef)]
    found = re.search(r"^Example: (await .+)$", ast.get_docstring(functions[0]) or "", re.MULTILINE)
    assert found, declaration
    return found[1]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def codemode(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Codemode]:
    state = tmp_path_factory.mktemp("state")
    tables = {"engine": {"name": "isolate"}, "state": str(state)}
    async with Codemode.open(parse_config(tables, origin="test", base=Path(state))) as opened:
        yield opened


@pytest.mark.case("D7")
@pytest.mark.parametrize("language", ["typescript", "python"])
async def test_every_example_passes_the_check(codemode: Codemode, language: Language):
    ids = [row.id for row in http_rows()]
    described = codemode.describe(ids, language=language)
    calls = [shown(tool["declaration"], language) for tool in described["tools"]]
    report = await codemode.check("\n".join(calls), language=language, engine="isolate")
    assert [found for found in report.diagnostics if found.severity == "error"] == []
    assert [call.tool for call in report.preview.calls] == ids
    assert all(call.complete for call in report.preview.calls)
    for row, call in zip(http_rows(), report.preview.calls, strict=True):
        renamed = {python: wire for wire, python in row.raw.get("python_names", {}).items()}
        if language == "python":
            sent = {renamed.get(name, name): value for name, value in call.args.items()}
        else:
            sent = dict(call.args)
        assert sent == row.raw["example"]["args"], row.id
