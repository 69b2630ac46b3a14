"""What is edited in a Python script for Monty, and that positions find their way back."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.core.run import NamedTool
from codemode.sandbox._monty_source import Prepared, Unrunnable, prepare

NAMES = {"desk": {"echo": NamedTool(tool="desk.echo"), "send_mail": NamedTool(tool="desk.send")}}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("from tools import desk", "desk=_t[0]            "),
        ("from tools import desk as d, ToolError", "d,ToolError=_t[0]                     "),
        ("import tools", "tools=_t[0] "),
        ("import tools as t; x = 1", "t=_t[0]          ; x = 1"),
        ("from tools.desk import echo", "echo=_t[0]                 "),
        ("from tools import (\n    desk,\n)\nx", "desk=_t[0] \\\n\\\n \nx"),
        ("import json", "import json"),
        ("return 1", "return _r((1))"),
        ("return", "return"),
        ("return (1, 2)", "return _r(((1, 2)))"),
        ("return 1, *x", "return _r((1, *x))"),
        ("if x:\n    return x", "if x:\n    return _r((x))"),
        ("def f():\n    return x", "def f():\n    return x"),
        ("g = lambda: x", "g = lambda: x"),
        ("e.code", "_f(e).code"),
        ("return e.code", "return _r((_f(e).code))"),
        ("f(x).status", "_f(f(x)).status"),
        ("e.code = 1", "e.code = 1"),
        ("'e.code'", "'e.code'"),
        ("e.cause", "e.cause"),
        ("f'{e.code}: {e}'", "f'{_f(e).code}: {e}'"),
        ("f'{e.code!r:>9}{x}'", "f'{_f(e).code!r:>9}{x}'"),
        ("f'{type(e).__name__}'", "f'{_y(type(e)).__name__}'"),
        ("type(e).__name__", "_y(type(e)).__name__"),
        ("getattr(e, 'code', None)", "getattr(_f((e)), 'code', None)"),
        ("getattr(e, 'x')", "getattr(e, 'x')"),
        ("raise A(1) from e", "raise _c((A(1)),e) from e"),
        ("raise A from None", "raise A from None"),
        ("gather(*c, return_exceptions=True)", "_g(gather)(*c, return_exceptions=True)"),
        ("asyncio.gather(a)", "asyncio.gather(a)"),
        ("é = '\u2028'; return é", "é = '\u2028'; return _r((é))"),
    ],
)
def test_edits(source: str, text: str) -> None:
    assert prepare(source, NAMES).text == text


@pytest.mark.case("C27")
def test_text_is_never_edited() -> None:
    source = (
        's = """\n  return e.code\n\tfrom tools import desk\n"""\nt = f"e.code {x} {{e.code}}"\n'
    )

    assert prepare(source, NAMES).text == source


@pytest.mark.case("C29")
def test_carriage_returns_count_as_lines() -> None:
    prepared = prepare("x = 1\r\nreturn x\r\n", NAMES)

    assert prepared.text == "x = 1\r\nreturn _r((x))\r\n"


@pytest.mark.parametrize(
    ("source", "code", "line", "column", "hint"),
    [
        ("x = (", "syntax", 1, 5, ""),
        ("x = 1\nfrom tools import dekk", "exception", 2, 1, "desk"),
        ("é = 1; from tools.desk import ecko", "exception", 1, 8, "echo"),
        ("from tools import *", "exception", 1, 1, "Name what you need"),
        ("import tools.nope", "exception", 1, 1, "search"),
        ("import json, tools", "syntax", 1, 1, ""),
        ("x = \x00", "syntax", 0, 0, ""),
        ("(" * 1000, "syntax", 1, 201, ""),
    ],
)
@pytest.mark.case("P11", "C25")
def test_what_cannot_run(source: str, code: str, line: int, column: int, hint: str) -> None:
    with pytest.raises(Unrunnable) as refused:
        prepare(source, NAMES)

    error = refused.value.error
    assert error.code == code
    assert hint in error.hint
    if line:
        assert (error.line, error.column) == (line, column)


STATEMENTS = st.sampled_from(
    [
        "from tools import desk; x = e.code",
        "import tools as tt; y = [e.status, (e).hint, f'{e.code}']",
        "x = {'é': e.message, '😀': getattr(e, 'code')}; z = x",
        "async def g():\n    return e.code",
        "if x:\n    return [e.code, x.code.hint]",
        "for i in y:\n    print(i.status); raise ValueError(e.code) from e",
        "return {\n    'a': e.code,\n    'b': [1,\n          2]}",
        "r = await asyncio.gather(a.code, b, return_exceptions=True)",
        "s = '''\n return 1 '''; t = e.retryable",
    ]
)


@given(st.lists(STATEMENTS, min_size=1, max_size=5))
def test_edited_scripts_parse_and_positions_come_back(statements: list[str]) -> None:
    source = "\n".join(statements)

    prepared = prepare(source, NAMES)

    ast.parse(prepared.text)
    before, after = source.split("\n"), prepared.text.split("\n")
    assert len(before) == len(after)
    for number, line in enumerate(before, 1):
        for column in range(1, len(line) + 1):
            assert prepared.column(number, moved(prepared, number, column)) == column


def moved(prepared: Prepared, line: int, column: int) -> int:
    """Where a character that was kept stands after the edits."""
    inserted = prepared.inserted.get(line, [])
    return column + sum(length for at, length in inserted if at < column)


@given(st.text(max_size=200))
def test_any_text_is_prepared_or_refused(source: str) -> None:
    try:
        told = prepare(source, NAMES).text or "empty"
    except Unrunnable as refused:
        told = refused.error.message

    assert told
