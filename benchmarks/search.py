"""
Search latency over the shipped directory and over larger ones made of it; recall on the
LiveMCPBench tasks, where ../shared is there, beside plain BM25.

    python benchmarks/search.py
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from codemode import bindings
from codemode.core.search import Index, words
from codemode.core.tool import Binding, Directory, Tool, Toolset
from codemode.store.rows import load_directory
from codemode.store.shipped import shipped

TRACES = Path(__file__).resolve().parents[2] / "shared" / "traces"
QUERIES = [
    "open an issue", "merge two pdf files", "resize a picture", "weather forecast", "unzip archive",
    "refund a payment", "count matching lines", "convert time zone", "send a message",
]  # fmt: skip


def enlarged(tools: tuple[Tool, ...], size: int) -> Directory:
    """*size* tools: the shipped ones again under other names."""
    made: list[Tool] = []
    while len(made) < size:
        round_ = len(made) // len(tools)
        for tool in tools[: size - len(made)]:
            name = f"{tool.toolset.name}_{round_}" if round_ else tool.toolset.name
            made.append(replace(tool, toolset=replace(tool.toolset, name=name)))
    return Directory(made)


def latency(directory: Directory) -> tuple[float, float, float]:
    """Build time in s; p50 and p95 of a search in ms."""
    started = time.perf_counter()
    index = Index(directory)
    built = time.perf_counter() - started
    times = []
    for _ in range(5):
        for query in QUERIES:
            started = time.perf_counter()
            index.search(query, limit=10)
            times.append((time.perf_counter() - started) * 1000)
    times.sort()
    return built, statistics.median(times), times[int(len(times) * 0.95)]


def plain_bm25(tools: list[Tool]) -> Callable[[str, int], list[str]]:
    """BM25 over name and description as one bag of words, the usual baseline."""
    bags = [Counter(words(f"{tool.name} {tool.description}")) for tool in tools]
    mean = sum(sum(bag.values()) for bag in bags) / len(bags)
    df = Counter(word for bag in bags for word in bag)

    def search(query: str, limit: int) -> list[str]:
        scores = []
        for tool, bag in zip(tools, bags, strict=True):
            length = sum(bag.values())
            score = sum(
                math.log(1 + (len(bags) - df[word] + 0.5) / (df[word] + 0.5))
                * bag[word] * 2.2 / (bag[word] + 1.2 * (0.25 + 0.75 * length / mean))
                for word in set(words(query)) if word in bag
            )  # fmt: skip
            scores.append((-score, tool.id))
        return [tool_id for _, tool_id in sorted(scores)[:limit]]

    return search


def live_tools() -> list[Tool]:
    servers = json.loads((TRACES / "livemcpbench_tools.json").read_text(encoding="utf-8"))
    found: dict[str, Tool] = {}
    for entry in servers:
        for server, listing in entry.get("tools", {}).items():
            toolset = Toolset(name=server, description=entry.get("description", "") or server)
            for row in listing.get("tools", []):
                tool = Tool(
                    toolset=toolset,
                    name=row["name"],
                    description=row.get("description") or row["name"],
                    when_to_use="",
                    args=row.get("inputSchema") or {"type": "object"},
                    returns=None,
                    effect="read",
                    binding=Binding(via="mcp", spec=None),
                )
                found[tool.id] = tool
    return list(found.values())


def tasks() -> list[tuple[str, set[str]]]:
    """Task text and the names of its gold tools."""
    found = []
    for path in sorted((TRACES / "livemcpbench").glob("*.json")):
        for run in json.loads(path.read_text(encoding="utf-8")):
            meta = run.get("Annotator Metadata", {})
            gold = meta.get("Tools", "")
            names = {
                line.split(".", 1)[-1].strip().split(" ")[0].strip("`*")
                for line in str(gold).splitlines() if line.strip()
            }  # fmt: skip
            found.append((run.get("Question") or run.get("question") or "", names))
    return found


def main() -> None:
    tools = load_directory(shipped("directory"), bindings.load_all()).tools
    print(f"{'tools':>8} {'build s':>8} {'p50 ms':>8} {'p95 ms':>8}")
    for size in (len(tools), 900, 10_000, 100_000):
        built, p50, p95 = latency(enlarged(tools, size))
        print(f"{size:>8} {built:>8.2f} {p50:>8.2f} {p95:>8.2f}")
    if not TRACES.is_dir():
        print("recall: no ../shared/traces here")
        return
    live = live_tools()
    gold = [(text, names & {tool.name for tool in live}) for text, names in tasks()]
    gold = [(text, names) for text, names in gold if text and names]
    index, baseline = Index(Directory(live)), plain_bm25(live)
    print(f"\nrecall of gold tools by the task's text: {len(gold)} tasks, {len(live)} tools")
    print(f"{'at':>4} {'ours':>8} {'BM25':>8}")
    for limit in (5, 10, 20):
        ours, plain = [], []
        for text, names in gold:
            got = {tool.name for tool in index.search(text, limit=limit).tools}
            base = {tool_id.rsplit(".", 1)[-1] for tool_id in baseline(text, limit)}
            ours.append(len(got & names) / len(names))
            plain.append(len(base & names) / len(names))
        print(f"{limit:>4} {statistics.mean(ours):>8.2f} {statistics.mean(plain):>8.2f}")


if __name__ == "__main__":
    main()
