"""Where a script names tools, and where it hides which ones it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tree_sitter import Node

from codemode.core.syntax import Source
from codemode.core.tool import RESERVED_TOOLSET, Directory, Tool

EVERYTHING = "*"
"""The value of ``tools`` itself."""

MAX_PASSES = 10
"""Readings of the script in search of aliases of aliases; scripts of people need two."""

HOST_CALLS = {name: f"{RESERVED_TOOLSET}.{name}" for name in ("search", "describe")}

Value: TypeAlias = str
"""What a name may stand for: ``*``, ``github`` (a toolset), or ``github.issuesCreate``."""


class Finding(NamedTuple):
    """A broken rule. *node* is in the runnable form."""

    node: Node
    code: str
    message: str


class ToolNames:
    """
    Tools by the identifiers that a target gives them.

    Args:
        toolset_name: The target's ``toolset_name``.
        tool_name: The target's ``tool_name``.
    """

    __slots__ = ("by_toolset",)

    def __init__(
        self,
        directory: Directory,
        toolset_name: Callable[[str], str],
        tool_name: Callable[[str], str],
    ) -> None:
        self.by_toolset: Mapping[str, Mapping[str, Tool]] = {
            toolset_name(toolset): {tool_name(tool.name): tool for tool in tools}
            for toolset, tools in directory.toolsets.items()
        }

    def find(self, path: str) -> Tool | None:
        """The tool at ``toolset.function`` in this language's identifiers."""
        toolset, _, name = path.partition(".")
        return self.by_toolset.get(toolset, {}).get(name)

    def id_of(self, path: str) -> str | None:
        """Tool id at a path, host functions included."""
        if path in HOST_CALLS:
            return HOST_CALLS[path]
        tool = self.find(path)
        return tool.id if tool else None

    @property
    def toolsets(self) -> list[str]:
        """Identifiers of all toolsets, sorted."""
        return sorted(self.by_toolset)

    @property
    def paths(self) -> list[str]:
        """Every path, such as ``github.issuesCreate``."""
        return [f"{toolset}.{name}" for toolset, names in self.by_toolset.items() for name in names]


@dataclass(frozen=True, slots=True)
class Use:
    """
    One place where a tool is named.

    Args:
        path: ``toolset.function`` in the language's identifiers, or a host function.
        node: The reference.
        call: The call expression, or None where the function is only passed on.
    """

    path: str
    node: Node
    call: Node | None


@dataclass(slots=True)
class Usage:
    """
    What one script does with tools.

    Args:
        open: ``(offset in the source, reason)``: why *uses* may be incomplete.
        unknown: ``(path, reference)`` of functions that no toolset has.
    """

    source: Source
    uses: list[Use] = field(default_factory=list)
    open: list[tuple[int, str]] = field(default_factory=list)
    unknown: list[tuple[str, Node]] = field(default_factory=list)

    def at_call(self, offset: int) -> Use | None:
        """The innermost call of a tool around *offset*, the callee included."""
        found: Use | None = None
        for use in self.uses:
            node = use.call or use.node
            if self.source.start(node) <= offset < self.source.end(node) and (
                found is None or node.start_byte >= (found.call or found.node).start_byte
            ):
                found = use
        return found


def member(value: Value, name: str) -> Value:
    """Value of ``value.name``."""
    return name if value == EVERYTHING else f"{value}.{name}"
