"""Things die in mid run: the host, the sandbox, an MCP server. The ledger says what happened."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import docker
import pytest

from codemode.errors import EngineUnavailable
from codemode.service import Codemode
from codemode.store.config import parse_config
from codemode.store.ledger import SqliteLedger
from codemode.testing import FakeRequest, FakeUpstream

PY = """
from tools import github
await github.issues_create(owner="o", repo="r", title="first")
await github.issues_create(owner="o", repo="r", title="slow")
return "never"
"""
TS = """
import { github } from "tools";
await github.issuesCreate({ owner: "o", repo: "r", title: "first" });
await github.issuesCreate({ owner: "o", repo: "r", title: "slow" });
return "never";
"""
ALLOW = ["github.issues_create"]


class Slow:
    """A service whose second answer waits until it is let go."""

    def __init__(self) -> None:
        self.waiting = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.let_go = False

    def answer(self, request: FakeRequest) -> dict[str, Any]:
        title = request.json["title"]
        if title == "slow":
            self._loop.call_soon_threadsafe(self.waiting.set)
            deadline = time.monotonic() + 20
            while not self.let_go and time.monotonic() < deadline:
                time.sleep(0.02)
        return {"number": 1, "title": title}


@pytest.fixture
async def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[dict[str, Any], Slow, FakeUpstream]]:
    monkeypatch.setenv("GITHUB_TOKEN", "t0ken-of-this-test")
    slow = Slow()
    with FakeUpstream(require_bearer="t0ken-of-this-test") as upstream:
        upstream.route("POST", "/repos/{owner}/{repo}/issues", slow.answer)
        tables = upstream.config("github", credentials=["github"])
        tables["state"] = str(tmp_path / "state")
        yield tables, slow, upstream
        slow.let_go = True


def ledger_of(folder: Path, run_id: str) -> list[tuple[str, str | None]]:
    ledger = SqliteLedger(folder / "state" / "ledger.sqlite")
    try:
        return [(entry.state, entry.outcome) for entry in ledger.of_run(run_id)]
    finally:
        ledger.close()


def processes(match: str) -> list[int]:
    """Processes below this one whose command line holds *match*."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if match in line and int(parent) == os.getpid():
            found.append(int(entry.name))
    return found


def kill_deno(others: set[int]) -> None:
    """The ones of this test: engines that other tests share have theirs."""
    pids = set(processes("deno")) - others
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def own_containers(client: docker.DockerClient) -> list[Any]:
    found: list[Any] = client.containers.list(filters={"label": f"codemode.pid={os.getpid()}"})
    return found


def kill_containers(others: set[str]) -> None:
    client = docker.from_env(timeout=20)
    try:
        mine = [one for one in own_containers(client) if one.id not in others]
        assert mine
        for container in mine:
            container.kill()
    finally:
        client.close()


@pytest.mark.case("attack:51", "attack:65")
@pytest.mark.parametrize(
    ("kind", "language", "script", "kill"),
    [
        ("isolate", "typescript", TS, kill_deno),
        pytest.param("container", "typescript", TS, kill_containers, marks=pytest.mark.docker),
        pytest.param("container", "python", PY, kill_containers, marks=pytest.mark.docker),
    ],
    ids=["deno", "container-ts", "container-py"],
)
async def test_a_sandbox_that_dies_in_mid_call_ends_the_run_and_the_call_is_accounted_for(
    world: tuple[dict[str, Any], Slow, FakeUpstream],
    tmp_path: Path,
    kind: str,
    language: Any,
    script: str,
    kill: Callable[[Any], None],
) -> None:
    tables, slow, _ = world
    others: set[Any] = set(processes("deno")) if kind == "isolate" else _container_ids()
    async with Codemode.open(parse_config(tables, origin="t", base=tmp_path)) as codemode:
        running = asyncio.create_task(
            codemode.run(script, language=language, engine=kind, allow=ALLOW)
        )
        waiting = asyncio.create_task(slow.waiting.wait())
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED, timeout=60)
        if running.done() and isinstance(running.exception(), EngineUnavailable):
            if os.environ.get("CODEMODE_REQUIRE_DOCKER") == "1":
                raise running.exception() or AssertionError
            pytest.skip(f"no {kind} here")
        assert waiting.done()
        await asyncio.to_thread(kill, others)
        slow.let_go = True  # the service answers only now: the call was applied
        result = await asyncio.wait_for(running, timeout=30)
    assert result.status == "engine_lost"
    assert result.error is not None
    assert result.error.code in ("engine_lost", "crashed")
    assert [call.state for call in sorted(result.calls, key=lambda call: call.seq)] == [
        "applied",
        "applied",
    ]
    assert ledger_of(tmp_path, result.run_id) == [("finalised", "applied")] * 2


def _container_ids() -> set[Any]:
    try:
        client = docker.from_env(timeout=20)
    except docker.errors.DockerException:  # the run says what is missing
        return set()
    try:
        return {one.id for one in own_containers(client)}
    except docker.errors.DockerException:
        return set()
    finally:
        client.close()


HOST = """
import asyncio, sys
from pathlib import Path
from codemode.service import Codemode
from codemode.store.config import read_config

async def main():
    async with Codemode.open(read_config(Path(sys.argv[1]))) as codemode:
        script = Path(sys.argv[2]).read_text()
        await codemode.run(script, language="python", engine=sys.argv[3],
                           allow=["github.issues_create"], run_key="again")

asyncio.run(main())
"""


@pytest.mark.docker
@pytest.mark.case("attack:67", "attack:93", "attack:95", "A11")
async def test_a_host_that_dies_leaves_no_container_and_repeats_no_call(
    world: tuple[dict[str, Any], Slow, FakeUpstream], tmp_path: Path
) -> None:
    tables, slow, upstream = world
    config = parse_config(tables, origin="t", base=tmp_path)
    try:
        async with Codemode.open(config) as codemode:
            await codemode.run("return 1", language="python", engine="container")
    except EngineUnavailable as error:
        if os.environ.get("CODEMODE_REQUIRE_DOCKER") == "1":
            raise
        pytest.skip(f"no container engine here: {error}")
    file = tmp_path / "codemode.json"
    file.write_text(json.dumps(tables), encoding="utf-8")
    toml = tmp_path / "codemode.toml"
    toml.write_text(_toml(tables), encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(PY, encoding="utf-8")
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(toml), str(script), "container"], env=dict(os.environ)
    )
    await asyncio.wait_for(slow.waiting.wait(), timeout=60)
    client = docker.from_env(timeout=20)
    try:
        filters = {"label": f"codemode.pid={host.pid}"}
        assert client.containers.list(filters=filters)
        host.kill()
        host.wait(timeout=10)
        slow.let_go = True

        async with Codemode.open(config) as codemode:
            again = await codemode.run(
                PY, language="python", engine="container", allow=ALLOW, run_key="again"
            )
        assert client.containers.list(all=True, filters=filters) == []
    finally:
        client.close()
    # The first call is known to be applied and is replayed; the second may have been, and is
    # neither repeated nor called done.
    titles = [request.json["title"] for request in upstream.requests]
    assert titles == ["first", "slow"]
    assert again.status == "failed"
    assert again.error is not None
    assert "outcome_unknown" in again.error.message + again.error.code
    assert [call.state for call in again.calls] == ["applied", "unknown"]


def _toml(tables: dict[str, Any], prefix: str = "") -> str:
    lines = [f"{k} = {json.dumps(v)}" for k, v in tables.items() if not isinstance(v, dict)]
    for key, value in tables.items():
        if isinstance(value, dict):
            lines += [f"[{prefix}{key}]", _toml(value, f"{prefix}{key}.")]
    return "\n".join(lines)
