"""
Every script in `examples/`, run through the service on every engine that can run it.

The world it runs in is fixed (`examples/upstream.json`, `examples/files/`), so its
result is compared with `examples/expected/`, and the upstream says whether each
request was one the real service takes.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from codemode import Codemode
from codemode.core.run import FileData, RunResult
from codemode.errors import EngineUnavailable
from codemode.store.config import parse_config
from upstream.world import TOKENS, open_world

ROOT = Path(__file__).parents[2] / "examples"
EXAMPLES: list[dict[str, Any]] = json.loads((ROOT / "examples.json").read_text("utf-8"))["examples"]
SECRETS = {
    "GITHUB_TOKEN": TOKENS["github"],
    "SLACK_BOT_TOKEN": TOKENS["slack"],
    "STRIPE_API_KEY": TOKENS["stripe"],
}


def cases() -> list[Any]:
    marks = {"container": [pytest.mark.docker], "isolate": []}
    return [
        pytest.param(example, engine, id=f"{example['name']}-{engine}", marks=marks[engine])
        for example in EXAMPLES
        for engine in example["engines"]
    ]


@cache
def world() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / "upstream.json").read_text("utf-8"))
    return loaded


async def run(example: dict[str, Any], engine: str, state: Path) -> tuple[RunResult, list[str]]:
    """The result, and why the upstream refused requests, if it did."""
    with open_world(world()) as upstream:
        tables = {
            **upstream.config(*world(), credentials=TOKENS),
            "engine": {"name": engine, "pool_size": 0},
            "state": str(state),
        }
        config = parse_config(tables, origin="examples", base=state)
        async with Codemode.open(config) as codemode:
            result = await codemode.run(
                (ROOT / example["script"]).read_text("utf-8"),
                language=example["language"],
                engine=engine,
                allow=example.get("allow", ()),
                input=example.get("input"),
                files=[
                    FileData(path=name, data=(ROOT / "files" / name).read_bytes())
                    for name in example.get("files", ())
                ],
                collect_files="files" in example,
            )
        return result, [reason for _, reason in upstream.refused]


@pytest.mark.parametrize(("example", "engine"), cases())
async def test_the_result_is_the_committed_one(
    example: dict[str, Any], engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    try:
        result, refused = await run(example, engine, tmp_path)
    except EngineUnavailable as error:
        if engine == "isolate" or os.environ.get("CODEMODE_REQUIRE_DOCKER") == "1":
            raise
        pytest.skip(f"{engine}: {error.message}")
    assert result.error is None, (result.error, result.diagnostics)
    assert result.status == "succeeded"
    assert refused == []
    expected = json.loads((ROOT / "expected" / f"{example['name']}.json").read_text("utf-8"))
    assert json.loads(json.dumps(result.value)) == expected
    made = {file.path for file in result.files}
    assert set(example.get("makes", ())) <= made
    assert not any(secret in repr(result) for secret in SECRETS.values())


def test_there_is_enough_of_every_kind():
    """What the examples promise: both languages, both engines, every script listed once."""
    for language, suffix in (("typescript", "ts"), ("python", "py")):
        own = [example for example in EXAMPLES if example["language"] == language]
        assert len(own) >= 11
        assert sum("isolate" in example["engines"] for example in own) >= 7
        assert all("container" in example["engines"] for example in own)
        scripts = {path.name for path in (ROOT / language).iterdir()}
        assert scripts == {f"{example['name']}.{suffix}" for example in own}
    names = [example["name"] for example in EXAMPLES]
    assert len(names) == len(set(names))
    assert {path.stem for path in (ROOT / "expected").iterdir()} == set(names)
    assert all(example["shows"] for example in EXAMPLES)


WRITES = [e for e in EXAMPLES if e.get("allow") and "isolate" in e["engines"]]


@pytest.mark.parametrize("example", WRITES, ids=[example["name"] for example in WRITES])
async def test_nothing_is_written_unless_it_is_allowed(
    example: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    result, _ = await run({**example, "allow": []}, "isolate", tmp_path)
    assert result.status == "refused"
    assert result.error is not None
    assert result.error.code == "approval_required"
    assert result.calls == ()
