"""A script that uses an MCP server, from import to result; the server dies on the way."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from codemode.importers.mcp import import_mcp
from codemode.service import Codemode
from codemode.store.config import Config

WILD = Path(__file__).with_name("wild_server.py")
TOOLS = [
    {"name": "die", "inputSchema": {"type": "object", "properties": {"file": {"type": "string"}}}},
    {"name": "parts", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "environment", "inputSchema": {}, "annotations": {"readOnlyHint": True}},
]
SCRIPT = """
import { wild } from "tools";
const before = await wild.parts({});
let lost = "";
try {
  await wild.die({ file: FILE });
} catch (error) {
  lost = (error as { code: string }).code;
}
return { before, lost, after: await wild.parts({}) };
"""


@pytest.fixture
async def codemode(tmp_path):
    saved = tmp_path / "tools.json"
    saved.write_text(json.dumps({"tools": TOOLS}))
    await import_mcp([str(saved)], toolset="wild", out=tmp_path / "rows")
    config = Config(
        directory=tmp_path / "rows",
        state=tmp_path / "state",
        mcp_servers={
            "wild": {"command": [sys.executable, str(WILD)], "env": {"TOKEN": "seeded-4711"}}
        },
    )
    async with Codemode.open(config) as opened:
        yield opened


@pytest.mark.timeout(240)
async def test_a_dead_server_ends_the_call_as_unknown_and_not_the_run(codemode, tmp_path):
    file = tmp_path / "applied"
    result = await codemode.run(
        SCRIPT.replace("FILE", json.dumps(str(file))),
        language="typescript",
        engine="isolate",
        allow=["wild.*"],
    )
    assert result.status == "succeeded", result
    assert result.value == {
        "before": "first\nsecond",
        "lost": "outcome_unknown",
        "after": "first\nsecond",
    }
    assert file.read_text() == "applied"
    assert [(call.tool, call.state) for call in result.calls] == [
        ("wild.parts", "applied"),
        ("wild.die", "unknown"),
        ("wild.parts", "applied"),
    ]


@pytest.mark.timeout(240)
async def test_a_write_is_refused_before_its_server_is_started(codemode, tmp_path):
    file = tmp_path / "applied"
    result = await codemode.run(
        SCRIPT.replace("FILE", json.dumps(str(file))), language="typescript", engine="isolate"
    )
    assert result.status == "refused"
    assert not file.exists()
