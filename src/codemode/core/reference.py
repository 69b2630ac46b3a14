"""
Finding what a ``$ref`` means, inside one document and the toolset's shared definitions.

Nothing is ever fetched. A JSON pointer is followed through the document's own keys
and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

DEFINITION_FOLDERS = (("$defs",), ("definitions",), ("components", "schemas"))
"""Where a definition may stand: 2020-12, draft-04 to draft-07, OpenAPI."""


@dataclass(frozen=True, slots=True)
class Target:
    """
    What a reference points at.

    Args:
        pointer: Where it stands in its document, in the canonical ``$defs`` spelling.
        shared: It stands in the toolset's definitions, not in the row's document.
        definition: Its name, if it is a definition as a whole.
    """

    pointer: tuple[str, ...]
    schema: Any
    shared: bool
    definition: str | None = None


class Unresolved(Exception):
    """The reference points at nothing that may be read. The text says why."""


def find(ref: object, root: Any, defs: Mapping[str, Any], *, in_defs: bool) -> Target:
    """
    Follow *ref*, one step.

    Args:
        root: The document that ``#`` means; where *in_defs*, the definition itself.
        defs: The toolset's ``$defs``.
        in_defs: *ref* stands inside a shared definition, so its ``$defs`` are the toolset's.

    Raises:
        Unresolved: If it is external, malformed, or there is nothing.
    """
    if not isinstance(ref, str):
        raise Unresolved("$ref is not a string")
    base, _, fragment = ref.partition("#")
    own_id = root.get("$id", root.get("id")) if isinstance(root, Mapping) else None
    if base and base != own_id:
        raise Unresolved(f"$ref to {base!r}, which is not fetched")
    pointer = unquote(fragment)
    if pointer and not pointer.startswith("/"):
        return _anchor(pointer, root, in_defs)
    parts = tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    if "__proto__" in parts:
        raise Unresolved(f"$ref {ref!r} names __proto__, which is refused")
    if (split := _definition(parts)) is not None:
        name, rest = split
        for definitions, shared in _folders(root, defs, in_defs):
            if isinstance(definitions, Mapping) and name in definitions:
                schema = _walk(definitions[name], rest, ref)
                return Target(("$defs", name, *rest), schema, shared, None if rest else name)
        raise Unresolved(f"$ref {ref!r}: there is no definition {name!r}")
    return Target(parts, _walk(root, parts, ref), in_defs)


def _definition(parts: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    """``("definitions", "A", "items")`` -> ``("A", ("items",))``."""
    for folder in DEFINITION_FOLDERS:
        if parts[: len(folder)] == folder and len(parts) > len(folder):
            return parts[len(folder)], parts[len(folder) + 1 :]
    return None


def _folders(root: Any, defs: Mapping[str, Any], in_defs: bool) -> list[tuple[Any, bool]]:
    if in_defs:
        return [(defs, True)]
    own: list[tuple[Any, bool]] = []
    if isinstance(root, Mapping):
        components = root.get("components")
        schemas = components.get("schemas") if isinstance(components, Mapping) else None
        own = [(root.get("$defs"), False), (root.get("definitions"), False), (schemas, False)]
    return [*own, (defs, True)]


def _walk(schema: Any, parts: tuple[str, ...], ref: str) -> Any:
    for part in parts:
        if isinstance(schema, Mapping) and part in schema:
            schema = schema[part]
        elif isinstance(schema, list) and part.isdecimal() and int(part) < len(schema):
            schema = schema[int(part)]
        else:
            raise Unresolved(f"$ref {ref!r} points at nothing")
    return schema


def _anchor(name: str, root: Any, in_defs: bool) -> Target:
    """The subschema that carries ``$anchor`` (or an old ``$id: "#name"``)."""
    stack: list[tuple[tuple[str, ...], Any]] = [((), root)]
    while stack:
        pointer, node = stack.pop()
        if isinstance(node, Mapping):
            anchors = (node.get("$anchor"), node.get("$dynamicAnchor"), node.get("$id"))
            if name in anchors[:2] or anchors[2] == f"#{name}":
                return Target(pointer, node, in_defs)
            stack += [((*pointer, key), value) for key, value in node.items() if key != "enum"]
        elif isinstance(node, list):
            stack += [((*pointer, str(index)), value) for index, value in enumerate(node)]
    raise Unresolved(f"$ref '#{name}': there is no such anchor")
