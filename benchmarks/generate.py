"""
How long generation takes: whole process, both targets, against datamodel-code-generator.

    python benchmarks/generate.py [--rounds 3] [--no-peer] [--facts FOLDER] [--openapi FILE]

Directories: the shipped one; the operations of ``../shared/facts/http`` where that is
there; 900 operations of npm's @octokit/openapi, installed into a temporary folder.
The peer makes TypedDicts of the same schemas, one language, in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from codemode.store.rows import NOT_TOOLSETS
from codemode.store.shipped import shipped
from openapi import as_peer_input, from_facts, from_openapi

FACTS = Path(__file__).resolve().parents[2] / "shared" / "facts" / "http"
OCTOKIT = "@octokit/openapi@23.0.2"
N_OPERATIONS = 900
PEER_TIMEOUT_S = 900.0
SCRIPTS = Path(sys.executable).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """
    Args:
        cpu_s: User and system time, which other work on the machine disturbs less.
    """

    wall_s: float
    cpu_s: float
    peak_mib: float


def measure(command: list[str], *, timeout_s: float) -> Measured:
    """One process from start to end, its children included."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        _, said = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Measured(wall_s=float("inf"), cpu_s=0.0, peak_mib=0.0)
    wall_s = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}\n{said[-2000:]}")
    return Measured(wall_s=wall_s, cpu_s=0.0, peak_mib=0.0)


def measure_alone(command: list[str], *, timeout_s: float) -> Measured:
    """As `measure`, from a process of its own, so that the peak memory is this command's."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            done = measure(command, timeout_s=timeout_s)
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            numbers = [done.wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]
            os.write(write, json.dumps(numbers).encode())
        except SystemExit as error:
            print(error, file=sys.stderr)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    if not text:
        raise SystemExit("the measured command failed")
    wall_s, cpu_s, peak = json.loads(text)
    return Measured(wall_s=wall_s, cpu_s=cpu_s, peak_mib=peak)


def write_toolsets(folder: Path, documents: Iterable[dict[str, Any]]) -> int:
    folder.mkdir(parents=True)
    n = 0
    for document in documents:
        n += len(document["rows"])
        (folder / f"{document['toolset']}-rows.json").write_text(json.dumps(document, indent=1))
    return n


def octokit(folder: Path) -> dict[str, Any]:
    """GitHub's description from npm."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not on the PATH; give --openapi FILE instead")
    (folder / "package.json").write_text("{}")
    subprocess.run(
        [npm, "install", "--silent", "--no-audit", "--no-fund", OCTOKIT],
        cwd=folder,
        check=True,
        timeout=600,
    )
    file = folder / "node_modules/@octokit/openapi/generated/api.github.com.json"
    document: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return document


def peer_input(directory: Path, folder: Path) -> Path:
    folder.mkdir(parents=True)
    for path in directory.glob("*.json"):
        if path.name not in NOT_TOOLSETS:
            document = json.loads(path.read_text("utf-8"))
            document.setdefault("$defs", {})
            (folder / path.name).write_text(json.dumps(as_peer_input(document)))
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--facts", type=Path, default=FACTS)
    parser.add_argument("--openapi", type=Path, help="Instead of installing from npm.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="codemode-bench-") as name:
        run(Path(name), options)


def run(folder: Path, options: argparse.Namespace) -> None:
    inputs = [("shipped directory", shipped("directory"))]
    if options.facts.is_dir():
        write_toolsets(folder / "facts", from_facts(options.facts))
        inputs.append(("facts, 21 services", folder / "facts"))
    else:
        print(f"skipped: the facts ({options.facts} is not there)")
    document = json.loads(options.openapi.read_text()) if options.openapi else octokit(folder)
    write_toolsets(folder / "github", from_openapi(document, N_OPERATIONS))
    inputs.append(("@octokit/openapi", folder / "github"))

    print(
        f"| input | rows | p50 of {options.rounds} | cpu | peak | size | peer (cpu) | ratio (cpu) |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for index, (title, directory) in enumerate(inputs):
        out = folder / f"out{index}"
        rounds = []
        report = folder / "report.json"
        for _ in range(options.rounds):
            shutil.rmtree(out, ignore_errors=True)
            command = [
                str(SCRIPTS / "codemode"), "generate", "--directory", str(directory),
                "--out", str(out),
            ]  # fmt: skip
            rounds.append(measure_alone(command, timeout_s=300))
        measure([*command, "--report", str(report)], timeout_s=300)
        said = json.loads(report.read_text())
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        wall = median(one.wall_s for one in rounds)
        cpu = median(one.cpu_s for one in rounds)
        peak = max(one.peak_mib for one in rounds)
        peer, ratio = "-", "-"
        if not options.no_peer:
            source = peer_input(directory, folder / f"peer{index}")
            done = measure_alone(
                [
                    str(SCRIPTS / "datamodel-codegen"), "--input", str(source),
                    "--input-file-type", "jsonschema",
                    "--output-model-type", "typing.TypedDict",
                    "--output", str(folder / f"peer-out{index}"),
                ],
                timeout_s=PEER_TIMEOUT_S,
            )  # fmt: skip
            limit = done.wall_s == float("inf")
            seconds = PEER_TIMEOUT_S if limit else done.wall_s
            peer = f"{'> ' if limit else ''}{seconds:.1f} s ({done.cpu_s:.1f} s)"
            by_cpu = "" if limit else f" ({done.cpu_s / cpu:.0f}x)"
            ratio = f"{'> ' if limit else ''}{seconds / wall:.0f}x{by_cpu}"
        print(
            f"| {title} | {said['n_tools']} | {wall:.2f} s | {cpu:.2f} s | {peak:.0f} MiB "
            f"| {size / 1e6:.1f} MB | {peer} | {ratio} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
