# ruff: noqa: E501  scripts are kept as a model writes them
"""Section R: what a script returns, and what JSON cannot say."""

from codemode.core.run import Limits

from . import ROOM, Case, failed, py, ts

EMOJI = "😀" * 10  # 40 bytes, 42 as JSON
FITS = Limits(wall_s=20.0, cpu_s=10.0, max_result_bytes=42)
TOO_SMALL = Limits(wall_s=20.0, cpu_s=10.0, max_result_bytes=41)


def bad(*message: str) -> dict:
    return failed("bad_result", *message)


CASES = [
    Case(name="nothing", ids=("R1",), typescript=ts("return undefined;"), python=py("x = 1")),
    Case(
        name="null",
        ids=("R1",),
        typescript=ts("return null;"),
        python=py("return None"),
        value=None,
    ),
    Case(name="assignment_last", ids=("R29",), python=py("x = 5"), typescript=ts("const x = 5;")),
    Case(
        name="plain",
        ids=("R1",),
        typescript=ts('return { a: [1, 2.5, "x", true, null], "b c": {} };'),
        python=py('return {"a": [1, 2.5, "x", True, None], "b c": {}}'),
        value={"a": [1, 2.5, "x", True, None], "b c": {}},
    ),
    Case(
        name="nan",
        ids=("R3",),
        typescript=ts("return { a: [1, NaN] };"),
        python=py('return {"a": [1, float("nan")]}'),
        **bad("result.a[1]", "NaN"),
    ),
    Case(
        name="infinity",
        ids=("R3",),
        typescript=ts("return -Infinity;"),
        python=py('return float("-inf")'),
        **bad("result is -Infinity"),
    ),
    Case(
        name="minus_zero",
        ids=("R3",),
        typescript=ts("return [-0];"),
        python=py("return [-0.0]"),
        value=[0],
        also=lambda outcome, _: str(outcome.value) in ("[0]", "[0.0]") or _fail(outcome.value),
    ),
    Case(
        name="circular",
        ids=("R5",),
        typescript=ts('const a: any = { b: [] }; a.b.push(a); console.log("kept"); return a;'),
        python=py('a = {"b": []}\na["b"].append(a)\nprint("kept")\nreturn a'),
        logs=(("stdout", "kept"),),
        **bad("result.b[0]", "circular"),
    ),
    Case(
        name="shared",
        ids=("R7",),
        typescript=ts("const a = { n: 1 }; return [a, a, { a }];"),
        python=py('a = {"n": 1}\nreturn [a, a, {"a": a}]'),
        value=[{"n": 1}, {"n": 1}, {"a": {"n": 1}}],
    ),
    Case(
        name="deep",
        ids=("R5",),
        typescript=ts("let a: any = []; for (let i = 0; i < 500; i++) a = [a]; return a;"),
        python=py("a = []\nfor i in range(500):\n    a = [a]\nreturn a"),
        **bad("nested more than 100 deep"),
    ),
    Case(
        name="blob",
        ids=("R9",),
        typescript=ts('return { file: new Blob(["x"]) };'),
        **bad("result.file", "Blob"),
    ),
    Case(
        name="file",
        ids=("R9",),
        typescript=ts('return [new File(["x"], "a.txt", { lastModified: 1 })];'),
        **bad("result[0]", "File"),
    ),
    Case(
        name="dates_maps_sets",
        ids=("R9",),
        typescript=ts(
            'return { d: new Date(0), m: new Map<string, any>([["a", new Set([1, 2])]]), b: new Uint8Array([1, 2]) };'
        ),
        value={"d": "1970-01-01T00:00:00.000Z", "m": {"a": [1, 2]}, "b": "AQI="},
    ),
    Case(
        name="map_with_odd_keys",
        ids=("R9",),
        typescript=ts("return new Map([[1, 2]]);"),
        python=py("return {1: 2}"),
        **bad("result", "key", "not text"),
    ),
    Case(
        name="class_instance",
        ids=("R9",),
        typescript=ts("class Point { x = 1 } return { p: new Point() };"),
        python=py('class Point:\n    pass\nreturn {"p": Point()}'),
        **bad("result.p", "Point"),
    ),
    Case(
        name="function",
        ids=("R9",),
        typescript=ts("return { f: () => 1 };"),
        python=py('return {"f": lambda: 1}'),
        **bad("result.f", "function"),
    ),
    Case(
        name="python_values",
        ids=("R31", "R9"),
        python=py(
            "import datetime, decimal\n"
            "return [decimal.Decimal('1.50'), datetime.datetime(2020, 1, 2, 3, 4, 5),"
            " datetime.date(2020, 1, 2), b'\\x01\\x02', {3, 1, 2}, (1, 2), frozenset([1])]"
        ),
        value=["1.50", "2020-01-02T03:04:05", "2020-01-02", "AQI=", [1, 2, 3], [1, 2], [1]],
    ),
    Case(
        name="uuid",
        ids=("R31",),
        python=py("import uuid\nreturn uuid.UUID(int=1)"),
        python_needs=frozenset({"full_python"}),
        value="00000000-0000-0000-0000-000000000001",
    ),
    Case(
        name="dataclass",
        ids=("R31",),
        python=py(
            "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\nreturn [P(1)]"
        ),
        value=[{"x": 1}],
    ),
    Case(
        name="exact_integers",
        ids=("attack:47",),
        typescript=ts("return [2n ** 70n, 9007199254740993n, input];"),
        python=py("return [2 ** 70, 9007199254740993, input]"),
        input=2**64 + 1,
        value=[2**70, 2**53 + 1, 2**64 + 1],
    ),
    Case(
        name="integer_too_long_to_read",
        ids=("attack:47",),
        typescript=ts("return { n: 10n ** 5000n };"),
        python=py('return {"n": 10**5000}'),
        **bad("result.n", "1000 digits"),
    ),
    Case(
        name="odd_keys_stay",
        ids=("attack:47", "N5"),
        typescript=ts('return JSON.parse(\'{"__proto__": {"a": 1}, "constructor": 2}\');'),
        python=py('return {"__proto__": {"a": 1}, "constructor": 2}'),
        value={"__proto__": {"a": 1}, "constructor": 2},
    ),
    Case(
        name="half_a_surrogate_pair",
        ids=("attack:47",),
        typescript=ts('return { a: "\\ud800" };'),
        python=py('return {"a": chr(0xD800)}'),
        python_needs=frozenset({"full_python"}),
        **bad("result.a", "surrogate"),
    ),
    Case(
        name="bytes_that_fit",
        ids=("R11",),
        typescript=ts(f'return "{EMOJI}";'),
        python=py(f'return "{EMOJI}"'),
        limits=FITS,
        value=EMOJI,
    ),
    Case(
        name="one_byte_too_many",
        ids=("R11",),
        typescript=ts(f'return "{EMOJI}";'),
        python=py(f'return "{EMOJI}"'),
        limits=TOO_SMALL,
        **failed("result_too_large", "42 bytes", "41"),
    ),
    Case(
        name="input",
        ids=("T17",),
        typescript=ts("return input.items.length;"),
        python=py('return len(input["items"])'),
        input={"items": [1, 2, 3]},
        limits=ROOM,
        value=3,
    ),
]


def _fail(value: object) -> None:
    raise AssertionError(repr(value))
