"""A forgotten ``await`` is found wherever the promise gets lost, and only there."""

from __future__ import annotations

import pytest

from codemode.core.gate import refusals
from codemode.core.preview import find_uses
from codemode.core.run import Language

from .world import made, names_of

T, P = "typescript", "python"

FORGOTTEN: dict[Language, list[str]] = {
    T: [
        "pdf.text({});\nreturn 1",
        "void pdf.text({});\nreturn 1",
        "if (1) pdf.text({});\nreturn 1",
        "const a = pdf.text({});\nreturn 1",
        "const a = pdf.text({});\nreturn a.length",
        "const a = pdf.text({});\nconsole.log(a);\nreturn 1",
        "console.log(pdf.text({}));\nreturn 1",
        "const s = `${pdf.text({})}`;\nreturn s",
        "const n = pdf.text({}) + 1;\nreturn n",
        "if (pdf.text({})) { return 1 }",
        "const a = pdf.text({}) ? 1 : 2;\nreturn a",
        "for (const x of pdf.text({})) { x }",
        "const [a] = pdf.text({});\nreturn a",
        "const { length } = pdf.text({});\nreturn length",
        "const a = pdf.text({})[0];\nreturn a",
        "const s = JSON.stringify(pdf.text({}));\nreturn s",
        "pdf.text({}).then((x) => x);\nreturn 1",
        "const c = [1].map(() => pdf.text({}));\nreturn c",
        "const c = [1].map(async () => await pdf.text({}));\nreturn c",
        "const c = [1].map((n) => pdf.text({}));\nconst d = await c;\nreturn d",
        "await [1].map(() => pdf.text({}));\nreturn 1",
        "return [pdf.text({})]",
        "return { a: pdf.text({}) }",
        "const c: any[] = [];\nc.push(pdf.text({}));\nreturn 1",
        "const c: any[] = [];\nfor (const x of [1]) { c.push(pdf.text({})); }\nreturn c",
        "Promise.all([pdf.text({})]);\nreturn 1",
        "Promise.all([1].map(() => pdf.text({})));\nreturn 1",
        "[1].forEach(async () => { await pdf.text({}) });\nreturn 1",
        "[1].forEach(() => pdf.text({}));\nreturn 1",
        "const k = [1].filter(async () => (await pdf.text({})).length > 0);\nreturn k",
        "const k = [1].some(() => pdf.text({}));\nreturn k",
        "async function f() { await pdf.text({}) }\nf();\nreturn 1",
        "const f = async () => { await pdf.text({}) };\nf();\nreturn 1",
        "const f = () => pdf.text({});\nf();\nreturn 1",
        "const f = () => pdf.text({});\nconst g = () => f();\ng();\nreturn 1",
        "(async () => { await pdf.text({}) })();\nreturn 1",
        "const t = pdf.text;\nt({});\nreturn 1",
        "try { pdf.text({}) } catch { return 1 }",
        "await Promise.all([1].map(async () => { pdf.text({}) }));\nreturn 1",
    ],
    P: [
        "pdf.text()\nreturn 1",
        "a = pdf.text()\nreturn 1",
        "a = pdf.text()\nreturn len(a)",
        "a = pdf.text()\nprint(a)\nreturn 1",
        "print(pdf.text())\nreturn 1",
        's = f"{pdf.text()}"\nreturn s',
        "n = pdf.text() + 1\nreturn n",
        "if pdf.text():\n    return 1",
        "for x in pdf.text():\n    x",
        "a, b = pdf.text()\nreturn a",
        "a = pdf.text()[0]\nreturn a",
        "a = pdf.text().x\nreturn a",
        "return pdf.text()",
        "return [pdf.text() for _ in range(2)]",
        "return {'a': pdf.text()}",
        "c = [pdf.text() for _ in range(2)]\nreturn c",
        "c = []\nfor x in (1, 2):\n    c.append(pdf.text())\nreturn c",
        "c = []\nfor x in (1, 2):\n    c.append(pdf.text())\nreturn 1",
        "import asyncio\nasyncio.gather(pdf.text())\nreturn 1",
        "import asyncio\nc = [pdf.text()]\nreturn await asyncio.gather(c)",
        "import asyncio\nreturn await asyncio.gather([pdf.text() for _ in (1, 2)])",
        "import asyncio\nasyncio.create_task(pdf.text())\nreturn 1",
        "async def f():\n    await pdf.text()\nf()\nreturn 1",
        "async def f():\n    return pdf.text()\nreturn await f()",
        "def f():\n    return pdf.text()\nf()\nreturn 1",
        "x = [a for a in pdf.text()]\nreturn x",
        "x = sorted(pdf.text())\nreturn x",
        "t = pdf.text\nt()\nreturn 1",
        "try:\n    pdf.text()\nexcept Exception:\n    pass\nreturn 1",
        "while pdf.text():\n    pass\nreturn 1",
        "return not pdf.text()",
    ],
}

AWAITED: dict[Language, list[str]] = {
    T: [
        "await pdf.text({})",
        "pdf.text({})",  # the last expression is awaited
        "return pdf.text({})",
        "return await pdf.text({})",
        "const a = pdf.text({});\nreturn await a",
        "const a = pdf.text({}), b = pdf.text({});\nreturn [await a, await b]",
        "const a = pdf.text({});\nconst [x] = await Promise.all([a]);\nreturn x",
        "const { length } = await pdf.text({});\nreturn length",
        "return (await pdf.text({})).length",
        "return await pdf.text({}).then((x) => x.length)",
        "return pdf.text({}).catch(() => [])",
        "return await Promise.all([1, 2].map(() => pdf.text({})))",
        "return await Promise.all([1, 2].map(async () => await pdf.text({})))",
        "return await Promise.all([1, 2].filter(Boolean).map(() => pdf.text({})).slice(1))",
        "return Promise.allSettled([pdf.text({}), pdf.text({})])",
        "const c = [1].map(() => pdf.text({}));\nreturn await Promise.all(c)",
        "const c = [1].map(() => pdf.text({}));\nfor (const p of c) { await p }\nreturn 1",
        "const c: any[] = [];\nc.push(pdf.text({}));\nreturn await Promise.all(c)",
        "const c: any[] = [];\nfor (const x of [1]) c.push(pdf.text({}));\nawait Promise.all(c);",
        "const f = async () => await pdf.text({});\nreturn await f()",
        "const f = async () => pdf.text({});\nreturn await f()",
        "const f = () => pdf.text({});\nreturn await f()",
        "async function f(n): Promise<any> { return n ? f(n - 1) : pdf.text({}) }\nawait f(2)",
        "return await (async () => { return await pdf.text({}) })()",
        "const p = Math.random() > 2 ? pdf.text({}) : pdf.text({});\nreturn await p",
        "const p = null ?? pdf.text({});\nreturn await p",
        "for await (const x of [pdf.text({})]) { x }",
        "const m = new Map<string, any>();\nm.set('a', pdf.text({}));\nreturn await m.get('a')",
        "return await Promise.race([pdf.text({}), new Promise((r) => setTimeout(r, 9))])",
        "return await Promise.all(['a'].flatMap((a) => [pdf.text({}), pdf.text({})]))",
        "return await Promise.all(Array.from([1], () => pdf.text({})))",
        "return await Promise.all([...[1].map(() => pdf.text({})), pdf.text({})])",
        "[1].forEach((n) => n + 1);\nreturn await pdf.text({})",
    ],
    P: [
        "await pdf.text()",
        "pdf.text()",  # the last call is awaited
        "return await pdf.text()",
        "a = pdf.text()\nreturn await a",
        "return len(await pdf.text())",
        "return [await pdf.text() for _ in range(2)]",
        "import asyncio\nreturn await asyncio.gather(pdf.text(), pdf.text())",
        "import asyncio\nreturn await asyncio.gather(*[pdf.text() for _ in range(2)])",
        "import asyncio\nreturn await asyncio.gather(*(pdf.text() for _ in range(2)))",
        "import asyncio\nc = [pdf.text() for _ in range(2)]\nreturn await asyncio.gather(*c)",
        "import asyncio\nc = []\nfor i in (1, 2):\n    c.append(pdf.text())\n"
        "return await asyncio.gather(*c)",
        "import asyncio\nt = asyncio.create_task(pdf.text())\nreturn await t",
        "import asyncio\nreturn await asyncio.wait_for(pdf.text(), 5)",
        "async def f():\n    return await pdf.text()\nreturn await f()",
        "def f():\n    return pdf.text()\nreturn await f()",
        "async def f(n):\n    return await f(n - 1) if n else await pdf.text()\nreturn await f(2)",
        "c = {n: pdf.text() for n in 'ab'}\nreturn {n: await p for n, p in c.items()}",
        "c = [pdf.text()]\nfor p in c:\n    await p\nreturn 1",
        'return f"{await pdf.text()}"',
        "if await pdf.text():\n    return 1",
        "import asyncio\nasync def f(n):\n    return await pdf.text()\n"
        "return await asyncio.gather(*map(f, [1, 2]))",
    ],
}


def forgotten(text: str, language: Language) -> list[str]:
    script = made(text, language)
    assert not script.problems
    names = names_of(language)
    usage = find_uses(script, names)
    assert not usage.source.root.has_error
    found = refusals(script, names, usage, "container")
    return [f"{one.line}:{one.column} {one.message}" for one in found if one.code == "no-await"]


def cases(table: dict[Language, list[str]]) -> list[object]:
    return [
        pytest.param(language, text, id=f"{language}-{number}")
        for language, texts in table.items()
        for number, text in enumerate(texts)
    ]


@pytest.mark.case("T1")
@pytest.mark.parametrize(("language", "text"), cases(FORGOTTEN))
def test_a_lost_promise_is_found(language: Language, text: str):
    assert forgotten(text, language)


@pytest.mark.case("T1")
@pytest.mark.parametrize(("language", "text"), cases(AWAITED))
def test_an_awaited_promise_is_no_error(language: Language, text: str):
    assert forgotten(text, language) == []


def test_the_call_is_named_where_the_loss_shows_elsewhere():
    (found,) = forgotten("const a = pdf.text({});\nreturn a.length", "typescript")

    assert found == (
        "2:8 `.length` is read from a promise: write `(await ...).length`. The call is on line 1."
    )
