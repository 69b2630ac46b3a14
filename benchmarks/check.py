"""
How long a check takes: warm and cold, both languages, against a process a check.

    python benchmarks/check.py [--rounds 100] [--openapi FILE]

Directories: the shipped one, and 900 operations of npm's @octokit/openapi. A warm check is
everything from submitted text to answer (normalise, gate, compiler, preview), each with a
text that was never seen before. On a busy machine read the processor time of a check: in
this process (normalise, gate, preview) and in the language server. The peer is what one
would do without a language server: `tsc` or `ty check` on the same files, once a check.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from codemode import bindings, targets
from codemode.check.python import PythonChecker
from codemode.check.report import check_script
from codemode.check.toolchain import (
    check_environment,
    npm_command,
    python_checker_program,
    typescript_program,
)
from codemode.check.typescript import TypeScriptChecker
from codemode.core.run import Language
from codemode.core.script import normalise
from codemode.core.tool import Directory, Tool
from codemode.core.usage import ToolNames
from codemode.generate import generate
from codemode.store.generated import read_templates
from codemode.store.rows import load_directory
from codemode.store.shipped import shipped
from generate import N_OPERATIONS, OCTOKIT, write_toolsets
from openapi import from_openapi

AIMS_MS: dict[Language, float] = {"typescript": 10.0, "python": 5.0}
PEER_ROUNDS = 5
N_TOOLS = 3


def value(schema: Any) -> Any:
    """Something of about the right type; a check that finds mistakes is a check too."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}.get(
        kind if isinstance(kind, str) else "", "text"
    )


def pick(directory: Directory) -> list[Tool]:
    """Tools of different toolsets, those with the most arguments first."""
    best = [max(tools, key=lambda tool: len(tool.args.get("properties", {})))
            for tools in directory.toolsets.values()]  # fmt: skip
    return sorted(best, key=lambda tool: -len(tool.args.get("properties", {})))[:N_TOOLS]


def script(tools: list[Tool], language: Language, number: int) -> str:
    """A script of the kind models write, new for each *number*."""
    target = targets.load(language)
    lines = []
    for index, tool in enumerate(tools):
        path = f"{target.toolset_name(tool.toolset.name)}.{target.tool_name(tool.name)}"
        properties = tool.args.get("properties", {})
        args = {name: value(properties.get(name)) for name in tool.args.get("required", ())}
        if language == "typescript":
            lines.append(f"const a{index} = await {path}({json.dumps(args)});")
            lines.append(f"console.log(a{index}, {number});")
        else:
            given = ", ".join(f"{n}={v!r}" for n, v in args.items() if n.isidentifier())
            lines.append(f"a{index} = await {path}({given})")
            lines.append(f"print(a{index}, {number})")
    lines.append("a0")
    return "\n".join(lines)


async def measure(directory: Directory, language: Language, rounds: int) -> Iterator[str]:
    """Cells of one row."""
    target = targets.load(language)
    stubs = generate(directory, target, read_templates(language)).files
    names = ToolNames(directory, target.toolset_name, target.tool_name)
    checker = TypeScriptChecker() if language == "typescript" else PythonChecker()
    tools = pick(directory)

    async def once(number: int) -> float:
        started = time.perf_counter()
        made = normalise(script(tools, language, number), language, toolsets=names.toolsets)
        await check_script(
            made,
            names=names,
            target=target,
            stubs=stubs,
            checker=checker,
            engine="container",
            timeout_s=120,
        )
        return (time.perf_counter() - started) * 1000

    try:
        cold = await once(0)
        await once(1)
        own, server = time.process_time(), server_cpu_s(checker)
        warm = [await once(number) for number in range(2, rounds + 2)]
        own_ms = (time.process_time() - own) * 1000 / rounds
        server_ms = (server_cpu_s(checker) - server) * 1000 / rounds
        folder = checker.document.folder
        assert folder is not None
        made = normalise(script(tools, language, 0), language, toolsets=names.toolsets)
        peer = await asyncio.to_thread(peer_ms, folder, language, made.runnable)
    finally:
        await checker.close()
    p50, p95 = median(warm), quantiles(warm, n=20)[18]
    size = sum(len(text) for text in stubs.values()) / 2**20
    return iter(
        [
            language,
            str(len(directory)),
            f"{size:.1f} MiB",
            f"{cold:.0f} ms",
            f"{p50:.1f} ms",
            f"{p95:.1f} ms",
            f"{AIMS_MS[language]:.0f} ms",
            f"{own_ms:.1f} + {server_ms:.1f} ms",
            f"{peer:.0f} ms",
            f"{peer / p50:.0f}x",
        ]
    )


def server_cpu_s(checker: TypeScriptChecker | PythonChecker) -> float:
    """Processor time that the language server has used; 0 where /proc does not say."""
    server = checker.document.server
    stat = Path(f"/proc/{server.pid if server else 0}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peer_ms(folder: Path, language: Language, text: str) -> float:
    """One process a check, on the files that the checker laid out."""
    if language == "typescript":
        (folder / "script.ts").write_text(text)
        command = [str(asyncio.run(typescript_program())), "--noEmit", "-p", str(folder)]
    else:
        (folder / "script" / "script.py").write_text(text)
        command = [str(python_checker_program()), "check", "--project", str(folder), "--quiet"]
    taken = []
    for _ in range(PEER_ROUNDS):
        started = time.perf_counter()
        subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=check_environment(folder),
            cwd=folder,
            timeout=120,
            check=False,
        )
        taken.append((time.perf_counter() - started) * 1000)
    return median(taken)


def octokit(folder: Path) -> Any:
    """GitHub's description from npm."""
    (folder / "package.json").write_text("{}")
    command = [*npm_command(), "install", "--silent", "--no-audit", "--no-fund", OCTOKIT]
    subprocess.run(command, cwd=folder, check=True, timeout=600)
    file = folder / "node_modules/@octokit/openapi/generated/api.github.com.json"
    return json.loads(file.read_text())


async def run(folder: Path, options: argparse.Namespace) -> None:
    known = bindings.load_all()
    if options.openapi is not None:
        document = json.loads(options.openapi.read_text())
    else:
        document = octokit(folder)
    write_toolsets(folder / "github", from_openapi(document, N_OPERATIONS))
    await typescript_program()
    print("| directory | language | tools | stubs | first | p50 | p95 | aim | cpu | peer | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, place in (("shipped", shipped("directory")), ("octokit", folder / "github")):
        directory = load_directory(place, known)
        for language in AIMS_MS:
            cells = await measure(directory, language, options.rounds)
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--openapi", type=Path, help="Instead of installing from npm.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="codemode-bench-") as name:
        asyncio.run(run(Path(name), options))


if __name__ == "__main__":
    main()
