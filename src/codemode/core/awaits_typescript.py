"""Forgotten ``await`` in TypeScript; see `codemode.core.awaits`."""

from __future__ import annotations

from tree_sitter import Node

from codemode.core.awaits import Fate, Flow, Kind, Lost, Step, Verdict, variable
from codemode.core.script_typescript import FUNCTIONS, binds
from codemode.core.syntax import Source, same
from codemode.core.usage import Usage

_THROUGH = {
    "parenthesized_expression",
    "as_expression",
    "satisfies_expression",
    "non_null_expression",
    "ternary_expression",
}
_COMBINE = {f"Promise.{name}" for name in ("all", "allSettled", "race", "any")}
_SHOWS = ("console.", "JSON.stringify", "String", "Number", "Boolean", "Object.keys")
_KEEPS_LIST = {"slice", "concat", "flat", "reverse", "toReversed", "filter", "map", "values"}
_TESTS = {"filter", "some", "every", "find", "findIndex", "findLast"}
_ADDS = {"push", "unshift", "add"}

_FLOATING = "This call is never awaited: write `await` before it."
_LIST = "A list of calls is not awaited by `await`: use `await Promise.all(...)`."


def find_forgotten(source: Source, usage: Usage) -> list[Lost]:
    """Each promise that nobody waits for."""
    flow = Flow(source, _reads(source))
    found: list[Lost] = []
    starts: list[tuple[Node, Kind]] = [(use.call, "one") for use in usage.uses if use.call]
    flow.waiting |= _async_functions(source)
    for node in source.walk():
        if node.type == "call_expression":
            callback = _async_callback(node)
            method = _method(source, node)
            if callback is not None and method == "forEach":
                found.append(
                    Lost(
                        node,
                        node,
                        "forEach does not wait for async callbacks: use `for (const x of list)` "
                        "or `await Promise.all(list.map(async (x) => ...))`.",
                    )
                )
            elif callback is not None and method in _TESTS:
                message = f"{method} does not await: an async test is always true."
                found.append(Lost(callback, node, message))
            elif callback is not None and method in ("map", "flatMap", "from"):
                starts.append((node, "many"))
            elif _is_async_iife(node):
                starts.append((node, "one"))
    done: set[int] = set()
    followed: set[str] = set()
    while True:
        for node, kind in starts:
            if node.id in done:
                continue
            done.add(node.id)
            fate = _follow(flow, node, kind)
            if fate.verdict is Verdict.LOST:
                found.append(Lost(fate.node, node, fate.message))
        new = flow.waiting - followed
        if not new:
            return found
        followed |= new
        starts = [(call, "one") for name in sorted(new) for call in _calls_of(flow, name)]


def _reads(source: Source) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for node in source.walk():
        if node.type in ("identifier", "shorthand_property_identifier") and not binds(node):
            parent = node.parent
            if (
                parent is not None
                and parent.type == "assignment_expression"
                and same(parent.child_by_field_name("left"), node)
            ):
                continue
            found.setdefault(source.of(node), []).append(node)
    return found


def _async_functions(source: Source) -> set[str]:
    names = set()
    for node in source.walk():
        if node.type in FUNCTIONS and _is_async(node) and not _is_generator(node):
            parent = node.parent
            if node.type.endswith("declaration"):
                names.add(source.of(node.child_by_field_name("name")))
            elif parent is not None and parent.type == "variable_declarator":
                names.add(source.of(parent.child_by_field_name("name")))
    return names


def _is_async(node: Node) -> bool:
    return any(child.type == "async" for child in node.children)


def _is_generator(node: Node) -> bool:
    """A call of it gives something to loop over, not a promise."""
    return any(child.type == "*" for child in node.children)


def _calls_of(flow: Flow, name: str) -> list[Node]:
    return [
        read.parent
        for read in flow.reads.get(name, [])
        if read.parent is not None and same(read.parent.child_by_field_name("function"), read)
    ]


def _method(source: Source, call: Node) -> str:
    callee = call.child_by_field_name("function")
    if callee is None or callee.type != "member_expression":
        return ""
    return source.of(callee.child_by_field_name("property"))


def _async_callback(call: Node) -> Node | None:
    arguments = call.child_by_field_name("arguments")
    for child in arguments.named_children if arguments is not None else []:
        if child.type in FUNCTIONS and _is_async(child):
            return child
    return None


def _is_async_iife(call: Node) -> bool:
    callee = call.child_by_field_name("function")
    if callee is None or callee.type != "parenthesized_expression" or not callee.named_children:
        return False
    inner = callee.named_children[0]
    return inner.type in FUNCTIONS and _is_async(inner)


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
        case "await_expression":
            return Fate(Verdict.FINE, node) if kind == "one" else lost(_LIST)
        case "expression_statement" | "sequence_expression":
            return lost(_FLOATING if kind == "one" else _LIST)
        case "unary_expression" | "template_substitution":
            return lost("Its promise is used, not its result: write `await` before the call.")
        case "binary_expression":
            if source.of(parent.child_by_field_name("operator")) in ("??", "||", "&&"):
                return Step(parent, kind)
            return lost("Its promise is used, not its result: write `await` before the call.")
        case "arguments":
            return _argument(flow, node, kind, parent)
        case "array" | "spread_element" | "pair" | "object":
            return Step(parent, "many")
        case "member_expression" if same(parent.child_by_field_name("object"), node):
            return _member(flow, node, kind, parent)
        case "subscript_expression" if same(parent.child_by_field_name("object"), node):
            if kind == "many":
                return Step(parent, "one")
            return lost("Its promise is read, not its result: write `(await ...)[...]`.")
        case "variable_declarator" | "assignment_expression":
            target = parent.child_by_field_name("name") or parent.child_by_field_name("left")
            if target is not None and target.type == "identifier":
                return variable(flow, source.of(target), kind, node, _follow)
            if kind == "one" and target is not None and target.type.endswith("_pattern"):
                return lost("Its promise is taken apart: write `await` before the call.")
            return Fate(Verdict.AWAY, node)
        case "return_statement":
            return _returned(flow, node, kind)
        case "arrow_function" if same(parent.child_by_field_name("body"), node):
            return _returned(flow, node, kind)
        case "for_in_statement" if kind == "one":
            return lost("Its promise is looped over: write `await` before the call.")
        case "if_statement" | "while_statement" | "do_statement":
            return lost("A promise is always true: write `await` before the call.")
        case "ternary_expression" if same(parent.child_by_field_name("condition"), node):
            return lost("A promise is always true: write `await` before the call.")
        case kind_of if kind_of in _THROUGH:
            return Step(parent, kind)
    return Fate(Verdict.AWAY, node)


def _argument(flow: Flow, node: Node, kind: Kind, arguments: Node) -> Step | Fate:
    source, call = flow.source, arguments.parent
    if call is None or call.type != "call_expression":
        return Fate(Verdict.AWAY, node)
    callee = source.of(call.child_by_field_name("function"))
    if callee in _COMBINE or callee == "Promise.resolve":
        return Step(call, "one")
    if callee.startswith(_SHOWS[0]) or callee in _SHOWS:
        return Fate(
            Verdict.LOST, node, f"{callee} gets a promise, not its result: write `await` first."
        )
    holder, _, method = callee.rpartition(".")
    if method in _ADDS and holder in flow.reads:
        return variable(flow, holder, "many", node, _follow)
    return Fate(Verdict.AWAY, node)


def _member(flow: Flow, node: Node, kind: Kind, member: Node) -> Step | Fate:
    source, call = flow.source, member.parent
    name = source.of(member.child_by_field_name("property"))
    is_call = call is not None and same(call.child_by_field_name("function"), member)
    if kind == "many":
        if is_call and name in _KEEPS_LIST:
            assert call is not None
            return Step(call, "many")
        return Fate(Verdict.NO_USE if name in _ADDS else Verdict.AWAY, node)
    if is_call and name in ("then", "catch", "finally"):
        assert call is not None
        return Step(call, "one")
    message = f"`.{name}` is read from a promise: write `(await ...).{name}`."
    return Fate(Verdict.LOST, node, message)


def _returned(flow: Flow, node: Node, kind: Kind) -> Step | Fate:
    """A promise that a function gives back: whoever calls it has to wait."""
    source = flow.source
    function = node.parent
    while function is not None and function.type not in (*FUNCTIONS, "method_definition"):
        function = function.parent
    outer = function.parent if function is not None else None
    if function is None or outer is None or _is_generator(function):
        return Fate(Verdict.AWAY, node)
    if outer.type == "export_statement":  # the script itself
        if kind == "one":
            return Fate(Verdict.FINE, node)
        return Fate(Verdict.LOST, node, "What is returned holds calls that nobody awaits.")
    while outer is not None and outer.type in _THROUGH:
        outer = outer.parent
    if outer is None:
        return Fate(Verdict.AWAY, node)
    if outer.type == "call_expression":  # called on the spot
        return Step(outer, "one" if _is_async(function) else kind)
    if outer.type == "arguments" and outer.parent is not None:
        call = outer.parent
        method = _method(source, call)
        if method in ("map", "flatMap", "from"):
            return Step(call, "many")
        if method in ("then", "catch", "finally"):
            return Step(call, "one")
        if method == "forEach" and not _is_async(function):
            return Fate(Verdict.LOST, node, "forEach does not wait: use `for (const x of list)`.")
        if method in _TESTS and not _is_async(function):
            return Fate(Verdict.LOST, node, f"{method} does not await: a promise is always true.")
    elif outer.type == "variable_declarator":
        flow.waiting.add(source.of(outer.child_by_field_name("name")))
    elif function.type.endswith("declaration"):
        flow.waiting.add(source.of(function.child_by_field_name("name")))
    return Fate(Verdict.AWAY, node)
