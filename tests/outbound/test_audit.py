"""The audit file: what a line holds, and that lines do not mix."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from codemode.core.audit import AuditEvent
from codemode.core.run import ToolCall
from codemode.errors import ConfigError
from codemode.store.audit import AuditFile
from outbound.flows import FakeSender, http_tool, json_response, outbound_of, run_of


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_line_says_who_what_which_rule_and_how_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "audit.jsonl"
    audit = AuditFile(path)
    sender = FakeSender(lambda request: json_response('{"id": 1}'))
    outbound = outbound_of(run_of(http_tool()), sender, audit=audit)
    await outbound.answer(ToolCall(id=1, tool="shop.get", args={"id": "private"}), None)
    await outbound.answer(ToolCall(id=2, tool="shop.none", args={}), None)
    audit.close()
    sent, refused = lines(path)
    assert datetime.fromisoformat(sent.pop("at")).tzinfo is not None
    assert sent.pop("duration_ms") >= 0
    assert len(sent.pop("key")) == 64
    assert sent == {
        "run_id": "run-1",
        "seq": 1,
        "tool": "shop.get",
        "effect": "read",
        "state": "applied",
        "rule": "default:read",
        "credential": "shop",
        "destinations": ["https://shop.example"],
        "status": 200,
        "received_bytes": 9,
    }
    assert (refused["state"], refused["error"]) == ("refused", "unknown_tool")
    assert "private" not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0


async def test_arguments_and_bodies_stay_out_unless_asked_for(tmp_path: Path) -> None:
    for include in (False, True):
        path = tmp_path / f"{include}.jsonl"
        audit = AuditFile(path)
        sender = FakeSender(lambda request: json_response('{"body": "of-the-answer"}'))
        outbound = outbound_of(run_of(http_tool(), include_args=include), sender, audit=audit)
        await outbound.answer(ToolCall(id=1, tool="shop.get", args={"id": "argument"}), None)
        audit.close()
        assert ("argument" in path.read_text()) is include
        assert "of-the-answer" not in path.read_text()


async def test_writers_that_share_a_file_do_not_mix_lines(tmp_path: Path) -> None:
    path = tmp_path / "a"
    files = [AuditFile(path) for _ in range(3)]
    event = AuditEvent(run_id="r", seq=1, tool="x" * 500, effect="write", state="applied")

    async def write(file: AuditFile) -> None:
        for _ in range(20):
            await file.write(event, duration_ms=1.0)

    await asyncio.gather(*map(write, files))
    assert len(lines(path)) == 60
    for file in files:
        file.close()
        file.close()  # idempotent
        await file.write(event, duration_ms=1.0)  # and silent afterwards
    assert len(lines(path)) == 60


async def test_line_breaks_in_names_stay_inside_their_line(tmp_path: Path) -> None:
    audit = AuditFile(tmp_path / "a")
    await audit.write(
        AuditEvent(run_id="r", seq=1, tool='a\n{"state": "forged"}', effect=None, state="refused"),
        duration_ms=0,
    )
    audit.close()
    assert [line["state"] for line in lines(tmp_path / "a")] == ["refused"]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        AuditFile(tmp_path)
