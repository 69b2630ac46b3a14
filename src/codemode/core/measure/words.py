"""What names and answers say: words of a name, programs of a command, tools in an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from codemode.core.tool import JsonValue

_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")
_NAMED = re.compile(
    r"""["']?\b(?:name|tool_name|toolName|tool|slug|tool_slug|api_name|path|id)["']?\s*[:=]\s*"""
    r"""["']?([A-Za-z_][\w./:-]*)"""
)
_LISTED = re.compile(r"[A-Za-z_][\w./:-]*")
_CONTROL = re.compile(r"\|\||&&|[|;&\n]")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_BEFORE_A_PROGRAM = frozenset("sudo env time nohup exec command which man xargs then do".split())
_SEARCH_WORDS = frozenset("query q queries keyword keywords pattern search text use_case".split())
MAX_SCANNED = 200_000
"""Characters of an answer that are searched for tool names."""
MAX_NAMES = 200


def words(name: str) -> tuple[str, ...]:
    """``getToolSchema``, ``GET_TOOL_SCHEMA``, ``get-tool-schema`` -> ``get tool schema``."""
    return tuple(word.lower() for word in _BREAK.split(name) if word)


def own_name(name: str) -> str:
    """A tool's name without its server: ``mcp__hub__list_tools`` -> ``list_tools``."""
    return name.rsplit("__", 1)[-1] if name.startswith("mcp__") else name


def names_of(name: str, inner: str | None) -> frozenset[str]:
    """Every way in which an answer may have named this tool, in lower case."""
    found = {name, own_name(name)} if inner is None else {inner}
    for one in tuple(found):
        found.add(re.split(r"[/.]|__", one)[-1])
    return frozenset(one.lower() for one in found if one)


def programs(command: str) -> tuple[str, ...]:
    """Programs that a shell command starts, in order, as far as plain reading shows."""
    found = []
    for part in _CONTROL.split(command):
        for word in part.split():
            if _ASSIGNMENT.match(word) or word in _BEFORE_A_PROGRAM or word.startswith("-"):
                continue
            found.append(word.rsplit("/", 1)[-1].strip("\"'"))
            break
    return tuple(found)


def names_in_script(script: str) -> frozenset[str]:
    """``github.issuesList`` and ``issueslist``: whatever a script may have called."""
    found = {match.rstrip(".:").lower() for match in _LISTED.findall(script[:MAX_SCANNED])}
    found.update(name.rsplit(".", 1)[-1] for name in tuple(found))
    return frozenset(found)


def tools_in(answer: str) -> frozenset[str]:
    """
    Names that a discovery answer gives, in lower case.

    Values of keys such as ``name``, ``tool_name`` and ``slug`` first, and bare strings in
    JSON lists; an answer without any (``A | B | C``, prose) gives every word that could
    be a name, so that a tool which it mentions is never missed.
    """
    text = answer[:MAX_SCANNED]
    found = {match.rstrip(".:") for match in _NAMED.findall(text)}
    found.update(_listed(text))
    if not found:
        found = {match.rstrip(".:") for match in _LISTED.findall(text)}
    both = {name.lower() for name in found}
    both.update(re.split(r"[/.]|__", name)[-1] for name in tuple(both))
    return frozenset(sorted(both - {""})[:MAX_NAMES])


def asked_about(args: JsonValue) -> frozenset[str]:
    """Tools that a discovery call itself names (``{"name": "kv_put"}``), not its search words."""
    found: set[str] = set()
    pending: list[JsonValue] = [args]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending.extend(value for key, value in one.items() if key not in _SEARCH_WORDS)
        elif isinstance(one, list):
            pending.extend(one)
        elif isinstance(one, str) and len(one) < 1_000:
            found.update(part for part in one.split("|") if _LISTED.fullmatch(part))
    return frozenset(sorted(found)[:MAX_NAMES])


def _listed(text: str) -> Iterator[str]:
    if text[:1] not in "[{":
        return
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending.extend(one.values())
        elif isinstance(one, list):
            yield from (each for each in one if isinstance(each, str) and len(each) < 200)
            pending.extend(each for each in one if not isinstance(each, str))
