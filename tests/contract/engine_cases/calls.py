# ruff: noqa: E501  scripts are kept as a model writes them
"""Section T: calls, and what happens when they are not awaited, raced or refused."""

from codemode.core.run import Limits

from . import Case, failed, py, ts

FULL = frozenset({"full_python"})
FEW = Limits(wall_s=20.0, cpu_s=10.0, max_in_flight=3)


def ten_at_once(_, desk) -> None:
    assert desk.most_at_once == 10, desk.most_at_once


def three_at_once(_, desk) -> None:
    assert desk.most_at_once == 3, desk.most_at_once
    assert len(desk.calls) == 10


def only(*tools: str):
    def check(_, desk) -> None:
        assert sorted(call.tool for call in desk.calls) == sorted(tools), desk.calls

    return check


def all_done(outcome, desk) -> None:
    assert [call.tool for call in desk.calls].count("desk.echo") == 2
    assert desk.cancelled == 0
    assert outcome.truncated == ()


def losers_listed(outcome, desk) -> None:
    assert any("still running" in cut and "desk.slow" in cut for cut in outcome.truncated)
    assert desk.cancelled == 1


def bad_arguments(*message: str) -> dict:
    return failed("bad_arguments", *message, also=only())


CASES = [
    Case(
        name="call_and_answer",
        ids=("T5",),
        typescript=ts(
            'return await desk.echo({ a: [1, null, "é"], big: 2n ** 64n, skip: undefined });'
        ),
        python=py('return await desk.echo(a=[1, None, "é"], big=2 ** 64)'),
        value={"a": [1, None, "é"], "big": 2**64},
    ),
    Case(
        # What an upstream did not answer in time is the script's failure, not the run's deadline.
        name="a_call_that_timed_out_is_no_timeout_of_the_run",
        ids=("T15",),
        typescript=ts("return await desk.late({});"),
        python=py("return await desk.late()"),
        **failed("timeout", "No answer within 30 s."),
    ),
    Case(
        name="null_is_sent",
        ids=("P7",),
        typescript=ts("return await desk.echo({ a: null });"),
        python=py("return await desk.echo(a=None)"),
        value={"a": None},
    ),
    Case(
        name="exact_numbers_in_answers",
        ids=("attack:47",),
        typescript=ts("const { n, f } = await desk.numbers({}); return [typeof n, n + 1n, f];"),
        python=py("r = await desk.numbers()\nreturn ['bigint', r['n'] + 1, r['f']]"),
        value=["bigint", 2**53 + 2, 0.1],
    ),
    Case(
        name="never_awaited",
        ids=("T1",),
        typescript=ts("desk.echo({}); desk.echo({}); return 1;"),
        python=py("desk.echo()\ndesk.echo()\nreturn 1"),
        **failed("not_awaited", "desk.echo (2 times)", hint=("await",), also=only()),
    ),
    Case(
        name="returned_but_not_awaited",
        ids=("T1",),
        typescript=ts("return { a: desk.echo({}) };"),
        python=py('return {"a": desk.echo()}'),
        **failed("not_awaited", "desk.echo", also=only()),
    ),
    Case(
        name="awaited_later_starts_later",
        ids=("T1",),
        typescript=ts(
            "const a = desk.echo({ n: 1 }); const b = await desk.echo({ n: 2 }); return [b.n, (await a).n];"
        ),
        python=py("a = desk.echo(n=1)\nb = await desk.echo(n=2)\nreturn [b['n'], (await a)['n']]"),
        value=[2, 1],
        also=lambda _, desk: [c.args["n"] for c in desk.calls] == [2, 1] or _fail(desk.calls),
    ),
    Case(
        name="forgotten_in_flight",
        ids=("T1",),
        typescript=ts(
            "[1, 2].forEach(async (n) => { await desk.slow({ s: 0.05, n }); await desk.echo({ n }); });\n"
            "return 1;"
        ),
        python=py(
            "async def one(n):\n    await desk.slow(s=0.05, n=n)\n    await desk.echo(n=n)\n"
            "tasks = [asyncio.create_task(one(n)) for n in (1, 2)]\nreturn 1"
        ),
        python_needs=FULL,
        value=1,
        also=all_done,
    ),
    Case(
        name="forgotten_in_flight_and_failed",
        ids=("T1", "R13"),
        typescript=ts("[1].forEach(async () => { await desk.fail({}); }); return 1;"),
        python=py("task = asyncio.create_task(desk.fail())\nreturn 1"),
        python_needs=FULL,
        **failed("not_found", "There is no such thing."),
    ),
    Case(
        name="forgotten_beside_one_never_started",
        ids=("T1",),
        typescript=ts("desk.slow({ s: 0.05 }).then(() => 1); desk.echo({}); return 1;"),
        python=py("task = asyncio.create_task(desk.slow(s=0.05))\ndesk.echo()\nreturn 1"),
        python_needs=FULL,
        **failed("not_awaited", "desk.echo", also=only("desk.slow")),
    ),
    Case(
        name="gathered_and_forgotten",
        ids=("T1", "T3"),
        typescript=ts(
            "Promise.all([desk.slow({ s: 0.05 }), desk.echo({ n: 1 }), desk.echo({ n: 2 })]); return 1;"
        ),
        python=py("asyncio.gather(desk.slow(s=0.05), desk.echo(n=1), desk.echo(n=2))\nreturn 1"),
        python_needs=FULL,
        value=1,
        also=all_done,
    ),
    Case(
        name="given_up_in_time_is_not_waited_for",
        ids=("T3",),
        python=py(
            "try:\n    await asyncio.wait_for(desk.slow(s=30), 0.05)\n"
            "except TimeoutError:\n    return (await desk.echo(n=1))['n']"
        ),
        python_needs=FULL,
        value=1,
    ),
    Case(
        name="types_of_tools_in_annotations",
        ids=("P11",),
        typescript=(
            'import { desk } from "tools"; import type { desk as types, ToolError } from "tools";\n'
            "function first(rows: desk.Row[], none?: types.Row | ToolError): desk.Row { return rows[0]; }\n"
            "export default async () => { const rows: desk.Row[] = [await desk.echo({ n: 1 })]; return first(rows); };"
        ),
        python=py(
            "import tools\n"
            "def first(rows: list[desk.Row], none: tools.desk.Row | None = None) -> desk.Row:\n    return rows[0]\n"
            "rows: list[desk.Row] = []\nrows.append(await desk.echo(n=1))\nlast: dict[\n    str, desk.Row\n] = {}\n"
            "return first(rows)"
        ),
        value={"n": 1},
    ),
    Case(
        name="error_in_a_timer",
        ids=("R13",),
        typescript=ts(
            'setTimeout(() => { throw new Error("late"); }, 0);\n'
            "await new Promise((done) => setTimeout(done, 50)); return 1;"
        ),
        **failed("exception", "late"),
    ),
    Case(
        name="race",
        ids=("T3",),
        typescript=ts("return await Promise.race([desk.slow({ s: 30 }), desk.echo({ n: 1 })]);"),
        python=py(
            "tasks = [asyncio.ensure_future(c) for c in (desk.slow(s=30), desk.echo(n=1))]\n"
            "done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)\n"
            "return done.pop().result()"
        ),
        python_needs=FULL,
        value={"n": 1},
        also=losers_listed,
    ),
    Case(
        name="ten_at_once",
        ids=("T5",),
        typescript=ts(
            "const all = await Promise.all(Array.from({ length: 10 }, (_, n) => desk.meet({ n })));\n"
            "return all.map((one: any) => one.n);"
        ),
        python=py(
            "all = await asyncio.gather(*[desk.meet(n=n) for n in range(10)])\nreturn [one['n'] for one in all]"
        ),
        value=list(range(10)),
        also=ten_at_once,
    ),
    Case(
        name="at_most_three_in_flight",
        ids=("T5", "attack:49"),
        typescript=ts(
            "const all = await Promise.all(Array.from({ length: 10 }, (_, n) => desk.slow({ s: 0.02, n })));\n"
            "return all.map((one: any) => one.n);"
        ),
        python=py(
            "all = await asyncio.gather(*[desk.slow(s=0.02, n=n) for n in range(10)])\n"
            "return [one['n'] for one in all]"
        ),
        limits=FEW,
        value=list(range(10)),
        also=three_at_once,
    ),
    Case(
        name="budget_in_one_gather",
        ids=("T7", "E14"),
        typescript=ts(
            "const all = await Promise.allSettled(Array.from({ length: 5 }, (_, n) => desk.rationed({ n })));\n"
            'return [all.filter((one) => one.status === "fulfilled").length, (all[4] as any).reason?.code ?? "none"];'
        ),
        python=py(
            "async def one(n):\n    try:\n        await desk.rationed(n=n)\n        return 'ok'\n"
            "    except ToolError as e:\n        return e.code\n"
            "all = await asyncio.gather(*[one(n) for n in range(5)])\n"
            "return [len([a for a in all if a == 'ok']), all[4]]"
        ),
        value=[4, "too_many_calls"],
    ),
    Case(
        name="failures_count",
        ids=("T21",),
        typescript=ts(
            "const codes: string[] = [];\n"
            "for (let i = 0; i < 6; i++) { try { await desk.flaky({}); } catch (e) { codes.push((e as any).code); } }\n"
            "return codes;"
        ),
        python=py(
            "codes = []\nfor i in range(6):\n    try:\n        await desk.flaky()\n"
            "    except ToolError as e:\n        codes.append(e.code)\nreturn codes"
        ),
        value=["upstream_error"] * 4 + ["too_many_calls"] * 2,
    ),
    Case(
        name="revoked_in_mid_run",
        ids=("T19",),
        typescript=ts("await desk.once({}); await desk.once({});"),
        python=py("await desk.once()\nawait desk.once()"),
        **failed("not_allowed", "no longer"),
    ),
    Case(
        name="no_argument_and_undefined",
        ids=("T9",),
        typescript=ts("return [await (desk as any).echo(), await (desk as any).echo(undefined)];"),
        python=py("return [await desk.echo(), await desk.echo(**{})]"),
        value=[{}, {}],
    ),
    Case(
        name="null_argument",
        ids=("T9",),
        typescript=ts("await (desk as any).echo(null);"),
        **bad_arguments("desk.echo", "not null"),
    ),
    Case(
        name="positional",
        ids=("T9",),
        typescript=ts('await (desk as any).echo("a", 1);'),
        python=py('await desk.echo("a", 1)'),
        **bad_arguments("desk.echo", "named arguments"),
    ),
    Case(
        name="array_argument",
        ids=("T9",),
        typescript=ts("await (desk as any).echo([1]);"),
        **bad_arguments("an array"),
    ),
    Case(
        name="argument_without_json_form",
        ids=("T9", "R3"),
        typescript=ts("await desk.echo({ a: { b: NaN } });"),
        python=py('await desk.echo(a={"b": float("nan")})'),
        **bad_arguments("desk.echo.a.b", "NaN"),
    ),
    Case(
        name="circular_argument",
        ids=("T9", "R5"),
        typescript=ts("const a: any = []; a.push(a); await desk.echo({ a });"),
        python=py("a = []\na.append(a)\nawait desk.echo(a=a)"),
        **bad_arguments("desk.echo.a", "circular"),
    ),
    Case(
        name="tools_as_a_function",
        ids=("T11", "P11"),
        typescript=ts("(globalThis as any).tools();"),
        python="import tools\ntools()",
        **failed("unknown_tool", hint=("search",)),
    ),
    Case(
        name="tools_by_index",
        ids=("P11",),
        python='import tools\nawait tools["desk"].echo()',
        **failed("unknown_tool"),
    ),
    Case(
        name="tools_path",
        ids=("T11",),
        typescript=ts("(globalThis as any).tools.a.b.c.d();"),
        python="import tools\ntools.a.b.c.d()",
        **failed("unknown_tool", "tools.a", hint=("search",)),
    ),
    Case(
        name="tools_keys",
        ids=("T11",),
        typescript=ts("return Object.keys((globalThis as any).tools);"),
        **failed("unknown_tool", hint=("search",)),
    ),
    Case(
        name="tools_for_in",
        ids=("T11",),
        typescript=ts("for (const k in (globalThis as any).tools) console.log(k);"),
        **failed("unknown_tool", hint=("search",)),
    ),
    Case(
        name="imports_of_python",
        ids=("P11",),
        python=(
            "import tools\nimport tools as t\nfrom tools.desk import echo\nfrom tools import (\n"
            "    desk as d,\n    ToolError,\n)\n"
            "return [(await f(n=1))['n'] for f in (tools.desk.echo, t.desk.echo, echo, d.echo)]"
        ),
        value=[1, 1, 1, 1],
    ),
    Case(
        name="names_of_the_prototype",
        ids=("N5",),
        typescript=ts("return await (desk as any).hasOwnProperty({});"),
        **failed("unknown_tool", "desk.hasOwnProperty"),
    ),
    Case(
        name="tool_called_then",
        ids=("N5",),
        typescript=(
            'import { odd } from "tools"; export default async () => [await odd.constructor({ n: 1 }),'
            " await odd.toString({ n: 2 })];"
        ),
        value=[{"n": 1}, {"n": 2}],
    ),
    Case(
        name="search_and_describe",
        ids=("D5",),
        typescript=ts(
            'return [await search("mail", { limit: 2 }), await search({ query: "mail" }), await describe("desk.echo")];'
        ),
        python=py(
            'return [await search("mail", limit=2), await search(query="mail"), await describe("desk.echo")]'
        ),
        value=[{"query": "mail", "limit": 2}, {"query": "mail"}, {"names": ["desk.echo"]}],
    ),
    Case(
        name="renamed_argument",
        ids=("S41",),
        python=py("return await desk.echo(class_=1, other=2)"),
        value={"class": 1, "other": 2},
    ),
    Case(
        name="host_fault_is_opaque",
        ids=("attack:21",),
        typescript=ts("await desk.broken({});"),
        python=py("await desk.broken()"),
        **failed(
            "internal",
            "fault",
            also=lambda o, _: "hunter2" not in repr(o) or _fail(o.error),
        ),
    ),
]


def _fail(value: object) -> None:
    raise AssertionError(repr(value))
