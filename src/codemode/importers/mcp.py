"""
An MCP server's tools as a toolset file.

What a server says becomes a row; what it does not say is never guessed in silence:
the report lists rows whose when_to_use is not written or was taken from the
description, whose effect was assumed, and whose answer has no type. Importing again
brings the server's schemas up to date and keeps every text that stands in the file.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codemode.core.names import camel, refuse_tool, refuse_toolset, snake
from codemode.core.tool import UNWRITTEN
from codemode.errors import DirectoryError
from codemode.importers._layout import lay_out
from codemode.importers._mcp_row import cleaned, effect, python_names, texts
from codemode.importers._mcp_source import Listing, ask, read_listing

_TEXTS = ("description", "when_to_use")
_JUDGED = (
    *("effect", "idempotent", "where", "verified", "example", "golden", "pages"),
    *("inverse", "python_names"),
)
"""Fields of a row that a person may have set and that an import does not overwrite."""


@dataclass(slots=True, kw_only=True)
class Imported:
    """
    A toolset file and what has to be said of it. Each list holds row names.

    Args:
        path: Where it is or would be written.
        unwritten: when_to_use is a mark that somebody has to write it.
        taken: when_to_use is a sentence of the server's description, which stands there too.
        assumed: The server does not say what the tool changes; it counts as a write.
        untyped: The server does not say what the tool answers.
        renamed: ``name on the server -> row name``.
        kept: A text in the file differs from the server's and was kept.
        gone: The server no longer lists the tool; the row was left in the file.
        left_out: ``name: reason`` of tools that no row can be made of.
        notes: Everything else.
    """

    path: Path
    file: dict[str, Any]
    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unwritten: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    untyped: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        return len(self.file["rows"])

    def lines(self) -> list[str]:
        """The report, a line for each thing a person should look at."""
        said = (
            (self.left_out, "left out"),
            (self.unwritten, "when_to_use has to be written"),
            (self.taken, "when_to_use was taken from the description, look at it"),
            (self.assumed, "effect is not stated, assumed to be write"),
            (self.untyped, "answer has no type"),
            (self.renamed, "renamed"),
            (self.kept, "text in the file differs from the server's and was kept"),
            (self.gone, "no longer listed by the server, row left in the file"),
        )
        found = [f"{what} ({len(rows)}): {', '.join(rows)}" for rows, what in said if rows]
        return [*found, *self.notes]


async def import_mcp(
    source: Sequence[str], *, toolset: str, out: Path, dry_run: bool = False
) -> Imported:
    """
    Read *source* and write ``out/TOOLSET.json``.

    Args:
        source: One path of a saved ``tools/list`` answer, or a command and its arguments.

    Raises:
        DirectoryError: If the name is no toolset's, the source is not there or holds no
            tool that a row can be made of, or the server cannot be asked.
    """
    if reason := refuse_toolset(toolset):
        raise DirectoryError(f"No toolset may be called {toolset!r}: {reason}.")
    saved = Path(source[0]) if len(source) == 1 else None
    if saved is not None and await asyncio.to_thread(saved.is_file):
        listing = await asyncio.to_thread(read_listing, saved)
    else:
        listing = await ask(source)
    path = out / f"{toolset}.json"
    existing = await asyncio.to_thread(_existing, path)
    done = merge(listing, toolset=toolset, path=path, existing=existing)
    if not done.added and not done.updated:
        _refuse_nothing(listing, " ".join(source), done)
    if not dry_run:
        await asyncio.to_thread(_write, path, lay_out(done.file))
    return done


def _refuse_nothing(listing: Listing, source: str, done: Imported) -> None:
    """Raise: no tool of *listing* became a row."""
    if not listing.tools:
        raise DirectoryError(
            f"{source} lists no tools: the list is empty; nothing was written.",
            hint="Ask the server again, with whatever it needs to offer its tools.",
        )
    raise DirectoryError(
        f"{source}: no row can be made of any tool; nothing was written. "
        f"{'; '.join(done.left_out[:5])}.",
        hint='Each entry of the list is {"name": ..., "description": ..., "inputSchema": {...}}.',
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def merge(
    listing: Listing, *, toolset: str, path: Path, existing: Mapping[str, Any] | None
) -> Imported:
    """
    The toolset file of *listing*, laid over what *existing* holds. Reads and writes nothing.
    """
    before = existing or {}
    binding = before.get("binding") or {"via": "mcp", "server": toolset}
    done = Imported(path=path, file={})
    old = {
        row["binding"]["tool"]: row
        for row in before.get("rows", [])
        if isinstance(row, dict) and "tool" in (row.get("binding") or {})
    }
    rows: list[dict[str, Any]] = []
    taken_names: dict[str, str] = {}
    for index, tool in enumerate(listing.tools):
        if fault := _no_name(tool):
            done.left_out.append(f"tools[{index}]: {fault}")
            continue
        row = _row(tool, listing, done, taken_names)
        if row is None:
            continue
        name = row["binding"]["tool"]
        if name in old:
            row = _kept(row, old.pop(name), done)
            done.updated.append(row["name"])
        else:
            done.added.append(row["name"])
        if row["when_to_use"].startswith(UNWRITTEN):
            done.unwritten.append(row["name"])
        rows.append(row)
    for row in old.values():
        done.gone.append(row["name"])
        rows.append(row)
    rows += [row for row in before.get("rows", []) if "tool" not in (row.get("binding") or {})]
    done.file = {
        "$schema": "./schema.json",
        "toolset": toolset,
        "description": before.get("description")
        or f"Tools of the MCP server {listing.server or toolset}.",
        "binding": binding,
        **({"$defs": before["$defs"]} if before.get("$defs") else {}),
        "rows": sorted(rows, key=lambda row: str(row["name"])),
    }
    if not before:
        command = f" command = {json.dumps(listing.command)}" if listing.command else ""
        done.notes.append(
            f"Calls need the server {binding.get('server')!r}: write [mcp_servers."
            f"{binding.get('server')}]{command} in codemode.toml."
        )
    return done


def _existing(path: Path) -> Mapping[str, Any] | None:
    if not path.exists():
        return None
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DirectoryError(
            f"{path} is there and cannot be read: {error}",
            hint="Mend or move it; an import does not overwrite what it cannot read.",
        ) from None
    via = document.get("binding", {}).get("via") if isinstance(document, dict) else None
    if via != "mcp" or not isinstance(document.get("rows"), list):
        raise DirectoryError(
            f"{path} is there and is no toolset of an MCP server.",
            hint="Choose another name with --toolset.",
        )
    found: Mapping[str, Any] = document
    return found


def _no_name(tool: Any) -> str:
    """Why *tool*, an entry of the list, cannot even be named, or ""."""
    if not isinstance(tool, Mapping):
        return "it is not an object"
    if "name" not in tool:
        has = ", ".join(repr(str(key)[:40]) for key in list(tool)[:5])
        return f"it has no field 'name' (it has {has or 'none'})"
    if not isinstance(tool["name"], str) or not tool["name"].strip():
        return "its 'name' is not a text, or blank"
    return ""


def _row(
    tool: Mapping[str, Any], listing: Listing, done: Imported, taken: dict[str, str]
) -> dict[str, Any] | None:
    """
    One tool, which has a name, as a row, or None where no row can be made of it.

    Args:
        taken: Identifier -> the tool that has it; this one is added.
    """
    tool_name = tool["name"]
    args = tool.get("inputSchema")
    if args is None:
        args = {"type": "object", "properties": {}}
    kinds = args.get("type", "object") if isinstance(args, Mapping) else None
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        done.left_out.append(f"{tool_name}: its inputSchema is not one of an object")
        return None
    name = snake(tool_name)
    if refuse_tool(name):
        name += "_tool"
    other = taken.setdefault(camel(name), tool_name)
    if other != tool_name:
        done.left_out.append(f"{tool_name}: it would have the same name as {other}")
        return None
    if name != tool_name:
        done.renamed.append(f"{tool_name} -> {name}")
    description, when_to_use, was_taken = texts(tool, name)
    if was_taken:
        done.taken.append(name)
    args = cleaned(args)
    row: dict[str, Any] = {
        "name": name,
        "description": description,
        "when_to_use": when_to_use,
        "args": args,
    }
    returns = tool.get("outputSchema")
    if isinstance(returns, Mapping):
        row["returns"] = cleaned(returns)
    else:
        done.untyped.append(name)
    row["effect"], idempotent, is_stated = effect(tool.get("annotations"))
    if not is_stated:
        done.assumed.append(name)
    if idempotent:
        row["idempotent"] = True
    if names := python_names(args.get("properties")):
        row["python_names"] = names
    row["source"] = f"tools/list of {listing.origin or listing.server or 'an MCP server'}"
    row["binding"] = {"tool": tool_name}
    return row


def _kept(new: dict[str, Any], old: Mapping[str, Any], done: Imported) -> dict[str, Any]:
    """The server's *new* schemas under the texts and judgements of the *old* row."""
    row = {**new, "name": old.get("name", new["name"])}
    differs = False
    for key in _TEXTS:
        text = old.get(key)
        if isinstance(text, str) and text.strip() and not text.startswith(UNWRITTEN):
            differs = differs or (text != new[key] and not new[key].startswith(UNWRITTEN))
            row[key] = text
    if row["when_to_use"] != new["when_to_use"] and new["name"] in done.taken:
        done.taken.remove(new["name"])
    for key in _JUDGED:
        if key in old:
            row[key] = {**new.get(key, {}), **old[key]} if key == "python_names" else old[key]
    if "effect" in old and new["name"] in done.assumed:
        done.assumed.remove(new["name"])
    if "returns" in old and "returns" not in new:
        row["returns"] = old["returns"]  # written by a person: the server has none
        done.untyped.remove(new["name"])
    row["args"], lost = _withtexts(new["args"], old.get("args"))
    if differs or lost:
        done.kept.append(row["name"])
    gone = set(row.get("python_names", {})) - set(row["args"].get("properties", {}))
    if gone:
        row["python_names"] = {k: v for k, v in row["python_names"].items() if k not in gone}
    return {key: row[key] for key in _ORDER if key in row}


_ORDER = (
    *("name", "description", "when_to_use", "args", "returns", "effect", "idempotent", "where"),
    *("python_names", "source", "verified", "binding", "example", "golden", "pages", "inverse"),
)


def _withtexts(new: Any, old: Any) -> tuple[Any, bool]:
    """*new* arguments with the descriptions that *old* has, and whether the server's differ."""
    if not isinstance(old, Mapping):
        return new, False
    before = old.get("properties", {})
    differs = False
    properties: dict[str, Any] = {}
    for name, schema in new.get("properties", {}).items():
        was = before.get(name)
        text = was.get("description") if isinstance(was, Mapping) else None
        if isinstance(schema, Mapping) and isinstance(text, str):
            differs = differs or schema.get("description", text) != text
            schema = {**schema, "description": text}
        properties[name] = schema
    return ({**new, "properties": properties} if properties else new), differs
