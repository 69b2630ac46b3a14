"""How Python reaches tools; the same care as in `usage_typescript`."""

from __future__ import annotations

from tree_sitter import Node

from codemode.core.literal import NotLiteral, python_value
from codemode.core.script_python import imported_names, in_annotation, is_type, reads
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

_REFLECTIVE_CALLS = {
    **dict.fromkeys(("eval", "exec", "compile"), "it runs text as code"),
    **dict.fromkeys(("globals", "locals", "vars"), "it reads names from a dictionary"),
    "__import__": "it imports a module by a computed name",
}
_REFLECTIVE_MODULES = {
    "builtins",
    "ctypes",
    "gc",
    "importlib",
    "inspect",
    "marshal",
    "pickle",
    "pkgutil",
    "runpy",
    "sys",
    "traceback",
    "types",
}
_REFLECTIVE_ATTRIBUTES = {
    "__base__",
    "__bases__",
    "__builtins__",
    "__closure__",
    "__code__",
    "__dict__",
    "__getattribute__",
    "__globals__",
    "__loader__",
    "__mro__",
    "__self__",
    "__spec__",
    "__subclasses__",
    "__wrapped__",
    "ag_frame",
    "cr_frame",
    "f_back",
    "f_builtins",
    "f_globals",
    "f_locals",
    "gi_frame",
    "modules",
    "tb_frame",
}


def find_uses(source: Source, names: ToolNames) -> Usage:
    """Every tool that *source* (a runnable form) names."""
    usage = Usage(source)
    bound: dict[str, set[Value]] = {}
    for local, name in imported_names(source).items():
        if name == EVERYTHING or name in names.by_toolset or names.id_of(name) is not None:
            bound[local] = {name}
    size, n_passes = -1, 0
    while size != sum(map(len, bound.values())):  # aliases of aliases
        size, n_passes = sum(map(len, bound.values())), n_passes + 1
        usage = Usage(source)
        for node in source.walk():
            if node.type == "identifier" and source.of(node) in bound and reads(node):
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
    source = usage.source
    start = source.start(node)
    while (parent := node.parent) is not None:
        if "." in value or value in HOST_CALLS:
            if parent.type != "parenthesized_expression":
                break
            node = parent
        elif parent.type == "parenthesized_expression":
            node = parent
        elif parent.type == "attribute" and same(parent.child_by_field_name("object"), node):
            value = member(value, source.of(parent.child_by_field_name("attribute")))
            node = parent
        elif _is_getattr(source, node):
            call = parent.parent
            assert call is not None
            arguments = parent.named_children
            try:
                name = python_value(source, arguments[1]) if len(arguments) == 2 else None
            except NotLiteral:
                name = None
            if not isinstance(name, str):
                usage.open.append((start, f"{source.of(call)} is chosen at run time"))
                return
            value = member(value, name)
            node = call
        else:
            break
    parent = node.parent
    if "." in value or value in HOST_CALLS:
        if names.id_of(value) is None:
            if is_type(value.rpartition(".")[2]) and in_annotation(node):
                return  # `issue: github.Issue`, which nothing evaluates
            usage.unknown.append((value, node))
            usage.open.append((start, f"{value} is no tool"))  # such as __class__
            return
        is_call = parent is not None and same(parent.child_by_field_name("function"), node)
        # An alias is no use by itself: every use of the alias is found.
        if is_call or not _bind_target(usage, bound, node, value):
            usage.uses.append(Use(value, node, parent if is_call else None))
        return
    if parent is None or parent.type == "expression_statement":
        return
    if not _bind_target(usage, bound, node, value):
        what = "tools" if value == EVERYTHING else value
        if parent.type == "subscript":
            usage.open.append((start, f"{source.of(parent)} is chosen at run time"))
        else:
            usage.open.append((start, f"{what} as a whole is handed to {_what(parent)}"))


def _is_getattr(source: Source, node: Node) -> bool:
    """``getattr(node, ...)``, with *node* as the first argument."""
    arguments = node.parent
    call = arguments.parent if arguments is not None else None
    return (
        arguments is not None
        and arguments.type == "argument_list"
        and call is not None
        and source.of(call.child_by_field_name("function")) == "getattr"
        and same(arguments.named_children[0], node)
    )


def _bind_target(usage: Usage, bound: dict[str, set[Value]], node: Node, value: Value) -> bool:
    """Follow ``x = value`` outside classes; False where it cannot be followed."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type == "assignment" and same(parent.child_by_field_name("right"), node):
        target = parent.child_by_field_name("left")
        if _is_class_attribute(parent):
            return False
        if parent.parent is not None and parent.parent.type == "assignment":
            return False
    elif parent.type == "named_expression" and same(parent.child_by_field_name("value"), node):
        target = parent.child_by_field_name("name")
        if "." in value and target is not None:
            bound.setdefault(usage.source.of(target), set()).add(value)
        return False  # the whole expression is the value too
    else:
        return False
    if target is None or target.type != "identifier":
        return False
    bound.setdefault(usage.source.of(target), set()).add(value)
    return True


def _is_class_attribute(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type not in ("function_definition", "class_definition"):
        parent = parent.parent
    return parent is not None and parent.type == "class_definition"


def _what(parent: Node) -> str:
    return {
        "argument_list": "a function",
        "keyword_argument": "a function",
        "list": "a list",
        "tuple": "a tuple",
        "expression_list": "a tuple",
        "dictionary": "a dictionary",
        "pair": "a dictionary",
        "return_statement": "a caller",
        "for_statement": "a loop",
    }.get(parent.type, f"a {parent.type.replace('_', ' ')}")


def _reflection(usage: Usage) -> None:
    source = usage.source
    for node in source.walk():
        if node.type == "identifier":
            name = source.of(node)
            parent = node.parent
            is_attribute = parent is not None and same(
                parent.child_by_field_name("attribute"), node
            )
            if is_attribute and name in _REFLECTIVE_ATTRIBUTES:
                usage.open.append((source.start(node), f"it reaches for {name}"))
            elif name in _REFLECTIVE_CALLS and not is_attribute:
                usage.open.append((source.start(node), _REFLECTIVE_CALLS[name] + f" ({name})"))
            elif name in ("__builtins__", "__loader__", "__spec__"):
                usage.open.append((source.start(node), f"it reaches for {name}"))
        elif node.type in ("import_statement", "import_from_statement"):
            modules = (
                [node.child_by_field_name("module_name")]
                if node.type == "import_from_statement"
                else node.children_by_field_name("name")
            )
            for module in modules:
                root = source.of(module).split(".")[0].split(" ")[0]
                if root in _REFLECTIVE_MODULES:
                    usage.open.append(
                        (source.start(node), f"it imports {root}, which can reach any name")
                    )
