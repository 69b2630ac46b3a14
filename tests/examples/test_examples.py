"""
Every script in `examples/`, run through the service on every engine that can run it.

The world it runs in is fixed (`examples/upstream.json`, `examples/files/`), so its
result is compared with `examples/expected/`, and the upstream says whether each
request was one the real service takes.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from codemode import Codemode
from codemode.core.run import FileData, RunResult
from codemode.errors import EngineUnavailable
from codemode.store.config import parse_config
from upstream import FactUpstream, world
from upstream.world import TOKENS

ROOT = Path(__file__).parents[2] / "examples"
EXAMPLES: list[dict[str, Any]] = json.loads((ROOT / "examples.json").read_text("utf-8"))["examples"]
SECRETS = {
    "GITHUB_TOKEN": TOKENS["github"],
    "SLACK_BOT_TOKEN": TOKENS["slack"],
    "STRIPE_API_KEY": TOKENS["stripe"],
}


WORLD: dict[str, Any] = json.loads((ROOT / "upstream.json").read_text("utf-8"))
ENGINES = [
    pytest.param("isolate", id="isolate"),
    pytest.param("container", id="container", marks=pytest.mark.docker),
]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """
    A service, and the upstream that all its toolsets point at.

    Args:
        state: Where the service keeps ledger, audit and run records.
    """

    engine: str
    codemode: Codemode
    upstream: FactUpstream
    state: Path

    async def run(self, example: dict[str, Any]) -> RunResult:
        world.build(self.upstream, WORLD)
        return await self.codemode.run(
            (ROOT / example["script"]).read_text("utf-8"),
            language=example["language"],
            engine=self.engine,
            allow=example.get("allow", ()),
            input=example.get("input"),
            files=[
                FileData(path=name, data=(ROOT / "files" / name).read_bytes())
                for name in example.get("files", ())
            ],
            collect_files="files" in example,
        )

    def mismatches(self, run_id: str) -> list[str]:
        """Answers of that run that did not fit what their rows promise."""
        audited = map(json.loads, (self.state / "audit.jsonl").read_text("utf-8").splitlines())
        own = [event for event in audited if event["run_id"] == run_id]
        return [f"{event['tool']}: {event['mismatch']}" for event in own if event.get("mismatch")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Running]:
    """One service for each engine."""
    engine = request.param
    state = tmp_path_factory.mktemp(engine)
    with pytest.MonkeyPatch.context() as patch, FactUpstream(TOKENS) as upstream:
        for name, secret in SECRETS.items():
            patch.setenv(name, secret)
        tables = {
            **upstream.config(*WORLD, credentials=TOKENS),
            "engine": {"name": engine},
            "state": str(state),
        }
        config = parse_config(tables, origin="examples", base=state)
        async with Codemode.open(config) as codemode:
            yield Running(engine=engine, codemode=codemode, upstream=upstream, state=state)


@pytest.mark.parametrize("running", ENGINES, indirect=True)
@pytest.mark.parametrize("example", EXAMPLES, ids=[example["name"] for example in EXAMPLES])
async def test_the_result_is_the_committed_one(example: dict[str, Any], running: Running):
    engine = running.engine
    try:
        result = await running.run(example)
    except EngineUnavailable as error:
        if engine == "isolate" or os.environ.get("CODEMODE_REQUIRE_DOCKER") == "1":
            raise
        pytest.skip(f"{engine}: {error.message}")
    if engine not in example["engines"]:
        assert result.status == "refused"
        assert result.calls == ()
        return
    assert result.error is None, (result.error, result.diagnostics)
    assert result.status == "succeeded"
    assert running.upstream.refused == []
    expected = json.loads((ROOT / "expected" / f"{example['name']}.json").read_text("utf-8"))
    assert json.loads(json.dumps(result.value)) == expected
    made = {file.path for file in result.files}
    assert set(example.get("makes", ())) <= made
    if result.calls:
        assert running.mismatches(result.run_id) == []
    kept = b"".join(path.read_bytes() for path in running.state.rglob("*") if path.is_file())
    for secret in SECRETS.values():
        assert secret not in repr(result)
        assert secret.encode() not in kept


WRITES = [e for e in EXAMPLES if e.get("allow") and "isolate" in e["engines"]]


@pytest.mark.parametrize("running", ENGINES[:1], indirect=True)
@pytest.mark.parametrize("example", WRITES, ids=[example["name"] for example in WRITES])
async def test_nothing_is_written_unless_it_is_allowed(example: dict[str, Any], running: Running):
    result = await running.run({**example, "allow": []})
    assert result.status == "refused"
    assert result.error is not None
    assert result.error.code == "approval_required"
    assert result.calls == ()
    assert running.upstream.requests == []


async def test_there_is_enough_of_every_kind():
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
