"""What a reader is told of a property, beside its type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FACTS = {
    "default": "default {}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "length at least {}",
    "maxLength": "length at most {}",
    "minItems": "length at least {}",
    "maxItems": "length at most {}",
    "pattern": "matches {}",
    "format": "format {}",
}
"""Keywords a reader is told of, since most types do not say them."""

NOTED = frozenset({*FACTS, "description", "deprecated"})


def note(schema: Any) -> str:
    """
    What a reader is told of a property, in one paragraph.

    >>> note({"description": "How  many.", "default": 30, "maximum": 100})
    'How many. Default 30, at most 100.'
    """
    if not isinstance(schema, dict) or NOTED.isdisjoint(schema):
        return ""
    text = schema.get("description")
    said = " ".join(text.split()) if isinstance(text, str) else ""
    facts = [
        words.format(plain(schema[word]))
        for word, words in FACTS.items()
        if word in schema and not isinstance(schema[word], Mapping | list)
    ]
    if schema.get("deprecated") is True:
        facts.append("deprecated")
    if facts:
        listed = ", ".join(facts)
        said = f"{said} {listed[:1].upper()}{listed[1:]}.".lstrip()
    return said


def plain(value: Any) -> str:
    """*value* for a reader; anything Python, JSON or not."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return '"' + value + '"' if " " in value or not value else value
    return str(value)
