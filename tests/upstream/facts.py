"""Operations as a service's own description states them, and whether a request fits one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema_rs

from codemode.testing import FakeRequest

FOLDER = Path(__file__).parent / "facts"
_HOLE = re.compile(r"\\\{([^{}]+)\\\}")


class Refused(Exception):
    """Why a request is not one the service takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """
    One operation.

    Args:
        holes, query: Parameter name -> ``{schema, required, style, explode, slashes}``.
        body: ``{media_type, required, schema, nested}`` or None.
    """

    method: str
    path: str
    holes: Mapping[str, Any]
    query: Mapping[str, Any]
    body: Mapping[str, Any] | None
    status: int

    def match(self, path: str) -> dict[str, str] | None:
        """Decoded path arguments, if *path* (still encoded) is one of this operation's."""

        def hole(found: re.Match[str]) -> str:
            slashes = self.holes.get(found[1].replace("\\", ""), {}).get("slashes")
            return "(.+)" if slashes else "([^/]+?)"

        found = re.fullmatch(_HOLE.sub(hole, re.escape(self.path)), path)
        if found is None:
            return None
        names = (name.replace("\\", "") for name in _HOLE.findall(re.escape(self.path)))
        return dict(zip(names, map(unquote, found.groups()), strict=True))

    def check(self, request: FakeRequest) -> None:
        """
        Raises:
            Refused: If a parameter is unknown, missing, or of the wrong form.
        """
        for name, text in (self.match(request.path) or {}).items():
            _typed(text, self.holes[name]["schema"], f"path {name}")
        self._check_query(request.query)
        self._check_body(request)

    def _check_query(self, pairs: Iterable[tuple[str, str]]) -> None:
        given = _tree(pairs, self.query)
        for name, raw in given.items():
            if name not in self.query:
                raise Refused(f"unknown query parameter {name!r}")
            entry = self.query[name]
            if isinstance(raw, dict) and entry.get("style") != "deepObject":
                raise Refused(f"query {name!r} takes no brackets")
            if entry["schema"].get("type") == "array" and isinstance(raw, str):
                raw = raw.split(",") if entry.get("explode") is False else [raw]
            _typed(raw, entry["schema"], f"query {name}")
        for name, entry in self.query.items():
            if entry.get("required") and name not in given:
                raise Refused(f"query parameter {name!r} is missing")

    def _check_body(self, request: FakeRequest) -> None:
        if self.body is None:
            if request.body:
                raise Refused("this operation takes no body")
            return
        if not request.body:
            if self.body["required"]:
                raise Refused("the body is missing")
            return
        given_type = request.headers.get("content-type", "").partition(";")[0].strip()
        if given_type != self.body["media_type"]:
            raise Refused(f"the body is {given_type!r}, not {self.body['media_type']!r}")
        schema = self.body["schema"]
        if given_type == "application/json":
            value = request.json
        else:
            nested = {name: {"style": "deepObject"} for name in self.body.get("nested", ())}
            fields = _tree(request.form, nested)
            for name, raw in fields.items():
                if isinstance(raw, dict) and name not in nested:
                    raise Refused(f"form field {name!r} takes no brackets")
            value = _typed(fields, {"additionalProperties": False, **schema}, "form")
        if isinstance(value, dict):
            for name in value:
                if name not in schema.get("properties", {}):
                    raise Refused(f"unknown body property {name!r}")
        _valid(value, schema, "body")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """
    A service's operations.

    Args:
        bearer: It answers nothing without a bearer token.
        headers: Lower-case name -> the value that is required, None for any.
    """

    name: str
    bearer: bool
    headers: Mapping[str, str | None]
    operations: tuple[Operation, ...]

    def find(self, request: FakeRequest) -> Operation:
        """
        The operation *request* is for, checked.

        Raises:
            Refused: Saying what is wrong with the request.
        """
        for name, value in self.headers.items():
            given = request.headers.get(name)
            if given is None or (value is not None and given != value):
                raise Refused(f"header {name!r} is {given!r}, not {value!r}")
        at_path = [found for found in self.operations if found.match(request.path) is not None]
        for operation in at_path:
            if operation.method == request.method:
                operation.check(request)
                return operation
        raise Refused("wrong method" if at_path else "no such path")


def services() -> tuple[str, ...]:
    """Names of the services there are facts of."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def load(name: str) -> Service:
    raw = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    operations = [
        Operation(
            method=entry["method"],
            path=entry["path"],
            holes=entry.get("holes", {}),
            query=entry.get("query", {}),
            body=entry.get("body"),
            status=int(entry["status"]),
        )
        for entry in raw["operations"]
    ]
    # Where two fit, the more literal one is meant: /customers/search, not /customers/{customer}.
    operations.sort(key=lambda operation: -len(re.sub(r"\{[^{}]*\}", "", operation.path)))
    return Service(
        name=raw["service"],
        bearer=raw["bearer"],
        headers=raw["headers"],
        operations=tuple(operations),
    )


def _tree(pairs: Iterable[tuple[str, str]], known: Mapping[str, Any]) -> dict[str, Any]:
    """``a[b]=1`` becomes ``{"a": {"b": "1"}}``; a name that comes twice becomes a list."""
    tree: dict[str, Any] = {}
    for name, text in pairs:
        head, bracket, rest = name.partition("[")
        if not bracket or (head not in known and name in known):
            if name in tree:
                before = tree[name]
                tree[name] = [*(before if isinstance(before, list) else [before]), text]
            else:
                tree[name] = text
            continue
        at = tree.setdefault(head, {})
        keys = rest.removesuffix("]").split("][")
        for key in keys[:-1]:
            at = at.setdefault(key, {})
        at[keys[-1]] = text
    return tree


def _typed(raw: Any, schema: Mapping[str, Any], where: str) -> Any:
    """The value that the text(s) *raw* stand for, if one fits *schema*."""
    for option in schema.get("anyOf", [schema]):
        for value in _readings(raw, option, where):
            if jsonschema_rs.is_valid(dict(option), value):
                return value
    raise Refused(f"{where}: {raw!r} does not fit {json.dumps(schema)[:200]}")


def _readings(raw: Any, schema: Mapping[str, Any], where: str) -> list[Any]:
    if isinstance(raw, list):
        return [[_typed(item, schema.get("items", {}), where) for item in raw]]
    if isinstance(raw, dict):
        if schema.get("type") == "array":
            return [[_typed(item, schema.get("items", {}), where) for item in raw.values()]]
        known = schema.get("properties", {})
        extra = schema.get("additionalProperties", False if known else {})
        value = {}
        for key, item in raw.items():
            if key not in known and extra is False:
                raise Refused(f"{where}: unknown {key!r}")
            value[key] = _typed(item, known.get(key, extra), f"{where}.{key}")
        return [value]
    readings: list[Any] = []
    if re.fullmatch(r"-?\d+", raw):
        readings.append(int(raw))
    if re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", raw):
        readings.append(float(raw))
    if raw in ("true", "false"):
        readings.append(raw == "true")
    return [*readings, raw]


def _valid(value: Any, schema: Mapping[str, Any], where: str) -> None:
    try:
        jsonschema_rs.validate(dict(schema), value)
    except jsonschema_rs.ValidationError as error:
        raise Refused(f"{where}: {error.message}") from None
