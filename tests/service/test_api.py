"""The Python API says what is wrong with a call before anything runs."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from codemode import Codemode, CodemodeError, parse_config
from codemode.errors import BadArguments, ConfigError
from codemode.store.policy import parse_policy
from codemode.testing import FakeEngine, FakeSandbox

DOCS = Path(__file__).resolve().parents[2] / "docs"


def config(tmp_path: Path, **tables: Any) -> Any:
    return parse_config({"state": str(tmp_path / "state"), **tables}, origin="test", base=tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"engine": "nope"},
        {"language": "ruby"},
        {"input": math.nan},
        {"input": {1, 2}},
        {"allow": "github.*"},
        {"timeout_s": -1},
        {"timeout_s": math.nan},
    ],
)
async def test_wrong_arguments_are_named(tmp_path: Path, wrong: dict[str, Any]) -> None:
    async with Codemode.open(config(tmp_path)) as codemode:
        arguments = {"language": "python", **wrong}
        with pytest.raises(BadArguments) as caught:
            await codemode.run("return 1", **arguments)
    assert caught.value.message


@pytest.mark.parametrize(
    ("tables", "named"),
    [
        ({"allow_addresses": ["*"]}, "IP address"),
        ({"allow_addresses": ["localhost:80"]}, "IP address"),
        ({"toolsets": {"github": {"base_url": "ftp://x"}}}, "http://"),
        ({"policy": {"allow": "github.*"}}, "must be a list"),
    ],
)
def test_config_mistakes_are_said_in_plain_words(
    tmp_path: Path, tables: dict[str, Any], named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        config(tmp_path, **tables)


async def test_a_fake_engine_runs_a_plain_function(tmp_path: Path) -> None:
    async def script(sandbox: FakeSandbox) -> Any:
        found = await sandbox.call("codemode.search", query="open an issue")
        return found["tools"][0]["tool"]

    engine = FakeEngine(script)
    tables = {"toolsets": {"nowhere": {"base_url": "https://nowhere.example"}}}
    async with Codemode.open(config(tmp_path, **tables), engine=engine) as codemode:
        result = await codemode.run("return 1", language="python")
    assert result.value == "github.issues_create"
    assert result.engine == "fake"
    assert any("nowhere" in note for note in result.notes)


def test_the_policy_file_of_the_docs_is_one() -> None:
    text = re.findall(r"```toml\n(.*?)```", (DOCS / "policy.md").read_text(encoding="utf-8"), re.S)
    policy = parse_policy(text[0], origin="docs/policy.md")
    assert [rule.action for rule in policy.rules] == ["deny", "allow", "ask"]
    assert issubclass(ConfigError, CodemodeError)
