"""
Python that runs although a type checker refuses it.

``{"name": "a", "count": 2}`` is how models write a record. A type checker gives each of
its values the union of all of them, so ``row["count"] > 1`` is refused although it runs.
`loosened` wraps such literals, and dictionaries that are spread into a call, in a function
that gives ``dict[str, Any]``; it has ``asyncio.gather`` return exceptions as those that
scripts look for; and ``dict`` in an annotation takes a tool's record, which it is. What a
checker says of a script but not of its loosened form is about these alone.
"""

from __future__ import annotations

from tree_sitter import Node

from codemode.core.script_python import in_annotation
from codemode.core.syntax import Edit, Mapped, Source

RECORD = "__codemode_record__"
"""Declared beside the stubs as ``(value: Any) -> dict[str, Any]``; no script may use it."""

ANY = "__codemode_any__"
"""Declared as ``Any``."""

GATHER = "__codemode_gather__"
"""Declared as ``asyncio.gather`` that returns `Exception` where the real one is typed to
return `BaseException`: ``isinstance(x, Exception)`` then leaves the results, as it does."""


def _gathers() -> str:
    text = ""
    for n in range(1, 9):
        types = ", ".join(f"T{i}" for i in range(n))
        given = ", ".join(f"x{i}: Awaitable[T{i}]" for i in range(n))
        results = ", ".join(f"T{i} | Exception" for i in range(n))
        text += (
            f"@overload\ndef {GATHER}[{types}]({given}, /, *, return_exceptions: bool) "
            f"-> Awaitable[tuple[{results}]]: ...\n"
        )
    return text


DECLARATIONS = f"""\
from collections.abc import Awaitable
from typing import Any, TypeAlias, overload
{ANY}: TypeAlias = Any
def {RECORD}(value: Any, /) -> dict[str, Any]: ...
{_gathers()}@overload
def {GATHER}[T](
    *calls: Awaitable[T], return_exceptions: bool
) -> Awaitable[list[T | Exception]]: ...
"""
"""Of all of these, to be put beside the builtins."""

_KINDS = {
    "true": "bool",
    "false": "bool",
    "concatenated_string": "string",
    "unary_operator": "number",
    "integer": "number",
    "float": "number",
}


def loosened(source: Source) -> Mapped | None:
    """*source* with what is named above replaced, or None if it has none."""
    edits: list[Edit] = []
    done = 0
    for node in source.walk():
        if node.type == "dictionary" and _is_mixed(node) and not _is_argument(node):
            wrapped = node
        elif node.type == "dictionary_splat" and _is_of_call(node):
            wrapped = node.named_children[0]
            if wrapped.type == "dictionary":
                continue  # its keys and values are in sight
        elif node.type == "call" and (callee := _gather(source, node)) is not None:
            edits.append(Edit(source.start(callee), source.end(callee), GATHER))
            continue
        elif node.type == "identifier" and (named := _dict_type(source, node)) is not None:
            if source.start(named) >= done:  # not inside one that is replaced already
                done = source.end(named)
                edits.append(Edit(source.start(named), done, ANY))
            continue
        else:
            continue
        edits.append(Edit(source.start(wrapped), source.start(wrapped), f"{RECORD}("))
        edits.append(Edit(source.end(wrapped), source.end(wrapped), ")"))
    return Mapped.whole(source.text).edit(edits) if edits else None


def _is_mixed(node: Node) -> bool:
    kinds = set()
    for pair in node.named_children:
        if pair.type == "dictionary_splat":
            return True
        value = pair.child_by_field_name("value") if pair.type == "pair" else None
        if value is not None:
            kinds.add(_KINDS.get(value.type, value.type))
    # Two calls or two names may be of two types, so only literals of one kind are alike.
    return len(kinds) > 1 or not kinds <= {"string", "number", "bool", "none"}


def _is_of_call(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "argument_list"


def _gather(source: Source, call: Node) -> Node | None:
    """The callee of ``gather(..., return_exceptions=True)``."""
    callee, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if callee is None or arguments is None or source.of(callee).split(".")[-1] != "gather":
        return None
    for child in arguments.named_children:
        if source.of(child.child_by_field_name("name")) == "return_exceptions":
            return None if source.of(child.child_by_field_name("value")) == "False" else callee
    return None


def _dict_type(source: Source, node: Node) -> Node | None:
    """``dict`` or ``dict[str, Any]`` in an annotation."""
    if source.of(node) not in ("dict", "Dict") or not in_annotation(node):
        return None
    parent = node.parent
    return parent if parent is not None and parent.type in ("generic_type", "subscript") else node


def _is_argument(node: Node) -> bool:
    """Inside a keyword argument: tools are called so, and their arguments stay checked."""
    above = node.parent
    while above is not None:
        if above.type == "keyword_argument":
            return True
        above = above.parent
    return False
