"""Values that can be read off a script without running it."""

from __future__ import annotations

import ast
import json

from tree_sitter import Node

from codemode.core.syntax import Source
from codemode.core.tool import JsonValue


class NotLiteral(Exception):
    """The expression is not a plain value."""


def typescript_value(source: Source, node: Node) -> JsonValue:
    """
    Value of a TypeScript literal.

    Raises:
        NotLiteral: If any part of it has to be computed.
    """
    text = source.of(node)
    match node.type:
        case "true" | "false" | "null":
            return json.loads(text)
        case "number":
            return _number(text)
        case "unary_expression" if text.startswith("-"):
            inner = node.child_by_field_name("argument")
            if inner is not None and inner.type == "number":
                return -_number(source.of(inner))
        case "string":
            return "".join(_fragment(source, child) for child in node.named_children)
        case "template_string":
            if all(child.type != "template_substitution" for child in node.named_children):
                return "".join(_fragment(source, child) for child in node.named_children)
        case "array":
            return [typescript_value(source, child) for child in _plain(node)]
        case "object":
            return dict(_pair(source, child) for child in _plain(node))
        case "parenthesized_expression" | "as_expression" | "satisfies_expression":
            return typescript_value(source, _plain(node)[0])
    raise NotLiteral(node.type)


def _plain(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]


def _pair(source: Source, node: Node) -> tuple[str, JsonValue]:
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if node.type != "pair" or key is None or value is None:
        raise NotLiteral(node.type)
    return typescript_key(source, key), typescript_value(source, value)


def typescript_key(source: Source, node: Node) -> str:
    """Name of an object's property; `NotLiteral` if it is computed."""
    if node.type == "property_identifier":
        return source.of(node)
    if node.type == "string":
        return str(typescript_value(source, node))
    raise NotLiteral(node.type)


def _number(text: str) -> JsonValue:
    text = text.replace("_", "").lower()
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise NotLiteral(text) from None


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


def _fragment(source: Source, node: Node) -> str:
    text = source.of(node)
    if node.type == "string_fragment":
        return text
    if node.type != "escape_sequence":
        raise NotLiteral(node.type)
    if text[1] in "ux":
        digits = text[2:].strip("{}")
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError):
            raise NotLiteral(text) from None
    return _ESCAPES.get(text[1], "" if text[1] == "\n" else text[1:])


_PYTHON_LITERALS = {
    "string",
    "concatenated_string",
    "integer",
    "float",
    "true",
    "false",
    "none",
    "list",
    "dictionary",
    "tuple",
    "unary_operator",
    "parenthesized_expression",
}


def python_value(source: Source, node: Node) -> JsonValue:
    """
    Value of a Python literal, tuples as lists.

    Raises:
        NotLiteral: If any part of it has to be computed, or it is no JSON value.
    """
    if node.type not in _PYTHON_LITERALS:
        raise NotLiteral(node.type)
    try:
        return _json(ast.literal_eval(source.of(node).strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise NotLiteral(node.type) from None


def _json(value: object) -> JsonValue:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return value
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _json(item) for key, item in value.items()}
    raise NotLiteral(type(value).__name__)
