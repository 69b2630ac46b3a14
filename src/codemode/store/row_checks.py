"""What a row says of itself, checked against the rest of the row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from codemode.core.json_schema import InvalidSchema, Validator, check_schema, compiled
from codemode.core.names import parameters
from codemode.core.nearest import nearest
from codemode.core.reference import Unresolved, find
from codemode.core.tool import Schema, Tool
from codemode.errors import NameCollision
from codemode.store.format import Pages, Place

_VALUES = frozenset({"enum", "const", "default", "example", "examples"})


class Fault(Exception):
    """A row cannot be used. *at* leads to the field, from the row."""

    def __init__(self, message: str, *at: str | int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


def unresolved(
    schema: Any, defs: Mapping[str, Any], *, in_defs: bool = False
) -> list[tuple[str, Place]]:
    """References inside *schema* that lead nowhere. External ones are left to the report."""
    found: list[tuple[str, Place]] = []
    stack: list[tuple[Any, Place]] = [(schema, ())]
    while stack:
        node, place = stack.pop()
        if isinstance(node, dict):
            ref = node.get("$ref")
            if isinstance(ref, str) and ref.startswith("#"):
                try:
                    find(ref, schema, defs, in_defs=in_defs)
                except Unresolved as error:
                    found.append((str(error), (*place, "$ref")))
            for key, value in node.items():
                if key not in _VALUES and isinstance(value, dict | list):
                    stack.append((value, (*place, key)))
        elif isinstance(node, list):
            stack.extend((value, (*place, index)) for index, value in enumerate(node))
    return found


def check_python_names(tool: Tool) -> None:
    """
    Raises:
        Fault: If arguments have no Python names, or one, or the row names others.
    """
    properties = tool.args.get("properties")
    names = tuple(properties) if isinstance(properties, dict) else ()
    if isinstance(properties, dict):
        for name in tool.python_names:
            if name not in properties:
                raise Fault(f"there is no argument {name!r}", "python_names", name)
    try:
        parameters(tool, names)
    except NameCollision as error:
        raise Fault(f"{error.message} {error.hint}".strip(), "python_names") from None


def check_pages(pages: Pages, args: Schema) -> None:
    """
    Raises:
        Fault: If ``arg`` or ``size`` is no argument.
    """
    declared = args.get("properties")
    if not isinstance(declared, Mapping):
        return
    for field in ("arg", "size"):
        name = getattr(pages, field)
        if name and name not in declared:
            near = nearest(name, declared)
            hint = f"did you mean {near[0]!r}?" if near else "declare it in args"
            raise Fault(f"there is no argument {name!r}; {hint}", "pages", field)


def check_samples(tool: Tool) -> None:
    """
    Calls that a row shows fit the row: their arguments, and the answers that a dry run gives.

    Raises:
        Fault: At the first value that does not.
    """
    samples: list[tuple[Place, Mapping[str, Any]]] = []
    if tool.example is not None:
        samples.append((("example",), tool.example))
    samples += [(("golden", index), case) for index, case in enumerate(tool.golden)]
    if not samples:
        return
    args = _compiled(tool, tool.args, "args")
    answers = any("returns" in sample for _, sample in samples)
    stated = tool.returns if answers and isinstance(tool.returns, Mapping) else None
    returns = None if stated is None else _compiled(tool, stated, "returns")
    for place, sample in samples:
        _check_value(args, sample.get("args", {}), (*place, "args"))
        if returns is not None and "returns" in sample:
            _check_value(returns, sample["returns"], (*place, "returns"))
        try:
            check_schema(sample.get("matches", True))
        except InvalidSchema as error:
            raise Fault(error.message, *place, "matches", *error.place) from None


def _compiled(tool: Tool, schema: Schema, field: str) -> Validator:
    shared = tool.toolset.defs if tool.toolset.defs and "$ref" in json.dumps(schema) else {}
    own = schema.get("$defs", {})
    try:
        return compiled({**schema, "$defs": {**shared, **own}} if shared else schema)
    except InvalidSchema as error:
        raise Fault(error.message, field, *error.place) from None


def _check_value(validator: Validator, value: Any, place: Place) -> None:
    try:
        errors = validator.errors(value)
    except (ValueError, RecursionError) as error:
        raise Fault(f"the value cannot be checked: {error}", *place) from None
    for found in errors:
        raise Fault(f"this does not fit the row: {found.message}", *place, *found.instance_path)
