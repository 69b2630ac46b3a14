"""The driver: counting, waiting, cancelling, faults. Senders are values, the clock is real."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import Any

import pytest

from codemode.core.policy import DEFAULT, Policy, Rule
from codemode.core.run import FileData, Limits, LogLine, RunResult, ScriptError, ToolCall
from codemode.core.scrub import Scrubber
from codemode.errors import BadArguments
from codemode.store.audit import NoAudit
from codemode.store.ledger import MemoryLedger
from outbound.flows import SECRET, FakeSender, http_tool, json_response, outbound_of, run_of

OPEN = Policy(rules=(Rule(action="allow", label="test"),))
ITEM = json_response('{"id": "a"}')


def call(tool: str = "shop.get", number: int = 1, **args: Any) -> ToolCall:
    return ToolCall(id=number, tool=tool, args=args or {"id": "a"})


async def slowly(request: Any) -> Any:
    await asyncio.sleep(0.01)
    return ITEM


@pytest.mark.case("T7", "E14")
async def test_n_of_n_plus_one_in_one_gather_are_executed() -> None:
    sender = FakeSender(slowly)
    outbound = outbound_of(run_of(http_tool(), max_calls=5), sender)
    replies = await asyncio.gather(
        *(outbound.answer(call(number=n, id=str(n)), None) for n in range(6))
    )
    assert [reply.error and reply.error.code for reply in replies] == [None] * 5 + [
        "too_many_calls"
    ]
    assert len(sender.requests) == 5
    again = outbound_of(run_of(http_tool(), max_calls=5), sender)
    assert (await again.answer(call(), None)).error is None  # reset between runs


@pytest.mark.case("attack:49")
async def test_calls_in_flight_are_bounded() -> None:
    sender = FakeSender(slowly)
    outbound = outbound_of(run_of(http_tool()), sender, limits=Limits(max_in_flight=3))
    await asyncio.gather(*(outbound.answer(call(id=str(n)), None) for n in range(12)))
    assert sender.most == 3
    assert len(outbound.records) == 12


@pytest.mark.case("T5")
async def test_replies_belong_to_their_calls_whatever_order_they_end_in() -> None:
    async def answer(request: Any) -> Any:
        number = int(request.url.rsplit("/", 1)[1])
        await asyncio.sleep(0.03 - number * 0.003)
        return json_response(f'{{"id": "{number}"}}')

    outbound = outbound_of(run_of(http_tool()), FakeSender(answer))
    replies = await asyncio.gather(*(outbound.answer(call(id=str(n)), None) for n in range(10)))
    assert [reply.value["id"] for reply in replies] == [str(n) for n in range(10)]
    assert [record.seq for record in outbound.records] == list(range(1, 11))


@pytest.mark.case("A11")
async def test_identical_calls_under_gather_have_keys_that_do_not_depend_on_order() -> None:
    ledger = MemoryLedger()
    for _ in range(2):
        sender = FakeSender(slowly)
        run = run_of(http_tool("pay", effect="write"), policy=OPEN)
        outbound = outbound_of(run, sender, ledger=ledger)
        await asyncio.gather(*(outbound.answer(call("shop.pay"), None) for _ in range(4)))
    assert len(ledger.entries) == 4
    assert not sender.requests  # the second time all four were replayed


@pytest.mark.case("T17")
async def test_two_runs_share_nothing_that_changes() -> None:
    one = outbound_of(run_of(http_tool()), FakeSender(slowly))
    two = outbound_of(run_of(http_tool(), run_id="run-2", run_key="k2"), FakeSender(slowly))
    await asyncio.gather(one.answer(call(), None), one.answer(call(), None))
    assert (len(one.records), len(two.records)) == (2, 0)
    assert two.scrubbed(RunResult(run_id="x", status="succeeded", value=SECRET)).value == SECRET
    assert one.scrubbed(RunResult(run_id="x", status="succeeded", value=SECRET)).value != SECRET


@pytest.mark.case("attack:65")
async def test_after_the_end_nothing_new_is_sent_and_calls_in_flight_are_awaited() -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def answer(request: Any) -> Any:
        started.set()
        await go.wait()
        return ITEM

    sender = FakeSender(answer)
    outbound = outbound_of(
        run_of(http_tool("pay", effect="write"), policy=OPEN),
        sender,
        limits=Limits(max_in_flight=1),
    )
    first = asyncio.ensure_future(outbound.answer(call("shop.pay", id="a"), None))
    queued = asyncio.ensure_future(outbound.answer(call("shop.pay", id="b"), None))
    await started.wait()
    first.cancel()  # the engine goes away; what was sent goes on
    outbound.cancel()
    asyncio.get_running_loop().call_later(0.01, go.set)
    await outbound.drain(5)
    refused = await queued
    assert refused.error is not None
    assert refused.error.code == "refused"
    assert len(sender.requests) == 1
    assert sorted(record.state for record in outbound.records) == ["applied", "refused"]
    late = await outbound.answer(call("shop.pay", id="c"), None)
    assert late.error is not None
    assert len(sender.requests) == 1


@pytest.mark.case("attack:65")
@pytest.mark.parametrize(("effect", "state"), [("write", "unknown"), ("read", "failed")])
async def test_what_is_still_unanswered_is_recorded_for_what_it_is(effect: str, state: str) -> None:
    started = asyncio.Event()

    async def never(request: Any) -> Any:
        started.set()
        await asyncio.Event().wait()

    ledger, audit = MemoryLedger(), NoAudit()
    run = run_of(http_tool("do", effect=effect), policy=OPEN)
    outbound = outbound_of(run, FakeSender(never), ledger=ledger, audit=audit)
    waiting = asyncio.ensure_future(outbound.answer(call("shop.do"), None))
    await started.wait()
    await outbound.drain(0.02)
    assert [record.state for record in outbound.records] == [state]
    assert [entry.outcome for entry in ledger.entries.values()] == [state]
    assert [event.state for event in audit.events] == [state]
    assert (await waiting).error is not None
    await outbound.drain(1)  # idempotent


async def test_a_sender_that_ignores_its_deadline_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("codemode.outbound.GRACE_S", 0.0)

    async def never(request: Any) -> Any:
        await asyncio.Event().wait()

    run = run_of(http_tool(), http_tool("pay", effect="write"), policy=OPEN)
    outbound = outbound_of(run, FakeSender(never), call_timeout_s=0.02)
    read, write = await asyncio.gather(
        outbound.answer(call(), None), outbound.answer(call("shop.pay"), None)
    )
    assert read.error is not None
    assert write.error is not None
    assert (read.error.code, write.error.code) == ("timeout", "outcome_unknown")


@pytest.mark.case("attack:21", "attack:29")
async def test_a_fault_of_ours_is_an_id_to_the_script_and_quotes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def explode(request: Any) -> Any:
        raise RuntimeError(f"cannot send {dict(request.headers)}")

    ledger = MemoryLedger()
    run = run_of(http_tool("pay", effect="write"), policy=OPEN)
    outbound = outbound_of(run, FakeSender(explode), ledger=ledger)
    with caplog.at_level(logging.DEBUG):
        reply = await outbound.answer(call("shop.pay"), None)
    assert reply.error is not None
    assert reply.error.code == "host_fault"
    fault_id = reply.error.message.partition("(fault ")[2].removesuffix(").")
    assert len(fault_id) == 12
    assert f"fault {fault_id} in NeedSend: RuntimeError at" in caplog.text
    assert SECRET not in caplog.text + str(reply)
    assert [record.state for record in outbound.records] == ["unknown"]
    assert [entry.outcome for entry in ledger.entries.values()] == ["unknown"]


async def test_a_broken_ledger_stops_the_call_before_it_is_sent() -> None:
    class Broken(MemoryLedger):
        async def reserve(self, entry: Any) -> Any:
            raise OSError("disk full")

    sender = FakeSender(slowly)
    outbound = outbound_of(run_of(http_tool()), sender, ledger=Broken())
    reply = await outbound.answer(call(), None)
    assert reply.error is not None
    assert reply.error.code == "host_fault"
    assert not sender.requests
    assert [record.state for record in outbound.records] == ["refused"]


async def test_an_audit_file_that_cannot_be_written_ends_the_sending_not_the_call() -> None:
    class Full(NoAudit):
        async def write(self, event: Any, *, duration_ms: float) -> None:
            raise OSError("disk full")

    sender = FakeSender(slowly)
    outbound = outbound_of(run_of(http_tool()), sender, audit=Full())
    first = await outbound.answer(call(id="a"), None)
    second = await outbound.answer(call(id="b"), None)
    assert first.value == {"id": "a"}
    assert second.error is not None
    assert second.error.code == "refused"
    assert len(sender.requests) == 1
    assert [record.state for record in outbound.records] == ["applied", "refused"]


@pytest.mark.case("attack:49", "T21")
async def test_a_loop_far_beyond_the_budget_costs_next_to_nothing() -> None:
    audit = NoAudit()
    outbound = outbound_of(run_of(http_tool(), max_calls=2), FakeSender(slowly), audit=audit)
    replies = [await outbound.answer(call(number=n, id=str(n)), None) for n in range(1000)]
    assert [reply.error and reply.error.code for reply in replies[1:]] == [None] + [
        "too_many_calls"
    ] * 998
    assert len(outbound.records) == len(audit.events) == 102


async def test_host_functions_are_answered_here_and_bounded() -> None:
    async def search(args: dict[str, Any]) -> Any:
        if args.get("query") == "bad":
            raise BadArguments("no", hint="say more")
        if args.get("query") == "bug":
            raise RuntimeError("secret path")
        return {"echo": args}

    run = run_of(http_tool(), max_calls=1)
    outbound = outbound_of(run, FakeSender(slowly), host_functions={"codemode.search": search})
    reply = await outbound.answer(call("codemode.search", query="x"), None)
    assert reply.value == {"echo": {"query": "x"}}
    codes = []
    for tool, query in (("search", "bad"), ("search", "bug"), ("nothing", "x")):
        reply = await outbound.answer(call(f"codemode.{tool}", query=query), None)
        codes.append(reply.error and reply.error.code)
    assert codes == ["bad_arguments", "host_fault", "unknown_tool"]
    for _ in range(100):
        reply = await outbound.answer(call("codemode.search", query="x"), None)
    assert reply.error is not None
    assert reply.error.code == "too_many_calls"
    assert not outbound.records  # not tool calls
    assert (await outbound.answer(call(), None)).error is None  # and none of the budget


async def test_approval_is_asked_per_call() -> None:
    asked: list[tuple[str, object, str]] = []

    async def approve(tool: Any, args: Any, rule: str) -> bool:
        asked.append((tool.id, args, rule))
        return args["id"] == "yes"

    run = run_of(http_tool("pay", effect="write"))
    outbound = outbound_of(run, FakeSender(slowly), approve=approve)
    yes = await outbound.answer(call("shop.pay", id="yes"), None)
    no = await outbound.answer(call("shop.pay", id="no"), None)
    assert yes.error is None
    assert no.error is not None
    assert asked[0] == ("shop.pay", {"id": "yes"}, "default:write")
    unasked = outbound_of(run_of(http_tool("pay", effect="write")), FakeSender(slowly))
    assert (await unasked.answer(call("shop.pay"), None)).error is not None


@pytest.mark.case("T19")
async def test_update_reaches_the_next_call() -> None:
    outbound = outbound_of(run_of(http_tool()), FakeSender(slowly))
    assert (await outbound.answer(call(), None)).error is None
    outbound.update(policy=DEFAULT.denying(["*"]))
    reply = await outbound.answer(call(), None)
    assert reply.error is not None
    assert reply.error.code == "not_allowed"


async def test_the_runs_whole_answer_is_scrubbed() -> None:
    outbound = outbound_of(run_of(http_tool()), FakeSender(slowly))
    await outbound.answer(call(), None)
    result = outbound.scrubbed(
        RunResult(
            run_id="r",
            status="failed",
            value={SECRET: [SECRET]},
            error=ScriptError(code="exception", message=f"Error: {SECRET}", hint=SECRET),
            logs=(LogLine(stream="stdout", text=SECRET[::-1]),),
            files=(FileData(path=f"{SECRET}.txt", data=SECRET.encode("utf-16")),),
            notes=(SECRET,),
        )
    )
    text = str(result)
    assert SECRET not in text
    assert SECRET[::-1] not in text
    assert SECRET.encode("utf-16-le") not in result.files[0].data


@pytest.mark.case("attack:49")
async def test_a_large_answer_is_read_and_scrubbed_off_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[bool] = []
    real = Scrubber.value

    def value(self: Scrubber, value: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return real(self, value)

    monkeypatch.setattr(Scrubber, "value", value)
    for effect in ("read", "write"):
        for size, is_here in ((10, True), (100_000, False)):
            text = "x" * size + SECRET
            body = json_response(json.dumps({"id": text}))
            run = run_of(http_tool("do", effect=effect), policy=OPEN)
            outbound = outbound_of(run, FakeSender(lambda _, body=body: body))
            threads.clear()
            reply = await outbound.answer(call("shop.do"), None)
            assert reply.value == {"id": "x" * size + "[secret removed]"}
            assert threads == [is_here]
            assert [record.state for record in outbound.records] == ["applied"]
            threads.clear()
            result = RunResult(run_id="x", status="succeeded", value=text)
            assert SECRET not in (await outbound.finished(result)).value
            assert threads == [False]


async def test_a_run_that_ends_while_an_answer_is_scrubbed_still_records_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scrubbing, go = threading.Event(), threading.Event()

    def value(self: Scrubber, value: Any) -> Any:
        scrubbing.set()
        assert go.wait(20)
        return value

    monkeypatch.setattr(Scrubber, "value", value)
    body = json_response(json.dumps({"id": "x" * 100_000}))
    outbound = outbound_of(run_of(http_tool()), FakeSender(lambda _: body))
    answer = asyncio.ensure_future(outbound.answer(call(), None))
    await asyncio.to_thread(scrubbing.wait, 20)
    asyncio.get_running_loop().call_later(0.6, go.set)
    await outbound.drain(0.3)
    assert (await answer).error is None
    assert [record.state for record in outbound.records] == ["applied"]
