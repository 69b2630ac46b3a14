"""Python: ``ty``, held open as a language server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from codemode.check.document import Document, utf16_offset, write_stubs
from codemode.check.lsp import LanguageServer
from codemode.check.toolchain import check_environment, python_checker_program
from codemode.check.typescript import submitted_range
from codemode.core.gate import neutralised
from codemode.core.mixed import DECLARATIONS, loosened
from codemode.core.run import Diagnostic, Language
from codemode.core.script import Script
from codemode.core.script_python import is_top_level
from codemode.core.syntax import Mapped, at, origin, read

PYTHON_VERSION = "3.13"
"""Of the container's CPython; Monty reads the same grammar."""

CONFIG = f"""\
[environment]
python-version = "{PYTHON_VERSION}"
python-platform = "linux"
extra-paths = ["./stubs"]
python = "./env"
root = ["./script"]

[analysis]
respect-type-ignore-comments = false

[rules]
unused-awaitable = "error"
possibly-unresolved-reference = "ignore"
unused-type-ignore-comment = "ignore"
"""

_TOP_LEVEL = re.compile(
    r"^(`await`|`return`|`async for`|`async with`|asynchronous comprehension).* outside of an? "
)
"""What ty says of a script's own level, where the harness allows all of it."""

_MEANT = re.compile(r"did you mean [\"`']([^\"`']+)[\"`']", re.IGNORECASE)
_ADVICE = {
    "outside of an asynchronous function": ": write `async def`.",
    "object of type `None`": ". It may be None: look before you use it.",
}
_WIDENED = re.compile(
    r"Expected `(?:None \| )?Literal\[[^\]`]*\](?: \| None)?`, found `(?:str|int|bool)`$"
)
"""A text whose value is not known, where one of a few is wanted."""
_MISTAKEN = re.compile(r"BaseException|[Ee]xpected `[^`]*\bdict\[")
"""ty is just wrong: gather's exceptions are exceptions, and a TypedDict is a dict at run time."""
_RENAMED = {"unused-awaitable": "no-await"}


_OF_VALUES = frozenset(
    {
        "unsupported-operator",
        "no-matching-overload",
        "invalid-argument-type",
        "invalid-assignment",
        "invalid-return-type",
        "missing-union-attribute",
        "possibly-missing-attribute",
        "unresolved-attribute",
        "not-iterable",
        "not-subscriptable",
        "call-non-callable",
    }
)
"""Errors that the union of a mixed dictionary's values can cause by itself."""


class PythonChecker:
    """
    Checks Python against stubs (`codemode.check.Checker`).

    Args:
        max_memory_mib: ty is started again after it used more.
    """

    language: Language = "python"

    def __init__(self, *, max_memory_mib: int = 3072) -> None:
        self._max_memory_mib = max_memory_mib
        self.document = Document(
            "script/script.py", "python", lay_out=self._lay_out, start=self._start
        )

    async def check(
        self, script: Script, stubs: Mapping[str, str], *, engine: str, timeout_s: float
    ) -> list[Diagnostic]:
        """See `codemode.check.Checker`. What *engine* lacks is the gate's to say."""
        text = neutralised(script)
        items = await self._items(script, text, stubs, timeout_s)
        errors = [item for item in items if item.get("severity", 1) == 1]
        loose = loosened(read(text, "python")) if errors else None
        said: set[tuple[object, int]] | None = None
        if loose is not None:
            again = await self._items(script, loose.text, stubs, timeout_s)
            said = {(item.get("code"), _offset(loose, item)) for item in again}
        for item in errors:
            _excuse(item, text, said)
        items = [item for item in items if item.get("severity", 1) <= 2]
        found = [self._diagnostic(script, item) for item in items]
        found = [one for one in found if one.severity == "error"] + _first_of_each(
            [one for one in found if one.severity != "error"]
        )
        return sorted(found, key=lambda one: (one.line, one.column, one.code))

    async def _items(
        self, script: Script, text: str, stubs: Mapping[str, str], timeout_s: float
    ) -> list[dict[str, Any]]:
        items = await self.document.diagnose(text, stubs, timeout_s=timeout_s)
        return [
            item for item in items if item.get("severity", 1) <= 2 and not _is_allowed(script, item)
        ]

    async def close(self) -> None:
        """End ty and remove its folder."""
        await self.document.close()

    def _lay_out(self, folder: Path, stubs: Mapping[str, str]) -> None:
        write_stubs(folder / "stubs", stubs)
        # An environment with nothing in it: otherwise ty finds the one it was started from.
        (folder / "env" / "bin").mkdir(parents=True)
        (folder / "env" / "bin" / "python").touch()
        (folder / "env" / "lib" / f"python{PYTHON_VERSION}" / "site-packages").mkdir(parents=True)
        (folder / "script").mkdir()
        (folder / "script" / "script.py").write_text("", encoding="utf-8")
        (folder / "script" / "__builtins__.pyi").write_text(
            f"{DECLARATIONS}input: Any\n", encoding="utf-8"
        )
        (folder / "ty.toml").write_text(CONFIG, encoding="utf-8")

    async def _start(self, folder: Path) -> LanguageServer:
        server = LanguageServer(
            "ty",
            [str(python_checker_program()), "server"],
            env=check_environment(folder),
            folder=folder,
            initialization={"logLevel": "error"},
            max_memory_mib=self._max_memory_mib,
        )
        await server.start(timeout_s=30.0)
        return server

    def _diagnostic(self, script: Script, item: Mapping[str, Any]) -> Diagnostic:
        line, column, end_line, end_column = submitted_range(script, item["range"])
        code = str(item.get("code") or "error")
        full = str(item["message"])
        # What follows the first paragraph explains the checker's own set-up, paths included.
        message = full.split("\n\n", 1)[0]
        message += next((advice for sign, advice in _ADVICE.items() if sign in message), "")
        return Diagnostic(
            line=line,
            column=column,
            end_line=end_line,
            end_column=end_column,
            severity="error" if item.get("severity") == 1 else "warning",
            code=_RENAMED.get(code, code),
            message=message,
            suggestions=tuple(_MEANT.findall(full)),
        )


def _excuse(item: dict[str, Any], text: str, said: set[tuple[object, int]] | None) -> None:
    """
    Make a warning of an error that is about a loose type alone, or drop it.

    Args:
        said: Code and offset of what ty says of the loosened form; None if there is none.
    """
    message, gap, rest = str(item["message"]).partition("\n\n")
    if _WIDENED.search(message):
        hint = "Which value it is, is checked when the call is made."
    elif said is not None and item.get("code") in _OF_VALUES and _place(text, item) not in said:
        hint = "It is not known here which value is which, so it is not checked."
    else:
        return
    item["severity"] = 3 if _MISTAKEN.search(message) else 2
    item["message"] = f"{message}. {hint}{gap}{rest}"


def _first_of_each(warnings: list[Diagnostic]) -> list[Diagnostic]:
    """One warning of each kind: what runs anyway needs no list."""
    found: dict[str, Diagnostic] = {}
    for one in sorted(warnings, key=lambda one: (one.line, one.column)):
        found.setdefault(one.message.rpartition(". ")[2], one)
    places = {(one.line, one.column): one for one in reversed(found.values())}
    return list(places.values())


def _place(text: str, item: Mapping[str, Any]) -> tuple[object, int]:
    """Code and offset of what ty says of *text*."""
    start = item["range"]["start"]
    line = text.split("\n")[start["line"]]
    column = utf16_offset(line, int(start["character"]))
    return item.get("code"), at(text, start["line"] + 1, column + 1)


def _offset(loose: Mapped, item: Mapping[str, Any]) -> int:
    return origin(loose.spans, _place(loose.text, item)[1])


def _is_allowed(script: Script, item: Mapping[str, Any]) -> bool:
    """Whether ty refuses at the script's own level what the harness allows there."""
    if item.get("code") != "invalid-syntax" or not _TOP_LEVEL.match(str(item["message"])):
        return False
    source = read(script.runnable, "python")
    start = item["range"]["start"]
    line = script.runnable.split("\n")[start["line"]]
    offset = at(script.runnable, start["line"] + 1, utf16_offset(line, int(start["character"])) + 1)
    return is_top_level(source, offset)
