"""
Recorded calls against typed stubs: which would have been refused before anything ran?

Each call becomes one line of a script with literal arguments, so that the real checkers
judge it; the tool's own JSON Schema judges it too. Where the two differ is the report.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import kwlist
from typing import Any, Literal, TypeAlias

from codemode.core.json_schema import InvalidSchema, compiled_as_stated
from codemode.core.measure.call import TraceCall
from codemode.core.names import parameters, snake
from codemode.core.run import Diagnostic, Language
from codemode.core.tool import Directory, JsonValue, Schema, Tool

LANGUAGES: tuple[Language, ...] = ("typescript", "python")
MAX_DOCUMENT_CHARS = 120_000
"""A script is read up to twice this; one longer call has a document of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """
    A tool as its server lists it, and as the directory has it.

    Args:
        schema: The server's own ``inputSchema``, as written.
    """

    tool: Tool
    schema: Schema


class Listing:
    """
    Finds the tool that a recorded call meant.

    Args:
        servers: Server -> tool name on that server -> tool. Spelling of servers is
            forgiving: logs write ``Asset Price MCP`` for ``Asset_Price_MCP``.
    """

    __slots__ = ("_by_name", "_servers", "directory")

    def __init__(self, directory: Directory, servers: Mapping[str, Mapping[str, Listed]]) -> None:
        self.directory = directory
        self._servers = {snake(server): tools for server, tools in servers.items()}
        self._by_name: dict[str, dict[str, Listed]] = {}
        for tools in servers.values():
            for name, listed in tools.items():
                self._by_name.setdefault(name, {})[listed.tool.id] = listed

    def find(self, server: str, name: str) -> Listed | None:
        """By server and name; without a server only a name that one tool alone has."""
        if tools := self._servers.get(snake(server)):
            return tools.get(name)
        same = self._by_name.get(name, {})
        return next(iter(same.values())) if len(same) == 1 and not server else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """
    One call to a tool, read out of whatever carried it.

    Args:
        where: Trace and id, for people.
        server: "" where the trace does not say.
    """

    where: str
    server: str
    name: str
    args: JsonValue


def recorded(call: TraceCall, *, where: str) -> Recorded | None:
    """
    The tool call inside *call*: itself, or what ``execute-tool`` or MCP ``tools/call`` carried.

    None where no name can be read. Arguments in a JSON string are parsed.
    """
    if call.name is None:
        return None
    args = call.args
    server, name = "", call.name
    if name.startswith("mcp__") and name.count("__") >= 2:
        _, server, name = name.split("__", 2)
    elif isinstance(args, Mapping) and isinstance(args.get("tool_name"), str):
        server = args["server_name"] if isinstance(args.get("server_name"), str) else ""
        name = args["tool_name"]
        args = args.get("params", args.get("arguments"))
    if isinstance(args, str):
        try:
            args = json.loads(args)
        except ValueError:
            args = None
    return Recorded(where=where, server=server, name=name, args=args)


# -- one call as one line ------------------------------------------------------------------------


def line_of(tool: Tool, args: Mapping[str, JsonValue], *, path: str, language: Language) -> str:
    """
    The call as a script would write it, on one line.

    Args:
        path: What the tool is called in that language, such as ``github.issuesCreate``.

    Names that the tool does not have are written as they were recorded: the checker is to
    say that they do not exist.
    """
    if language == "typescript":
        return f"await {path}({_typescript(args)});"
    properties = tool.args.get("properties", {})
    keywords = parameters(tool, tuple(properties))
    return f"await {path}({', '.join(_keyword(name, args[name], keywords) for name in args)})"


def _keyword(name: str, value: JsonValue, keywords: Mapping[str, str]) -> str:
    keyword = keywords.get(name, name)
    if keyword.isidentifier() and keyword not in kwlist:
        return f"{keyword}={value!r}"
    return f"**{{{name!r}: {value!r}}}"


def _typescript(value: JsonValue) -> str:
    if isinstance(value, Mapping):
        # In an object literal "__proto__" is no property unless it is computed.
        parts = (
            f"{'[' if key == '__proto__' else ''}{json.dumps(key)}"
            f"{']' if key == '__proto__' else ''}: {_typescript(item)}"
            for key, item in value.items()
        )
        return f"{{ {', '.join(parts)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_typescript, value))}]"
    return json.dumps(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Several calls as one script; line n + 1 is the call ``calls[n]``."""

    text: str
    calls: tuple[int, ...]


def pages(lines: Sequence[str], *, max_chars: int = MAX_DOCUMENT_CHARS) -> Iterator[Page]:
    """*lines* in few scripts, in order."""
    held: list[int] = []
    size = 0
    for at, line in enumerate(lines):
        if held and size + len(line) > max_chars:
            yield Page(text="\n".join(lines[n] for n in held) + "\n", calls=tuple(held))
            held, size = [], 0
        held.append(at)
        size += len(line) + 1
    if held:
        yield Page(text="\n".join(lines[n] for n in held) + "\n", calls=tuple(held))


def refusals(page: Page, found: Sequence[Diagnostic]) -> dict[int, str]:
    """Call -> the first error on its line."""
    refused: dict[int, str] = {}
    for one in found:
        if one.severity == "error" and 1 <= one.line <= len(page.calls):
            refused.setdefault(page.calls[one.line - 1], f"{one.code}: {one.message}")
    return refused


def schema_problem(schema: Schema, args: JsonValue) -> str:
    """
    What the tool's own JSON Schema says against *args*; "" if nothing. Any draft.

    A schema that cannot be compiled (it refers elsewhere, which is not fetched) says nothing.
    """
    try:
        found = compiled_as_stated(schema).errors(args)
    except InvalidSchema:
        return ""
    except (ValueError, RecursionError) as fault:
        return f"the value cannot be checked ({type(fault).__name__})"
    if not found:
        return ""
    where = "/".join(str(part) for part in found[0].instance_path)
    message = str(found[0].message)
    return f"{where}: {message[:200]}" if where else message[:200]


# -- what it adds up to --------------------------------------------------------------------------

Kind: TypeAlias = Literal["caught", "false refusal", "missed", "accepted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """
    One call and its judges. A text says why it was refused; "" means accepted.

    Args:
        stubs: By language.
    """

    call: Recorded
    tool: str
    schema: str
    stubs: Mapping[Language, str]

    def kind(self, language: Language) -> Kind:
        """
        ``caught`` by the stubs and broken by the schema's word; ``false refusal``: stubs
        alone refuse; ``missed``: the schema alone refuses; ``accepted`` by both.
        """
        if self.stubs[language]:
            return "caught" if self.schema else "false refusal"
        return "missed" if self.schema else "accepted"


@dataclass(slots=True, kw_only=True)
class Replay:
    """
    All calls of some traces.

    Args:
        unknown: Calls to tools that are not in the listing, by server and name.
        unreadable: Calls whose arguments are no JSON object.
        left_out: Tools of the listing that no stub could be made of, and why.
    """

    calls: list[Replayed] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    left_out: list[str] = field(default_factory=list)

    @property
    def n_broken(self) -> int:
        """Calls that break their tool's own schema."""
        return sum(bool(call.schema) for call in self.calls)

    def counts(self, language: Language) -> dict[Kind, int]:
        found: Counter[Kind] = Counter(call.kind(language) for call in self.calls)
        kinds: tuple[Kind, ...] = ("caught", "missed", "false refusal", "accepted")
        return {kind: found[kind] for kind in kinds}

    def differing(self) -> Iterator[Replayed]:
        """Calls on which schema and stubs of either language disagree."""
        for call in self.calls:
            if any(call.kind(name) in ("false refusal", "missed") for name in LANGUAGES):
                yield call


def replay_json(found: Replay) -> dict[str, Any]:
    """What ``codemode replay --json`` answers."""
    return {
        "checkable": len(found.calls),
        "break_their_schema": found.n_broken,
        "unknown_tools": dict(found.unknown),
        "unreadable_arguments": found.unreadable,
        "left_out": found.left_out,
        "languages": {
            language: {
                "refused_before_running": counts["caught"] + counts["false refusal"],
                "caught": counts["caught"],
                "missed": counts["missed"],
                "false_refusals": counts["false refusal"],
                "accepted": counts["accepted"],
            }
            for language in LANGUAGES
            for counts in [found.counts(language)]
        },
        "calls": [
            {
                "where": call.call.where,
                "tool": call.tool,
                "schema": call.schema or None,
                **{name: call.stubs[name] or None for name in LANGUAGES},
            }
            for call in found.calls
            if call.schema or any(call.stubs.values())
        ],
    }
