"""What a model may submit as Python: normalised, then really run by Monty."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pydantic_monty
import pytest
import pytest_asyncio

from codemode.core.script import normalise

from .test_gate import refused
from .world import made

FENCED = "```{label}\nx = 20\nx + 22\n```"
MAIN = "async def main():\n    return {n}\n"

RUNS: dict[str, tuple[str, Any]] = {
    **{
        f"C1-{label or 'none'}": (FENCED.format(label=label), 42)
        for label in ("py", "python", "python3", "", "python   ", "Python")
    },
    "C3-before": ("Here's what I'd do:\n\n```python\n1 + 1\n```", 2),
    "C3-after": ("```python\n1 + 1\n```\nThis adds one and one; it's quick.", 2),
    "C3-around": ("Sure!\n\n```python\n1 + 1\n```\n\nDone.", 2),
    "C3-two-blocks": ("```sh\npip i\n```\nthen\n```py\na = 3\na * 2\n```\nprints\n```\n6\n```", 6),
    "C3-indented": ("1. Do this:\n\n   ```python\n   s = 4\n   s\n   ```\n", 4),
    "C3-unclosed": ("```python\na = 5\na", 5),
    "C5-string": ('doc = "```python"\ndoc', "```python"),
    "C5-triple": ('doc = """\n```python\nx\n```\n"""\ndoc', "\n```python\nx\n```\n"),
    "C7-tilde": ("~~~python\n8\n~~~", 8),
    "C7-shebang": ("#!/usr/bin/env python3\n9", 9),
    "C7-bom": ("\ufeff10", 10),
    "C7-bom-shebang": ("\ufeff#!/usr/bin/env python3\n11", 11),
    "C7-shebang-bom": ("#!/usr/bin/env python3\n\ufeff12", 12),
    "C13-alone": (MAIN.format(n=13), 13),
    "C13-bare": (MAIN.format(n=14) + "main", 14),
    "C13-called": (MAIN.format(n=15) + "main()", 15),
    "C13-awaited": (MAIN.format(n=16) + "await main()", 16),
    "C13-asyncio-run": ("import asyncio\n" + MAIN.format(n=17) + "asyncio.run(main())", 17),
    "C13-sync": ("def main():\n    return 18", 18),
    "C13-loop": (MAIN.format(n=19) + "asyncio.get_event_loop().run_until_complete(main())", 19),
    "C13-run-kept": ("import asyncio\n" + MAIN.format(n=20) + "r = asyncio.run(main())\nr + 1", 21),
    "C17-last": ("a = 35\na", 35),
    "C17-tuple": ("a = 1\na, 2", (1, 2)),
    "C17-parens": ("(\n  1 +\n  2\n)", 3),
    "C17-comment-after": ("a = 4\na  # the answer", 4),
    "C17-return": ("if 1 > 0:\n    return 42\nreturn 0", 42),
    "C17-fstring": ('d = {"a": 1}\nf"{d["a"]}!"', "1!"),
    "C17-semicolon": ("a = 6; a", 6),
    "C17-none": ("None", None),
    "C19-loop": ("for x in [1]:\n    x", None),
    "C19-if": ("if True:\n    1", None),
    "R29-assignment": ("x = 5", None),
    "C27": ('a = """\n    four\n\ttab\n"""\na', "\n    four\n\ttab\n"),
    "C27-indented": ('    a = """\n  two\n    four\n"""\n    a', "\n  two\n    four\n"),
    "C29-tabs": ("def f():\n\tx = 1\n\treturn x\nf()", 1),
    "C29-crlf": ('a = """x\r\ny"""\r\na\r\n', "x\ny"),
    "C29-cr": ("a = 7\ra", 7),
    "C29-main-guard": (
        MAIN.format(n=29)
        + 'if __name__ == "__main__":\n    import asyncio\n    asyncio.run(main())',
        29,
    ),
    "C29-main-guard-single": (MAIN.format(n=30) + "if __name__ == '__main__':\n    main()", 30),
    "future": ("from __future__ import annotations\n31", 31),
    "docstring": ('"""What it does."""\na = 32\na', 32),
    "indented": ("    a = 33\n    a", 33),
    "unicode": ("s = '😀é'\nlen(s)", 2),
    "lambda": ("f = lambda x: x + 1\nf(33)", 34),
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def monty() -> AsyncIterator[pydantic_monty.AsyncMonty]:
    async with pydantic_monty.AsyncMonty() as pool:
        yield pool


@pytest.mark.case("C1", "C3", "C5", "C7", "C13", "C17", "C19", "C27", "C29", "R29")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", RUNS)
async def test_it_runs_and_gives_its_value(name: str, monty: pydantic_monty.AsyncMonty):
    submitted, expected = RUNS[name]
    script = made(submitted, "python")
    assert not script.problems

    async with monty.checkout() as session:
        value = await session.feed_run(script.runnable)

    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.case("C19", "R29")
@pytest.mark.parametrize("name", ["C19-loop", "C19-if", "R29-assignment"])
def test_no_result_is_said(name: str):
    script = made(RUNS[name][0], "python")

    assert [note.code for note in script.notes] == ["nothing-returned"]


@pytest.mark.case("R29")
def test_an_assignment_at_the_end_is_explained():
    (note,) = made("total = 5", "python").notes

    assert (note.line, note.column) == (1, 1)
    assert "End with `total` or `return total`" in note.message


@pytest.mark.case("C13")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "# only a comment",
        "from tools import github",
        "pass",
        "def a():\n    pass\ndef b():\n    pass",
    ],
)
def test_nothing_to_run_is_a_problem(text: str):
    script = made(text, "python")

    assert [problem.code for problem in script.problems] == ["nothing-to-run"]


@pytest.mark.case("P11")
@pytest.mark.parametrize(
    ("text", "toolsets", "added"),
    [
        ("await github.issues_list()", ("github",), ["from tools import github"]),
        ("from tools import github\nawait github.issues_list()", ("github",), []),
        ("from tools import github as gh\nawait gh.issues_list()", ("github",), []),
        ("from tools.pdf import text\nawait text()", ("pdf",), []),
        ("import tools\nawait tools.pdf.text()", ("github", "mail_box", "pdf"), []),
        ("import tools.pdf as p\nawait p.text()", ("pdf",), []),
        ("await tools.pdf.text()", ("github", "mail_box", "pdf"), ["import tools"]),
        ("pdf = 1\npdf", (), []),
        ("def f(pdf):\n    return pdf\nf(1)", (), []),
        ("dict(pdf=1)", (), []),
        ("[pdf for pdf in (1, 2)]", (), []),
        ("x.pdf", (), []),
        ("'pdf.text'  # github", (), []),
        ("try:\n    1\nexcept ToolError as e:\n    e", (), ["from tools import ToolError"]),
    ],
)
def test_a_forgotten_import_is_added_with_a_note(text: str, toolsets: Any, added: list[str]):
    script = made(text, "python")
    notes = [note.message for note in script.notes if note.code == "import-added"]

    assert script.toolsets == toolsets
    assert notes == [f"Added for you: {line}" for line in added]
    assert script.runnable.startswith("".join(f"{line}\n" for line in added))


@pytest.mark.case("C29")
@pytest.mark.parametrize(
    ("text", "mixed"),
    [
        ("def f():\n\tif 1:\n        return 1\nf()", True),
        ("def f():\n\tif 1:\n\t\treturn 1\nf()", False),
        ("def f():\n\treturn 1\ndef g():\n    return 2\nf() + g()", False),
        ("def f():\n    if 1:\n\treturn 1\nf()", True),
        ("def f():\n    if 1:\n    \treturn 1\nf()", False),
        ("x = [\n\t1,\n    2,\n]\nx", False),
        ('x = """\n\t1\n    2"""\nx', False),
    ],
)
def test_mixed_tabs_are_refused_where_python_refuses_them(text: str, mixed: bool):
    try:
        compile(text, "script", "exec")
        refuses = False
    except TabError:
        refuses = True
    found = [one for one in refused(text, "python") if one.code == "mixed-tabs"]

    assert bool(found) == mixed == refuses


@pytest.mark.case("C25")
def test_every_kept_character_keeps_its_place():
    text = "Look:\n```python\r\ngithub\r\ns = '😀'; s.boom\r\n```\r\n"
    script = made(text, "python")

    for here, there, length in script.spans:
        assert script.runnable[here : here + length] == script.submitted[there : there + length]
    offset = script.runnable.index("boom")
    assert script.locate(offset) == (4, 12)
    assert script.runnable_offset(4, 12) == offset


@pytest.mark.case("R1", "R29")
def test_a_script_that_only_prints_returns_nothing() -> None:
    script = normalise("x = 1\nprint(x)\n", "python", toolsets=())
    assert "return" not in script.runnable
    (note,) = script.notes
    assert (note.code, note.line) == ("nothing-returned", 2)
    assert "print" in note.message
    own = normalise("def print(x):\n    return x\nprint(1)\n", "python", toolsets=())
    assert own.runnable.endswith("return print(1)\n")
