"""
Python dictionaries whose values are of several kinds.

``{"name": "a", "count": 2}`` is how models write a record. A type checker gives each of
its values the union of all of them, so ``row["count"] > 1`` is refused although it runs.
`loosened` wraps such literals in a function that gives ``dict[str, Any]``; what a checker
says of a script but not of its loosened form is about that union alone.
"""

from __future__ import annotations

from tree_sitter import Node

from codemode.core.syntax import Edit, Mapped, Source

RECORD = "__codemode_record__"
"""Declared beside the stubs as ``(value: Any) -> dict[str, Any]``; no script may use it."""

_KINDS = {
    "true": "bool",
    "false": "bool",
    "concatenated_string": "string",
    "unary_operator": "number",
    "integer": "number",
    "float": "number",
}


def loosened(source: Source) -> Mapped | None:
    """*source* with its mixed literals wrapped, or None if it has none."""
    edits: list[Edit] = []
    for node in source.walk():
        if node.type == "dictionary" and _is_mixed(node) and not _is_argument(node):
            edits.append(Edit(source.start(node), source.start(node), f"{RECORD}("))
            edits.append(Edit(source.end(node), source.end(node), ")"))
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


def _is_argument(node: Node) -> bool:
    """Inside a keyword argument: tools are called so, and their arguments stay checked."""
    above = node.parent
    while above is not None:
        if above.type == "keyword_argument":
            return True
        above = above.parent
    return False
