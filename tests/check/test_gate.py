"""The gate cannot be steered by the script it checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from codemode.core.gate import neutralised, refusals
from codemode.core.preview import find_uses
from codemode.core.run import Diagnostic, Language

from .world import Check, made, names_of

asyncio_session = pytest.mark.asyncio(loop_scope="session")

WRONG_TS = "const x: string = 1;"
WRONG_PY = "x: str = 1"

SUPPRESSED: dict[Language, list[str]] = {
    "typescript": [
        f"// @ts-nocheck\n{WRONG_TS}\nreturn x",
        f"/* @ts-nocheck */\n{WRONG_TS}\nreturn x",
        f"// @ts-ignore\n{WRONG_TS}\nreturn x",
        f"//@ts-ignore because\n{WRONG_TS}\nreturn x",
        f"///  @ts-ignore\n{WRONG_TS}\nreturn x",
        f"/* @ts-ignore */\n{WRONG_TS}\nreturn x",
        f"/** @ts-ignore\n */\n{WRONG_TS}\nreturn x",
        f"/*\n * @ts-ignore */ {WRONG_TS}\nreturn x",
        f"// @ts-expect-error\n{WRONG_TS}\nreturn x",
        f"// @TS-IGNORE\n{WRONG_TS}\nreturn x",
        f"//\t@ts-ignore\t\n{WRONG_TS}\nreturn x",
        f"//\u00a0@ts-ignore\n{WRONG_TS}\nreturn x",
        f"// @ts-ignore\r\n{WRONG_TS}\r\nreturn x",
        f"// @ts-ignore\r{WRONG_TS}\rreturn x",
        f"return 1;\n// @ts-ignore\n{WRONG_TS}",
        f"const t = `${{1 /* @ts-ignore */}}`;\n{WRONG_TS}\nreturn x + t",
        f"<!-- @ts-ignore\n{WRONG_TS}\nreturn x",
        f"```ts\n// @ts-ignore\n{WRONG_TS}\nx\n```",
        f'// @ts-ignore\nimport {{ pdf }} from "tools";\n{WRONG_TS}\nreturn x',
    ],
    "python": [
        f"{WRONG_PY}  # type: ignore\nreturn x",
        f"{WRONG_PY}  # type:ignore\nreturn x",
        f"{WRONG_PY}  #type: ignore[assignment]\nreturn x",
        f"{WRONG_PY}  # noqa # type: ignore\nreturn x",
        f"{WRONG_PY}  # ty: ignore\nreturn x",
        f"{WRONG_PY}  # ty:ignore[invalid-assignment]\nreturn x",
        f"{WRONG_PY}  # pyright: ignore\nreturn x",
        f"# type: ignore\n{WRONG_PY}\nreturn x",
        f"# ty: ignore\n{WRONG_PY}\nreturn x",
        f"# pyright: basic\n{WRONG_PY}\nreturn x",
        f"# mypy: ignore-errors\n{WRONG_PY}\nreturn x",
        "x: str = (  # ty: ignore\n    1\n)  # ty: ignore\nreturn x",
        f'"""doc"""  # type: ignore\n{WRONG_PY}\nreturn x',
        f"#\ttype:\tignore\n{WRONG_PY}  #\tty:\tignore\nreturn x",
        f"{WRONG_PY}  # TYPE: IGNORE\nreturn x",
        f"{WRONG_PY}  # type: ignore\r\nreturn x\r\n",
    ],
}


@asyncio_session
@pytest.mark.parametrize(
    ("language", "text"),
    [(language, text) for language, texts in SUPPRESSED.items() for text in texts],
)
async def test_no_comment_switches_the_check_off(language: Language, text: str, check: Check):
    report = await check(text, language)

    assert not report.is_clean
    assert any(
        one.code in ("TS2322", "invalid-assignment", "syntax", "TS1109")
        for one in report.diagnostics
    )


def test_a_checker_sees_no_comment_and_nothing_moves():
    text = "const a = '// kept'; // gone é\n/* gone\n gone */ const b = `/* kept */`;\nreturn a + b"
    script = made(text, "typescript")
    seen = neutralised(script)

    assert len(seen) == len(script.runnable)
    assert seen.count("gone") == 0
    assert seen.count("kept") == 2
    assert [len(line) for line in seen.split("\n")] == [
        len(line) for line in script.runnable.split("\n")
    ]


def test_what_looks_like_an_order_inside_text_is_defaced_for_the_checker_only():
    script = made("const a = '@ts-ignore';\nreturn a", "typescript")

    assert "@ts-ignore" in script.runnable
    assert "@ts-ignore" not in neutralised(script)


def refused(text: str, language: Language, engine: str = "container") -> list[Diagnostic]:
    script = made(text, language)
    names = names_of(language)
    found = refusals(script, names, find_uses(script, names), engine)
    return [*script.problems, *found]


@pytest.mark.case("C23")
@pytest.mark.parametrize(
    "text",
    [
        'import fs from "fs";\n1',
        'import fs from "node:fs";\n1',
        'import "left-pad";\n1',
        'import x from "./y";\nx',
        'import x from "../y.json" with { type: "json" };\nx',
        'import type x from "./y.json";\n1',
        'import type { A } from "/etc/passwd";\n1',
        'import x from "https://example.org/x.ts";\nx',
        'import x from "npm:left-pad";\nx',
        'import x from "data:text/javascript,1";\nx',
        'import { pdf } from "tools/pdf";\npdf',
        'import { pdf } from "./stubs/tools.d.ts";\npdf',
        'import fs = require("fs");\n1',
        'export * from "./y";\n1',
        'export { a } from "y";\n1',
        'await import("./y.json")',
        'await import("tools")',
        "const n = 'fs';\nawait import(n)",
        "const a: import('./y.json') = 1;\na",
        "let a: typeof import('./y.json');\na",
        "type A = keyof typeof import('/etc/x.json');\n1",
        'require("fs")',
        "const r = require;\nr.resolve; require.resolve('x')",
        '/// <reference path="./y.ts" />\n1',
        '///<reference types="node" />\n1',
        '/// <Reference lib="dom" />\n1',
        '/// <amd-dependency path="x" />\n1',
        'declare module "tools" { export const x: any }\n1',
        "declare global { var x: any }\n1",
    ],
)
def test_typescript_imports_nothing_but_tools(text: str):
    found = refused(text, "typescript")

    assert any(one.code in ("no-module", "no-path", "no-declare") for one in found)
    assert any("tools" in one.message or "declare" in one.message for one in found)
    assert all(one.line >= 1 and one.column >= 1 for one in found)


@pytest.mark.case("C23", "P11")
@pytest.mark.parametrize("engine", ["container", "isolate"])
@pytest.mark.parametrize(
    "text",
    [
        "import requests\n1",
        "import requests as json\n1",
        "import json, yaml\n1",
        "from pandas import DataFrame\n1",
        "from . import x\n1",
        "from .x import y\n1",
        "from .. import z\n1",
        "from tools import *\n1",
        "from tools.pdf import *\n1",
        "def f():\n    import numpy\nf()",
        "import codemode\n1",
        "import tkinter\n1",
        "from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    x: str = 1\n1",
        "import typing\nif not typing.TYPE_CHECKING:\n    x: str = 1\n1",
        "from typing import no_type_check\n@no_type_check\ndef f():\n    x: str = 1\nf()",
    ],
)
def test_python_imports_tools_and_what_the_engine_has(text: str, engine: str):
    found = refused(text, "python", engine)

    assert any(one.code in ("no-module", "no-steering") for one in found)


@asyncio_session
async def test_json_of_the_host_is_never_read(check: Check, tmp_path: Path):
    """tsc prints the keys of a JSON file it was made to import."""
    secret = tmp_path / "config.json"
    secret.write_text(json.dumps({"hunter2": 1}))
    for text in (
        f'import c from "{secret}";\nreturn c.x',
        f'const c: typeof import("{secret}") = 1;\nreturn c.x',
        f'const c = await import("{secret}");\nreturn c.x',
        f'/// <reference path="{secret}" />\nreturn 1',
        # broken on purpose: the gate cannot read it, the compiler may
        f'import c from "{secret}"; c.x; const = ;',
        f'import c from "{secret}";\nreturn c.x }} {{',
    ):
        report = await check(text, "typescript")

        assert not report.is_clean
        assert "hunter2" not in str(report)


@asyncio_session
async def test_python_of_the_host_is_not_seen(check: Check):
    report = await check("import pytest\nreturn pytest.__version__", "python")

    assert [one.code for one in report.diagnostics if one.severity == "error"] == ["no-module"]


@asyncio_session
@pytest.mark.parametrize(
    "text",
    [
        # closing the function that the script is wrapped in
        "return 1;\n};\nimport fs from 'fs';\nexport const a = () => {",
        "}; export const b = async () => {",
        "return 1 }; (() => {",
    ],
)
async def test_a_script_cannot_leave_its_function(text: str, check: Check):
    report = await check(text, "typescript")

    assert not report.is_clean


@asyncio_session
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("typescript", "declare const pdf: any;\nreturn pdf.nothing()"),
        ("typescript", "interface Console { boom(): void }\nconsole.boom();\nreturn 1"),
        ("typescript", "declare function fetch(x: string): any;\nreturn 1"),
        ("python", "import sys\nif sys.version_info < (3, 0):\n    x: str = 1\nreturn 2"),
    ],
)
async def test_declarations_change_no_stub(language: Language, text: str, check: Check):
    """They may be accepted, but then they stand for nothing but themselves."""
    report = await check(text, language)

    assert report.preview.tools == frozenset()


@asyncio_session
async def test_paths_of_this_machine_are_not_answered(check: Check):
    for language, text in (
        ("typescript", "import { pdf } from 'tools';\nconst p: number = pdf;\nreturn p"),
        ("typescript", "const t = { a: 1 } as { a: number; b: string };\nreturn t"),
        ("python", "import nothing_at_all\nreturn 1"),
        ("python", "from tools import pdf\nx: int = pdf\nreturn x"),
    ):
        report = await check(text, language)

        assert "codemode-check-" not in str(report)
        assert "/tmp" not in str(report)
