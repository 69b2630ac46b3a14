"""
What the real checkers say of many schemas at once.

Every case becomes a tool; every value becomes a call on a line of its own in one
script a language; one process of tsc and one of ty judge all of them.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codemode import targets
from codemode.check.toolchain import python_checker_program, typescript_program
from codemode.check.typescript import OPTIONS
from codemode.core.names import parameters
from codemode.core.tool import Binding, Directory, Tool, Toolset
from codemode.generate import Generated, generate
from codemode.store.generated import read_templates, write
from codemode.targets import python, typescript

NO_BINDING = Binding(via="none", spec=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """*valid* and *invalid* are arguments of a tool whose ``args`` are *schema*."""

    name: str
    schema: dict[str, Any]
    valid: list[Any]
    invalid: list[Any]
    defs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a checker said of each value: its first message, or "" where it accepts it."""

    valid: tuple[str, ...]
    invalid: tuple[str, ...]


def tool(name: str, args: Any, *, returns: Any = None, toolset: Toolset | None = None) -> Tool:
    return Tool(
        toolset=toolset or Toolset(name="cases", description="Cases."),
        name=name,
        description=f"Case {name}.",
        when_to_use="A test needs it.",
        args=args,
        returns=returns,
        effect="read",
        binding=NO_BINDING,
    )


def stubs(directory: Directory, language: str) -> Generated:
    return generate(directory, targets.load(language), read_templates(language))


def judge(cases: Iterable[Case], language: str, folder: Path) -> dict[str, Verdict]:
    """Case name -> verdict. Also asserts that the stubs themselves have no fault."""
    cases = list(cases)
    tools = {case.name: tool(case.name, case.schema) for case in cases}
    generated = stubs(Directory(tools.values()), language)
    call = {"typescript": typescript_call, "python": python_call}[language]
    places: list[tuple[str, str]] = []
    lines: list[str] = []
    for case in cases:
        for kind, values in (("valid", case.valid), ("invalid", case.invalid)):
            for value in values:
                places.append((case.name, kind))
                lines.append(call(tools[case.name], value))
    check = {"typescript": check_typescript, "python": check_python}[language]
    messages = check(generated.files, lines, folder)
    said: dict[str, dict[str, list[str]]] = {
        case.name: {"valid": [], "invalid": []} for case in cases
    }
    for number, (name, kind) in enumerate(places):
        said[name][kind].append(messages.get(number, ""))
    return {
        name: Verdict(tuple(kinds["valid"]), tuple(kinds["invalid"]))
        for name, kinds in said.items()
    }


def check_typescript(
    files: Mapping[str, str], lines: list[str], folder: Path, *, toolset: str = "cases"
) -> dict[int, str]:
    """Index of a line -> what tsc says of it. A message about the stubs fails."""
    write(folder / "stubs", files)
    assert not any("\n" in line for line in lines)
    (folder / "script.ts").write_text(
        "\n".join([f'import {{ {toolset} }} from "tools";', *lines]), encoding="utf-8"
    )
    options = {**OPTIONS, "skipLibCheck": False}
    config = {"compilerOptions": options, "files": ["script.ts", "stubs/tools.d.ts"]}
    (folder / "tsconfig.json").write_text(json.dumps(config))
    program = asyncio.run(typescript_program())
    done = subprocess.run(
        [str(program), "-p", str(folder), "--pretty", "false"],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=folder,
    )
    return _messages(done.stdout, r"script\.ts\((\d+),\d+\): (.*)", skip=2)


def check_python(
    files: Mapping[str, str], lines: list[str], folder: Path, *, toolset: str = "cases"
) -> dict[int, str]:
    """Index of a line -> what ty says of it. A message about the stubs fails."""
    write(folder / "stubs", files)
    assert not any("\n" in line for line in lines)
    (folder / "script.py").write_text(
        "\n".join(
            [
                f"from tools import {toolset}",
                "async def main():",
                "  ...",
                *("  " + x for x in lines),
            ]
        ),
        encoding="utf-8",
    )
    done = subprocess.run(
        [
            str(python_checker_program()),
            "check",
            "script.py",
            "stubs",
            "--extra-search-path=stubs",
            "--python-version=3.13",
            "--output-format=concise",
        ],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=folder,
    )
    return _messages(done.stdout, r"script\.py:(\d+):\d+: (.*)", skip=4)


def _messages(output: str, pattern: str, *, skip: int) -> dict[int, str]:
    found: dict[int, str] = {}
    for line in output.splitlines():
        match = re.match(pattern, line)
        if match:
            assert int(match[1]) >= skip, line
            found.setdefault(int(match[1]) - skip, match[2])
        elif re.match(r"stubs/|error TS", line):
            raise AssertionError(f"a message about the stubs: {line}")
    return found


def typescript_call(tool: Tool, value: Any) -> str:
    name = typescript.TARGET.tool_name(tool.name)
    return f"await cases.{name}({typescript.literal(value)});"


def python_call(tool: Tool, value: Mapping[str, Any]) -> str:
    name = python.TARGET.tool_name(tool.name)
    keywords = parameters(tool, tuple(value))
    value = _as_python(value, tool.args)
    given = ", ".join(f"{keywords[key]}={python_literal(item)}" for key, item in value.items())
    return f"await cases.{name}({given})"


def python_literal(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + "".join(python_literal(item) + ", " for item in value) + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(python_literal, value)) + "]"
    if isinstance(value, Mapping):
        items = (f"{python.literal(key)}: {python_literal(item)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    return python.literal(value)


def _as_python(value: Any, schema: Any) -> Any:
    """Arrays that a schema describes by position are tuples in Python; others lists."""
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, Mapping):
        properties = schema.get("properties", {})
        const = schema.get("const")
        if isinstance(const, Mapping):
            properties = {key: {"const": item} for key, item in const.items()}
        return {key: _as_python(item, properties.get(key)) for key, item in value.items()}
    if isinstance(value, list):
        by_position = "prefixItems" in schema or isinstance(schema.get("items"), list)
        if by_position or isinstance(schema.get("const"), list):
            return tuple(value)
        return [_as_python(item, schema.get("items")) for item in value]
    return value
