"""
What a model has to read before it can call a tool, and whether one search is enough.

A *surface* is one way of showing a directory: every definition, stubs, signatures, the compact
index, or the few tools that search it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, Literal, TypeAlias

from codemode.core.measure.stats import Interval, wilson
from codemode.core.run import Language
from codemode.core.tool import Schema, Tool

SurfaceName: TypeAlias = Literal[
    "mcp tools", "full stubs", "signatures", "compact index", "search + describe + run"
]
Count: TypeAlias = Callable[[str], int]
"""Tokens of a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """
    Args:
        language: "" where it is the same in both.
        tokens: Of everything that stands in the prompt before the first call.
        still_needed: Discovery that is left to the model, in a few words; "" if none.
        n_named: Tools of the directory whose name can be read there.
    """

    name: SurfaceName
    language: Language | Literal[""]
    tokens: int
    still_needed: str
    n_named: int


def mcp_name(tool: Tool) -> str:
    """The name under which a plain MCP client sees *tool*: ``github_issues_create``."""
    return f"{tool.toolset.name}_{tool.name}"


def mcp_definition(tool: Tool) -> dict[str, Any]:
    """``{name, description, inputSchema}`` as ``tools/list`` would say it."""
    return {
        "name": mcp_name(tool),
        "description": f"{tool.description} {tool.when_to_use}".strip(),
        "inputSchema": whole_schema(tool),
    }


def whole_schema(tool: Tool) -> Schema:
    """The schema of the arguments with the toolset's definitions that it reaches."""
    own = tool.args.get("$defs")
    needed: dict[str, Any] = dict(own) if isinstance(own, Mapping) else {}
    queue: list[Any] = [tool.args]
    while queue:
        node = queue.pop()
        if isinstance(node, Mapping):
            ref = node.get("$ref")
            if isinstance(ref, str) and ref.startswith("#/$defs/"):
                name = ref.split("/")[2].replace("~1", "/").replace("~0", "~")
                if name not in needed and name in tool.toolset.defs:
                    needed[name] = tool.toolset.defs[name]
                    queue.append(needed[name])
            queue.extend(node.values())
        elif isinstance(node, list | tuple):
            queue.extend(node)
    return {**tool.args, "$defs": needed} if needed else tool.args


# -- one search ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """
    A recorded task.

    Args:
        text: What the user asked for.
        asked: The first query that the recorded agent gave to its own search; "" if none.
        used: Ids of the tools that its work calls went to.
    """

    where: str
    text: str
    asked: str
    used: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """
    What one answer gave for one task.

    Args:
        found: Of the tools used, those in the answer.
        answer_tokens: Of the search answer.
        describe_tokens: Of the declarations of the tools that were used.
    """

    task: Task
    found: frozenset[str]
    answer_tokens: int
    describe_tokens: int

    @property
    def is_complete(self) -> bool:
        return self.found == self.task.used


@dataclass(frozen=True, slots=True, kw_only=True)
class Sufficiency:
    """
    Are the tools that a task used in the first answer of one search?

    Args:
        query: Where the query came from.
        n_complete: Tasks of which every used tool was there.
        recall: Mean share of a task's tools that were there.
        answer_tokens, describe_tokens: Means over tasks.
    """

    query: str
    limit: int
    n_tasks: int
    n_complete: int
    recall: float
    answer_tokens: float
    describe_tokens: float

    @property
    def interval(self) -> Interval:
        return wilson(self.n_complete, self.n_tasks)


def sufficiency(query: str, limit: int, searched: Sequence[Searched]) -> Sufficiency:
    """Adds up *searched*, which may be empty."""
    return Sufficiency(
        query=query,
        limit=limit,
        n_tasks=len(searched),
        n_complete=sum(one.is_complete for one in searched),
        recall=_mean(len(one.found) / len(one.task.used) for one in searched),
        answer_tokens=_mean(one.answer_tokens for one in searched),
        describe_tokens=_mean(one.describe_tokens for one in searched),
    )


def _mean(values: Iterable[float]) -> float:
    held = list(values)
    return float(mean(held)) if held else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Surfaces:
    """
    Args:
        encoding: Of the token counts.
        n_without_tools: Recorded tasks that used no tool of the directory: not counted.
        index_complete: Tasks whose tools are all named in the compact index.
    """

    encoding: str
    n_tools: int
    n_toolsets: int
    surfaces: tuple[Surface, ...]
    searches: tuple[Sufficiency, ...] = ()
    n_without_tools: int = 0
    index_complete: int = 0


def surfaces_json(found: Surfaces) -> dict[str, Any]:
    """What ``codemode surfaces --json`` answers."""
    return {
        "encoding": found.encoding,
        "tools": found.n_tools,
        "toolsets": found.n_toolsets,
        "surfaces": [
            {
                "surface": one.name,
                "language": one.language or None,
                "tokens": one.tokens,
                "tools_named": one.n_named,
                "discovery_still_needed": one.still_needed or None,
            }
            for one in found.surfaces
        ],
        "first_search": [
            {
                "query": one.query,
                "limit": one.limit,
                "tasks": one.n_tasks,
                "sufficient": one.n_complete,
                "interval95": [one.interval.low, one.interval.high],
                "recall": one.recall,
                "answer_tokens": one.answer_tokens,
                "describe_tokens": one.describe_tokens,
            }
            for one in found.searches
        ],
        "tasks_named_in_index": found.index_complete,
        "tasks_without_tools": found.n_without_tools,
    }
