"""Older spellings of JSON Schema, rewritten as 2020-12, so that one validator fits all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DATA = frozenset({"enum", "const", "default", "example", "examples"})
"""Keywords that hold values, not schemas."""

_MAPS = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "schemas"}
)
"""Keywords whose members are named by people."""

_PREFIXES = (("#/definitions/", "#/$defs/"), ("#/components/schemas/", "#/$defs/"))

_CHOICES = frozenset({"$ref", "allOf", "anyOf", "oneOf"})


def modern(schema: Any) -> Any:
    """
    *schema* in 2020-12 spelling. Says the same of the same values; never changes its input.

    >>> modern({"type": "string", "nullable": True})
    {'type': ['string', 'null']}
    >>> modern({"type": "array", "items": [{"type": "string"}], "additionalItems": False})
    {'type': 'array', 'prefixItems': [{'type': 'string'}], 'items': False}
    """
    if isinstance(schema, list):
        return [modern(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    needed = _needed(schema.get("properties"))
    for key, value in schema.items():
        if key in _DATA:
            result[key] = value
        elif key in _MAPS and isinstance(value, dict):
            result[key] = {name: modern(inner) for name, inner in value.items()}
        elif key == "dependencies" and isinstance(value, dict):
            _dependencies(result, value)
        elif key == "components" and isinstance(value, dict):
            result.setdefault("$defs", {}).update(modern(value.get("schemas") or {}))
        else:
            result[key] = modern(value)
    _definitions(result)
    _items(result)
    _bounds(result)
    _required(result)
    if needed:
        result["required"] = [*dict.fromkeys([*result.get("required", ()), *needed])]
    _type(result)
    if result.pop("nullable", False) is True or result.pop("x-nullable", False) is True:
        return _with_null(result)
    return result


def _dependencies(result: dict[str, Any], value: Mapping[str, Any]) -> None:
    for name, needs in value.items():
        word = "dependentRequired" if isinstance(needs, list) else "dependentSchemas"
        result.setdefault(word, {})[name] = needs if isinstance(needs, list) else modern(needs)


def _definitions(result: dict[str, Any]) -> None:
    if isinstance(old := result.get("definitions"), dict):
        del result["definitions"]
        result["$defs"] = {**old, **result.get("$defs", {})}
    if isinstance(result.get("id"), str):
        result.setdefault("$id", result.pop("id"))
    ref = result.get("$ref")
    if isinstance(ref, str):
        for old_prefix, new in _PREFIXES:
            if ref.startswith(old_prefix):
                result["$ref"] = new + ref[len(old_prefix) :]


def _items(result: dict[str, Any]) -> None:
    others = result.pop("additionalItems", None)
    if isinstance(items := result.get("items"), list):
        del result["items"]
        if items:
            result["prefixItems"] = items
        if others is not None:
            result["items"] = others


def _bounds(result: dict[str, Any]) -> None:
    for plain, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        strict = result.get(exclusive)
        if isinstance(strict, bool):
            del result[exclusive]
            if strict and plain in result:
                result[exclusive] = result.pop(plain)


def _required(result: dict[str, Any]) -> None:
    """Draft-03 says ``required: true`` inside the property; a boolean means nothing here."""
    if isinstance(result.get("required"), bool):
        del result["required"]


def _needed(properties: Any) -> list[str]:
    if not isinstance(properties, dict):
        return []
    return [
        name
        for name, value in properties.items()
        if isinstance(value, dict) and value.get("required") is True
    ]


def _type(result: dict[str, Any]) -> None:
    if result.get("type") == "any":
        del result["type"]
    elif result.get("type") == "file":
        result["type"] = "string"
        result.setdefault("format", "file")


def _with_null(result: dict[str, Any]) -> dict[str, Any]:
    stated = result.get("type")
    if isinstance(stated, str | list) and result.keys().isdisjoint(_CHOICES):
        kinds = [stated] if isinstance(stated, str) else stated
        result["type"] = kinds if "null" in kinds else [*kinds, "null"]
        if isinstance(result.get("enum"), list) and None not in result["enum"]:
            result["enum"] = [*result["enum"], None]
        return result
    if not stated and result.keys().isdisjoint({*_CHOICES, "enum"}):
        return result
    kept: dict[str, Any] = {
        key: result.pop(key) for key in ("description", "title", "$defs") if key in result
    }
    return {**kept, "anyOf": [result, {"type": "null"}]}
