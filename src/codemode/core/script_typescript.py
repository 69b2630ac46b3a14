"""TypeScript: everything becomes ``export default async () => { ... }``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from tree_sitter import Node

from codemode.core.form import Form
from codemode.core.syntax import Edit, Source, blank

FUNCTIONS = {
    "arrow_function",
    "function_expression",
    "generator_function",
    "function_declaration",
    "generator_function_declaration",
}
"""Node types of things that can be called."""

_TYPES = {
    "interface_declaration",
    "type_alias_declaration",
    "ambient_declaration",
    "class_declaration",
    "abstract_class_declaration",
    "enum_declaration",
    "empty_statement",
}
_WRAPPERS = {"parenthesized_expression", "as_expression", "satisfies_expression"}
_CLASSES = {"class", "class_declaration", "abstract_class_declaration"}
_CLASS = (
    "Nothing would be run: the default export is a class. "
    "Export a function, or end with an expression."
)
HOST_FUNCTIONS = ("search", "describe", "ToolError")
"""What ``tools`` offers beside toolsets, in both languages."""


def make_runnable(source: Source, toolsets: Collection[str]) -> Form:
    """Edits that make *source* one async function that returns the script's value."""
    form = Form()
    statements = [node for node in source.root.named_children if node.type != "comment"]
    imports = [node for node in statements if node.type == "import_statement"]
    body = [node for node in statements if node.type not in ("import_statement", "hash_bang_line")]
    _hoist(source, imports, form)
    added = _add_imports(source, toolsets, form)
    form.edits.append(Edit(0, 0, f"{added}export default async () => {{"))
    error = source.first_error()
    if error is None:
        _return_value(source, body, form)
    form.edits.append(Edit(len(source.text), len(source.text), "\n};\n"))
    return form


def _hoist(source: Source, imports: list[Node], form: Form) -> None:
    """Move import statements to the start of line 1; their places become empty."""
    blanks = []
    for node in imports:
        start, end = source.start(node), source.end(node)
        comments = [child for child in source.walk(node) if child.type == "comment"]
        text = source.of(node)
        for comment in comments:
            low, high = source.start(comment) - start, source.end(comment) - start
            text = text[:low] + " " * (high - low) + text[high:]
        form.edits += [
            Edit(0, 0, text.replace("\n", " "), moved_from=start),
            Edit(0, 0, "" if text.endswith(";") else ";"),
        ]
        blanks.append(Edit(start, end, blank(source.text[start:end])))
    form.edits += blanks


@lru_cache(maxsize=8)
def imported_names(source: Source) -> Mapping[str, str]:
    """Local name -> name in ``tools`` of named imports; ``*`` for the namespace."""
    names: dict[str, str] = {}
    for node in source.root.named_children:
        if node.type != "import_statement":
            continue
        if source.of(node.child_by_field_name("source")).strip("\"'") != "tools":
            continue
        for child in source.walk(node):
            if child.type == "import_specifier":
                name = source.of(child.child_by_field_name("name")).strip("\"'")
                alias = child.child_by_field_name("alias")
                names[source.of(alias) if alias else name] = name
            elif child.type == "namespace_import":
                names[source.of(child.named_children[-1])] = "*"
            elif child.type == "import_clause" and child.named_children[0].type == "identifier":
                names[source.of(child.named_children[0])] = "*"
    return names


_BINDERS = {
    "import_specifier",
    "import_clause",
    "namespace_import",
    "import_require_clause",
    "required_parameter",
    "optional_parameter",
    "array_pattern",
    "rest_pattern",
    "object_assignment_pattern",
    "assignment_pattern",
    "catch_clause",
}
_BINDING_FIELDS = {
    "pair_pattern": "value",
    "arrow_function": "parameter",
    "for_in_statement": "left",
}


def binds(node: Node) -> bool:
    """Whether an identifier gives a name to something, rather than reading it."""
    parent = node.parent
    if parent is None:
        return False
    if node.type == "shorthand_property_identifier_pattern" or parent.type in _BINDERS:
        # A default value stands in the same place, and is read.
        return node not in (
            parent.child_by_field_name("right"),
            parent.child_by_field_name("value"),
        )
    field = _BINDING_FIELDS.get(parent.type, "name")
    return parent.child_by_field_name(field) == node and parent.type != "member_expression"


@lru_cache(maxsize=8)
def declared_names(source: Source) -> frozenset[str]:
    """Every name that some declaration, parameter or import of the script binds."""
    kinds = ("identifier", "shorthand_property_identifier_pattern", "type_identifier")
    return frozenset(
        source.of(node) for node in source.walk() if node.type in kinds and binds(node)
    )


def _add_imports(source: Source, toolsets: Collection[str], form: Form) -> str:
    """The import line a model forgot, and a note about it."""
    imported = imported_names(source)
    declared = declared_names(source)
    offered = {*toolsets, *HOST_FUNCTIONS, "tools"}
    missing: dict[str, int] = {}
    for node in source.walk():
        if node.type in ("identifier", "shorthand_property_identifier"):
            name = source.of(node)
            if name in offered and name not in declared:
                missing.setdefault(name, source.start(node))
    form.toolsets = tuple(
        sorted({name for name in (*imported.values(), *missing) if name in toolsets})
    )
    if {"*", "tools"} & {*imported.values(), *missing}:
        form.toolsets = tuple(sorted(toolsets))
    head = ""
    for name, offset in missing.items():
        line = (
            f'import * as {name} from "tools"'
            if name == "tools"
            else (f'import {{ {name} }} from "tools"')
        )
        form.notes.append((offset, "import-added", f"Added for you: {line};"))
        head += f"{line};"
    return head


def _unwrapped(node: Node) -> Node:
    while node.type in _WRAPPERS and node.named_children:
        inner = [child for child in node.named_children if child.type != "comment"]
        node = inner[0]
    return node


def _functions(source: Source, body: list[Node]) -> dict[str, Node]:
    """Functions declared at the top level: name -> declaration."""
    found: dict[str, Node] = {}
    for statement in body:
        node = statement.child_by_field_name("declaration") or statement
        if node.type in FUNCTIONS:
            found[source.of(node.child_by_field_name("name"))] = node
        elif node.type in ("lexical_declaration", "variable_declaration"):
            for declarator in node.named_children:
                value = declarator.child_by_field_name("value")
                if value is not None and _unwrapped(value).type in FUNCTIONS:
                    found[source.of(declarator.child_by_field_name("name"))] = declarator
    return found


def _return_value(source: Source, body: list[Node], form: Form) -> None:
    """Decide what the script returns, and add what makes it so."""
    functions = _functions(source, body)
    default = _unexport(source, body, form)
    if default is not None:
        _return_default(source, default, functions, form)
        return
    body = [node for node in body if node.type != "empty_statement"]
    real = [node for node in body if node.type not in _TYPES]
    if not real:
        form.problems.append(
            (0, "nothing-to-run", "Nothing would be run: the script holds no statement.")
        )
        return
    last = body[-1]
    if last.type == "expression_statement":
        expression = last.named_children[0]
        inner = _unwrapped(expression)
        name = source.of(inner) if inner.type == "identifier" else ""
        if inner.type in FUNCTIONS or name in functions:
            what = f"{name} is" if name else "The function is"
            form.notes.append(
                (source.start(inner), "main-called", f"{what} called; its result is returned.")
            )
            _wrap(source, expression, "return await (", ")()", form)
        else:
            _wrap(source, expression, "return await (", ")", form)
        return
    main = _uncalled_main(source, real, functions)
    if main is not None:
        form.notes.append(
            (
                source.start(functions[main]),
                "main-called",
                f"{main} is called at the end; its result is returned.",
            )
        )
        form.edits.append(Edit(len(source.text), len(source.text), f"\nreturn await {main}();"))
        return
    if all(_only_declares(node) for node in real) and functions:
        names = ", ".join(functions)
        form.problems.append(
            (
                source.start(real[-1]),
                "nothing-to-run",
                f"Nothing would be run: the script only declares {names}. "
                f"Call one at the end, such as `await {next(iter(functions))}();`.",
            )
        )
        return
    if not _returns(source):
        form.notes.append(
            (
                source.start(last),
                "nothing-returned",
                "Nothing is returned: the script ends with "
                f"{kind(last)}. End with an expression or `return value;`.",
            )
        )


def kind(node: Node) -> str:
    """What people call a statement of this type, with its article."""
    name = node.type.removesuffix("_statement").removeprefix("lexical_").replace("_", " ")
    name = {"for in": "loop", "for": "loop", "while": "loop", "do": "loop"}.get(name, name)
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _wrap(source: Source, node: Node, before: str, after: str, form: Form) -> None:
    end = source.end(node)
    form.edits.append(Edit(source.start(node), source.start(node), before))
    form.edits.append(Edit(end, end, after))


def _unexport(source: Source, body: list[Node], form: Form) -> Node | str | None:
    """Take ``export`` away everywhere; answer what was the default export."""
    default: Node | str | None = None
    for node in body:
        if node.type != "export_statement":
            continue
        start = source.start(node)
        clause = next(
            (child for child in node.named_children if child.type == "export_clause"), None
        )
        if node.child_by_field_name("source") is not None:
            continue  # the gate refuses it, with the module's name
        if clause is not None:
            for item in clause.named_children:
                if source.of(item.child_by_field_name("alias")) == "default":
                    default = source.of(item.child_by_field_name("name"))
            form.edits.append(Edit(start, source.end(node), blank(source.of(node))))
            continue
        declaration = node.child_by_field_name("declaration")
        value = node.child_by_field_name("value")
        target = declaration or value
        if target is None:
            continue
        is_default = any(child.type == "default" for child in node.children)
        form.edits.append(
            Edit(start, source.start(target), blank(source.text[start : source.start(target)]))
        )
        if is_default:
            name = source.of(target.child_by_field_name("name")) if declaration else ""
            inner = _unwrapped(target)
            default = name or (source.of(inner) if inner.type == "identifier" else target)
    return default


def _return_default(
    source: Source, default: Node | str, functions: dict[str, Node], form: Form
) -> None:
    classes = {
        source.of(node.child_by_field_name("name"))
        for node in source.walk()
        if node.type in _CLASSES
    }
    if isinstance(default, str):
        if default in classes:
            form.problems.append((0, "nothing-to-run", _CLASS))
            return
        if default in functions:
            form.notes.append(
                (
                    source.start(functions[default]),
                    "main-called",
                    f"{default} is called at the end; its result is returned.",
                )
            )
            tail = f"\nreturn await {default}();"
        else:
            tail = f"\nreturn await {default};"
        form.edits.append(Edit(len(source.text), len(source.text), tail))
        return
    inner = _unwrapped(default)
    if inner.type in _CLASSES:
        form.problems.append((source.start(inner), "nothing-to-run", _CLASS))
    elif inner.type in FUNCTIONS:
        form.notes.append(
            (
                source.start(inner),
                "main-called",
                "The exported function is called; its result is returned.",
            )
        )
        _wrap(source, default, "return await (", ")()", form)
    else:
        _wrap(source, default, "return await (", ")", form)


def _uncalled_main(source: Source, real: list[Node], functions: dict[str, Node]) -> str | None:
    """The function that the author meant to be run but never named again."""
    uses: dict[str, int] = dict.fromkeys(functions, 0)
    for node in source.walk():
        if node.type in ("identifier", "shorthand_property_identifier"):
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
    node = node.child_by_field_name("declaration") or node
    if node.type in FUNCTIONS or node.type in _TYPES:
        return True
    if node.type in ("lexical_declaration", "variable_declaration"):
        return all(
            value is not None and _is_inert(_unwrapped(value))
            for declarator in node.named_children
            if declarator.type == "variable_declarator"
            for value in [declarator.child_by_field_name("value")]
        )
    return False


_LITERALS = {"string", "number", "true", "false", "null", "array", "object"}


def _is_inert(node: Node) -> bool:
    """A function or a plain literal: evaluating it does nothing."""
    if node.type in FUNCTIONS:
        return True
    return node.type in _LITERALS and not any(
        "call" in child.type or "await" in child.type for child in _below(node)
    )


def _below(node: Node) -> list[Node]:
    found, stack = [], [node]
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(current.children)
    return found


def _returns(source: Source) -> bool:
    """Whether some ``return`` belongs to the script itself, not to a function in it."""
    for node in source.walk():
        if node.type == "return_statement":
            parent = node.parent
            while parent is not None and parent.type not in (*FUNCTIONS, "method_definition"):
                parent = parent.parent
            if parent is None:
                return True
    return False
