"""The preview is a cap: every way to a tool is listed, or the preview is open."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.core.preview import preview
from codemode.core.run import Language, Preview

from .world import made, names_of


def shown(text: str, language: Language) -> Preview:
    return preview(made(text, language), names_of(language))


FOLLOWED: dict[Language, dict[str, list[str]]] = {
    "typescript": {
        'await pdf.text({ path: "a" })': ["pdf.text"],
        'import { pdf as p } from "tools"; await p.text({})': ["pdf.text"],
        'import * as t from "tools"; await t.pdf.text({})': ["pdf.text"],
        'import t from "tools"; await t.pdf.text({})': ["pdf.text"],
        'await pdf["text"]({})': ["pdf.text"],
        "await pdf?.text?.({})": ["pdf.text"],
        "await pdf!.text!({})": ["pdf.text"],
        "await (pdf as any).text({})": ["pdf.text"],
        "const p = pdf; await p.text({})": ["pdf.text"],
        "let p; p = pdf; await p.text({})": ["pdf.text"],
        "const p = pdf; const q = p; await q.text({})": ["pdf.text"],
        "const { text } = pdf; await text({})": ["pdf.text"],
        "const { text: t } = pdf; await t({})": ["pdf.text"],
        'const { "text": t } = pdf; await t({})': ["pdf.text"],
        "const { merge, ...rest } = pdf; await rest.text({})": ["pdf.text"],
        "const { pdf: { text } } = tools; await text({})": ["pdf.text"],
        "const f = pdf.text; await f({})": ["pdf.text"],
        "await Promise.all(['a'].map(pdf.text))": ["pdf.text"],
        "const o = { run: pdf.text }; await o.run({ path: 'a' })": ["pdf.text"],
        "await pdf.text.call(null, {})": ["pdf.text"],
        "const f = true ? pdf.text : pdf.merge; await f({})": ["pdf.merge", "pdf.text"],
        "await github.reposDelete({}); await mailBox.send({})": [
            "github.repos_delete",
            "mail_box.send",
        ],
        'await search({ query: "x" })': ["codemode.search"],
        "function f(x: typeof pdf.text) {}\nf": [],
        "'pdf.text({})'": [],
        "// pdf.text({})\n1": [],
    },
    "python": {
        'await pdf.text(path="a")': ["pdf.text"],
        "from tools import pdf as p\nawait p.text()": ["pdf.text"],
        "import tools as t\nawait t.pdf.text()": ["pdf.text"],
        "import tools.pdf\nawait tools.pdf.text()": ["pdf.text"],
        "import tools.pdf as p\nawait p.text()": ["pdf.text"],
        "from tools.pdf import text\nawait text()": ["pdf.text"],
        "from tools.pdf import text as t\nawait t()": ["pdf.text"],
        "p = pdf\nawait p.text()": ["pdf.text"],
        "p = pdf\nq = p\nawait q.text()": ["pdf.text"],
        "f = pdf.text\nawait f()": ["pdf.text"],
        "await (f := pdf.text)()": ["pdf.text"],
        'await getattr(pdf, "text")()': ["pdf.text"],
        "def g():\n    p = pdf\n    return p.text()\nawait g()": ["pdf.text"],
        "import asyncio\nawait asyncio.gather(*map(pdf.text, []))": ["pdf.text"],
        "d = {'run': pdf.text}\nawait d['run'](path='a')": ["pdf.text"],
        "f = pdf.text if True else pdf.merge\nawait f()": ["pdf.merge", "pdf.text"],
        "from functools import partial\nawait partial(pdf.text, path='a')()": ["pdf.text"],
        "await github.repos_delete()\nawait mail_box.send()": [
            "github.repos_delete",
            "mail_box.send",
        ],
        'await search(query="x")': ["codemode.search"],
        "'pdf.text()'  # pdf.text()": [],
    },
}

OPEN: dict[Language, list[str]] = {
    "typescript": [
        "const n = 'text'; await pdf[n]({})",
        "const n = 'pdf'; await tools[n].text({})",
        "const { ['te' + 'xt']: t } = pdf; await t({})",
        "Object.values(pdf)",
        "for (const name in pdf) { name }",
        "const all = [pdf, github]; all",
        "const o = { pdf }; o",
        "const o = { p: pdf }; o",
        "const o = { ...pdf }; o",
        "((p) => p.text({}))(pdf)",
        "function f(p = pdf) { return p.text({}); }\nawait f()",
        "const f = () => pdf; f()",
        "class A { p = pdf; }\nnew A().p.text({})",
        "let a; (a = pdf).text({})",
        "const o: any = {}; o.p = pdf; o",
        "const [p] = [pdf]; p",
        "true ? pdf : github",
        "pdf ?? github",
        "eval('1')",
        "new Function('return 1')()",
        "(() => {}).constructor('return 1')()",
        "(() => {})['constructor']('return 1')()",
        "const k: string = 'x'; (globalThis as any)[k]('1')",
        "Reflect.get(pdf, 'text')",
        "with_(pdf); function with_(x: any) {}",
        "`${pdf}`",
        "new Proxy(pdf, {})",
        "const p = await pdf; p.text({})",
        "const p = pdf.valueOf() as any; p.text({})",
        "const [p = pdf] = []; p",
        "const { p = pdf } = {}; p",
    ],
    "python": [
        "n = 'text'\nawait getattr(pdf, n)()",
        "await getattr(pdf, 'text', None)()",
        "tools['pdf']",
        "import tools\nimport json\ngetattr(tools, 'p' + 'df')",
        "[pdf, github]",
        "{'p': pdf}",
        "def f(p):\n    return p.text()\nawait f(pdf)",
        "def f(p=pdf):\n    return p.text()\nawait f()",
        "def f():\n    return pdf\nf()",
        "class A:\n    p = pdf\nawait A.p.text()",
        "a, b = pdf, github\na",
        "a = b = pdf\nawait a.text()",
        "p = pdf if True else github\np",
        "pdf or github",
        "vars(pdf)",
        "globals()['pdf']",
        "eval('1')",
        "exec('1')",
        "__import__('tools')",
        "import importlib\nimportlib.import_module('tools')",
        "import sys\nsys.modules",
        "pdf.__dict__",
        "(lambda: 0).__globals__",
        "().__class__.__base__.__subclasses__()",
        "for p in (pdf,):\n    p",
        "with pdf as p:\n    p",
        "match pdf:\n    case p:\n        p",
        "f'{pdf}'",
        "x.y = pdf\nx",
        "await (p := pdf).text()",
        "pdf.__class__",
        "f = lambda p=pdf: p\nf",
    ],
}


def cases(table: dict[Language, Any]) -> list[Any]:
    return [
        pytest.param(language, text, id=f"{language}-{number}")
        for language, texts in table.items()
        for number, text in enumerate(texts)
    ]


@pytest.mark.parametrize(("language", "text"), cases(FOLLOWED))
def test_what_can_be_followed_is_listed_and_closed(language: Language, text: str):
    found = shown(text, language)

    assert sorted(found.tools) == FOLLOWED[language][text]
    assert found.open_reasons == ()


@pytest.mark.parametrize(("language", "text"), cases(OPEN))
def test_what_cannot_be_followed_is_open_with_the_reason(language: Language, text: str):
    found = shown(text, language)

    assert found.is_open
    assert all(reason.startswith("line ") for reason in found.open_reasons)


def test_tools_are_split_by_effect():
    found = shown("github.reposDelete({}); pdf.text({}); pdf.merge({})", "typescript")

    assert found.by_effect() == {
        "read": ["pdf.text"],
        "write": ["pdf.merge"],
        "destructive": ["github.repos_delete"],
    }


@pytest.mark.parametrize(
    ("language", "text", "args", "complete"),
    [
        ("typescript", 'pdf.text({ path: "a", pages: [1, -2] })', {"path": "a", "pages": [1, -2]},
         True),
        ("typescript", "pdf.text({ path: `a`, pages })", {"path": "a"}, False),
        ("typescript", "pdf.text({ ...rest })", {}, False),
        ("typescript", 'pdf.text({ path: "a\\n\\u00e9\\x41" })', {"path": "a\né\x41"}, True),
        ("typescript", "pdf.text()", {}, True),
        ("typescript", "pdf.text(args)", {}, False),
        ("typescript", "pdf.text({ a: { b: [true, null, 1.5, 0x10, 1_000] } })",
         {"a": {"b": [True, None, 1.5, 16, 1000]}}, True),
        ("python", 'pdf.text(path="a", pages=[1, -2])', {"path": "a", "pages": [1, -2]}, True),
        ("python", "pdf.text(path=p, pages=(1, 2))", {"pages": [1, 2]}, False),
        ("python", "pdf.text(**rest)", {}, False),
        ("python", 'pdf.text(path=f"{x}")', {}, False),
        ("python", 'mail_box.send(sender="a", to=["b"])', {"from": "a", "to": ["b"]}, True),
        ("python", "pdf.text(path={1: 2})", {}, False),
    ],
)  # fmt: skip
def test_literal_arguments_are_read(language: Language, text: str, args: Any, complete: bool):
    (call,) = shown(text, language).calls

    assert (call.args, call.complete) == (args, complete)


def test_places_are_the_submitted_ones():
    (call,) = shown("Well:\n```ts\nconst x = 1;\nawait pdf.text({})\n```", "typescript").calls

    assert (call.line, call.column) == (4, 7)


@given(st.text(max_size=200), st.sampled_from(["typescript", "python"]))
@settings(max_examples=150, deadline=None)
def test_any_text_is_answered(text: str, language: Language):
    script = made(text, language)

    assert script.submitted == text
    preview(script, names_of(language))
    for here, there, length in script.spans:
        assert 0 <= here <= here + length <= len(script.runnable)
        assert 0 <= there <= there + length <= len(text)


PIECES = st.sampled_from(
    ["pdf", ".text", "(", ")", "{", "}", "await ", "const ", "x", " = ", ";", "\n", "[", "]", ",",
     "import ", 'from "tools"', "=>", "...", "return ", "    ", "def f():", "class ", ":", "'a'"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25).map("".join), st.sampled_from(["typescript", "python"]))
@settings(max_examples=300, deadline=None)
def test_text_that_looks_like_code_is_answered(text: str, language: Language):
    test_any_text_is_answered.hypothesis.inner_test(text, language)  # type: ignore[attr-defined]
