"""What an MCP server says of one tool, in the words of a row. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from inspect import cleandoc
from typing import Any

from codemode.core.names import python_parameter, snake
from codemode.core.spelling import modern
from codemode.core.tool import UNWRITTEN

_ADVICE = re.compile(
    r"(use (this|it|when|for|only)|useful|when (to use|you|the user|a user)"
    r"|(prefer|choose) (this|it)|(ideal|best|helpful|good|recommended) (for|when|to))\b",
    re.IGNORECASE,
)
"""Sentences that say in which situation a tool is right. Others are not taken for that."""

_SENTENCE = re.compile(r"(?<!e\.g)(?<!i\.e)(?<=[.!?])\s+(?=[A-Z\"'`(\[*])|\n\s*\n")
_VALUES = frozenset({"default", "const", "enum", "example", "examples"})
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


def texts(tool: Mapping[str, Any], name: str) -> tuple[str, str, bool]:
    """(description, when_to_use, whether the latter is the server's own sentence)."""
    text = tool.get("description")
    text = text.strip() if isinstance(text, str) else ""
    if not text:
        text = tool.get("title") if isinstance(tool.get("title"), str) else ""
        text = f"{text or name.replace('_', ' ').capitalize()}. Its server says no more about it."
        return text, f"{UNWRITTEN} the server does not say when {name} is the right tool.", False
    text = cleandoc(text)
    for part in _SENTENCE.split(text)[1:]:
        sentence = re.sub(r" \d+\.$", "", " ".join((part or "").split()))  # a list's next number
        if _ADVICE.match(sentence):
            return text, sentence, True
    return text, f"{UNWRITTEN} the server does not say when {name} is the right tool.", False


def effect(annotations: Any) -> tuple[str, bool, bool]:
    """(effect, idempotent, whether the server states the effect)."""
    said = annotations if isinstance(annotations, Mapping) else {}
    repeat = said.get("idempotentHint") is True
    if said.get("readOnlyHint") is True:
        return "read", True, True
    if said.get("destructiveHint") is True:
        return "destructive", repeat, True
    return "write", repeat, said.get("destructiveHint") is False


def cleaned(schema: Any) -> Any:
    """2020-12, without titles that repeat a name and without nulls that say nothing."""
    said = _said(schema)
    return modern(said)


def _said(node: Any, *, name: str | None = "") -> Any:
    if isinstance(node, list):
        return [_said(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    kept: dict[str, Any] = {}
    for key, value in node.items():
        if key in _VALUES:
            kept[key] = value
        elif value is None or key == "$schema" or (key == "title" and _repeats(value, name)):
            continue
        elif key in _MAPS and isinstance(value, Mapping):
            kept[key] = {inner: _said(part, name=inner) for inner, part in value.items()}
        else:
            kept[key] = _said(value, name=None) if isinstance(value, dict | list) else value
    return kept


def _repeats(title: Any, name: str | None) -> bool:
    """A generated title: the property's name, or that of the tool's arguments as a whole."""
    if name is None or not isinstance(title, str):
        return False
    return name == "" or snake(title) == snake(name)


def python_names(properties: Any) -> dict[str, str]:
    """Python names of the arguments that are no identifiers, told apart where they meet."""
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    names: Iterable[str] = properties if isinstance(properties, Mapping) else ()
    # Identifiers come first: they keep their spelling whatever else there is.
    for name in sorted(names, key=lambda one: (python_parameter(one) != one, one)):
        keyword = python_parameter(name)
        if keyword in taken:
            keyword = _spelled_out(name)
        if keyword in taken:
            continue  # the loader refuses the row and names both
        taken.add(keyword)
        if keyword != name:
            chosen[name] = keyword
    return chosen


def _spelled_out(name: str) -> str:
    """
    *name* with its signs as words.

    >>> _spelled_out("DateSent<")
    'DateSent_less_than_sign'
    """
    parts = [
        character
        if character.isalnum() or character == "_"
        else f"_{unicodedata.name(character, f'u{ord(character):x}').lower()}_"
        for character in name
    ]
    return python_parameter(re.sub(r"[\W_]+", "_", "".join(parts)).strip("_"))
