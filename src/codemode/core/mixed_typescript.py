"""
TypeScript that runs although the compiler refuses it: plain JavaScript habits.

Objects that start empty and are filled in, lists and nulls that get their type later,
``state: "open"`` in a variable, and dates that are subtracted. `loosened` gives these the
types they are meant to have; what the compiler says of a script but not of its loosened
form is about the missing annotation alone. It never hides what a tool's types say:
`excuse` takes only messages about the kinds of value named here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from codemode.core.syntax import Edit, Mapped, Source

NUMBER: Final = "__codemode_number__"
"""Declared beside the stubs as ``Date -> number`` and everything else as it is."""

DECLARATIONS: Final = f"declare function {NUMBER}<T>(value: T): T extends Date ? number : T;\n"

_RECORD: Final = "Record<string, any>"

_LITERAL: Final = r"""(?:"[^"]*"|-?\d[\d.]*|true|false|undefined|null)"""
_WIDENED: Final = re.compile(
    r"(?:Type|Argument of type) '(?:string|number|boolean)' is not assignable to "
    rf"(?:type|parameter of type) '{_LITERAL}(?: \| {_LITERAL})*'\.$"
)
_ASSIGNABILITY: Final = frozenset({2322, 2345, 2769, 2820, 2741, 2739, 2740})
_NOT_TYPED_YET: Final = re.compile(
    r"type '\{\}'|Type '\{\}'|'never'|'never\[\]'|to (?:parameter of )?type 'null'"
    r"|(?:of type|is) 'unknown'"
)
_UNTYPED: Final = frozenset({2339, 2551, 2571, 7053, 2345, 2322, 2739, 2740, 2741, 2769, 18046})
_GETS_A_TYPE_LATER: Final = frozenset({7005, 7034})
_DATES: Final = frozenset({2362, 2363})
_ARITHMETIC: Final = frozenset({"-", "*", "/", "%"})


@dataclass(frozen=True, slots=True)
class Loose:
    """
    A loosened script.

    Args:
        grown: Variable -> properties that are written to it after its object literal;
            ``""`` among them stands for computed ones.
    """

    mapped: Mapped
    grown: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Said:
    """One error of the compiler: its number, its message and where, in the strict form."""

    number: int
    message: str
    offset: int


def loosened(source: Source) -> Loose | None:
    """*source* with the types its values are meant to have, or None if it needs none."""
    edits: list[Edit] = []
    written = _written(source)
    grown: dict[str, frozenset[str]] = {}

    def after(node: Node, text: str) -> None:
        edits.append(Edit(source.end(node), source.end(node), text))

    for node in source.walk():
        match node.type:
            case "variable_declarator" if node.child_by_field_name("type") is None:
                name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
                if name is None or name.type != "identifier":
                    continue
                if value is None or _is_nothing(source, value):
                    if not _is_loop(node):
                        after(name, ": any")
                elif value.type == "array" and not value.named_child_count:
                    after(name, ": any[]")
                elif value.type == "object":
                    new = written.get(source.of(name), frozenset()) - _keys(source, value)
                    if new:
                        grown[source.of(name)] = new
                        after(name, f": {_RECORD}")
                elif _is_literal(value):
                    after(value, " as const")
            case "pair":
                value = node.child_by_field_name("value")
                if value is None:
                    continue
                if value.type == "array" and not value.named_child_count:
                    after(value, " as any[]")
                elif _is_nothing(source, value):
                    after(value, " as any")
                elif _is_literal(value):
                    after(value, " as const")
            case "array":
                for child in node.named_children:
                    if _is_literal(child):
                        after(child, " as const")
            case "call_expression":
                start = _start_of_reduce(source, node)
                if start is not None:
                    after(start, f" as {_RECORD}" if start.type == "object" else " as any[]")
            case "new_expression" if source.of(node) in ("new Set()", "new Set"):
                constructor = node.child_by_field_name("constructor")
                assert constructor is not None
                after(constructor, "<any>")
            case "binary_expression" if (
                source.of(node.child_by_field_name("operator")) in _ARITHMETIC
            ):
                for side in ("left", "right"):
                    operand = node.child_by_field_name(side)
                    assert operand is not None
                    start_at = source.start(operand)
                    edits.append(Edit(start_at, start_at, f"{NUMBER}("))
                    after(operand, ")")
    return Loose(Mapped.whole(source.text).edit(edits), grown) if edits else None


def excuse(source: Source, one: Said, loose: Loose | None, again: list[Said]) -> str | Said | None:
    """
    What becomes of an error: the message of a warning, or None if it stays an error.

    Args:
        again: What the compiler says of the loosened form, offsets in the strict one.

    Returns:
        The same error in better words, where the loosened form shows the wrong value.
    """
    here = [other for other in again if other.offset == one.offset]
    found = _WIDENED.search(one.message)
    if found is not None and one.number in _ASSIGNABILITY:
        for other in here:
            if other.number in _ASSIGNABILITY and not _WIDENED.search(other.message):
                return other
        least = one.message[one.message.rindex(found[0]) :].rstrip(".")
        return f"{least}. Which value it is, is checked when the call is made."
    # What is said of the record itself, such as its missing properties, is no news.
    real = [other for other in here if f"'{_RECORD}'" not in other.message]
    if loose is None or any(other.number == one.number for other in real):
        return None
    if one.number in _DATES:
        return "A date counts as its milliseconds in arithmetic. Write `.getTime()` to say so."
    if one.number in _GETS_A_TYPE_LATER:
        return f"{one.message.rstrip('.')}. It runs; with a type its uses would be checked."
    if one.number not in _UNTYPED:
        return None
    if _NOT_TYPED_YET.search(one.message) or _is_growth(source, one, loose):
        return (
            f"{one.message.rstrip('.')}. "
            "It runs; with a type, such as Record<string, any>, its uses would be checked."
        )
    return None


def _is_growth(source: Source, one: Said, loose: Loose) -> bool:
    """``report.open`` where ``report`` began as an object without it."""
    byte = len(source.text[: one.offset].encode("utf-8", "replace"))
    node = source.root.descendant_for_byte_range(byte, byte + 1)
    while node is not None and node.type not in ("member_expression", "subscript_expression"):
        node = node.parent
    if node is None:
        return False
    written = loose.grown.get(source.of(node.child_by_field_name("object")), frozenset())
    return bool(written & {_property(source, node), ""})


def _written(source: Source) -> Mapping[str, frozenset[str]]:
    """Variable -> properties that the script assigns to it."""
    found: dict[str, set[str]] = {}
    for node in source.walk():
        if node.type in ("assignment_expression", "augmented_assignment_expression"):
            target = node.child_by_field_name("left")
        elif node.type == "update_expression":
            target = node.child_by_field_name("argument")
        elif node.type == "call_expression" and (
            source.of(node.child_by_field_name("function")) == "Object.assign"
        ):
            arguments = node.child_by_field_name("arguments")
            first = arguments.named_children[:1] if arguments is not None else []
            for child in first:
                found.setdefault(source.of(child), set()).add("")
            continue
        else:
            continue
        while target is not None and target.type in ("member_expression", "subscript_expression"):
            inner = target.child_by_field_name("object")
            if inner is not None and inner.type == "identifier":
                found.setdefault(source.of(inner), set()).add(_property(source, target))
            target = inner
    return {name: frozenset(names) for name, names in found.items()}


def _property(source: Source, node: Node) -> str:
    """Name that a member or subscript expression reads; "" if it is computed."""
    if node.type == "member_expression":
        return source.of(node.child_by_field_name("property"))
    index = node.child_by_field_name("index")
    return source.of(index)[1:-1] if index is not None and index.type == "string" else ""


def _keys(source: Source, node: Node) -> frozenset[str]:
    return frozenset(_names(source, node))


def _names(source: Source, node: Node) -> Iterator[str]:
    for child in node.named_children:
        if child.type == "pair":
            yield source.of(child.child_by_field_name("key")).strip("\"'")
        elif child.type == "shorthand_property_identifier":
            yield source.of(child)


def _is_nothing(source: Source, node: Node) -> bool:
    return node.type in ("null", "undefined") or source.of(node) == "undefined"


def _is_literal(node: Node) -> bool:
    return node.type in ("string", "number", "true", "false")


def _is_loop(node: Node) -> bool:
    """The variable of ``for (const x of list)``, which has its type from the list."""
    parent = node.parent
    return parent is None or parent.type not in ("lexical_declaration", "variable_declaration")


def _start_of_reduce(source: Source, call: Node) -> Node | None:
    """The ``{}`` or ``[]`` that a reduction starts from."""
    callee, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if callee is None or arguments is None or arguments.named_child_count != 2:
        return None
    name = source.of(callee.child_by_field_name("property"))
    start = arguments.named_children[1]
    if name not in ("reduce", "reduceRight") or start.type not in ("object", "array"):
        return None
    return start
