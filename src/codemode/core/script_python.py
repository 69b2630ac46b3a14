"""Python: statements with top-level ``await`` and ``return``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from tree_sitter import Node

from codemode.core.form import Form
from codemode.core.script_typescript import HOST_FUNCTIONS, kind
from codemode.core.syntax import Edit, Source, blank, same

_DECLARATIONS = {
    "function_definition",
    "class_definition",
    "decorated_definition",
    "type_alias_statement",
    "pass_statement",
}
_IMPORTS = {"import_statement", "import_from_statement", "future_import_statement"}
_BINDING_FIELDS = {
    "assignment": "left",
    "for_statement": "left",
    "for_in_clause": "left",
    "named_expression": "name",
    "function_definition": "name",
    "class_definition": "name",
    "default_parameter": "name",
    "typed_default_parameter": "name",
}
_SCOPES = {"function_definition", "lambda", "class_definition"}


def make_runnable(source: Source, toolsets: Collection[str]) -> Form:
    """Edits that make *source* return the script's value."""
    form = Form()
    statements = [node for node in source.root.named_children if node.type != "comment"]
    for node in statements:
        if node.type == "future_import_statement":
            # It must come first in a file, and a script's body is not a file.
            text = source.of(node)
            form.edits.append(Edit(source.start(node), source.end(node), "pass" + blank(text)[4:]))
    form.erasures += _type_imports(source)
    head = _add_imports(source, toolsets, form)
    if not source.root.has_error:
        _guards(source, statements, form)
        _return_value(source, statements, form)
        first = next(iter(statements), None)
        if (
            first is not None
            and first.start_point.column > 0
            and not source.text[: source.start(first)].rpartition("\n")[2].strip()
        ):
            head += "if True:\n"  # the whole script is indented; nothing in it has to move
    if head:
        form.edits.insert(0, Edit(0, 0, head))
    return form


@lru_cache(maxsize=8)
def imported_names(source: Source) -> Mapping[str, str]:
    """
    Local name -> what it names in ``tools``: ``*`` (the package itself), ``github``
    or ``github.issues_create``. Imports anywhere in the script.
    """
    names: dict[str, str] = {}
    for node in source.walk():
        if node.type == "import_from_statement":
            module = source.of(node.child_by_field_name("module_name"))
            if module != "tools" and not module.startswith("tools."):
                continue
            for child in node.children_by_field_name("name"):
                name, alias = _import_name(source, child)
                names[alias or name] = f"{module}.{name}".removeprefix("tools.")
        elif node.type == "import_statement":
            for child in node.children_by_field_name("name"):
                name, alias = _import_name(source, child)
                if name == "tools" or name.startswith("tools."):
                    names[alias or "tools"] = name[6:] if alias and name != "tools" else "*"
    return names


def is_type(name: str) -> bool:
    """Whether a name in a toolset is a type's; tools are in lower case."""
    return name[:1].isupper()


@lru_cache(maxsize=8)
def imported_types(source: Source) -> frozenset[str]:
    """Local names of types that are imported from toolsets."""
    return frozenset(
        local
        for local, path in imported_names(source).items()
        if "." in path and is_type(path.rpartition(".")[2])
    )


def in_annotation(node: Node) -> bool:
    """Whether *node* stands in an annotation, which no engine evaluates."""
    above: Node | None = node
    while above is not None:
        if above.type == "type":
            return True
        above = above.parent
    return False


def _type_imports(source: Source) -> list[Edit]:
    """
    Blank the types in ``from tools.github import Issue, issues_list``, nothing moved.

    Types exist for the checker alone; at run time a toolset has only its tools.
    """
    edits = []
    for node in source.walk():
        if node.type != "import_from_statement":
            continue
        module = source.of(node.child_by_field_name("module_name"))
        names = node.children_by_field_name("name")
        types = [child for child in names if is_type(_import_name(source, child)[0])]
        if not module.startswith("tools.") or not types:
            continue
        start, text = source.start(node), source.of(node)
        if len(types) == len(names):
            edits.append(Edit(start, source.end(node), "pass" + blank(text)[4:]))
            continue
        kept = [child for child in names if child not in types]
        last = names[0]
        for child in node.children[node.children.index(names[0]) :]:
            low, high = source.start(child) - start, source.end(child) - start
            # A comma stays between two names that stay.
            if child in types or (child.type == "," and (last in types or same(last, kept[-1]))):
                text = text[:low] + blank(text[low:high]) + text[high:]
            if child in names:
                last = child
        edits.append(Edit(start, source.end(node), text))
    return edits


def _import_name(source: Source, node: Node) -> tuple[str, str]:
    if node.type == "aliased_import":
        return source.of(node.child_by_field_name("name")), source.of(
            node.child_by_field_name("alias")
        )
    return source.of(node), ""


@lru_cache(maxsize=8)
def declared_names(source: Source) -> frozenset[str]:
    """Every name that the script binds anywhere."""
    names = set(imported_names(source))
    for node in source.walk():
        if node.type in _IMPORTS:
            for child in node.children_by_field_name("name"):
                name, alias = _import_name(source, child)
                names.add(alias or name.split(".")[0])
        elif node.type in ("assignment", "augmented_assignment", "for_statement", "for_in_clause"):
            names |= _targets(source, node.child_by_field_name("left"))
        elif node.type in ("function_definition", "class_definition", "named_expression"):
            names.add(source.of(node.child_by_field_name("name")))
        elif node.type in ("parameters", "lambda_parameters"):
            names |= {
                source.of(child.child_by_field_name("name") or child.named_child(0) or child)
                if child.type != "identifier"
                else source.of(child)
                for child in node.named_children
            }
        elif node.type in ("as_pattern_target", "case_pattern"):
            names |= _targets(source, node)
    return frozenset(names)


def _targets(source: Source, node: Node | None) -> set[str]:
    """Plain names in an assignment's target; attributes and items bind none."""
    found: set[str] = set()
    stack = [node] if node is not None else []
    while stack:
        current = stack.pop()
        if current.type == "identifier":
            found.add(source.of(current))
        elif current.type not in ("attribute", "subscript", "call"):
            stack += current.named_children
    return found


def reads(node: Node) -> bool:
    """Whether an identifier reads a variable (not an attribute, keyword or import)."""
    parent = node.parent
    if parent is None:
        return True
    if parent.type == "attribute":
        return parent.child_by_field_name("object") == node
    if parent.type == "keyword_argument":
        return parent.child_by_field_name("value") == node
    if parent.type in _BINDING_FIELDS:
        return parent.child_by_field_name(_BINDING_FIELDS[parent.type]) != node
    return parent.type not in ("dotted_name", "aliased_import", "global_statement", "parameters")


def _add_imports(source: Source, toolsets: Collection[str], form: Form) -> str:
    imported = imported_names(source)
    declared = declared_names(source)
    offered = {*toolsets, *HOST_FUNCTIONS, "tools"}
    missing: dict[str, int] = {}
    for node in source.walk():
        if node.type == "identifier" and reads(node):
            name = source.of(node)
            if name in offered and name not in declared:
                missing.setdefault(name, source.start(node))
    form.toolsets = tuple(sorted({*_toolsets([*imported.values(), *missing], toolsets)}))
    if {"*", "tools"} & {*imported.values(), *missing}:
        form.toolsets = tuple(sorted(toolsets))
    head = ""
    for name, offset in missing.items():
        line = "import tools" if name == "tools" else f"from tools import {name}"
        form.notes.append((offset, "import-added", f"Added for you: {line}"))
        head += f"{line}\n"
    return head


def _toolsets(names: list[str], toolsets: Collection[str]) -> list[str]:
    return [root for name in names if (root := name.partition(".")[0]) in toolsets]


def _guards(source: Source, statements: list[Node], form: Form) -> None:
    """``if __name__ == "__main__"`` is true; ``asyncio.run(x)`` at the top is ``await x``."""
    for node in statements:
        condition = node.child_by_field_name("condition") if node.type == "if_statement" else None
        if condition is not None and _is_main_guard(source, condition):
            text = source.of(condition)
            form.edits.append(
                Edit(source.start(condition), source.end(condition), "True" + blank(text)[4:])
            )
    for node in source.walk():
        if node.type == "call" and _is_asyncio_run(source, node) and not _in_scope(node):
            arguments = node.child_by_field_name("arguments")
            assert arguments is not None
            inner = arguments.named_children[0]
            form.edits.append(Edit(source.start(node), source.start(inner), "(await ("))
            form.edits.append(Edit(source.end(inner), source.end(node), "))"))
            form.notes.append(
                (
                    source.start(node),
                    "asyncio-run",
                    "A loop is already running, so this is awaited instead.",
                )
            )


def _is_main_guard(source: Source, node: Node) -> bool:
    text = source.of(node).replace(" ", "").replace("'", '"').strip("()")
    return text in ('__name__=="__main__"', '"__main__"==__name__')


def _is_asyncio_run(source: Source, node: Node) -> bool:
    callee = source.of(node.child_by_field_name("function"))
    arguments = node.child_by_field_name("arguments")
    return (
        (callee in ("asyncio.run", "anyio.run") or callee.endswith(".run_until_complete"))
        and arguments is not None
        and arguments.type == "argument_list"
        and arguments.named_child_count >= 1
        and arguments.named_children[0].type not in ("keyword_argument", "list_splat", "comment")
        and all(child.type == "keyword_argument" for child in arguments.named_children[1:])
    )


def _in_scope(node: Node) -> bool:
    """Inside a function, lambda or class."""
    parent = node.parent
    while parent is not None:
        if parent.type in _SCOPES:
            return True
        parent = parent.parent
    return False


def is_top_level(source: Source, offset: int) -> bool:
    """Whether what stands at *offset* is in no function, lambda or class."""
    byte = len(source.text[:offset].encode("utf-8", "replace"))
    node = source.root.descendant_for_byte_range(byte, byte)
    return node is None or not (node.type in _SCOPES or _in_scope(node))


def _functions(source: Source, statements: list[Node]) -> dict[str, Node]:
    found = {}
    for node in statements:
        node = node.child_by_field_name("definition") or node
        if node.type == "function_definition":
            found[source.of(node.child_by_field_name("name"))] = node
    return found


def _is_async(node: Node) -> bool:
    return any(child.type == "async" for child in node.children)


def _return_value(source: Source, statements: list[Node], form: Form) -> None:
    functions = _functions(source, statements)
    body = [node for node in statements if node.type not in _IMPORTS]
    real = [node for node in body if node.type != "pass_statement"]
    if not real:
        form.problems.append(
            (0, "nothing-to-run", "Nothing would be run: the script holds no statement.")
        )
        return
    last = real[-1]
    condition = last.child_by_field_name("condition") if last.type == "if_statement" else None
    if condition is not None and _is_main_guard(source, condition):
        block = last.child_by_field_name("consequence")
        inside = [
            child for child in (block.named_children if block else []) if child.type != "comment"
        ]
        if inside:
            last = inside[-1]
    if last.type == "expression_statement" and _return_expression(source, last, functions, form):
        return
    main = _uncalled_main(source, real, functions)
    if main is not None:
        wait = "await " if _is_async(functions[main]) else ""
        form.notes.append(
            (
                source.start(functions[main]),
                "main-called",
                f"{main} is called at the end; its result is returned.",
            )
        )
        first = statements[0]
        indent = " " * first.start_point.column
        form.edits.append(
            Edit(len(source.text), len(source.text), f"\n{indent}return {wait}{main}()\n")
        )
        return
    if functions and all(_only_declares(node) for node in real):
        names = ", ".join(functions)
        form.problems.append(
            (
                source.start(last),
                "nothing-to-run",
                f"Nothing would be run: the script only declares {names}. "
                f"Call one at the end, such as `await {next(iter(functions))}()`.",
            )
        )
        return
    if not any(node.type == "return_statement" and not _in_scope(node) for node in source.walk()):
        form.notes.append((source.start(last), "nothing-returned", _nothing(source, last)))


def _nothing(source: Source, last: Node) -> str:
    inner = last.named_children[0] if last.type == "expression_statement" else last
    if inner.type in ("assignment", "augmented_assignment"):
        name = source.of(inner.child_by_field_name("left"))
        return (
            f"Nothing is returned: the script ends with an assignment. "
            f"End with `{name}` or `return {name}`."
        )
    if inner.type == "call":
        return "Nothing is returned: print shows a value and gives none. End with `return value`."
    return f"Nothing is returned: the script ends with {kind(inner)}. End with `return value`."


def _return_expression(
    source: Source, statement: Node, functions: dict[str, Node], form: Form
) -> bool:
    """Return the last expression; False if it is no value."""
    expression = statement.named_children[0]
    if expression.type in ("assignment", "augmented_assignment", "yield"):
        return False
    if statement.named_child_count > 1:  # a bare tuple
        form.edits.append(Edit(source.start(statement), source.start(statement), "return "))
        return True
    start = source.start(statement)
    inner = expression
    while inner.type == "parenthesized_expression" and inner.named_child_count == 1:
        inner = inner.named_children[0]
    name = source.of(inner)
    if inner.type == "identifier" and name in functions:
        wait = "await " if _is_async(functions[name]) else ""
        form.notes.append((start, "main-called", f"{name} is called; its result is returned."))
        end = source.end(expression)
        form.edits += [Edit(start, start, f"return {wait}"), Edit(end, end, "()")]
        return True
    wait = ""
    if inner.type == "call":
        callee = source.of(inner.child_by_field_name("function"))
        if callee == "print" and "print" not in functions:
            return False  # it gives nothing, and null is not nothing
        root = callee.partition(".")[0]
        if (callee in functions and _is_async(functions[callee])) or (
            "." in callee and imported_or_tool(source, root, form)
        ):
            wait = "await "
            form.notes.append((start, "awaited", f"The last call, {callee}(...), is awaited."))
    form.edits.append(Edit(start, start, f"return {wait}"))
    return True


def imported_or_tool(source: Source, root: str, form: Form) -> bool:
    """Whether *root* is a toolset of the script or the ``tools`` package."""
    if root in form.toolsets and root not in declared_names(source):
        return True
    return root in imported_names(source)


def _uncalled_main(source: Source, real: list[Node], functions: dict[str, Node]) -> str | None:
    uses: dict[str, int] = dict.fromkeys(functions, 0)
    for node in source.walk():
        if node.type == "identifier":
            name = source.of(node)
            if name in uses:
                uses[name] += 1
    idle = [name for name, count in uses.items() if count == 1]
    if "main" in idle:
        return "main"
    if len(idle) == 1 and all(_only_declares(node) for node in real):
        return idle[0]
    return None


def _only_declares(node: Node) -> bool:
    if node.type in _DECLARATIONS:
        return True
    if node.type != "expression_statement":
        return False
    inner = node.named_children[0]
    if inner.type == "string":
        return True
    value = inner.child_by_field_name("right") if inner.type == "assignment" else None
    return value is not None and value.type in (
        "string",
        "integer",
        "float",
        "true",
        "false",
        "none",
        "list",
        "dictionary",
    )
