"""Replay: listings and traces in, checkers held open, one report out."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from codemode import bindings, targets
from codemode.check import Checker
from codemode.check.python import PythonChecker
from codemode.check.typescript import TypeScriptChecker
from codemode.core.measure.call import Problem
from codemode.core.measure.meter import Meter
from codemode.core.measure.report import Totals
from codemode.core.names import refuse_toolset, snake
from codemode.core.replay import (
    LANGUAGES,
    Listed,
    Listing,
    Recorded,
    Replay,
    Replayed,
    line_of,
    pages,
    recorded,
    refusals,
    schema_problem,
)
from codemode.core.run import Language
from codemode.core.script import normalise
from codemode.errors import DirectoryError
from codemode.generate import generate
from codemode.importers import mcp as importer
from codemode.importers._mcp_source import Listing as Answer
from codemode.importers._mcp_source import read_listing
from codemode.store.generated import read_templates
from codemode.store.rows import load_directory
from codemode.traces import rule_table
from codemode.traces.open import find, opened, recognise, records, unknown

CHECK_S = 120.0


def read_tools(path: Path, *, rows: Path | None = None) -> tuple[Listing, list[str]]:
    """
    The tools that a recording could call, and what had to be left out with the reason.

    Args:
        path: A saved ``tools/list`` answer, or LiveMCPBench's list of servers.
        rows: Folder that gets the toolset files; a temporary one if None.

    Raises:
        DirectoryError: If it is neither.
    """
    if rows is None:
        with tempfile.TemporaryDirectory(prefix="codemode-replay-") as folder:
            return read_tools(path, rows=Path(folder))
    left_out: list[str] = []
    schemas: dict[str, dict[str, Mapping[str, Any]]] = {}
    names: dict[str, str] = {}
    for server, listing in _listings(path):
        name = _toolset(server)
        if name in names:
            left_out.append(f"{server}: it would have the same name as {names[name]}")
            continue
        names[name] = server
        file = rows / f"{name}.json"
        done = importer.merge(listing, toolset=name, path=file, existing=None)
        left_out += [f"{server}: {reason}" for reason in done.left_out]
        schemas[name] = {
            tool["name"]: tool.get("inputSchema") or {"type": "object"}
            for tool in listing.tools
            if isinstance(tool, dict) and "name" in tool
        }
        file.write_text(json.dumps(done.file), encoding="utf-8")
    directory = load_directory(rows, bindings.load_all())
    left_out += [
        f"{names.get(row.toolset, row.toolset)}: {row.row}: {row.message}"
        for row in directory.quarantined
    ]
    servers: dict[str, dict[str, Listed]] = {}
    for tool in directory:
        on_server = tool.binding.spec.tool
        schema = schemas[tool.toolset.name][on_server]
        listed = Listed(tool=tool, schema=schema)
        servers.setdefault(names[tool.toolset.name], {})[on_server] = listed
    return Listing(directory, servers), left_out


def _toolset(server: str) -> str:
    name = snake(server).strip("_") or "server"
    if not name[0].isalpha():
        name = f"server_{name}"
    return f"{name}_tools" if refuse_toolset(name) else name


def _listings(path: Path) -> Iterable[tuple[str, Answer]]:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DirectoryError(f"{path} cannot be read: {error}") from None
    if not _is_servers(document):
        listing = read_listing(path)
        yield listing.server or path.name.split(".", 1)[0], listing
        return
    for entry in document:
        for server, answer in entry["tools"].items():
            tools = answer.get("tools", []) if isinstance(answer, dict) else []
            yield server, Answer(tools=tools, server=server)


def _is_servers(document: Any) -> bool:
    """``[{"name", "tools": {server: {"tools": [...]}}}]``."""
    return isinstance(document, list) and all(
        isinstance(entry, dict) and isinstance(entry.get("tools"), dict) for entry in document
    )


async def replay(
    calls: Iterable[Recorded], listing: Listing, *, languages: Sequence[Language] = LANGUAGES
) -> Replay:
    """
    Judge *calls* by the stubs of the tools they name and by those tools' own schemas.

    Nothing is run and nothing is sent.

    Raises:
        CheckUnavailable: If a checker is missing or passed its deadline.
    """
    found = Replay()
    known: list[tuple[Recorded, Listed]] = []
    for call in calls:
        listed = listing.find(call.server, call.name)
        if listed is None:
            found.unknown[f"{call.server}/{call.name}" if call.server else call.name] += 1
        elif not isinstance(call.args, Mapping):
            found.unreadable += 1
        else:
            known.append((call, listed))
    refused = {
        language: await _refused(known, listing, language) if known else {}
        for language in languages
    }
    for at, (call, listed) in enumerate(known):
        found.calls.append(
            Replayed(
                call=call,
                tool=listed.tool.id,
                schema=schema_problem(listed.schema, call.args),
                stubs={language: refused[language].get(at, "") for language in languages},
            )
        )
    return found


async def _refused(
    calls: Sequence[tuple[Recorded, Listed]], listing: Listing, language: Language
) -> dict[int, str]:
    """Call -> why the checker refuses it, against the stubs of the whole listing."""
    target = targets.load(language)
    stubs = generate(listing.directory, target, read_templates(language)).files
    toolsets = [target.toolset_name(name) for name in listing.directory.toolsets]
    lines = [
        line_of(
            listed.tool,
            call.args,
            path=f"{target.toolset_name(listed.tool.toolset.name)}."
            f"{target.tool_name(listed.tool.name)}",
            language=language,
        )
        for call, listed in calls
    ]
    checker: Checker = TypeScriptChecker() if language == "typescript" else PythonChecker()
    refused: dict[int, str] = {}
    try:
        for page in pages(lines):
            script = normalise(page.text, language, toolsets=toolsets)
            diagnostics = list(script.problems)
            if not diagnostics:
                diagnostics = await checker.check(
                    script, stubs, engine="container", timeout_s=CHECK_S
                )
            refused |= refusals(page, diagnostics)
    finally:
        await checker.close()
    return refused


def read_calls(traces: Sequence[str]) -> tuple[list[Recorded], list[Problem]]:
    """
    Calls to tools in recorded traces of any known format; discovery is left out.

    Args:
        traces: Files, folders, patterns, or "-" for standard input.

    Raises:
        TraceError: If one means nothing or cannot be opened. What cannot be read is a problem.
    """
    table = rule_table()
    calls: list[Recorded] = []
    problems: list[Problem] = []
    for one in find(traces):
        with opened(one) as source:
            format = recognise(source)
            if format is None:
                if one.named:
                    problems.append(unknown(source))
                continue
            meter = Meter(table, Totals(), path=one.path, format=format.name)
            for record in records(source, format):
                if isinstance(record, Problem):
                    problems.append(record)
                    continue
                classed = meter.take(record)
                if classed is None or classed.cls == "discovery":
                    continue
                where = f"{Path(one.path).name}#{classed.call.id}"
                if (found := recorded(classed.call, where=where)) is not None:
                    calls.append(found)
    return calls, problems
