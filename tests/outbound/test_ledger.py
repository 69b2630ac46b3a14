"""The ledger: keys, slots, what is done about an earlier call, and the file on disk."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.core.ledger import Entry, Slots, call_key, canonical, decide_replay
from codemode.core.policy import Policy, Rule
from codemode.core.run import CallError, ToolCall
from codemode.errors import ConfigError
from codemode.store import ledger as ledger_module
from codemode.store.ledger import SqliteLedger
from outbound.flows import SECRET, FakeSender, http_tool, json_response, outbound_of, run_of

OPEN = Policy(rules=(Rule(action="allow", label="test"),))
ARGS = st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=5))


@given(ARGS)
def test_a_key_is_a_function_of_the_call_alone(args: dict[str, Any]) -> None:
    shuffled = dict(reversed(args.items()))
    assert call_key("k", "a.b", args, 0) == call_key("k", "a.b", shuffled, 0)
    others = {
        call_key("k2", "a.b", args, 0),
        call_key("k", "a.c", args, 0),
        call_key("k", "a.b", args, 1),
        call_key("k", "a.b", {**args, "more": 1}, 0),
    }
    assert len(others | {call_key("k", "a.b", args, 0)}) == 5


def test_numbers_have_one_spelling_and_parts_do_not_run_together() -> None:
    assert canonical({"a": 1.0, "b": [2.0, {"c": 1e3}]}) == b'{"a":1,"b":[2,{"c":1000}]}'
    assert canonical({"a": 1.5, "b": True, "c": 2**70}) != canonical({"a": 1.5, "b": 1, "c": 2**70})
    assert call_key("k", "ab", {}, 0) != call_key("ka", "b", {}, 0)


@given(st.lists(st.booleans(), max_size=30))
def test_slots_number_calls_without_gaps(releases: list[bool]) -> None:
    slots, taken = Slots(), []
    for release in releases:
        if release and taken:
            slots.give_back("d", taken.pop(0))
        else:
            nth = slots.take("d")
            assert nth == min(set(range(len(taken) + 1)) - set(taken))
            taken.append(nth)
    assert slots.take("other") == 0


def entry(**fields: Any) -> Entry:
    return Entry(**({"key": "k", "run_id": "r", "run_key": "rk", "tool": "shop.pay"} | fields))


def test_what_is_done_about_an_earlier_call() -> None:
    pay = http_tool("pay", effect="write")
    applied = {"state": "finalised", "outcome": "applied"}
    table = [
        (None, "send"),
        (entry(state="finalised", outcome="failed"), "send"),
        (entry(state="finalised", outcome="refused"), "send"),
        (entry(**applied, has_value=True), "replay"),
        (entry(**applied, error=CallError(code="x", message="y")), "replay"),
        (entry(**applied), "unknown"),
        (entry(state="finalised", outcome="unknown"), "unknown"),
        (entry(), "unknown"),
        (entry(state="executed"), "unknown"),
    ]
    assert [decide_replay(pay, earlier) for earlier, _ in table] == [want for _, want in table]
    look = http_tool("look")
    assert [decide_replay(look, earlier) for earlier, _ in table] == [
        "replay" if earlier is not None and earlier.has_value else "send" for earlier, _ in table
    ]


# -- on disk ----------------------------------------------------------------------------------


async def test_an_entry_goes_through_its_states(tmp_path: Path) -> None:
    path = tmp_path / "state" / "ledger.sqlite"
    ledger = SqliteLedger(path)
    assert path.stat().st_mode & 0o077 == 0
    first = entry()
    assert await ledger.reserve(first) is None
    again = await ledger.reserve(replace(first, run_id="r2"))
    assert again is not None
    assert (again.state, again.run_id, again.outcome) == ("reserved", "r", None)
    await ledger.executed("k")
    assert ledger.find("k").state == "executed"  # type: ignore[union-attr]
    value = {"n": 2**70, "t": "ü"}
    await ledger.finalise(
        replace(first, state="finalised", outcome="applied", has_value=True, value=value)
    )
    ledger.close()
    reopened = SqliteLedger(path)  # a new process
    found = await reopened.reserve(first)
    assert found is not None
    assert (found.outcome, found.has_value, found.value) == ("applied", True, value)
    assert 0 <= found.age_s < 600
    assert [each.key for each in reopened.of_run("r")] == ["k"]
    reopened.close()


async def test_a_null_value_is_a_value_and_an_error_is_kept(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "l")
    await ledger.reserve(entry())
    await ledger.finalise(entry(state="finalised", outcome="applied", has_value=True))
    found = ledger.find("k")
    assert found is not None
    assert (found.has_value, found.value) == (True, None)
    error = CallError(code="timeout", message="m", status=504, retryable=True, hint="h")
    await ledger.reserve(entry(key="e"))
    await ledger.finalise(entry(key="e", state="finalised", outcome="failed", error=error))
    assert ledger.find("e").error == error  # type: ignore[union-attr]
    ledger.close()


async def test_a_failed_entry_is_taken_over_by_exactly_one(tmp_path: Path) -> None:
    path = tmp_path / "l"
    one, two = SqliteLedger(path), SqliteLedger(path)
    await one.reserve(entry())
    await one.finalise(entry(state="finalised", outcome="failed"))
    next_attempt = entry(attempt=2)
    won, lost = await asyncio.gather(
        one.reserve(next_attempt), two.reserve(replace(next_attempt, run_id="other"))
    )
    assert (won is None) != (lost is None)
    loser = won or lost
    assert loser is not None
    assert (loser.attempt, loser.state) == (2, "reserved")
    # The one that lost cannot finalise what is not its own attempt.
    await two.finalise(entry(attempt=1, state="finalised", outcome="failed"))
    assert one.find("k").state == "reserved"  # type: ignore[union-attr]
    one.close()
    two.close()


async def test_many_at_once(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "l")
    entries = [entry(key=str(n), durable=n % 2 == 0) for n in range(40)]
    assert await asyncio.gather(*map(ledger.reserve, entries)) == [None] * 40
    assert len(ledger.of_run("r")) == 40
    ledger.close()


async def test_a_huge_value_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "MAX_VALUE_BYTES", 100)
    ledger = SqliteLedger(tmp_path / "l")
    await ledger.reserve(entry())
    big = entry(state="finalised", outcome="applied", has_value=True, value="x" * 200)
    await ledger.finalise(big)
    found = ledger.find("k")
    assert found is not None
    assert (found.outcome, found.has_value) == ("applied", False)
    ledger.close()


async def test_old_entries_are_forgotten(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "l")
    await ledger.reserve(entry())
    assert ledger.forget(older_than_s=3600) == 0
    assert ledger.forget(older_than_s=-1) == 1
    ledger.close()


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "l"
    path.write_bytes(b"not a database " * 100)
    with pytest.raises(ConfigError, match="cannot be used"):
        SqliteLedger(path)
    (tmp_path / "blocked").write_text("a file")
    with pytest.raises(ConfigError):
        SqliteLedger(tmp_path / "blocked" / "ledger")


CRASH = """
import asyncio, os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from outbound.flows import FakeSender, http_tool, outbound_of, run_of
from codemode.core.policy import Policy, Rule
from codemode.core.run import ToolCall
from codemode.store.ledger import SqliteLedger

async def never(request):
    print("sent", flush=True)
    await asyncio.Event().wait()

async def main():
    policy = Policy(rules=(Rule(action="allow", label="test"),))
    run = run_of(http_tool("pay", effect="write"), policy=policy)
    outbound = outbound_of(run, FakeSender(never), ledger=SqliteLedger(Path(sys.argv[2])))
    await outbound.answer(ToolCall(id=1, tool="shop.pay", args={"id": "a"}), None)

asyncio.run(main())
"""


@pytest.mark.case("attack:67", "attack:95", "A11")
async def test_a_killed_host_leaves_a_reserved_call_that_is_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    tests = str(Path(__file__).parent.parent)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CRASH, tests, str(path)), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"sent\n"
    finally:
        process.kill()
        await process.wait()
    sender = FakeSender(lambda request: json_response("{}"))
    run = run_of(http_tool("pay", effect="write"), policy=OPEN, run_id="run-2")
    ledger = SqliteLedger(path)
    outbound = outbound_of(run, sender, ledger=ledger)
    reply = await outbound.answer(ToolCall(id=1, tool="shop.pay", args={"id": "a"}), None)
    assert reply.error is not None
    assert reply.error.code == "outcome_unknown"
    assert "Look at the service" in reply.error.hint
    assert not sender.requests
    assert [record.state for record in outbound.records] == ["unknown"]
    ledger.close()


@pytest.mark.case("A11", "attack:93")
async def test_a_run_submitted_again_after_a_failure_goes_on_where_it_stopped(
    tmp_path: Path,
) -> None:
    """First pay, then ship; ship fails; the same run key again pays nothing twice."""
    tools = (http_tool("pay", effect="write"), http_tool("ship", effect="write"), http_tool("look"))
    answers = {"pay": json_response('{"paid": 1}'), "ship": json_response("{}", 503)}
    sent: list[str] = []

    def answer(request: Any) -> Any:
        name = "look" if request.method == "GET" else request.url.rsplit("/", 1)[1]
        sent.append(name)
        return answers.get(name, json_response(f'{{"looks": {len(sent)}}}'))

    replies = []
    for attempt in range(2):
        ledger = SqliteLedger(tmp_path / "l")
        run = run_of(*tools, policy=OPEN, run_id=f"run-{attempt}", keep_reads=True)
        outbound = outbound_of(run, FakeSender(answer), ledger=ledger)
        for name in ("look", "pay", "ship"):
            call = ToolCall(id=1, tool=f"shop.{name}", args={"id": name})
            replies.append(await outbound.answer(call, None))
        ledger.close()
        answers["ship"] = json_response('{"shipped": 1}')
    assert sent == ["look", "pay", "ship", "ship"]
    assert replies[0] == replies[3]  # reads too, so that the same arguments follow from them
    assert replies[1] == replies[4]
    assert replies[5].value == {"shipped": 1}


async def test_what_the_ledger_holds_is_scrubbed(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "l")
    run = run_of(http_tool("pay", effect="write"), policy=OPEN)
    echo = FakeSender(lambda request: json_response(json.dumps({SECRET: SECRET})))
    outbound = outbound_of(run, echo, ledger=ledger)
    await outbound.answer(ToolCall(id=1, tool="shop.pay", args={"id": SECRET}), None)
    ledger.close()
    rows = sqlite3.connect(tmp_path / "l").execute("SELECT * FROM calls").fetchall()
    assert len(rows) == 1
    assert SECRET not in str(rows)
