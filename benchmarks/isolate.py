"""
The isolate engine: a run from script to result, and what one tool call costs.

    python benchmarks/isolate.py [--rounds 100] [--fastmcp]

Aims: TypeScript p50 30 ms, Python p50 5 ms, a call 1 ms. Peers in the same run: a cold
``deno run`` of the same script, pydantic-monty as it is, and, with ``--fastmcp``, FastMCP's
CodeMode, installed into a temporary environment.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import quantiles
from typing import Any

from deno import find_deno_bin
from pydantic_monty import AsyncMonty

from codemode.core.run import Job, Limits, NamedTool, Outcome, Reply, ToolCall
from codemode.sandbox.isolate import IsolateEngine

N_CALLS = 200
AIMS_MS = {"typescript": 30.0, "python": 5.0, "call": 1.0}
NAMES = {"desk": {"echo": NamedTool(tool="desk.echo")}}
RUN = {
    "typescript": 'import { desk } from "tools"; export default async () => {\n'
    "  const items: number[] = [1, 2, 3];\n"
    "  return items.map((n: number) => ({ n, square: n * n }));\n};",
    "python": "from tools import desk\nitems = [1, 2, 3]\n"
    "return [{'n': n, 'square': n * n} for n in items]",
}
CALLS = {
    "typescript": 'import { desk } from "tools"; export default async () => {\n'
    f"  for (let n = 0; n < {N_CALLS}; n += 1) await desk.echo({{ n }});\n"
    "  return null;\n};",
    "python": f"from tools import desk\nfor n in range({N_CALLS}):\n"
    "    await desk.echo(n=n)\nreturn None",
}
COLD_DENO = (
    "const items: number[] = [1, 2, 3];\n"
    "console.log(JSON.stringify(items.map((n: number) => ({ n, square: n * n }))));\n"
)
BARE_MONTY = "items = [1, 2, 3]\n[{'n': n, 'square': n * n} for n in items]"
FASTMCP = """\
import asyncio, json, time
from fastmcp import Client, FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode
server = FastMCP("bench", transforms=[CodeMode()])
@server.tool
def echo(n: int) -> dict:
    return {"n": n}
async def main(rounds):
    took = []
    async with Client(server) as client:
        code = "items = [1, 2, 3]\\nreturn [{'n': n, 'square': n * n} for n in items]"
        for i in range(rounds + 3):
            began = time.perf_counter()
            await client.call_tool("execute", {"code": code})
            took.append((time.perf_counter() - began) * 1000)
    print(json.dumps(took[3:]))
asyncio.run(main(ROUNDS))
"""


async def answer(call: ToolCall, workspace: object) -> Reply:
    return Reply(value=None)


def job(language: Any, source: str) -> Job:
    limits = Limits(max_calls=N_CALLS)
    return Job(run_id="bench", language=language, source=source, names=NAMES, limits=limits)


def succeeded(outcome: Outcome) -> Outcome:
    if outcome.status != "succeeded":
        raise SystemExit(f"the script failed: {outcome.error}")
    return outcome


async def times(rounds: int, once: Callable[[], Awaitable[object]], rest_s: float) -> list[float]:
    """Milliseconds of each of *rounds*; a pause lets the pool make the next process."""
    took = []
    for number in range(rounds + 3):
        await asyncio.sleep(rest_s)
        began = time.perf_counter()
        await once()
        if number >= 3:
            took.append((time.perf_counter() - began) * 1000)
    return took


async def call_times(engine: IsolateEngine, language: str, rounds: int) -> list[float]:
    """Milliseconds of one call: a run with many calls less a run with none, per call."""
    took = []
    for _ in range(rounds):
        await asyncio.sleep(0.2)
        began = time.perf_counter()
        succeeded(await engine.run(job(language, RUN[language]), answer))
        middle = time.perf_counter()
        await asyncio.sleep(0.2)
        again = time.perf_counter()
        succeeded(await engine.run(job(language, CALLS[language]), answer))
        took.append((time.perf_counter() - again - (middle - began)) * 1000 / N_CALLS)
    return took


async def cold_deno(script: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        find_deno_bin(), "run", "--quiet", "--no-prompt", "--no-remote", "--no-npm",
        "--cached-only", "--no-config", "--no-lock", str(script),
        stdout=subprocess.DEVNULL, env={"DENO_DIR": str(script.parent), "NO_COLOR": "1"},
    )  # fmt: skip
    if await process.wait() != 0:
        raise SystemExit("deno run failed")


async def bare_monty(pool: AsyncMonty) -> None:
    async with pool.checkout() as session:
        await session.feed_run(BARE_MONTY)


def fastmcp(rounds: int) -> list[float]:
    """FastMCP's CodeMode in an environment of its own; [] if it cannot be installed."""
    with tempfile.TemporaryDirectory(prefix="codemode-bench-") as folder:
        python = Path(folder) / "bin" / "python"
        steps = [
            [sys.executable, "-m", "venv", folder],
            [str(python), "-m", "pip", "install", "--quiet", "fastmcp[code-mode]"],
        ]
        for step in steps:
            if subprocess.run(step, timeout=600, check=False).returncode:
                return []
        source = FASTMCP.replace("ROUNDS", str(rounds))
        done = subprocess.run(
            [str(python), "-c", source], capture_output=True, text=True, timeout=600, check=False
        )
        if done.returncode:
            print(done.stderr[-500:], file=sys.stderr)
            return []
        took: list[float] = json.loads(done.stdout.splitlines()[-1])
        return took


def show(name: str, took: list[float], aim_ms: float | None = None) -> None:
    if not took:
        print(f"{name:<44}{'not available':>20}")
        return
    cuts = quantiles(took, n=20, method="inclusive")
    p50, p95 = cuts[9], cuts[18]
    verdict = "" if aim_ms is None else f"aim {aim_ms:g}: {'met' if p50 <= aim_ms else 'MISSED'}"
    print(f"{name:<44}{p50:>10.2f}{p95:>10.2f}   {verdict}")


async def main(rounds: int, with_fastmcp: bool) -> None:
    engine = IsolateEngine(warm=3)
    await engine.start()
    print(f"{f'milliseconds, {rounds} rounds':<44}{'p50':>10}{'p95':>10}")
    try:
        for language, name in (("typescript", "TypeScript"), ("python", "Python")):

            async def once(language: str = language) -> None:
                succeeded(await engine.run(job(language, RUN[language]), answer))

            rest_s = 0.25 if language == "typescript" else 0.02
            took = await times(rounds, once, rest_s)
            show(f"codemode isolate, {name}, warm", took, AIMS_MS[language])
        for language, name in (("typescript", "TypeScript"), ("python", "Python")):
            took = await call_times(engine, language, max(5, rounds // 10))
            show(f"codemode isolate, {name}, one tool call", took, AIMS_MS["call"])
    finally:
        await engine.close()
    with tempfile.TemporaryDirectory(prefix="codemode-bench-") as folder:
        script = Path(folder) / "script.ts"
        script.write_text(COLD_DENO)
        took = await times(max(10, rounds // 4), lambda: cold_deno(script), 0.05)
        show("peer: cold deno run, same script", took)
    async with AsyncMonty(min_processes=2) as pool:
        took = await times(rounds, lambda: bare_monty(pool), 0.02)
        show("peer: pydantic-monty, pooled, no tools", took)
    await asyncio.sleep(0.05)
    if with_fastmcp:
        show("peer: FastMCP CodeMode, execute", await asyncio.to_thread(fastmcp, rounds))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--fastmcp", action="store_true", help="install and measure FastMCP too")
    chosen = parser.parse_args()
    asyncio.run(main(chosen.rounds, chosen.fastmcp))
