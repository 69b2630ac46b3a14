"""What a Python script may not say, and what Monty cannot run."""

from __future__ import annotations

import sys
from typing import NamedTuple

from tree_sitter import Node

from codemode.core import monty
from codemode.core.script_python import (
    declared_names,
    imported_names,
    in_annotation,
    is_type,
    reads,
)
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

ONLY_TYPE = "only-type"
"""Code of a type that is used as if it were there at run time."""

_LACKING = monty.BUILTINS | monty.DENIED
_STEERING = {
    "TYPE_CHECKING": "hides code from the check",
    "no_type_check": "switches the check off",
    "no_type_check_decorator": "switches the check off",
}


class Lack(NamedTuple):
    """What isolate cannot run, at *node*, and what can be used instead, if that is easy."""

    node: Node
    what: str
    instead: str | None = None


def refusals(
    source: Source, names: ToolNames, types: frozenset[str], *, in_monty: bool
) -> list[Finding]:
    """
    Imports that do not resolve, names that steer the check, and what Monty lacks.

    Args:
        types: Local names of imported types, which are not in *source* any more.
    """
    found: list[Finding | Lack] = []
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
                found.append(Lack(node, f"the builtin `{name}`", monty.INSTEAD.get(name)))
            elif name in types and reads(node) and not in_annotation(node):
                found.append(_only_type(node, name))
        elif node.type == "attribute" and _is_type_of_tools(source, node, names):
            found.append(_only_type(node, source.of(node)))
        if in_monty:
            found += _attribute(source, node, modules)
            what = _syntax(source, node)
            if what is not None:
                found.append(Lack(node, monty.SYNTAX[what], monty.INSTEAD.get(what)))
    lacks = [one for one in found if isinstance(one, Lack)]
    return [one for one in found if isinstance(one, Finding)] + _needs_container(lacks)


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


def _only_type(node: Node, name: str) -> Finding:
    message = (
        f"{name} is a type: it exists in annotations only, not at run time. "
        "Records are plain dictionaries: write {...}, and dict or list where a type is asked for."
    )
    return Finding(node, ONLY_TYPE, message)


def _is_type_of_tools(source: Source, node: Node, names: ToolNames) -> bool:
    """``github.Issue`` outside of annotations."""
    toolset = imported_names(source).get(source.of(node.child_by_field_name("object")), "")
    return (
        toolset in names.by_toolset
        and is_type(source.of(node.child_by_field_name("attribute")))
        and not in_annotation(node)
    )


def _needs_container(lacks: list[Lack]) -> list[Finding]:
    """One message about all that isolate lacks, at the first of it."""
    if not lacks:
        return []
    whats = dict.fromkeys((what, instead) for _, what, instead in lacks)
    shown = [
        what + (f" (instead: {instead})" if instead else "") for what, instead in list(whats)[:12]
    ]
    if len(whats) > 12:
        shown.append(f"{len(whats) - 12} more")
    *most, last = shown
    text = f"{', '.join(most)} and {last}" if most else last
    verb = "need" if most else "needs"
    message = (
        f"{text[0].upper()}{text[1:]} {verb} the container engine: isolate cannot run "
        f"{'them' if most else 'it'}. Use --engine container, or write it another way."
    )
    return [Finding(lacks[0].node, NEEDS_CONTAINER, message)]


def available(names: ToolNames, *, in_monty: bool) -> str:
    """What can be imported, in a sentence."""
    toolsets = names.toolsets
    shown = ", ".join(toolsets[:12]) + (f" and {len(toolsets) - 12} more" * (len(toolsets) > 12))
    library = (
        f"the modules {', '.join(sorted(monty.MODULES))}" if in_monty else "the standard library"
    )
    return f"Available are tools ({shown or 'empty'}, search, describe) and {library}."


def _modules(node: Node) -> list[tuple[Node, list[Node], Node | None]]:
    """``(module, names taken from it, the star of import *)`` of an import statement."""
    names = [
        (child.child_by_field_name("name") if child.type == "aliased_import" else None) or child
        for child in node.children_by_field_name("name")
    ]
    if node.type == "import_statement":
        return [(name, [], None) for name in names]
    star = next((child for child in node.children if child.type == "wildcard_import"), None)
    return [(node.child_by_field_name("module_name") or node, names, star)]


def _import(source: Source, node: Node, names: ToolNames, in_monty: bool) -> list[Finding | Lack]:
    found: list[Finding | Lack] = []
    for place, taken, star in _modules(node):
        module = source.of(place)
        root = module.partition(".")[0]
        if module.startswith("."):
            message = "A script has no package around it, so relative imports name nothing. "
            found.append(Finding(place, "no-module", message + available(names, in_monty=in_monty)))
        elif root == "tools":
            if star is not None:
                message = "Name what you need: `from tools import github`. import * is not read."
                found.append(Finding(star, "no-module", message))
        elif root not in CONTAINER_MODULES:
            message = f"{module} is not available. {available(names, in_monty=in_monty)}"
            found.append(Finding(place, "no-module", message))
        elif in_monty and (root not in monty.MODULES or "." in module):
            instead = monty.INSTEAD.get(module)
            found.append(Lack(place, f"the module `{module}`", instead))
        elif in_monty and star is not None:
            found.append(Lack(star, "`import *`"))
        elif in_monty:
            known = monty.MODULES[root]
            for name in taken:
                whole = f"{root}.{source.of(name)}"
                if known is not None and source.of(name) not in {*known, *_STEERING}:
                    found.append(Lack(name, f"`{whole}`", monty.INSTEAD.get(whole)))
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


def _attribute(source: Source, node: Node, modules: dict[str, str]) -> list[Lack]:
    """``asyncio.create_task`` under Monty, which has three names of asyncio."""
    if node.type != "attribute":
        return []
    module = modules.get(source.of(node.child_by_field_name("object")), "")
    name = source.of(node.child_by_field_name("attribute"))
    known = monty.MODULES.get(module)
    if known is None or name in known or name in _STEERING:
        return []
    whole = f"{module}.{name}"
    return [Lack(node, f"`{whole}`", monty.INSTEAD.get(whole))]


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
