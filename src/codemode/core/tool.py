"""
The directory after validation: what a tool is, and where to find it.

A *row* is a tool as written in ``directory/``; a *tool* is a row after
validation. `codemode.store.rows` turns one into the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

from codemode.errors import UnknownTool

Effect: TypeAlias = Literal["read", "write", "destructive"]
Where: TypeAlias = Literal["any", "container", "local"]
Verified: TypeAlias = Literal["executed", "loopback", "unverified"]
Schema: TypeAlias = Mapping[str, Any]
"""A JSON Schema document (2020-12 spelling; older drafts are accepted)."""

JsonValue: TypeAlias = Any
"""None, bool, int, float (finite), str, list or dict with str keys."""

RESERVED_TOOLSET = "codemode"
"""Toolset of the host's own functions: ``codemode.search`` and ``codemode.describe``."""

UNWRITTEN = "Not written yet:"
"""How a row's when_to_use begins that an importer made and nobody has written."""

MAX_ID = 512
"""Characters; a longer text is no tool's id and is compared with none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """
    How a call reaches the world.

    Args:
        via: The binding's name, a module of `codemode.bindings`.
        spec: What that module's ``parse`` made of the row's ``binding`` object.
    """

    via: str
    spec: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolset:
    """
    Tools that share a namespace.

    Args:
        name: snake_case, unique in the directory.
        defs: Shared schemas that its rows point at with ``#/$defs/Name``.
        origin: The file it came from, for messages; never part of generated text.
    """

    name: str
    description: str
    defs: Mapping[str, Schema] = field(default_factory=dict)
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """
    A row after validation.

    Args:
        when_to_use: "" where the row has only an importer's mark that it is unwritten.
        args: Schema of the arguments; always of an object.
        returns: Schema of the answer, or None where nobody knows it.
        golden: Cases that prove the row: ``{"args": ..., "returns": ..., "files": ...}``.
        pages: How the next page is asked for, or None.
        inverse: Name of the tool that undoes this one, or None.
        idempotency_header: Header that carries the call's idempotency key, or None.
        python_names: Argument name on the wire -> its Python name, where they differ.
    """

    toolset: Toolset
    name: str
    description: str
    when_to_use: str
    args: Schema
    returns: Schema | None
    effect: Effect
    binding: Binding
    idempotent: bool = False
    where: Where = "any"
    source: str = ""
    verified: Verified = "unverified"
    example: Mapping[str, JsonValue] | None = None
    golden: tuple[Mapping[str, JsonValue], ...] = ()
    pages: Mapping[str, JsonValue] | None = None
    inverse: str | None = None
    idempotency_header: str | None = None
    python_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """``toolset.name``, unique in the directory; what policies and frames carry."""
        return f"{self.toolset.name}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """
    A row that was left out, and why.

    Args:
        file: Path of the toolset's file as given.
        row: The row's name, or ``row 3`` (from 1) where it has none; "" for the whole file.
        field: Dotted path inside the row, or "".
        line: Where in the file, from 1; 0 if not known.
    """

    file: str
    toolset: str
    row: str
    field: str
    message: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """``shop.json:7:5: shop.get, binding.path: ...``, without what is not known."""
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        row = f", {self.row}" if " " in self.row else f".{self.row}"
        named = (self.toolset + row).strip("., ")
        subject = ", ".join(part for part in (named, self.field) if part)
        return ": ".join(part for part in (place, subject, self.message) if part)


class Directory:
    """
    All tools, sorted by id. Immutable.

    Args:
        tools: In any order; ids are unique (the loader quarantines duplicates).
        quarantined: Rows that were left out.
    """

    __slots__ = ("_by_id", "_toolsets", "quarantined", "tools")

    def __init__(self, tools: Iterable[Tool], *, quarantined: Iterable[Quarantined] = ()) -> None:
        self.tools: tuple[Tool, ...] = tuple(sorted(tools, key=lambda tool: tool.id))
        self.quarantined: tuple[Quarantined, ...] = tuple(quarantined)
        self._by_id = {tool.id: tool for tool in self.tools}
        self._toolsets: dict[str, list[Tool]] = {}
        for tool in self.tools:
            self._toolsets.setdefault(tool.toolset.name, []).append(tool)

    def __len__(self) -> int:
        return len(self.tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __contains__(self, tool_id: object) -> bool:
        return tool_id in self._by_id

    @property
    def toolsets(self) -> Mapping[str, list[Tool]]:
        """Toolset name -> its tools, both sorted."""
        return self._toolsets

    def get(self, tool_id: str) -> Tool:
        """
        Find one tool.

        Raises:
            UnknownTool: With the nearest names as the hint.
        """
        try:
            return self._by_id[tool_id]
        except KeyError:
            near = self.nearest(tool_id)
            hint = f"Did you mean {', '.join(near)}?" if near else "Use search to find a tool."
            raise UnknownTool(f"There is no tool {tool_id[:MAX_ID]!r}.", hint=hint) from None

    def nearest(self, tool_id: str, *, limit: int = 3) -> tuple[str, ...]:
        """Ids that look most like *tool_id*, best first. None for a text too long to be one."""
        if len(tool_id) > MAX_ID:
            return ()
        return tuple(get_close_matches(tool_id, self._by_id, n=limit, cutoff=0.5))
