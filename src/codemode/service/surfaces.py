"""Token counts of every surface of a directory, and of one search on recorded tasks."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from codemode import targets
from codemode.core.index import CompactIndex, compact_index
from codemode.core.measure.call import TraceCall
from codemode.core.replay import LANGUAGES, Listing, recorded
from codemode.core.surfaces import (
    Count,
    Searched,
    Surface,
    Surfaces,
    Task,
    mcp_definition,
    sufficiency,
)
from codemode.core.tool import Directory
from codemode.errors import ConfigError
from codemode.generate import generate
from codemode.service.codemode import Codemode
from codemode.service.replay import read_tools
from codemode.store.config import Config
from codemode.store.generated import read_templates
from codemode.traces.open import find

ENCODING = "o200k_base"
INDEX_BUDGET = 20_000
LIMITS = (5, 10, 20)


def token_counter() -> Count:
    """
    Counts o200k tokens.

    Raises:
        ConfigError: If the package that counts is not installed.
    """
    try:
        import bpe_openai
    except ImportError:
        raise ConfigError(
            "Counting tokens needs the package bpe-openai, which is not installed.",
            hint="Install it: pip install 'codemode[tokens]'.",
        ) from None
    encoding = bpe_openai.get_encoding(ENCODING)

    def count(text: str) -> int:
        return len(encoding.encode_ordinary(text))

    return count


def as_text(value: Any) -> str:
    """JSON as it goes into a prompt: compact, letters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def surfaces(
    directory: Directory,
    *,
    agent_tools: Sequence[Mapping[str, Any]],
    instructions: str,
    count: Count,
    budget: int = INDEX_BUDGET,
) -> tuple[list[Surface], CompactIndex]:
    """
    Every surface of *directory*, largest idea first, and the compact index itself.

    Args:
        agent_tools: Definitions of search, describe and run, as an agent gets them.
        budget: Tokens for the compact index.
    """
    found = [
        Surface(
            name="mcp tools",
            language="",
            tokens=count(as_text([mcp_definition(tool) for tool in directory])),
            still_needed="",
            n_named=len(directory),
        )
    ]
    for language in LANGUAGES:
        target = targets.load(language)
        files = generate(directory, target, read_templates(language)).files
        found.append(
            Surface(
                name="full stubs",
                language=language,
                tokens=sum(count(text) for text in files.values()),
                still_needed="",
                n_named=len(directory),
            )
        )
    for language in LANGUAGES:
        target = targets.load(language)
        lines = [target.signature(tool) for tool in directory]
        found.append(
            Surface(
                name="signatures",
                language=language,
                tokens=count("\n".join(lines)),
                still_needed="what tools are for: their names, else describe",
                n_named=len(directory),
            )
        )
    index = compact_index(directory, budget=budget, measure=count)
    found.append(
        Surface(
            name="compact index",
            language="typescript",
            tokens=index.size,
            still_needed="describe of the tools that are chosen",
            n_named=index.n_named,
        )
    )
    found.append(
        Surface(
            name="search + describe + run",
            language="",
            tokens=count(instructions + as_text(list(agent_tools))),
            still_needed="one search or more, describe of the tools that are chosen",
            n_named=0,
        )
    )
    return found, index


# -- recorded tasks ------------------------------------------------------------------------------


@asynccontextmanager
async def recorded_directory(tools: Path) -> AsyncIterator[tuple[Codemode, Listing]]:
    """
    The verbs over the tools of a recording.

    Raises:
        DirectoryError: If *tools* is no listing.
    """
    with tempfile.TemporaryDirectory(prefix="codemode-surfaces-") as name:
        rows = Path(name) / "directory"
        rows.mkdir()
        listing, _ = read_tools(tools, rows=rows)
        config = Config(directory=rows, state=Path(name) / "state")
        async with Codemode.open(config) as codemode:
            yield codemode, listing


def read_tasks(traces: Sequence[str], listing: Listing) -> Iterator[Task]:
    """
    Tasks of LiveMCPBench runs, the one known format that has the question beside the calls.

    Raises:
        TraceError: If a name means no file.
        ConfigError: If a file is no such run.
    """
    for path in (Path(one.path) for one in find(traces)):
        try:
            runs = json.loads(path.read_bytes())
            for run in runs:
                yield _task(path.name, run, listing)
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}", hint="Name a trace.") from None
        except (ValueError, TypeError, KeyError):
            raise ConfigError(
                f"{path}: not a LiveMCPBench run.",
                hint="Only these traces have the task's text beside the calls.",
            ) from None


def _task(name: str, run: Mapping[str, Any], listing: Listing) -> Task:
    used: set[str] = set()
    asked = ""
    for message in run["messages"]:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            args = json.loads(function["arguments"])
            if function["name"] == "route":
                asked = asked or str(args.get("query", ""))
                continue
            one = recorded(TraceCall(id=call["id"], name=function["name"], args=args), where=name)
            listed = listing.find(one.server, one.name) if one is not None else None
            if listed is not None:
                used.add(listed.tool.id)
    return Task(where=name, text=str(run["Question"]), asked=asked, used=frozenset(used))


def search_tasks(
    codemode: Codemode, tasks: Iterable[Task], *, query: Callable[[Task], str], limit: int,
    count: Count,
) -> list[Searched]:  # fmt: skip
    """One search for each task that used a tool and gave a query."""
    found = []
    for task in tasks:
        if not task.used or not query(task).strip():
            continue
        answer = codemode.search(query(task), limit=limit)
        shown = {one["tool"] for one in answer["tools"]}
        described = codemode.describe(sorted(task.used))
        found.append(
            Searched(
                task=task,
                found=task.used & shown,
                answer_tokens=count(as_text(answer)),
                describe_tokens=count(as_text(described)),
            )
        )
    return found


QUERIES: Mapping[str, Callable[[Task], str]] = {
    "the task's text": lambda task: task.text,
    "the recorded agent's first query": lambda task: task.asked,
}


async def measure_surfaces(
    config: Config,
    *,
    agent_tools: Sequence[Mapping[str, Any]],
    instructions: str,
    budget: int = INDEX_BUDGET,
    tools: Path | None = None,
    traces: Sequence[str] = (),
) -> Surfaces:
    """
    All surfaces of the configured directory, or of the recorded *tools* with their tasks.

    Raises:
        ConfigError: If tokens cannot be counted, or a trace has no tasks.
        DirectoryError: If there is no directory or no listing.
    """
    count = token_counter()
    if tools is None:
        async with Codemode.open(config) as codemode:
            return _measured(codemode.directory, agent_tools, instructions, count, budget)[0]
    async with recorded_directory(tools) as (codemode, listing):
        found, index = _measured(codemode.directory, agent_tools, instructions, count, budget)
        tasks = list(read_tasks(traces, listing))
        with_tools = [task for task in tasks if task.used]
        return Surfaces(
            encoding=found.encoding,
            n_tools=found.n_tools,
            n_toolsets=found.n_toolsets,
            surfaces=found.surfaces,
            searches=tuple(
                sufficiency(
                    name,
                    limit,
                    search_tasks(codemode, tasks, query=query, limit=limit, count=count),
                )
                for name, query in QUERIES.items()
                for limit in LIMITS
            ),
            n_without_tools=len(tasks) - len(with_tools),
            index_complete=sum(task.used <= index.tools for task in with_tools),
        )


def _measured(
    directory: Directory,
    agent_tools: Sequence[Mapping[str, Any]],
    instructions: str,
    count: Count,
    budget: int,
) -> tuple[Surfaces, CompactIndex]:
    found, index = surfaces(
        directory,
        agent_tools=agent_tools,
        instructions=instructions,
        count=count,
        budget=budget,
    )
    return (
        Surfaces(
            encoding=ENCODING,
            n_tools=len(directory),
            n_toolsets=len(directory.toolsets),
            surfaces=tuple(found),
        ),
        index,
    )
