"""search and describe answer what their own stubs promise, outside a script and inside one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import jsonschema_rs
import pytest

from codemode.core.host import DESCRIBE, SEARCH
from codemode.core.run import Language
from codemode.service import Codemode
from codemode.store.config import parse_config

LANGUAGES: tuple[Language, ...] = ("typescript", "python")


@pytest.fixture
async def codemode(tmp_path: Path) -> AsyncIterator[Codemode]:
    tables = {"state": str(tmp_path / "state"), "engine": {"name": "isolate"}}
    async with Codemode.open(parse_config(tables, origin="test", base=tmp_path)) as service:
        yield service


@pytest.mark.parametrize("language", LANGUAGES)
async def test_answers_fit_the_declared_shapes(codemode: Codemode, language: Language) -> None:
    for query in ("open an issue", "", "xyzzy"):
        answer = codemode.search(query, language=language)
        jsonschema_rs.validate(dict(SEARCH.returns or {}), answer)
    answer = codemode.describe(["github.issues_create", "github.isues"], language=language)
    jsonschema_rs.validate(dict(DESCRIBE.returns or {}), answer)
    assert answer["unknown"][0]["nearest"]


@pytest.mark.case("D7")
@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_path_that_search_lists_can_be_described(
    codemode: Codemode, language: Language
) -> None:
    listed = codemode.search("", limit=10_000, language=language)
    assert listed["n_shown"] == listed["n_matching"] == len(codemode.directory)
    paths = [tool["path"] for tool in listed["tools"]]
    described = codemode.describe(paths, language=language)
    assert described["unknown"] == []
    assert [tool["path"] for tool in described["tools"]] == paths


SCRIPTS: dict[Language, str] = {
    "typescript": """
import { search, describe } from "tools";
const found = await search({ query: "open an issue", limit: 2 });
const told = await describe({ names: [found.tools[0].path, "nothing.here"] });
return [found.n_shown, found.tools[0].tool, told.tools.length, told.unknown[0].name];
""",
    "python": """
from tools import search, describe
found = await search(query="open an issue", limit=2)
told = await describe(names=[found["tools"][0]["path"], "nothing.here"])
return [found["n_shown"], found["tools"][0]["tool"], len(told["tools"]), told["unknown"][0]["name"]]
""",
}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_discovery_inside_a_script(codemode: Codemode, language: Language) -> None:
    result = await codemode.run(SCRIPTS[language], language=language)
    assert result.status == "succeeded", (result.error, result.diagnostics)
    assert result.value == [2, "github.issues_create", 1, "nothing.here"]
    assert result.calls == ()
