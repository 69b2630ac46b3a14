"""
What runs is at most warned about; what a tool's types say stays an error beside it.

Each kind of excuse is held from both sides: the habit itself, and a mistake of the
promised kinds (property, literal, tool, ``await``) written in the midst of that habit.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.core.run import Language
from codemode.core.syntax import read

from .world import Check, made

HEAD = 'import { github } from "tools";\n'
LIST = HEAD + 'const issues = await github.issuesList({ owner: "o", repo: "r" });\n'
PY = "from tools import github\n"

FINE: dict[str, tuple[Language, str]] = {
    "object grown by Object.assign": ("typescript", LIST + "const r = {};\nObject.assign(r, { n: 1 });\nreturn r.n;"),
    "object grown by ??=": ("typescript", LIST + "const r = {};\nfor (const i of issues) (r[i.state] ??= []).push(i);\nreturn r.open;"),
    "nested growth": ("typescript", LIST + "const r = {};\nr.a = {};\nr.a.b = issues.length;\nreturn r;"),
    "counts": ("typescript", LIST + "const r = {};\nfor (const i of issues) r[i.title] = (r[i.title] ?? 0) + 1;\nreturn Object.values(r).reduce((a, b) => a + b, 0);"),
    "reduceRight to a list": ("typescript", LIST + "return issues.reduceRight((all, i) => { all.push(i.title); return all; }, []);"),
    "reduce to lists": ("typescript", LIST + "const r = issues.reduce((a, i) => { a.open.push(i.title); return a; }, { open: [] });\nreturn r.open[0];"),
    "set of unknown": ("typescript", LIST + "const s = new Set();\nissues.forEach((i) => s.add(i.title));\nreturn [...s].map((t) => t.length);"),
    "date minus number": ("typescript", LIST + "return new Date() - 86400000;"),
    "date minus variable": ("typescript", LIST + "const a = new Date(), b = new Date(issues[0].created_at);\nreturn (a - b) / 1000;"),
    "state from a map": ("typescript", HEAD + 'const of = { done: "closed" };\nreturn await github.issuesList({ owner: "o", repo: "r", state: of.done });'),
    "state from a ternary": ("typescript", HEAD + 'const state = input ? "open" : "closed";\nreturn await github.issuesList({ owner: "o", repo: "r", state });'),
    "state from input": ("typescript", HEAD + 'const state = String(input);\nreturn await github.issuesList({ owner: "o", repo: "r", state });'),
    "states in objects": ("typescript", HEAD + 'for (const q of [{ state: "open" }, { state: "closed" }]) await github.issuesList({ owner: "o", repo: "r", ...q });\nreturn 1;'),
    "gather of two kinds": ("python", "import asyncio\n" + PY + 'a, b = await asyncio.gather(github.issues_get(owner="o", repo="r", number=1), github.issues_list(owner="o", repo="r"), return_exceptions=True)\nreturn [a["title"] if not isinstance(a, Exception) else str(a), len(b) if isinstance(b, list) else 0]'),
    "gather in a helper": ("python", "import asyncio\n" + PY + 'async def safe(calls):\n    done = await asyncio.gather(*calls, return_exceptions=True)\n    return [d for d in done if not isinstance(d, Exception)]\nreturn len(await safe([github.issues_list(owner="o", repo="r")]))'),
    "spread of a merged dictionary": ("python", PY + 'base = {"owner": "o", "repo": "r"}\nreturn await github.issues_list(**{**base, "per_page": 3})'),
    "spread of dict()": ("python", PY + 'base = dict(owner="o", repo="r", per_page=3)\nreturn await github.issues_list(**base)'),
    "state of a dictionary": ("python", PY + 'q = {"a": "open", "b": "closed"}\nreturn [await github.issues_list(owner="o", repo="r", state=s) for s in q.values()]'),
}  # fmt: skip

WRONG: dict[str, tuple[Language, str, str]] = {
    "property beside growth": ("typescript", LIST + "const r = {};\nr.first = issues[0].titel;\nreturn r;", "titel"),
    "never written property": ("typescript", LIST + "const r = { n: 1 };\nr.m = 2;\nreturn r.k;", "'k'"),
    "object that nothing fills": ("typescript", HEAD + "const p = {};\nreturn await github.issuesList(p);", "owner"),
    "property of what came later": ("typescript", LIST + "let x = null;\nx = issues[0];\nreturn x.titel;", "titel"),
    "nullable of what came later": ("typescript", LIST + "let x;\nx = issues[0];\nreturn x.closed_by.login;", "null"),
    "text in arithmetic": ("typescript", LIST + "return issues[0].created_at - new Date();", "arithmetic"),
    "literal in a variable": ("typescript", HEAD + 'const p = { owner: "o", repo: "r", state: "opened" };\nreturn await github.issuesList(p);', "opened"),
    "literal in a let": ("typescript", HEAD + 'let state = "opened";\nreturn await github.issuesList({ owner: "o", repo: "r", state });', "opened"),
    "literal in a call": ("typescript", HEAD + 'return await github.issuesList({ owner: "o", repo: "r", state: "opened" });', "opened"),
    "number for a text": ("typescript", HEAD + 'const p = { owner: 1, repo: "r" };\nreturn await github.issuesList(p);', "string"),
    "text for a number": ("typescript", HEAD + 'const p = { owner: "o", repo: "r", number: "1" };\nreturn await github.issuesGet(p);', "number"),
    "null for a text": ("typescript", HEAD + 'return await github.issuesList({ owner: null, repo: "r" });', "null"),
    "forgotten await in a generator": ("typescript", HEAD + 'async function* g() { const i = github.issuesGet({ owner: "o", repo: "r", number: 1 }); console.log(i.title); yield 1; }\nfor await (const x of g()) console.log(x);\nreturn 1;', "promise"),
    "async function looped over": ("typescript", HEAD + 'async function f() { return await github.issuesList({ owner: "o", repo: "r" }); }\nfor (const i of f()) console.log(i);\nreturn 1;', "looped"),
    "invented tool in a generator": ("typescript", HEAD + "async function* g() { yield await github.issuesFind({}); }\nreturn await Array.fromAsync(g());", "issuesFind"),
    "exceptions not looked for": ("python", "import asyncio\n" + PY + 'rs = await asyncio.gather(github.issues_get(owner="o", repo="r", number=1), return_exceptions=True)\nreturn [r["title"] for r in rs]', "BaseException"),
    "key of a gathered result": ("python", "import asyncio\n" + PY + 'rs = await asyncio.gather(github.issues_get(owner="o", repo="r", number=1), return_exceptions=True)\nreturn [r["titel"] for r in rs if not isinstance(r, Exception)]', "titel"),
    "spread of a visible literal": ("python", PY + 'return await github.issues_list(**{"owner": "o", "repo": "r", "stat": "x"})', "stat"),
    "literal in a variable (py)": ("python", PY + 'state = "opened"\nreturn await github.issues_list(owner="o", repo="r", state=state)', "opened"),
    "async function looped over (py)": ("python", PY + 'async def f():\n    return await github.issues_list(owner="o", repo="r")\nfor i in f():\n    print(i)', "looped"),
    "forgotten await in a generator (py)": ("python", PY + 'async def g():\n    i = github.issues_get(owner="o", repo="r", number=1)\n    print(i["title"])\n    yield 1\nreturn [x async for x in g()]', "await"),
    "nullable field": ("python", PY + 'i = await github.issues_get(owner="o", repo="r", number=1)\nreturn i["closed_by"]["login"]', "None"),
}  # fmt: skip


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("name", FINE)
async def test_a_habit_that_runs_is_no_error(check: Check, name: str) -> None:
    language, text = FINE[name]
    report = await check(text, language)
    assert report.is_clean, report.diagnostics


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("name", WRONG)
async def test_a_mistake_amid_a_habit_is_still_one(check: Check, name: str) -> None:
    language, text, sign = WRONG[name]
    report = await check(text, language)
    errors = [one.message for one in report.diagnostics if one.severity == "error"]
    assert any(sign in message for message in errors), report.diagnostics


@pytest.mark.asyncio(loop_scope="session")
async def test_warnings_are_one_of_a_kind(check: Check) -> None:
    lines = [f"const r{n} = {{}};\nr{n}.a = 1;\nr{n}.b = new Date() - {n};\n" for n in range(9)]
    report = await check("".join(lines) + "return 1;", "typescript")
    assert [one.severity for one in report.diagnostics] == ["warning", "warning"]


NAMES = st.lists(
    st.sampled_from(["Issue", "User as Person", "issues_list", "issues_get as get", "Label"]),
    min_size=1, max_size=5, unique=True,
)  # fmt: skip


@given(NAMES, st.sampled_from([", ", ",", ",\n    ", ",\n"]), st.booleans())
def test_types_are_left_out_of_what_runs(names: list[str], comma: str, has_end: bool) -> None:
    inside = comma.join(names)
    text = f"from tools.github import ({inside}{',' * has_end})\nreturn 1\n"
    if "\n" not in comma and not has_end:
        text = text.replace("(", "").replace(")", "")

    script = made(text, "python")

    assert not read(script.runnable, "python").root.has_error, script.runnable
    compile(script.runnable.replace("return 1", "pass"), "script", "exec")
    assert len(script.runnable) == len(script.typed)
    assert script.typed == text
    tools = [name for name in names if name[0].islower()]
    for name in names:
        assert (name in script.runnable) == (name in tools)
    assert script.runnable.count(",") >= len(tools) - 1
