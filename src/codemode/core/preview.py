"""
What a script may call, read off the script before anything runs.

The preview is a cap: outbound refuses a tool that it does not name. So a way to
a tool that is not followed here must mark the preview open, with the reason.
"""

from __future__ import annotations

from tree_sitter import Node

from codemode.core import usage_python, usage_typescript
from codemode.core.literal import NotLiteral, python_value, typescript_key, typescript_value
from codemode.core.run import Preview, PreviewCall
from codemode.core.script import Script
from codemode.core.syntax import Source, read
from codemode.core.tool import JsonValue
from codemode.core.usage import ToolNames, Usage, Use


def find_uses(script: Script, names: ToolNames, source: Source | None = None) -> Usage:
    """Where *script*'s runnable form names tools. *source*: that form, parsed already."""
    source = source or read(script.runnable, script.language)
    if script.language == "python":
        return usage_python.find_uses(source, names)
    return usage_typescript.find_uses(source, names)


def preview(script: Script, names: ToolNames, usage: Usage | None = None) -> Preview:
    """
    Tools that *script* may call, in order of appearance.

    A tool that is only passed on, not called, is listed without arguments.
    """
    usage = usage or find_uses(script, names)
    source = usage.source
    calls: dict[tuple[str, int], PreviewCall] = {}
    for use in usage.uses:
        tool_id = names.id_of(use.path)
        assert tool_id is not None
        tool = names.find(use.path)
        offset = source.start(use.node)
        line, column = script.locate(offset)
        args, complete = arguments(source, use, script)
        if tool is not None and script.language == "python":
            wire = {name: own for own, name in tool.python_names.items()}
            args = {wire.get(name, name): value for name, value in args.items()}
        calls[tool_id, offset] = PreviewCall(
            tool=tool_id,
            effect=tool.effect if tool else "read",
            line=line,
            column=column,
            args=args,
            complete=complete,
        )
    ordered = sorted(calls.values(), key=lambda call: (call.line, call.column, call.tool))
    reasons: dict[str, None] = {}
    for offset, reason in usage.open:
        line, _ = script.locate(offset)
        reasons.setdefault(f"line {line}: {reason}", None)
    if script.syntax_error is not None or source.root.has_error:
        reasons.setdefault("the script does not parse", None)
    return Preview(calls=tuple(ordered), open_reasons=tuple(reasons))


def arguments(source: Source, use: Use, script: Script) -> tuple[dict[str, JsonValue], bool]:
    """Literal arguments of a call, and whether that is all of them."""
    if use.call is None:
        return {}, False
    node = use.call.child_by_field_name("arguments")
    if node is None:
        return {}, False
    given = [child for child in node.named_children if child.type != "comment"]
    if script.language == "python":
        return _python_arguments(source, node, given)
    if not given:
        return {}, True
    if len(given) > 1 or given[0].type != "object":
        return {}, False
    found: dict[str, JsonValue] = {}
    complete = True
    for child in given[0].named_children:
        key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
        if child.type == "comment":
            continue
        try:
            if child.type != "pair" or key is None or value is None:
                raise NotLiteral(child.type)
            found[typescript_key(source, key)] = typescript_value(source, value)
        except (NotLiteral, RecursionError):
            complete = False
    return found, complete


def _python_arguments(
    source: Source, node: Node, given: list[Node]
) -> tuple[dict[str, JsonValue], bool]:
    found: dict[str, JsonValue] = {}
    complete = node.type == "argument_list"
    for child in given:
        name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
        try:
            if child.type != "keyword_argument" or name is None or value is None:
                raise NotLiteral(child.type)
            found[source.of(name)] = python_value(source, value)
        except (NotLiteral, RecursionError):
            complete = False
    return found, complete
