"""The shipped http rows: as they stand in their files, and as tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from codemode.bindings.http import BINDING
from codemode.core.tool import Binding, Tool, Toolset
from codemode.store.shipped import shipped

FOLDER = shipped("directory")
NOT_TOOLSETS = {"schema.json", "credentials.json", "servers.json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row and its toolset, raw; *tool* is what codemode makes of it."""

    toolset: dict[str, Any]
    raw: dict[str, Any]
    tool: Tool

    @property
    def id(self) -> str:
        return self.tool.id


@cache
def http_rows() -> tuple[Row, ...]:
    return tuple(sorted(_rows(), key=lambda row: row.id))


def _rows() -> Iterator[Row]:
    for path in FOLDER.glob("*.json"):
        if path.name in NOT_TOOLSETS:
            continue
        raw = json.loads(path.read_text(encoding="utf-8"))
        toolset = Toolset(name=raw["toolset"], description=raw["description"])
        for row in raw["rows"]:
            binding = {**raw.get("binding", {}), **row.get("binding", {})}
            if binding.pop("via", None) != "http":
                continue
            tool = Tool(
                toolset=toolset,
                name=row["name"],
                description=row["description"],
                when_to_use=row["when_to_use"],
                args=row["args"],
                returns=row.get("returns"),
                effect=row["effect"],
                binding=Binding(via="http", spec=BINDING.parse(binding, args=row["args"])),
                idempotency_header=row.get("idempotency_header"),
                example=row.get("example"),
            )
            yield Row(toolset=raw, raw=row, tool=tool)


def with_defs(row: Row, schema: dict[str, Any]) -> dict[str, Any]:
    """*schema* as a document of its own, the toolset's shared shapes included."""
    return {**schema, "$defs": {**row.toolset.get("$defs", {}), **schema.get("$defs", {})}}
