"""Records of mixed values are used freely; what a tool takes stays checked."""

from __future__ import annotations

import pytest

from .world import Check

pytestmark = pytest.mark.asyncio(loop_scope="session")

FINE = {
    "sort": 'rows = [{"n": 1, "t": "a"}, {"n": 2, "t": "b"}]\n'
    'rows.sort(key=lambda row: -row["n"])\nreturn rows',
    "sum": 'rows = [{"n": 1, "t": "a"}]\nreturn sum(row["n"] for row in rows)',
    "compare": 'row = {"n": 1, "t": "a"}\nreturn row["n"] > 2 and row["t"].upper() + "x"',
    "subscript": 'row = {"n": 1, "t": "ab"}\nreturn row["t"][0]',
    "append": 'rows = []\nfor n in range(3):\n    rows.append({"n": n, "t": str(n)})\n'
    'return max(rows, key=lambda row: row["n"])["n"] + 1',
    "argument": 'from tools import github\ntargets = [{"owner": "o", "repo": "r", "number": 3}]\n'
    'return [await github.issues_get(owner=t["owner"], repo=t["repo"], number=t["number"])\n'
    "        for t in targets]",
    "wide": 'row = {"名": "a", "n": 1}; return row["n"] + 1',
}

WRONG = {
    "literal argument": "from tools import github\n"
    'return await github.issues_get(owner="o", repo="r", number="3")',
    "one kind": 'row = {"a": "x", "b": "y"}\nreturn row["a"] - 1',
    "no record": 'return "a" - 1',
    "a field of a tool": "from tools import github\n"
    'issue = await github.issues_get(owner="o", repo="r", number=1)\n'
    'row = {"n": 1, "t": "a"}\nreturn issue["titel"]',
    "a nullable field of a tool": "from tools import github\n"
    'issue = await github.issues_get(owner="o", repo="r", number=1)\n'
    'row = {"n": 1, "t": "a"}\nreturn [row, issue["closed_by"]["login"]]',
    "the type of a tool's field": "from tools import github\n"
    'issue = await github.issues_get(owner="o", repo="r", number=1)\n'
    'row = {"n": 1, "t": "a"}\nreturn [row, issue["number"] + "x"]',
    "in a tool's argument": "from tools import mail_box\n"
    'return await mail_box.send(to=[{"a": 1, "b": "c"}], text="t")',
}


@pytest.mark.parametrize("name", FINE)
async def test_a_value_of_a_mixed_record_is_not_refused(check: Check, name: str) -> None:
    report = await check(FINE[name], "python")
    assert report.is_clean, report.diagnostics


@pytest.mark.parametrize("name", WRONG)
async def test_everything_else_still_is(check: Check, name: str) -> None:
    report = await check(WRONG[name], "python")
    assert not report.is_clean
