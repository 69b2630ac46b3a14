"""Logs, calls in flight and values: the parts that engines of this process share."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.core.run import Reply, ToolCall
from codemode.sandbox._calls import MAX_LINES, Calls, Logs
from codemode.sandbox._values import BadValue, to_json

SECRET = "hunter2"  # a name, because a log may quote the line that raises
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False).filter(bool)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(JSON)
def test_json_is_itself(value: object) -> None:
    assert to_json(value, "result") == value


@given(JSON, st.lists(st.sampled_from(["key", "two words", 0]), max_size=5))
def test_the_path_leads_to_what_is_wrong(value: object, steps: list[str | int]) -> None:
    wrong: object = math.nan
    path = ""
    for step in reversed(steps):
        if isinstance(step, int):
            wrong, path = [wrong, value], f"[0]{path}"
        else:
            name = f".{step}" if step.isidentifier() else f"[{step!r}]"
            wrong, path = {"before": value, step: wrong}, f"{name}{path}"

    with pytest.raises(BadValue) as bad:
        to_json(wrong, "result")

    assert str(bad.value) == f"result{path} is NaN, which JSON cannot say."


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, 2), [1, 2]),
        ({"b", "a"}, ["a", "b"]),
        (decimal.Decimal("1.10"), "1.10"),
        (datetime.time(1, 2), "01:02:00"),
        (b"\xff", "/w=="),
        (-0.0, 0),
    ],
)
@pytest.mark.case("R31", "R3")
def test_other_values_have_one_form(value: object, expected: object) -> None:
    assert json.dumps(to_json(value, "result")) == json.dumps(expected)


def test_a_list_too_deep_is_refused_before_the_stack_ends() -> None:
    deep: list[object] = []
    for _ in range(50_000):
        deep = [deep]

    with pytest.raises(BadValue, match="nested more than 100 deep"):
        to_json(deep, "result")


@given(st.lists(st.text(), max_size=8), st.integers(0, 40))
@pytest.mark.case("R11")
def test_logs_never_keep_more_bytes_than_they_may(texts: list[str], most: int) -> None:
    logs = Logs(most)
    for text in texts:
        logs.line("stdout", text)

    kept = [line.text for line in logs.close()]

    assert len("\n".join(kept).encode()) <= most  # a line costs its newline too
    assert "\n".join(texts).encode("utf-8", "replace").startswith("\n".join(kept).encode())
    whole = len("\n".join(texts).encode("utf-8", "replace")) <= most
    assert whole == (logs.truncated == ())


@pytest.mark.parametrize("how", ["line", "write"])
@pytest.mark.case("R11")
def test_empty_lines_are_not_free(how: str) -> None:
    few, many = Logs(100), Logs(10**9)
    for _ in range(MAX_LINES + 500):
        for logs in (few, many):
            logs.line("stdout", "") if how == "line" else logs.write("stdout", "\n")

    assert len(few.close()) <= 101
    assert len(many.close()) == MAX_LINES
    assert many.truncated == ("logs: 500 bytes dropped",)


@given(st.lists(st.text(alphabet="ab\n", max_size=9), max_size=9))
def test_printed_text_becomes_the_same_lines_however_it_is_cut(parts: list[str]) -> None:
    logs, at_once = Logs(10_000), Logs(10_000)
    for part in parts:
        logs.write("stdout", part)
    at_once.write("stdout", "".join(parts))

    assert logs.close() == at_once.close()


async def test_closing_cancels_calls_and_waits_for_what_they_record() -> None:
    recorded: list[str] = []

    async def answer(call: ToolCall, workspace: object) -> Reply:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
            recorded.append(call.tool)
            raise
        return Reply()

    delivered: list[Reply] = []
    calls = Calls(answer, max_in_flight=4)

    async def deliver(reply: Reply) -> None:
        delivered.append(reply)

    await calls.start(ToolCall(id=1, tool="a.b", args={}), deliver)
    asked = asyncio.create_task(calls.ask(ToolCall(id=2, tool="a.c", args={})))
    await asyncio.sleep(0.01)

    await calls.close()

    assert sorted(recorded) == ["a.b", "a.c"]
    assert delivered == []
    with pytest.raises(asyncio.CancelledError):
        await asked


@pytest.mark.case("attack:49")
async def test_a_reply_that_nobody_reads_keeps_its_slot() -> None:
    asked: list[int] = []
    read = asyncio.Event()

    async def answer(call: ToolCall, workspace: object) -> Reply:
        asked.append(call.id)
        return Reply()

    async def deliver(reply: Reply) -> None:
        await read.wait()

    calls = Calls(answer, max_in_flight=2)

    async def ask_all() -> None:
        for n in range(5):
            await calls.start(ToolCall(id=n, tool="a.b", args={}), deliver)

    asking = asyncio.create_task(ask_all())
    for _ in range(20):
        await asyncio.sleep(0)
    assert asked == [0, 1]
    read.set()
    await asking
    for _ in range(20):
        await asyncio.sleep(0)
    assert asked == [0, 1, 2, 3, 4]
    await calls.close()


@pytest.mark.case("attack:21")
async def test_a_fault_of_the_host_is_an_id_and_nothing_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def answer(call: ToolCall, workspace: object) -> Reply:
        raise RuntimeError(SECRET)

    reply = await Calls(answer, max_in_flight=1).ask(ToolCall(id=1, tool="a.b", args={}))

    assert reply.error is not None
    assert reply.error.code == "internal"
    assert "hunter2" not in repr(reply) + caplog.text
    assert "RuntimeError" in caplog.text
    assert reply.error.message.split("fault ")[1].split(")")[0] in caplog.text
