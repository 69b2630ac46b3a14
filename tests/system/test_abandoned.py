"""A script may stop waiting for a call; its run ends then, and the call is accounted for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from codemode.core.run import Language
from codemode.service import Codemode
from codemode.store.config import parse_config
from codemode.testing import FakeRequest, FakeUpstream

RACES: dict[str, str] = {
    "read": """
import { github } from "tools";
const timer = new Promise((resolve) => setTimeout(() => resolve("gave up"), 50));
return await Promise.race([github.reposGet({ owner: "o", repo: "slow" }), timer]);
""",
    "write": """
import { github } from "tools";
const timer = new Promise((resolve) => setTimeout(() => resolve("gave up"), 50));
return await Promise.race([github.issuesCreate({ owner: "o", repo: "r", title: "t" }), timer]);
""",
}


@pytest.fixture
async def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Codemode, threading.Event]]:
    monkeypatch.setenv("GITHUB_TOKEN", "t0ken-of-this-test")
    answer = threading.Event()

    def wait(request: FakeRequest) -> dict[str, Any]:
        answer.wait(timeout=20)
        return {"name": "late", "number": 1}

    with FakeUpstream(require_bearer="t0ken-of-this-test") as upstream:
        upstream.route("GET", "/repos/{owner}/{repo}", wait)
        upstream.route("POST", "/repos/{owner}/{repo}/issues", wait)
        tables = upstream.config("github", credentials=["github"])
        tables["state"] = str(tmp_path / "state")
        tables["engine"] = {"name": "isolate"}
        async with Codemode.open(parse_config(tables, origin="t", base=tmp_path)) as codemode:
            yield codemode, answer
        answer.set()


@pytest.mark.case("T3")
async def test_a_read_is_given_up_before_its_answer(
    world: tuple[Codemode, threading.Event],
) -> None:
    codemode, answer = world
    language: Language = "typescript"
    result = await codemode.run(RACES["read"], language=language)
    assert not answer.is_set()  # the run did not wait for it
    assert (result.status, result.value) == ("succeeded", "gave up")
    assert [call.state for call in result.calls] == ["failed"]


@pytest.mark.case("T3")
async def test_a_write_is_awaited_and_recorded(world: tuple[Codemode, threading.Event]) -> None:
    codemode, answer = world
    running = asyncio.create_task(
        codemode.run(RACES["write"], language="typescript", allow=["github.issues_create"])
    )
    await asyncio.sleep(1)
    answer.set()
    result = await running
    assert (result.status, result.value) == ("succeeded", "gave up")
    assert [call.state for call in result.calls] == ["applied"]
