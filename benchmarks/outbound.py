"""
What the outbound handler adds to one tool call: everything but the network.

    python benchmarks/outbound.py [--rounds 2000] [--profile]

Policy, validation against the row's schema, ledger and audit file on disk, credential,
scrubbing and validation of the answer are real; the service behind the tool is a value.
Aim: p50 1 ms for the whole way from sandbox to handler and back, of which this is the
handler's part. Beside it the floor: awaiting the same sender and reading its answer as
JSON, and the price of one flush to this disk, which every write pays before it is sent.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import os
import pstats
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import quantiles
from typing import Any

from codemode import bindings
from codemode.core.call import Response
from codemode.core.credential import Lookup
from codemode.core.outbound import OutboundRun
from codemode.core.policy import DEFAULT
from codemode.core.run import Limits, ToolCall
from codemode.core.tool import Directory
from codemode.outbound import Outbound
from codemode.store.audit import AuditFile
from codemode.store.credentials import load_credentials
from codemode.store.ledger import SqliteLedger
from codemode.store.rows import load_directory
from codemode.store.secrets import SecretStore
from codemode.store.shipped import shipped

AIM_MS = 1.0
READ, WRITE = "github.issues_get", "github.issues_create"


class Value:
    """A service that answers at once."""

    def __init__(self, body: bytes) -> None:
        self.response = Response(
            status=200, headers={"content-type": "application/json"}, body=body
        )

    async def send(self, request: Any, context: Any) -> Response:
        return self.response

    async def close(self) -> None:
        return None


async def timed(rounds: int, once: Callable[[int], Awaitable[Any]]) -> list[float]:
    for n in range(min(50, rounds)):
        await once(n)
    found = []
    for n in range(50, 50 + rounds):
        started = time.perf_counter()
        await once(n)
        found.append((time.perf_counter() - started) * 1000)
    return found


def row(name: str, times_ms: list[float], aim: str = "") -> str:
    cuts = quantiles(times_ms, n=100)
    return f"{name:<44} {cuts[49]:>8.3f} {cuts[94]:>8.3f} {cuts[98]:>8.3f}  {aim}"


def handler(folder: Path, directory: Directory, body: bytes, calls: int) -> Outbound:
    credentials = load_credentials(shipped("directory"))
    environment = {each.lookup.env: "benchmark-" + "x" * 40 for each in credentials.values()}
    run = OutboundRun(
        run_id="bench",
        run_key=f"bench-{time.perf_counter_ns()}",
        directory=directory,
        bindings=bindings.load_all(),
        credentials={
            name: each
            for name, each in credentials.items()
            if each.lookup.provider == "env" or each.lookup == Lookup()
        },
        policy=DEFAULT.allowing(["github.*"]),
        max_calls=calls,
    )
    return Outbound(
        run,
        senders={"http": Value(body)},
        ledger=SqliteLedger(folder / "ledger.sqlite"),
        audit=AuditFile(folder / "audit.jsonl"),
        secrets=SecretStore(environment),
        limits=Limits(max_calls=calls),
    )


async def measure(rounds: int, folder: Path) -> None:
    directory = load_directory(shipped("directory"), bindings.load_all())
    example = directory.get(READ).example or {}
    body = json.dumps(example.get("returns")).encode()
    # The same answer again until it is long: what scrubbing and validation cost by size.
    big = json.dumps({**dict(example.get("returns") or {}), "body": "lorem ipsum " * 20_000})
    read_args, write_args = example["args"], (directory.get(WRITE).example or {})["args"]

    def flush_file() -> Callable[[int], Awaitable[None]]:
        fd = os.open(folder / "flush", os.O_CREAT | os.O_WRONLY)

        async def once(n: int) -> None:
            os.pwrite(fd, b"x" * 4096, 0)
            os.fdatasync(fd)

        return once

    def calling(tool: str, args: Any, answer: bytes, key: str) -> Callable[[int], Awaitable[None]]:
        outbound = handler(folder, directory, answer, rounds * 2 + 200)

        async def once(n: int) -> None:
            call = ToolCall(id=n, tool=tool, args={**args, key: f"{args[key]} {n}"})
            reply = await outbound.answer(call, None)
            assert reply.error is None, reply.error

        return once

    async def floor(n: int) -> None:
        response = await Value(body).send(None, None)
        json.loads(response.body)

    print(f"{'one tool call, milliseconds':<44} {'p50':>8} {'p95':>8} {'p99':>8}")
    print(row("floor: await the sender, read JSON", await timed(rounds, floor)))
    name = f"read ({len(body)} byte answer)"
    read = await timed(rounds, calling(READ, read_args, body, "repo"))
    print(row(name, read, f"aim {AIM_MS:g} with the sandbox's part"))
    name = f"read ({len(big) // 1000} kB answer)"
    print(row(name, await timed(rounds // 4, calling(READ, read_args, big.encode(), "repo"))))
    print(row("floor of a write: two flushes of this disk",
              [2 * ms for ms in await timed(rounds // 4, flush_file())]))  # fmt: skip
    write = calling(WRITE, write_args, body, "title")
    print(row("write (reserved on disk before it is sent)", await timed(rounds // 4, write)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--profile", action="store_true", help="where a read's time goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        profile = cProfile.Profile()
        if options.profile:
            profile.enable()
        asyncio.run(measure(options.rounds, Path(folder)))
        if options.profile:
            profile.disable()
            pstats.Stats(profile).sort_stats("tottime").print_stats(20)


if __name__ == "__main__":
    main()
