"""Do arguments and answers fit a tool's schemas? Compiled once per tool."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

from codemode.core.json_schema import InvalidSchema, Validator, compiled
from codemode.core.tool import JsonValue, Schema, Tool
from codemode.errors import BadArguments

_MAX_ERRORS = 5
_MAX_TEXT = 300
MAX_ARGUMENTS = 1000
"""Arguments of one call, at its top level."""
_MAX_COMPARED = 3
"""Names that are not declared for which the nearest one is looked for."""
_MAX_NAME = 80
"""Characters of a name that are compared and shown."""
_COMPOSED = ("anyOf", "oneOf", "allOf", "$ref", "patternProperties", "if")


def check_json(args: Mapping[str, JsonValue]) -> None:
    """
    Raises:
        BadArguments: If *args* hold what JSON text cannot: half a surrogate pair, NaN.
    """
    try:
        json.dumps(args, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise BadArguments(f"The arguments are not JSON: {type(error).__name__}.") from None


class Validators:
    """
    The compiled schemas of a directory, filled as tools are called.

    Keyed by the tool object, so a reloaded directory compiles anew.
    """

    __slots__ = ("_args", "_returns")

    def __init__(self) -> None:
        self._args: dict[int, tuple[Tool, Validator | None]] = {}
        self._returns: dict[int, tuple[Tool, Validator | None]] = {}

    def check_args(self, tool: Tool, args: Mapping[str, JsonValue]) -> None:
        """
        Raises:
            BadArguments: Naming path and expectation; the hint lists the parameters.
        """
        if len(args) > MAX_ARGUMENTS:
            raise BadArguments(
                f"{tool.id}: {len(args)} arguments; a call takes at most {MAX_ARGUMENTS}.",
                hint=_parameters(tool),
            )
        problems = [*_unknown(tool.args, args)]
        if not problems:
            problems = list(self._problems(self._args, tool, tool.args, args))
        if problems:
            raise BadArguments(f"{tool.id}: {'; '.join(problems)}.", hint=_parameters(tool))

    def mismatch(self, tool: Tool, value: JsonValue) -> str:
        """Where *value* does not fit ``returns``, or ""."""
        if tool.returns is None:
            return ""
        return "; ".join(self._problems(self._returns, tool, tool.returns, value))

    def _problems(
        self,
        cache: dict[int, tuple[Tool, Validator | None]],
        tool: Tool,
        schema: Schema,
        value: JsonValue,
    ) -> Iterator[str]:
        held = cache.get(id(tool))
        if held is None:
            # The tool is kept beside its validator, so its id is not given to another.
            held = cache[id(tool)] = (tool, _compile(tool, schema))
        validator = held[1]
        if validator is None:
            return
        try:
            found = validator.errors(value)
        except (ValueError, RecursionError) as fault:
            yield f"the value cannot be checked ({type(fault).__name__})"
            return
        for error in found[:_MAX_ERRORS]:
            yield _say(error, schema)
        if len(found) > _MAX_ERRORS:
            yield f"and {len(found) - _MAX_ERRORS} more"


def _compile(tool: Tool, schema: Schema) -> Validator | None:
    """None for a schema that cannot be compiled: its row was loaded, so calls go on unchecked."""
    document = dict(schema)
    definitions = _needed(schema, tool.toolset.defs)
    if definitions:
        document["$defs"] = definitions
    try:
        return compiled(document, {"file": _is_workspace_path})
    except InvalidSchema:
        return None


def _is_workspace_path(text: str) -> bool:
    """Relative, ``/``-separated, inside the workspace."""
    return bool(text) and not (
        text.startswith("/") or "\\" in text or "\0" in text or ".." in text.split("/")
    )


def _needed(schema: Schema, shared: Mapping[str, Schema]) -> dict[str, Any]:
    """The schema's own definitions, and of the toolset's those that it reaches."""
    own = schema.get("$defs")
    needed: dict[str, Any] = dict(own) if isinstance(own, Mapping) else {}
    queue: list[object] = [schema]
    while queue:
        item = queue.pop()
        if isinstance(item, Mapping):
            target = item.get("$ref")
            if isinstance(target, str) and target.startswith("#/$defs/"):
                name = target.split("/")[2].replace("~1", "/").replace("~0", "~")
                if name not in needed and name in shared:
                    needed[name] = shared[name]
                    queue.append(shared[name])
            queue.extend(item.values())
        elif isinstance(item, list | tuple):
            queue.extend(item)
    return needed


def _unknown(schema: Schema, args: Mapping[str, JsonValue]) -> Iterator[str]:
    """
    Arguments that the row does not declare, with the nearest that it does.

    A row that says nothing about further arguments has none: a misspelt name
    would otherwise travel to the service, or nowhere.
    """
    if "additionalProperties" in schema or any(word in schema for word in _COMPOSED):
        return
    declared = schema.get("properties", {})
    unknown = [name for name in args if name not in declared]
    for name in unknown[:_MAX_COMPARED]:
        yield f"there is no argument {name[:_MAX_NAME]!r}{_did_you_mean(name, declared)}"
    if len(unknown) > _MAX_COMPARED:
        yield f"nor {len(unknown) - _MAX_COMPARED} others that were given"


def _did_you_mean(name: str, known: Mapping[str, Any]) -> str:
    if len(name) > _MAX_NAME:
        return ""
    folded = {each.lower().replace("_", ""): each for each in islice(known, MAX_ARGUMENTS)}
    near = get_close_matches(name.lower().replace("_", ""), folded, n=2, cutoff=0.6)
    return f" (did you mean {' or '.join(folded[each] for each in near)}?)" if near else ""


def _say(error: Any, schema: Schema) -> str:
    path = ".".join(str(step) for step in error.instance_path)
    text = str(error.message)
    if error.kind.name == "additionalProperties":
        known = _properties_at(schema, error.instance_path)
        for name in error.kind.as_dict().get("unexpected", [])[:_MAX_COMPARED]:
            text += _did_you_mean(str(name), known)
    if len(text) > _MAX_TEXT:
        text = text[: _MAX_TEXT // 2] + " ... " + text[-_MAX_TEXT // 2 :]
    return f"{path}: {text}" if path else text


def _properties_at(schema: Any, path: list[str | int]) -> Mapping[str, Any]:
    for step in path:
        if not isinstance(schema, Mapping):
            return {}
        schema = schema.get("items") if isinstance(step, int) else _step(schema, step)
    found = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


def _step(schema: Mapping[str, Any], name: str) -> Any:
    properties = schema.get("properties")
    return properties.get(name) if isinstance(properties, Mapping) else None


def _parameters(tool: Tool) -> str:
    """``Parameters: owner: string, repo: string, labels?: array.``"""
    properties = tool.args.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return "It takes no arguments."
    required = set(tool.args.get("required", ()))
    shown = sorted(properties, key=lambda name: (name not in required, name))
    words = [
        f"{name}{'' if name in required else '?'}: {_kind(properties[name])}" for name in shown[:20]
    ]
    more = f" and {len(shown) - 20} more" if len(shown) > 20 else ""
    return f"Parameters: {', '.join(words)}{more}."


def _kind(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    if "enum" in schema:
        values = [str(value) for value in schema["enum"][:6]]
        return "|".join(values) + ("|..." if len(schema["enum"]) > 6 else "")
    kind = schema.get("type", "any")
    if schema.get("format") == "file":
        return "file"
    return "|".join(kind) if isinstance(kind, list) else str(kind)
