"""Forgotten ``await`` in Python; see `codemode.core.awaits`."""

from __future__ import annotations

from tree_sitter import Node

from codemode.core.awaits import Fate, Flow, Kind, Lost, Step, Verdict, variable
from codemode.core.script_python import reads
from codemode.core.syntax import Source, same
from codemode.core.usage import Usage

_THROUGH = {
    "parenthesized_expression",
    "conditional_expression",
    "boolean_operator",
    "list_splat",
    "as_pattern",
}
_HOLDERS = {
    "list",
    "tuple",
    "set",
    "expression_list",
    "dictionary",
    "pair",
    "list_comprehension",
    "set_comprehension",
    "generator_expression",
    "dictionary_comprehension",
}
_WAITS = {"gather", "create_task", "ensure_future", "wait_for", "shield", "wait"}
_LISTS = {"list", "tuple", "set", "reversed", "enumerate", "zip"}
_SHOWS = {
    "print",
    "str",
    "repr",
    "int",
    "float",
    "bool",
    "sum",
    "sorted",
    "dict",
    "json.dumps",
    "len",
    "max",
    "min",
}
_ADDS = {"append", "add", "insert", "extend"}

_FLOATING = "This call is never awaited: write `await` before it."
_LIST = "A list of calls is not awaited: use `await asyncio.gather(*calls)`."
_USED = "A coroutine is used, not its result: write `await` before the call."


def find_forgotten(source: Source, usage: Usage) -> list[Lost]:
    """Each coroutine that nobody waits for."""
    flow = Flow(source, _reads(source))
    found: list[Lost] = []
    starts = [use.call for use in usage.uses if use.call]
    flow.waiting |= {
        source.of(node.child_by_field_name("name"))
        for node in source.walk()
        if node.type == "function_definition" and _is_async(node) and not _is_generator(node)
    }
    done: set[int] = set()
    followed: set[str] = set()
    while True:
        for node in starts:
            if node.id in done:
                continue
            done.add(node.id)
            fate = _follow(flow, node, "one")
            if fate.verdict is Verdict.LOST:
                found.append(Lost(fate.node, node, fate.message))
        new = flow.waiting - followed
        if not new:
            return found
        followed |= new
        starts = [
            read.parent
            for name in sorted(new)
            for read in flow.reads.get(name, [])
            if read.parent is not None and same(read.parent.child_by_field_name("function"), read)
        ]


def _reads(source: Source) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for node in source.walk():
        if node.type == "identifier" and reads(node):
            parent = node.parent
            if parent is not None and (
                same(parent.child_by_field_name("left"), node)
                or same(parent.child_by_field_name("name"), node)
            ):
                continue
            found.setdefault(source.of(node), []).append(node)
    return found


def _is_async(node: Node) -> bool:
    return any(child.type == "async" for child in node.children)


def _is_generator(function: Node) -> bool:
    """Whether a call of it gives something to loop over, not a coroutine."""
    stack = [function.child_by_field_name("body")]
    while stack:
        node = stack.pop()
        if node is None or node.type in ("function_definition", "lambda", "class_definition"):
            continue
        if node.type == "yield":
            return True
        stack += node.named_children
    return False


def _follow(flow: Flow, node: Node, kind: Kind) -> Fate:
    step = Step(node, kind)
    while True:
        next_step = _step(flow, step.node, step.kind)
        if isinstance(next_step, Fate):
            return next_step
        step = next_step


def _step(flow: Flow, node: Node, kind: Kind) -> Step | Fate:
    """One level outwards."""
    source, parent = flow.source, node.parent
    if parent is None:
        return Fate(Verdict.AWAY, node)

    def lost(message: str) -> Fate:
        return Fate(Verdict.LOST, node, message)

    match parent.type:
        case "await":
            return Fate(Verdict.FINE, node) if kind == "one" else lost(_LIST)
        case "expression_statement":
            return lost(_FLOATING if kind == "one" else _LIST)
        case "argument_list":
            return _argument(flow, node, kind, parent)
        case "list_splat" if kind == "one":
            return lost(_USED)
        case "generator_expression" | "list_comprehension" | "set_comprehension" if not same(
            parent.child_by_field_name("body"), node
        ):
            return Fate(Verdict.AWAY, node)
        case "if_clause" | "if_statement" | "while_statement" | "elif_clause" | "not_operator":
            return lost("A coroutine is always true: write `await` before the call.")
        case "for_in_clause" | "for_statement" if kind == "one":
            return lost("A coroutine is looped over: write `await` before the call.")
        case "interpolation" | "binary_operator" | "comparison_operator" if kind == "one":
            return lost(_USED)
        case "attribute":
            name = source.of(parent.child_by_field_name("attribute"))
            if kind == "many":
                return Fate(Verdict.NO_USE if name in _ADDS else Verdict.AWAY, node)
            return lost(f"`.{name}` is read from a coroutine: write `(await ...).{name}`.")
        case "subscript" if same(parent.child_by_field_name("value"), node):
            if kind == "many":
                return Step(parent, "one")
            return lost("A coroutine is indexed, not its result: write `(await ...)[...]`.")
        case "assignment":
            target = parent.child_by_field_name("left")
            if target is not None and target.type == "identifier":
                return variable(flow, source.of(target), kind, node, _follow)
            if kind == "one" and target is not None and target.type.endswith("_list"):
                return lost("A coroutine is taken apart: write `await` before the call.")
            return Fate(Verdict.AWAY, node)
        case "return_statement":
            return _returned(flow, node, kind)
        case kind_of if kind_of in _HOLDERS:
            return Step(parent, "many")
        case kind_of if kind_of in _THROUGH:
            return Step(parent, kind)
    return Fate(Verdict.AWAY, node)


def _argument(flow: Flow, node: Node, kind: Kind, arguments: Node) -> Step | Fate:
    source, call = flow.source, arguments.parent
    if call is None or call.type != "call":
        return Fate(Verdict.AWAY, node)
    callee = source.of(call.child_by_field_name("function"))
    holder, _, method = callee.rpartition(".")
    if method in _WAITS or callee in _WAITS:
        if method == "gather" and kind == "many" and node.type != "list_splat":
            message = "gather takes calls, not a list of them: write `asyncio.gather(*calls)`."
            return Fate(Verdict.LOST, node, message)
        return Step(call, "one")
    if callee in _LISTS and kind == "many":
        return Step(call, "many")
    if callee in _SHOWS or (callee in _LISTS and kind == "one"):
        return Fate(Verdict.LOST, node, _USED if kind == "one" else _LIST)
    if method in _ADDS and holder in flow.reads:
        return variable(flow, holder, "many", node, _follow)
    return Fate(Verdict.AWAY, node)


def _returned(flow: Flow, node: Node, kind: Kind) -> Step | Fate:
    function = node.parent
    while function is not None and function.type != "function_definition":
        function = function.parent
    if function is None:
        message = _FLOATING if kind == "one" else "What is returned holds calls nobody awaits."
        return Fate(Verdict.LOST, node, message)
    if _is_async(function):
        return Fate(Verdict.LOST, node, _FLOATING if kind == "one" else _LIST)
    flow.waiting.add(flow.source.of(function.child_by_field_name("name")))
    return Fate(Verdict.AWAY, node)
