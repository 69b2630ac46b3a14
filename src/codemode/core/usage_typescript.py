"""
How TypeScript reaches tools: followed where that can be done exactly, and
otherwise said to be open. Names are followed without regard to scope, which can
only name too much, never too little.
"""

from __future__ import annotations

from tree_sitter import Node

from codemode.core.script_typescript import binds, imported_names
from codemode.core.syntax import Source, same
from codemode.core.usage import (
    EVERYTHING,
    HOST_CALLS,
    MAX_PASSES,
    ToolNames,
    Usage,
    Use,
    Value,
    member,
)

_TRANSPARENT = {
    "parenthesized_expression",
    "as_expression",
    "satisfies_expression",
    "non_null_expression",
}
_HARMLESS = {
    "type_query",
    "nested_type_identifier",
    "nested_identifier",
    "import_specifier",
    "namespace_import",
    "import_clause",
    "expression_statement",
    "typeof",
}
_REFLECTIVE = {
    "eval": "it runs text as code (eval)",
    "Function": "it runs text as code (Function)",
    "constructor": "it reaches for a constructor, which can run text as code",
    "__proto__": "it reaches for a prototype",
    "getPrototypeOf": "it reaches for a prototype",
}


def find_uses(source: Source, names: ToolNames) -> Usage:
    """Every tool that *source* (a runnable form) names."""
    usage = Usage(source)
    bound: dict[str, set[Value]] = {}
    for local, name in imported_names(source).items():
        if name == EVERYTHING or name in names.by_toolset or name in HOST_CALLS:
            bound[local] = {name}
    size, n_passes = -1, 0
    while size != sum(map(len, bound.values())):  # aliases of aliases
        size, n_passes = sum(map(len, bound.values())), n_passes + 1
        usage = Usage(source)
        for node in source.walk():
            kinds = ("identifier", "shorthand_property_identifier")
            if node.type in kinds and source.of(node) in bound and not binds(node):
                for value in sorted(bound[source.of(node)]):
                    _follow(usage, names, bound, node, value)
        if n_passes == MAX_PASSES:
            usage.open.append((0, "its aliases are passed on too often to be followed"))
            break
    _reflection(usage)
    return usage


def _follow(
    usage: Usage, names: ToolNames, bound: dict[str, set[Value]], node: Node, value: Value
) -> None:
    """Climb from a name to the largest expression that is still a known value."""
    source = usage.source
    start = source.start(node)
    while (parent := node.parent) is not None:
        if parent.type in _TRANSPARENT:
            if not same(parent.named_children[0], node):
                return  # inside the type of an `as`
            node = parent
        elif parent.type == "member_expression" and same(
            parent.child_by_field_name("object"), node
        ):
            if "." in value or value in HOST_CALLS:
                break
            value = member(value, source.of(parent.child_by_field_name("property")))
            node = parent
        elif parent.type == "subscript_expression" and same(
            parent.child_by_field_name("object"), node
        ):
            index = parent.child_by_field_name("index")
            if "." in value or value in HOST_CALLS:
                break
            if index is None or index.type != "string":
                usage.open.append((start, f"{source.of(parent)} is chosen at run time"))
                return
            value = member(value, source.of(index)[1:-1])
            node = parent
        else:
            break
    parent = node.parent
    if parent is not None and (
        parent.type == "type_query"
        or (
            parent.type == "assignment_expression"
            and same(parent.child_by_field_name("left"), node)
        )
    ):
        return
    if "." in value or value in HOST_CALLS:
        if names.id_of(value) is None:
            usage.unknown.append((value, node))
            usage.open.append((start, f"{value} is no tool"))  # such as valueOf
            return
        is_call = parent is not None and same(parent.child_by_field_name("function"), node)
        # An alias is no use by itself: every use of the alias is found.
        if is_call or not _bind_target(usage, bound, node, value):
            usage.uses.append(Use(value, node, parent if is_call else None))
        return
    if parent is None or parent.type in _HARMLESS:
        return
    if not _bind_target(usage, bound, node, value):
        what = "tools" if value == EVERYTHING else value
        usage.open.append((start, f"{what} as a whole is handed to {_what(parent)}"))


def _bind_target(usage: Usage, bound: dict[str, set[Value]], node: Node, value: Value) -> bool:
    """Follow ``const x = value``; False where it cannot be followed."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "variable_declarator" and same(parent.child_by_field_name("value"), node):
        target = parent.child_by_field_name("name")
    elif parent.type == "assignment_expression" and same(parent.child_by_field_name("right"), node):
        target = parent.child_by_field_name("left")
        grand = parent.parent
        if grand is None or grand.type != "expression_statement":
            return False
    else:
        return False
    return target is not None and _bind(usage, bound, target, value)


def _bind(usage: Usage, bound: dict[str, set[Value]], target: Node, value: Value) -> bool:
    source = usage.source
    if target.type in ("identifier", "shorthand_property_identifier_pattern"):
        bound.setdefault(source.of(target), set()).add(value)
        return True
    if target.type != "object_pattern" or "." in value:
        return False
    followed = True
    for child in target.named_children:
        if child.type == "comment":
            continue
        if child.type == "shorthand_property_identifier_pattern":
            followed &= _bind(usage, bound, child, member(value, source.of(child)))
        elif child.type == "rest_pattern":
            followed &= _bind(usage, bound, child.named_children[0], value)
        elif child.type == "pair_pattern":
            key = child.child_by_field_name("key")
            inner = child.child_by_field_name("value")
            if key is None or inner is None or key.type not in ("property_identifier", "string"):
                return False
            name = source.of(key).strip("\"'")
            followed &= _bind(usage, bound, inner, member(value, name))
        else:
            return False
    return followed


def _what(parent: Node) -> str:
    """A few words about where a toolset went."""
    return {
        "arguments": "a function",
        "object": "an object",
        "array": "an array",
        "pair": "an object",
        "spread_element": "a spread",
        "return_statement": "a caller",
        "for_in_statement": "a loop",
    }.get(parent.type, f"a {parent.type.replace('_', ' ')}")


def _reflection(usage: Usage) -> None:
    """Ways to name a tool that no reading of names can follow."""
    source = usage.source
    for node in source.walk():
        if node.type in ("identifier", "property_identifier", "string_fragment"):
            name = source.of(node)
            if name in _REFLECTIVE and not _is_class_constructor(node):
                usage.open.append((source.start(node), _REFLECTIVE[name]))
        elif node.type == "call_expression":
            callee = node.child_by_field_name("function")
            index = callee.child_by_field_name("index") if callee is not None else None
            if (
                callee is not None
                and callee.type == "subscript_expression"
                and (index is not None and index.type not in ("string", "number"))
            ):
                usage.open.append(
                    (source.start(node), f"{source.of(callee)}(...) is chosen at run time")
                )


def _is_class_constructor(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type == "method_definition"
