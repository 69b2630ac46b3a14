"""
A seeded secret is looked for everywhere a run leaves something behind: outputs, state
folder, child processes' environments and command lines, and containers' configuration.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import docker
import pytest

from codemode.core.render import result_json
from codemode.core.run import Language, RunResult
from codemode.errors import EngineUnavailable
from codemode.service import Codemode
from codemode.store.config import parse_config
from codemode.testing import FakeReply, FakeRequest, FakeUpstream

SECRET = "canary/9d1f+s3cr3t=7b"

SCRIPTS: dict[Language, str] = {
    "python": """
from tools import github
seen = await github.repos_get(owner="o", repo="echo")
print(seen)
try:
    await github.repos_get(owner="o", repo="fail")
except Exception as error:
    print("failed", error)
return seen
""",
    "typescript": """
import { github } from "tools";
const seen = await github.reposGet({ owner: "o", repo: "echo" });
console.log(seen);
try {
  await github.reposGet({ owner: "o", repo: "fail" });
} catch (error) {
  console.log("failed", String(error));
}
return seen;
""",
}


def forms(secret: str) -> list[bytes]:
    """The secret as it may turn up."""
    raw = secret.encode()
    basic = base64.b64encode(b"user:" + raw)
    return [
        raw,
        base64.b64encode(raw).rstrip(b"="),
        base64.urlsafe_b64encode(raw).rstrip(b"="),
        raw.hex().encode(),
        quote(secret, safe="").encode(),
        json.dumps(secret)[1:-1].encode(),
        basic,
        raw[::-1],
    ]


def found_in(data: bytes) -> list[bytes]:
    return [form for form in forms(SECRET) if form in data]


def echo(request: FakeRequest) -> Any:
    """A service that shows what it was sent, in several forms."""
    given = request.headers["authorization"].removeprefix("Bearer ")
    shown = {
        "name": "echo",
        "raw": given,
        "header": request.headers["authorization"],
        "forms": [form.decode() for form in forms(given)],
        given: "as a key",
    }
    if request.path_args["repo"] == "fail":
        return FakeReply(status=422, json={"message": f"Bad token {given}", "errors": [shown]})
    return shown


class Children:
    """What every descendant of this process shows of itself, collected while a run goes on."""

    def __init__(self) -> None:
        self.seen: dict[int, bytes] = {}

    async def watch(self) -> None:
        while True:
            for pid in _descendants(os.getpid()):
                self.seen[pid] = self.seen.get(pid, b"") + _shown(pid)
            await asyncio.sleep(0.01)


def _shown(pid: int) -> bytes:
    try:
        return b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for name in ("environ", "cmdline"))
    except OSError:  # it ended
        return b""


class Containers:
    """What the daemon tells of every container, collected while a run goes on."""

    def __init__(self) -> None:
        self.seen: dict[str, bytes] = {}

    async def watch(self) -> None:
        client = docker.APIClient(version="auto", timeout=10)
        try:
            while True:
                await asyncio.to_thread(self._look, client)
                await asyncio.sleep(0.05)
        finally:
            client.close()

    def _look(self, client: docker.APIClient) -> None:
        for entry in client.containers(all=True):
            try:
                told = client.inspect_container(entry["Id"])
                top = client.top(entry["Id"], "-eo pid,args")
            except docker.errors.APIError:  # it ended
                continue
            self.seen[entry["Id"]] = json.dumps([told, top]).encode()


def _descendants(root: int) -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found, new = [], [root]
    while new:
        new = [pid for pid, parent in parents.items() if parent in new]
        found += new
    return found


@pytest.fixture
async def service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Codemode, Path]]:
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    with FakeUpstream(require_bearer=SECRET) as upstream:
        upstream.route("GET", "/repos/{owner}/{repo}", echo)
        tables = upstream.config("github", credentials=["github"])
        tables["state"] = str(tmp_path / "state")
        tables["audit"] = {"include_arguments": True}
        config = parse_config(tables, origin="test", base=tmp_path)
        async with Codemode.open(config) as codemode:
            yield codemode, tmp_path


@pytest.mark.case("E8", "attack:15", "attack:17", "attack:29")
@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_nothing_of_an_isolate_run_holds_the_secret(
    service: tuple[Codemode, Path], language: Language, caplog: pytest.LogCaptureFixture
) -> None:
    codemode, folder = service
    children = Children()
    watching = asyncio.create_task(children.watch())
    try:
        result = await codemode.run(SCRIPTS[language], language=language, engine="isolate")
    finally:
        watching.cancel()
    _assert_clean(result, folder, caplog)
    assert any(children.seen.values()), "no child was seen, so the check would prove nothing"
    for pid, shown in children.seen.items():
        assert found_in(shown) == [], pid


@pytest.mark.docker
@pytest.mark.case("E8", "attack:15", "attack:17", "attack:29")
@pytest.mark.parametrize("runtime", ["runc", "runsc"])
@pytest.mark.parametrize("language", ["python", "typescript"])
async def test_nothing_of_a_container_run_holds_the_secret(
    service: tuple[Codemode, Path],
    language: Language,
    runtime: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    codemode, folder = service
    script = SCRIPTS[language]
    containers = Containers()
    try:
        watching = asyncio.create_task(containers.watch())
        result = await codemode.run(script, language=language, engine="container", runtime=runtime)
    except (EngineUnavailable, docker.errors.DockerException) as error:
        if os.environ.get("CODEMODE_REQUIRE_DOCKER") == "1":
            raise
        pytest.skip(f"no {runtime} here: {error}")
    finally:
        watching.cancel()
    _assert_clean(result, folder, caplog)
    assert containers.seen, "no container was seen, so the check would prove nothing"
    for name, told in containers.seen.items():
        assert found_in(told) == [], name


def _assert_clean(result: RunResult, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert result.status == "succeeded", result.error
    assert [call.credential for call in result.calls] == ["github", "github"]
    answer = json.dumps(result_json(result), ensure_ascii=False).encode()
    assert b"failed" in answer
    assert found_in(answer) == []
    assert found_in(repr(result).encode()) == []
    assert found_in(caplog.text.encode()) == []
    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert {"audit.jsonl", "ledger.sqlite"} <= {path.name for path in kept}
    for path in kept:
        assert found_in(path.read_bytes()) == [], path
