"""The shipped http rows: as they stand in their files, and as tools."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from codemode import bindings
from codemode.core.tool import Tool
from codemode.store.rows import load_directory
from codemode.store.shipped import shipped

FOLDER = shipped("directory")


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
    """All http rows that the loader accepts, sorted by id."""
    directory = load_directory(FOLDER, bindings.load_all())
    files = {path: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
    raw = {file["toolset"]: file for file in files.values() if "toolset" in file}
    rows = []
    for tool in directory:
        if tool.binding.via == "http":
            toolset = raw[tool.toolset.name]
            row = next(row for row in toolset["rows"] if row["name"] == tool.name)
            rows.append(Row(toolset=toolset, raw=row, tool=tool))
    return tuple(rows)


def with_defs(row: Row, schema: dict[str, Any]) -> dict[str, Any]:
    """*schema* as a document of its own, the toolset's shared shapes included."""
    return {**schema, "$defs": {**row.toolset.get("$defs", {}), **schema.get("$defs", {})}}
