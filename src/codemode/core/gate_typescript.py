"""What a TypeScript script may not say, whatever the compiler thinks of it."""

from __future__ import annotations

import re

from tree_sitter import Node

from codemode.core.script_typescript import declared_names
from codemode.core.syntax import Source
from codemode.core.usage import Finding, ToolNames

_REFERENCE = re.compile(r"^///\s*<\s*(reference|amd-)", re.IGNORECASE)

NO_PATH = "no-path"
"""Code of an import that names a file, or computes its name. No checker ever sees one."""

_PACKAGE = re.compile(r"(node:)?@?[\w-]+(/[\w-]+)*")


def available(names: ToolNames) -> str:
    """What can be imported, in a sentence."""
    toolsets = names.toolsets
    shown = ", ".join(toolsets[:12]) + (f" and {len(toolsets) - 12} more" * (len(toolsets) > 12))
    return (
        f'A script can import only from "tools": {shown or "nothing yet"}, search, describe. '
        "JavaScript's own globals, console, URL and TextEncoder need no import."
    )


def refusals(source: Source, names: ToolNames) -> list[Finding]:
    """Imports of anything but ``tools``, and declarations that would change the stubs."""
    found: list[Finding] = []
    declared = declared_names(source)
    for node in source.walk():
        match node.type:
            case "import_statement":
                module = _specifier(source, node)
                if module != "tools":
                    place = node.child_by_field_name("source") or node
                    found.append(Finding(place, _code(module), _missing(module, names)))
            case "export_statement" if node.child_by_field_name("source") is not None:
                place = node.child_by_field_name("source") or node
                module = _specifier(source, node)
                found.append(Finding(place, _code(module), _missing(module, names)))
            case "call_expression":
                found += _call(source, node, names, declared)
            case "module" | "internal_module" if _is_augmentation(source, node):
                message = "A script cannot declare or change modules."
                found.append(Finding(node, "no-declare", message))
            case "ambient_declaration" if any(child.type == "global" for child in node.children):
                message = "A script cannot declare or change globals."
                found.append(Finding(node, "no-declare", message))
            case "comment" if _REFERENCE.match(source.of(node)):
                message = "A script cannot reference other files. " + available(names)
                found.append(Finding(node, NO_PATH, message))
    return found


def _specifier(source: Source, node: Node) -> str:
    for child in source.walk(node):
        if child.type == "string":
            return source.of(child)[1:-1]
    return ""


def _code(module: str) -> str:
    return "no-module" if _PACKAGE.fullmatch(module) else NO_PATH


def _missing(module: str, names: ToolNames) -> str:
    return f'"{module}" is not available. {available(names)}'


def _call(source: Source, node: Node, names: ToolNames, declared: frozenset[str]) -> list[Finding]:
    callee = node.child_by_field_name("function")
    if callee is None:
        return []
    name = source.of(callee)
    if callee.type == "import":
        what = "import()"
    elif name in ("require", "require.resolve") and "require" not in declared:
        what = "require()"
    else:
        return []
    arguments = node.child_by_field_name("arguments")
    if arguments is not None and _specifier(source, arguments) == "tools":
        message = f"{what} is not available. Write `{_static(source, node)}` at the top instead."
        return [Finding(node, NO_PATH, message)]
    return [Finding(node, NO_PATH, f"{what} is not available. {available(names)}")]


def _static(source: Source, call: Node) -> str:
    """The import statement that does what a dynamic import of ``tools`` was meant to."""
    node = call.parent
    while node is not None and node.type in ("await_expression", "parenthesized_expression"):
        node = node.parent
    target = node.child_by_field_name("name") if node is not None else None
    if node is not None and node.type == "variable_declarator" and target is not None:
        if target.type == "identifier":
            return f'import * as {source.of(target)} from "tools"'
        if target.type == "object_pattern":
            names = source.of(target).replace(": ", " as ").replace(":", " as ")
            return f'import {" ".join(names.split())} from "tools"'
    return 'import { github } from "tools"'


def _is_augmentation(source: Source, node: Node) -> bool:
    name = node.child_by_field_name("name")
    return name is not None and name.type == "string"
