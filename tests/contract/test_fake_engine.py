"""The fake engine keeps the promises that do not need a sandbox."""

from __future__ import annotations

import asyncio

import pytest

from codemode.core.run import Job, Limits, Outcome
from codemode.sandbox.fake import NOTHING, FakeEngine, FakeSandbox, ToolError
from contract.desk import Desk


async def run(script, **job) -> tuple[Outcome, Desk]:
    desk, engine = Desk(), FakeEngine(script)
    await engine.start()
    settings = {"source": "", "names": {}, "limits": Limits(wall_s=5.0), **job}
    outcome = await engine.run(Job(run_id="r", language="python", **settings), desk)
    assert engine.jobs[0].run_id == "r"
    return outcome, desk


@pytest.mark.case("T5", "R23")
async def test_calls_logs_and_result() -> None:
    async def script(box: FakeSandbox):
        box.print("in", box.input)
        got = await asyncio.gather(*(box.call("desk.meet", n=n) for n in range(10)))
        return [one["n"] for one in got]

    outcome, desk = await run(script, input=3)

    assert outcome.value == list(range(10))
    assert [line.text for line in outcome.logs] == ["in 3"]
    assert desk.most_at_once == 10
    assert outcome.usage.n_calls == 10


@pytest.mark.case("R1")
@pytest.mark.parametrize(("returned", "has_value"), [(NOTHING, False), (None, True), (0, True)])
async def test_nothing_is_not_null(returned, has_value: bool) -> None:
    async def script(box: FakeSandbox):
        return returned

    outcome, _ = await run(script)

    assert (outcome.status, outcome.has_value) == ("succeeded", has_value)


@pytest.mark.case("T1")
async def test_a_call_never_awaited_fails_the_run() -> None:
    async def script(box: FakeSandbox):
        box.call("desk.echo")
        return 1

    outcome, desk = await run(script)

    assert outcome.error is not None
    assert outcome.error.code == "not_awaited"
    assert desk.calls == []


@pytest.mark.case("R17")
async def test_a_tool_error_is_raised_and_fails_the_run_if_nobody_takes_it() -> None:
    async def script(box: FakeSandbox):
        with pytest.raises(ToolError) as caught:
            await box.call("desk.fail")
        assert caught.value.error.status == 404
        await box.call("desk.fail")

    outcome, _ = await run(script)

    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.hint) == ("not_found", "Look elsewhere.")


@pytest.mark.case("R3", "R13")
@pytest.mark.parametrize(
    ("returned", "code"), [({"a": float("nan")}, "bad_result"), (object(), "bad_result")]
)
async def test_a_result_without_json_form(returned, code: str) -> None:
    async def script(box: FakeSandbox):
        return returned

    outcome, _ = await run(script)

    assert outcome.error is not None
    assert outcome.error.code == code
    assert outcome.error.message.startswith("result")


@pytest.mark.case("L1")
async def test_the_wall_deadline_holds() -> None:
    async def script(box: FakeSandbox):
        await box.call("desk.slow", s=60)

    outcome, desk = await run(script, limits=Limits(wall_s=0.1))

    assert outcome.status == "timed_out"
    assert desk.cancelled == 1


@pytest.mark.case("R13")
async def test_what_a_script_raises_is_data() -> None:
    async def script(box: FakeSandbox):
        raise KeyError("gone")

    outcome, _ = await run(script)

    assert outcome.error is not None
    assert outcome.error.message == "KeyError: 'gone'"
