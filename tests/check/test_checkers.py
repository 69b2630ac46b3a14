"""The checkers as programs: places, stubs, deadlines, crashes, environment."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path

import pytest

from codemode.check import Checker
from codemode.check.document import utf16_offset, write_stubs
from codemode.check.lsp import LanguageServer
from codemode.check.python import PythonChecker
from codemode.check.typescript import TypeScriptChecker
from codemode.core.run import Language
from codemode.errors import CheckUnavailable

from .world import STUBS, Check, made

pytestmark = pytest.mark.asyncio(loop_scope="session")

LANGUAGES: tuple[Language, ...] = ("typescript", "python")
WRONG = {"typescript": "const x: string = 1;\nreturn x", "python": "x: str = 1\nreturn x"}
RIGHT = {"typescript": "return 1", "python": "return 1"}


@pytest.mark.case("C25")
@pytest.mark.parametrize(
    ("language", "text", "place"),
    [
        # columns count code points, not UTF-16 units or bytes
        ("typescript", "const s = '😀é'; const x: string = 1;\nreturn x + s", (1, 23)),
        ("python", "s = '😀é'; x: str = 1\nreturn x + s", (1, 20)),
        ("typescript", "\ufeffconst x: string = 1;\nreturn x", (1, 8)),
        ("typescript", "const a = 1;\r\nconst x: string = a;\r\nreturn x", (2, 7)),
        ("python", "a = 1\r\nx: str = a\r\nreturn x", (2, 10)),
        ("typescript", "Ok:\n\n```ts\nconst x: string = 1;\nx\n```", (4, 7)),
        ("python", "Ok:\n\n```python\nx: str = 1\nx\n```", (4, 10)),
        ("python", "    x: str = 1\n    x", (1, 14)),
        ("typescript", "pdf.text({});\nconst x: string = 1;\nreturn x", (2, 7)),
        ("python", "await pdf.text(path='')\nx: str = 1\nreturn x", (2, 10)),
        (
            "typescript",
            "export default async () => {\n  const x: string = 1;\n  return x;\n}",
            (2, 9),
        ),
        ("python", "async def main():\n    x: str = 1\n    return x", (2, 14)),
    ],
)
async def test_places_are_the_submitted_ones(
    language: Language, text: str, place: tuple[int, int], check: Check
):
    report = await check(text, language)
    errors = [one for one in report.diagnostics if one.code in ("TS2322", "invalid-assignment")]

    assert [(one.line, one.column) for one in errors] == [place]
    assert (errors[0].end_line, errors[0].end_column) > place


async def test_utf16_units_become_code_points():
    assert [utf16_offset("a😀b", units) for units in (0, 1, 3, 4, 9)] == [0, 1, 2, 3, 3]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_other_stubs_are_another_world(language: Language):
    checker = TypeScriptChecker() if language == "typescript" else PythonChecker()
    files = {
        "typescript": {
            "tools.d.ts": 'declare module "tools" { export namespace a { const b: 1 } }'
        },
        "python": {"tools/__init__.pyi": "from tools import a as a\n", "tools/a.pyi": "b: int\n"},
    }[language]
    text = {"typescript": 'import { a } from "tools";\nreturn a.b',
            "python": "from tools import a\nreturn a.b"}[language]  # fmt: skip
    script = made(text, language)
    try:
        one = await checker.check(script, files, engine="container", timeout_s=60)
        other = await checker.check(script, STUBS[language], engine="container", timeout_s=60)
        again = await checker.check(script, dict(files), engine="container", timeout_s=60)
    finally:
        folder = checker.document.folder
        await checker.close()

    assert one == again == []
    assert other
    assert folder is not None
    assert not folder.exists()


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_checker_that_died_is_started_again(
    language: Language, checkers: dict[Language, Checker]
):
    checker = checkers[language]
    assert isinstance(checker, TypeScriptChecker | PythonChecker)
    script = made(WRONG[language], language)
    before = await checker.check(script, STUBS[language], engine="container", timeout_s=60)
    server = checker.document.server
    assert server is not None
    os.kill(server.pid, signal.SIGKILL)
    after = await checker.check(script, STUBS[language], engine="container", timeout_s=60)

    assert before == after != []


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_checker_that_hangs_ends_with_the_deadline(language: Language):
    checker = TypeScriptChecker() if language == "typescript" else PythonChecker()
    script = made(RIGHT[language], language)
    try:
        await checker.check(script, STUBS[language], engine="container", timeout_s=60)
        server = checker.document.server
        assert server is not None
        os.kill(server.pid, signal.SIGSTOP)
        _wait_until_stopped(server.pid)
        started = time.monotonic()
        with pytest.raises(CheckUnavailable, match="did not answer within"):
            await checker.check(script, STUBS[language], engine="container", timeout_s=0.5)
        assert time.monotonic() - started < 10
        assert await checker.check(script, STUBS[language], engine="container", timeout_s=60) == []
    finally:
        await checker.close()


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_cancelled_check_leaves_the_next_one_right(
    language: Language, checkers: dict[Language, Checker]
):
    wrong = made(WRONG[language], language)
    checker = checkers[language]
    task = asyncio.create_task(
        checker.check(made(RIGHT[language], language), STUBS[language], engine="", timeout_s=60)
    )
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await checker.check(wrong, STUBS[language], engine="container", timeout_s=60)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_checks_at_once_answer_for_their_own_script(
    language: Language, checkers: dict[Language, Checker]
):
    texts = [WRONG[language], RIGHT[language]] * 6
    found = await asyncio.gather(
        *(
            checkers[language].check(
                made(text, language), STUBS[language], engine="container", timeout_s=60
            )
            for text in texts
        )
    )

    assert [bool(errors) for errors in found] == [True, False] * 6


@pytest.mark.case("attack:15", "attack:29")
@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_checker_gets_nothing_of_the_hosts_environment(
    language: Language, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GITHUB_TOKEN", "canary-hunter2")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:canary-hunter2@proxy")
    checker = TypeScriptChecker() if language == "typescript" else PythonChecker()
    try:
        await checker.check(
            made(RIGHT[language], language), STUBS[language], engine="container", timeout_s=60
        )
        server = checker.document.server
        assert server is not None
        environment = _environment(server.pid)
    finally:
        await checker.close()

    assert b"canary" not in environment
    assert b"HOME=" in environment


def _wait_until_stopped(pid: int) -> None:
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.01)


def _environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_checker_that_grew_too_large_is_ended(language: Language):
    small = 1  # MiB: any server is larger
    checker = (
        TypeScriptChecker(max_memory_mib=small)
        if language == "typescript"
        else PythonChecker(max_memory_mib=small)
    )
    try:
        with pytest.raises(CheckUnavailable, match="needed more than 1 MiB"):
            await checker.check(made("1", language), STUBS[language], engine="", timeout_s=60)
        server = checker.document.server
        assert server is None or not server.is_alive
    finally:
        await checker.close()


async def test_types_that_never_end_cost_one_deadline(check: Check):
    """Twice as many instantiations a step: the compiler gives up, or is made to."""
    lines = ["type A0<T> = [T, T];"]
    lines += [f"type A{n}<T> = A{n - 1}<A{n - 1}<T>>;" for n in range(1, 9)]
    text = "\n".join([*lines, "const x: A8<string> = 1;", "return x"])
    started = time.monotonic()
    with contextlib.suppress(CheckUnavailable):
        assert not (await check(text, "typescript")).is_clean
    assert time.monotonic() - started < 90
    assert (await check("return 1", "typescript")).is_clean


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["/nonexistent/program"], "cannot be started"),
        (["/bin/false"], "died"),
        (["/bin/echo", "Content-Length: 99999999999\r\n\r\n"], "died"),
        (["/bin/echo", "nonsense"], "died"),
    ],
)
async def test_a_broken_program_is_one_clear_error(argv: list[str], message: str, tmp_path: Path):
    server = LanguageServer("ty", argv, env={}, folder=tmp_path)

    with pytest.raises(CheckUnavailable, match=message) as caught:
        await server.start(timeout_s=20)
    assert "codemode doctor" in caught.value.hint
    await server.kill()


async def test_stubs_stay_in_their_folder(tmp_path: Path):
    with pytest.raises(ValueError, match="leaves its folder"):
        write_stubs(tmp_path / "stubs", {"../outside.d.ts": ""})
    assert not (tmp_path / "outside.d.ts").exists()


@pytest.mark.parametrize(
    "text",
    [
        "const f = (console.log(1), 2);\nsetTimeout(() => {}, 1);\nreturn f",
        "return new URL('https://example.org/?a=1').searchParams.get('a')",
        "return new TextDecoder().decode(new TextEncoder().encode('a'))",
        "return structuredClone({ a: 1 })",
        "return [btoa('a'), atob('YQ=='), crypto.randomUUID(), performance.now()]",
        "return input.anything.at.all",
        "return Object.groupBy([1, 2], (n) => (n % 2 ? 'odd' : 'even'))",
        "const items = [{ id: 1 }];\nreturn items[0].id",
        "try { throw new Error('x') } catch (e) { return e.message }",
        "const f = async (id) => id * 2;\nreturn await f(2)",
        "const out = [];\nfor (const n of [1, 2]) out.push(n);\nreturn out",
        "const by: Record<string, number> = {};\nby['a'] = (by['a'] ?? 0) + 1;\nby",
    ],
)
async def test_ordinary_typescript_is_clean(text: str, check: Check):
    report = await check(text, "typescript")

    assert report.is_clean, report.diagnostics


@pytest.mark.parametrize("engine", ["container", "isolate"])
@pytest.mark.parametrize(
    "text",
    [
        "print('a', 1)\nreturn input['x'].anything",
        "import json, re, math\nreturn json.dumps([math.pi, re.sub('a', 'b', 'c')])",
        "by = {}\nfor w in ['a']:\n    by[w] = by.get(w, 0) + 1\nby",
        "from collections import Counter\nreturn Counter('aab').most_common(1)[0][0]",
        "async def f(n):\n    return n * 2\nreturn [await f(n) for n in (1, 2)]",
        "try:\n    await pdf.text(path='a')\nexcept ToolError as e:\n    return e.code",
        "issues = await github.issues_list(owner='a', repo='b')\n"
        "return [i['title'] for i in issues if i['closed_by']]",
        "if True:\n    x = 1\nreturn x",
        "match 1:\n    case 1:\n        r = 1\n    case _:\n        r = 2\nreturn r",
        "from datetime import datetime, timedelta\nreturn datetime.now() - timedelta(days=1)",
        "import datetime\nreturn datetime.datetime.now().year",
    ],
)
async def test_ordinary_python_is_clean(text: str, engine: str, check: Check):
    report = await check(text, "python", engine)

    assert report.is_clean, report.diagnostics
