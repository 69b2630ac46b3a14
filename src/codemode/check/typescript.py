"""TypeScript: the native TypeScript 7 compiler, held open as a language server."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from codemode.check.document import Document, utf16_offset, write_stubs
from codemode.check.lsp import LanguageServer
from codemode.check.toolchain import check_environment, typescript_program
from codemode.core.gate import neutralised
from codemode.core.mixed_typescript import DECLARATIONS, Said, excuse, loosened
from codemode.core.run import Diagnostic, Language
from codemode.core.script import Script
from codemode.core.syntax import at, origin, read

GLOBALS = Path(__file__).with_name("globals.d.ts")

OPTIONS: Mapping[str, Any] = {
    "strict": True,
    # Off: `{ cursor }` where cursor may be undefined is how people page, and a property that
    # is undefined is never sent. null is still refused where the row does not allow it.
    "exactOptionalPropertyTypes": False,
    "erasableSyntaxOnly": True,  # enums and namespaces: Node's type stripping refuses them
    # `rows[0].title` is what people write; a wrong guess is a clear error at run time,
    # while refusing it would cost a repair for nearly every script that reads a list.
    "noUncheckedIndexedAccess": False,
    "useUnknownInCatchVariables": False,  # scripts catch ToolError and read its fields
    "target": "esnext",
    "module": "esnext",
    "moduleResolution": "bundler",
    # Not all of esnext: Node has no Temporal, no Map.getOrInsert and no Uint8Array.fromBase64.
    "lib": ["es2025", "esnext.array", "esnext.decorators", "esnext.disposable", "esnext.error"],
    "types": [],
    "typeRoots": [],
    "resolveJsonModule": False,  # tsc prints the keys of JSON it was made to import
    "allowJs": False,
    "skipLibCheck": True,
    "noEmit": True,
    "paths": {"tools": ["./stubs/tools.d.ts"]},
}

_NOTES = {7006, 7019, 7031}
"""Parameters without a type are how JavaScript is written; they stay ``any``."""

_REWORDED = {
    1294: "enum, namespace and parameter properties are not supported, because types are only "
    'erased. Use a union such as `type Color = "red" | "blue"` or an `as const` object.'
}

_INTERNAL_PATH = re.compile(r'(?:typeof )?import\("[^"]*/stubs/([^"/]+?)(?:\.d)?"\)')
_MEANT = re.compile(r"Did you mean (?:to write )?'([^']+)'")
_PROMISE = re.compile(r"does not exist on type 'Promise<")


class TypeScriptChecker:
    """
    Checks TypeScript against stubs (`codemode.check.Checker`).

    Args:
        max_memory_mib: The compiler is started again after it used more.
    """

    language: Language = "typescript"

    def __init__(self, *, max_memory_mib: int = 3072) -> None:
        self._max_memory_mib = max_memory_mib
        self._program: Path | None = None
        self.document = Document(
            "script.ts", "typescript", lay_out=self._lay_out, start=self._start
        )

    async def check(
        self, script: Script, stubs: Mapping[str, str], *, engine: str, timeout_s: float
    ) -> list[Diagnostic]:
        """
        See `codemode.check.Checker`. *engine* changes nothing: both have the same globals.

        The very first check on a machine installs the compiler; that has a deadline of its own.
        """
        if self._program is None:
            self._program = await typescript_program()
        text = neutralised(script)
        items = await self._items(text, stubs, timeout_s)
        if any(_is_error(item) for item in items):
            await self._excuse(text, items, stubs, timeout_s)
        found = [self._diagnostic(script, item) for item in items]
        found = [one for one in found if one.severity != "warning"] + _first_of_each(
            [one for one in found if one.severity == "warning"]
        )
        return sorted(found, key=lambda one: (one.line, one.column, one.code))

    async def _items(
        self, text: str, stubs: Mapping[str, str], timeout_s: float
    ) -> list[dict[str, Any]]:
        items = await self.document.diagnose(text, stubs, timeout_s=timeout_s)
        return [item for item in items if item.get("severity", 1) <= 2]

    async def _excuse(
        self, text: str, items: list[dict[str, Any]], stubs: Mapping[str, str], timeout_s: float
    ) -> None:
        """Make warnings of errors that only a missing annotation causes."""
        source = read(text, "typescript")
        if source.root.has_error:
            return
        loose = loosened(source)
        again: list[Said] = []
        if loose is not None:
            for item in await self._items(loose.mapped.text, stubs, timeout_s):
                said = _said(loose.mapped.text, item)
                again.append(replace(said, offset=origin(loose.mapped.spans, said.offset)))
        for item in items:
            if not _is_error(item):
                continue
            verdict = excuse(source, _said(text, item), loose, again)
            if isinstance(verdict, str):
                item["severity"] = 2
                item["message"] = verdict
            elif verdict is not None:
                item["message"] = verdict.message

    async def close(self) -> None:
        """End the compiler and remove its folder."""
        await self.document.close()

    def _lay_out(self, folder: Path, stubs: Mapping[str, str]) -> None:
        write_stubs(folder / "stubs", stubs)
        (folder / "globals.d.ts").write_bytes(GLOBALS.read_bytes())
        (folder / "loose.d.ts").write_text(DECLARATIONS, encoding="utf-8")
        (folder / "script.ts").write_text("export {};\n", encoding="utf-8")
        declarations = ["./stubs/tools.d.ts"] if "tools.d.ts" in stubs else []
        config = {
            "compilerOptions": OPTIONS,
            "files": ["./script.ts", "./globals.d.ts", "./loose.d.ts", *declarations],
        }
        (folder / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")

    async def _start(self, folder: Path) -> LanguageServer:
        assert self._program is not None
        server = LanguageServer(
            "TypeScript",
            [str(self._program), "--lsp", "--stdio"],
            env=check_environment(folder) | {"GOMEMLIMIT": f"{self._max_memory_mib * 3 // 4}MiB"},
            folder=folder,
            max_memory_mib=self._max_memory_mib,
        )
        await server.start(timeout_s=30.0)
        return server

    def _diagnostic(self, script: Script, item: Mapping[str, Any]) -> Diagnostic:
        number = int(item.get("code") or 0)
        line, column, end_line, end_column = submitted_range(script, item["range"])
        message = _INTERNAL_PATH.sub(r"\1", re.sub(r"\n\s*", " ", str(item["message"])))
        if _PROMISE.search(message):
            message += " Did you forget `await`?"
        message = _REWORDED.get(number, message)
        severity = "note" if number in _NOTES else "error" if item.get("severity") == 1 else ""
        return Diagnostic(
            line=line,
            column=column,
            end_line=end_line,
            end_column=end_column,
            severity="note" if severity == "note" else "error" if severity else "warning",
            code=f"TS{number}",
            message=message,
            suggestions=tuple(_MEANT.findall(message)),
        )


def _is_error(item: Mapping[str, Any]) -> bool:
    return item.get("severity") == 1 and item.get("code") not in _NOTES


def _said(text: str, item: Mapping[str, Any]) -> Said:
    start = item["range"]["start"]
    line = text.split("\n")[start["line"]]
    column = utf16_offset(line, int(start["character"]))
    return Said(
        number=int(item.get("code") or 0),
        message=re.sub(r"\n\s*", " ", str(item["message"])),
        offset=at(text, start["line"] + 1, column + 1),
    )


def _first_of_each(warnings: list[Diagnostic]) -> list[Diagnostic]:
    """One warning of each kind: what runs anyway needs no list."""
    found: dict[str, Diagnostic] = {}
    for one in sorted(warnings, key=lambda one: (one.line, one.column)):
        found.setdefault(one.message.rpartition(". ")[2] or one.code, one)
    return list(found.values())


def submitted_range(script: Script, span: Mapping[str, Any]) -> tuple[int, int, int, int]:
    """Line, column, end line and end column, as submitted, of an LSP range in the runnable form."""
    text = script.typed or script.runnable
    lines = text.split("\n")
    found: list[int] = []
    for place in (span["start"], span["end"]):
        row = int(place["line"])
        line = lines[row] if row < len(lines) else ""
        column = utf16_offset(line, int(place["character"]))
        found += script.locate(at(text, row + 1, column + 1))
    if (found[2], found[3]) < (found[0], found[1]):
        found[2:] = found[:2]
    return found[0], found[1], found[2], found[3]
