"""What a Python script may not say, and what Monty cannot run."""

from __future__ import annotations

import sys

from tree_sitter import Node

from codemode.core import monty
from codemode.core.script_python import declared_names, reads
from codemode.core.syntax import Source
from codemode.core.usage import Finding, ToolNames

NEEDS_CONTAINER = "needs-container"
"""Code of what only the container engine can do."""

_NOT_IN_IMAGE = {
    # of the host's Python, gone from the container's or made for people at a screen
    *("aifc", "antigravity", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt"),
    *("distutils", "ensurepip", "idlelib", "imghdr", "imp", "lib2to3", "mailcap", "msilib", "nis"),
    *("nntplib", "ossaudiodev", "pipes", "smtpd", "sndhdr", "spwd", "sunau", "telnetlib", "this"),
    *("tkinter", "turtle", "turtledemo", "uu", "venv", "xdrlib"),
}
CONTAINER_MODULES = frozenset(
    name for name in sys.stdlib_module_names if not name.startswith("_")
) - frozenset(_NOT_IN_IMAGE)
"""Modules that scripts may import in the container: the standard library."""

_LACKING = monty.BUILTINS | monty.DENIED
_STEERING = {
    "TYPE_CHECKING": "hides code from the check",
    "no_type_check": "switches the check off",
    "no_type_check_decorator": "switches the check off",
}


def refusals(source: Source, names: ToolNames, *, in_monty: bool) -> list[Finding]:
    """Imports that do not resolve, names that steer the check, and what Monty lacks."""
    found: list[Finding] = []
    declared = declared_names(source)
    modules = _module_names(source) if in_monty else {}
    found += _mixed_tabs(source)
    for node in source.walk():
        if node.type in ("import_statement", "import_from_statement"):
            found += _import(source, node, names, in_monty)
        elif node.type == "identifier":
            name = source.of(node)
            if name in _STEERING:
                message = f"{name} cannot be used: it {_STEERING[name]}."
                found.append(Finding(node, "no-steering", message))
            elif in_monty and name in _LACKING and name not in declared and reads(node):
                found.append(_container(node, f"The builtin `{name}`"))
        if in_monty:
            found += _attribute(source, node, modules)
            what = _syntax(source, node)
            if what is not None:
                found.append(_container(node, monty.SYNTAX[what]))
    return found


def _mixed_tabs(source: Source) -> list[Finding]:
    """
    Indentation that CPython refuses (TabError) and other parsers accept.

    As CPython does: widths with tabs to eight columns and to one must agree.
    """
    stack = [(0, 0)]
    for node in source.walk():
        if node.parent is None or node.parent.type not in ("module", "block"):
            continue
        start = source.start(node)
        indent = source.text[source.text.rfind("\n", 0, start) + 1 : start]
        if indent.strip():
            continue  # not the first on its line
        width = (len(indent.expandtabs(8)), len(indent))
        while len(stack) > 1 and width[0] < stack[-1][0]:
            stack.pop()
        if (width[0] > stack[-1][0]) != (width[1] > stack[-1][1]) or (
            width[0] == stack[-1][0] and width[1] != stack[-1][1]
        ):
            message = "Tabs and spaces are mixed in this indentation: use spaces only."
            return [Finding(node, "mixed-tabs", message)]
        if width[0] > stack[-1][0]:
            stack.append(width)
    return []


def _container(node: Node, what: str) -> Finding:
    message = (
        f"{what[0].upper()}{what[1:]} needs the container engine: isolate cannot run it. "
        "Use --engine container, or write it another way."
    )
    return Finding(node, NEEDS_CONTAINER, message)


def available(names: ToolNames, *, in_monty: bool) -> str:
    """What can be imported, in a sentence."""
    toolsets = names.toolsets
    shown = ", ".join(toolsets[:12]) + (f" and {len(toolsets) - 12} more" * (len(toolsets) > 12))
    library = (
        f"the modules {', '.join(sorted(monty.MODULES))}" if in_monty else "the standard library"
    )
    return f"Available are tools ({shown or 'empty'}, search, describe) and {library}."


def _modules(source: Source, node: Node) -> list[tuple[str, list[str], bool]]:
    """``(module, names taken from it, import *)`` of an import statement."""
    if node.type == "import_statement":
        found: list[tuple[str, list[str], bool]] = []
        for child in node.children_by_field_name("name"):
            name = child.child_by_field_name("name") if child.type == "aliased_import" else child
            found.append((source.of(name), [], False))
        return found
    taken = [
        source.of(child.child_by_field_name("name") if child.type == "aliased_import" else child)
        for child in node.children_by_field_name("name")
    ]
    star = any(child.type == "wildcard_import" for child in node.children)
    return [(source.of(node.child_by_field_name("module_name")), taken, star)]


def _import(source: Source, node: Node, names: ToolNames, in_monty: bool) -> list[Finding]:
    found: list[Finding] = []
    for module, taken, star in _modules(source, node):
        root = module.partition(".")[0]
        if module.startswith("."):
            message = "A script has no package around it, so relative imports name nothing. "
            found.append(Finding(node, "no-module", message + available(names, in_monty=in_monty)))
        elif root == "tools":
            if star:
                message = "Name what you need: `from tools import github`. import * is not read."
                found.append(Finding(node, "no-module", message))
        elif root not in CONTAINER_MODULES:
            message = f"{module} is not available. {available(names, in_monty=in_monty)}"
            found.append(Finding(node, "no-module", message))
        elif in_monty and (root not in monty.MODULES or "." in module):
            found.append(_container(node, f"The module `{module}`"))
        elif in_monty and star:
            found.append(_container(node, "`import *`"))
        elif in_monty:
            known = monty.MODULES[root]
            lacking = [name for name in taken if known is not None and name not in known]
            found += [
                _container(node, f"`{root}.{name}`") for name in lacking if name not in _STEERING
            ]
    return found


def _module_names(source: Source) -> dict[str, str]:
    """Local name -> module, of every ``import x`` and ``import x as y``."""
    names = {}
    for node in source.walk():
        if node.type == "import_statement":
            for child in node.children_by_field_name("name"):
                alias = child.child_by_field_name("alias")
                name = child.child_by_field_name("name") if alias else child
                names[source.of(alias or name)] = source.of(name)
    return names


def _attribute(source: Source, node: Node, modules: dict[str, str]) -> list[Finding]:
    """``asyncio.create_task`` under Monty, which has three names of asyncio."""
    if node.type != "attribute":
        return []
    module = modules.get(source.of(node.child_by_field_name("object")), "")
    name = source.of(node.child_by_field_name("attribute"))
    known = monty.MODULES.get(module)
    if known is None or name in known or name in _STEERING:
        return []
    return [_container(node, f"`{module}.{name}`")]


def _syntax(source: Source, node: Node) -> str | None:
    """Which entry of `monty.SYNTAX` *node* is, or None."""
    parent = node.parent
    match node.type:
        case "yield" if node.is_named:
            return "yield"
        case "delete_statement" | "type_alias_statement":
            return node.type
        case "for_statement" | "with_statement" if node.children[0].type == "async":
            return "async for" if node.type == "for_statement" else "async with"
        case "except_clause" if source.of(node)[6:].lstrip().startswith("*"):
            return "except*"
        case "class_definition":
            bases = node.child_by_field_name("superclasses")
            if bases is not None and bases.named_child_count:
                return "inheritance"
            if parent is not None and parent.type == "block" and parent.parent is not None:
                return "nested class" if parent.parent.type == "class_definition" else None
        case "decorated_definition":
            outer = parent.parent if parent is not None else None
            if outer is not None and outer.type == "class_definition":
                return "method decorator"
    return None
