"""The ``http`` binding of a row, read strictly: where each argument goes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

from codemode.core.address import Destination
from codemode.core.nearest import nearest
from codemode.core.tool import JsonValue, Schema
from codemode.errors import AddressRefused, InvalidRow

Place: TypeAlias = Literal["path", "query", "header", "body"]
BodyKind: TypeAlias = Literal["json", "form", "multipart", "raw", "none"]

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PLACES = ("path", "query", "header", "body")
BODIES = ("json", "form", "multipart", "raw", "none")
STYLES: dict[str, tuple[str, ...]] = {
    # place: styles it has (OpenAPI's, and "json" for a value sent as JSON text)
    "path": ("simple", "label", "matrix", "json"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject", "json"),
    "header": ("simple", "json"),
    "body": ("form", "spaceDelimited", "pipeDelimited", "deepObject", "json"),
}
UNSAFE_HEADERS = frozenset(
    {"authorization", "cookie", "host", "connection", "content-length", "transfer-encoding"}
    | {"te", "trailer", "upgrade", "keep-alive", "expect", "via", "forwarded", "date", "origin"}
    | {"x-http-method", "x-http-method-override", "x-method-override", "x-original-url"}
    | {"x-rewrite-url", "x-real-ip", "x-host", "accept-encoding", "set-cookie", "x-original-host"}
    | {"accept-charset", "permissions-policy", "dnt", "referer", "x-client-ip", "true-client-ip"}
)
"""Headers no row and no argument sets: credentials, framing, and what steers proxies."""
UNSAFE_PREFIXES = ("proxy-", "sec-", "x-forwarded-", "cf-")

FIELDS = (
    "base_url",
    "credential",
    "headers",
    "method",
    "path",
    "params",
    "body",
    "errors",
)
PLACEHOLDER = re.compile(r"\{([^{}/]*)\}")
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """
    Where one argument goes.

    Args:
        name: On the wire; "" in a body: the argument is the whole body.
        reserved: Leave the characters that structure a URL as they are.
    """

    place: Place
    name: str
    style: str = ""
    explode: bool | None = None
    reserved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRule:
    """
    How a service that answers 200 says that it failed.

    Args:
        field: Dotted path in the JSON answer, such as ``ok``.
        equals: The value that means failure; the missing field is none.
        present: Any value other than null, false, "" or [] means failure instead.
        message: Dotted path of the reason.
        retryable: Reasons that mean "the same call may work later".
    """

    field: str
    equals: JsonValue = None
    present: bool = False
    message: str = ""
    retryable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSpec:
    """
    A row's ``http`` binding.

    Args:
        base_url: Without trailing ``/``; may hold ``{variables}``.
        path: Begins with ``/``; may hold ``{arguments}`` and a fixed query.
        params: Argument name -> where it goes; every declared argument is in it.
        files: Arguments that are workspace files.
    """

    base_url: str
    method: str
    path: str
    credential: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    params: Mapping[str, Param] = field(default_factory=dict)
    body: BodyKind = "json"
    errors: ErrorRule | None = None
    files: frozenset[str] = frozenset()

    def place_of(self, argument: str) -> Param:
        """For an argument that the schema does not declare, the same default as for others."""
        found = self.params.get(argument)
        return found or Param(place=default_place(self.method, self.body), name=argument)


def default_place(method: str, body: BodyKind) -> Place:
    return "query" if method in ("GET", "HEAD", "DELETE") or body == "none" else "body"


def parse(fields: Mapping[str, Any], args: Schema) -> HttpSpec:
    """
    Read the merged ``binding`` object of a row.

    Raises:
        InvalidRow: Naming the field.
    """
    for name in fields:
        if name not in FIELDS:
            near = get_close_matches(name, FIELDS, n=1)
            raise InvalidRow(
                f"{name!r} is no field of an http binding.",
                field=f"binding.{name}",
                hint=f"Did you mean {near[0]!r}?" if near else f"Fields: {', '.join(FIELDS)}.",
            )
    base_url = _base_url(_text(fields, "base_url"))
    method = _text(fields, "method").upper()
    if method not in METHODS:
        raise InvalidRow(f"{method!r} is not one of {', '.join(METHODS)}.", field="binding.method")
    path = _path(_text(fields, "path"))
    chosen = fields.get("body")
    if chosen is not None and chosen not in BODIES:
        raise InvalidRow(f"is not one of {', '.join(BODIES)}.", field="binding.body")
    body: BodyKind = chosen or ("none" if method in ("GET", "HEAD", "DELETE") else "json")
    properties = args.get("properties")
    declared = properties if isinstance(properties, Mapping) else {}
    params = _params(fields.get("params", {}), declared, method, body, path)
    _refuse_unfilled(path, params)
    files = frozenset(name for name, schema in declared.items() if is_file(schema))
    for name in files:
        if params[name].place != "body" or body not in ("multipart", "raw"):
            raise InvalidRow(
                f"{name!r} is a file, which only a multipart or raw body carries.",
                field="binding.body",
            )
    in_body = [param for param in params.values() if param.place == "body"]
    if in_body and body == "none":
        raise InvalidRow("is none, but an argument goes there.", field="binding.body")
    if len(in_body) > 1 and (body == "raw" or any(not param.name for param in in_body)):
        raise InvalidRow("takes one argument as the whole body.", field="binding.body")
    credential = fields.get("credential")
    if credential is not None and not isinstance(credential, str):
        raise InvalidRow("is the name of a credential.", field="binding.credential")
    return HttpSpec(
        base_url=base_url,
        method=method,
        path=path,
        credential=credential,
        headers=_headers(fields.get("headers", {})),
        params=params,
        body=body,
        errors=_errors(fields.get("errors")),
        files=files,
    )


def is_file(schema: object) -> bool:
    """A workspace file, or a list of them."""
    if not isinstance(schema, Mapping):
        return False
    if schema.get("type") == "array":
        return is_file(schema.get("items"))
    return schema.get("format") == "file" and schema.get("type") in ("string", ["string", "null"])


def unsafe_header(name: str) -> bool:
    lower = name.lower()
    return lower in UNSAFE_HEADERS or lower.startswith(UNSAFE_PREFIXES)


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidRow("is required, a text.", field=f"binding.{name}")
    return value


def _base_url(text: str) -> str:
    sample = PLACEHOLDER.sub("x", text)
    try:
        destination = Destination.of(sample)
    except AddressRefused as error:
        raise InvalidRow(error.message, field="binding.base_url") from None
    if any(mark in sample for mark in "?#{} ") or "/.." in sample or "/./" in sample:
        raise InvalidRow("is a plain address: no query, no dots.", field="binding.base_url")
    if sample == text:  # nothing to fill: write it in its one spelling
        tail = text.split("://", 1)[1].partition("/")
        return f"{destination}{tail[1]}{tail[2]}".rstrip("/")
    return text.rstrip("/")


def _path(text: str) -> str:
    plain = PLACEHOLDER.sub("x", text.partition("?")[0])
    if not text.startswith("/") or text.startswith("//"):
        raise InvalidRow("begins with one '/'.", field="binding.path")
    if any(mark in plain for mark in "\\#\r\n\t {}%") or not text.isascii():
        raise InvalidRow("has a character that no path has.", field="binding.path")
    if any(part.lower() in (".", "..", "%2e", "%2e%2e") for part in plain.split("/")):
        raise InvalidRow("has a dot segment.", field="binding.path")
    return text


def _refuse_unfilled(path: str, params: Mapping[str, Param]) -> None:
    """Every ``{name}`` of *path* is filled by an argument, or no call could be sent."""
    template, _, fixed = path.partition("?")
    if held := PLACEHOLDER.search(fixed):
        raise InvalidRow(
            f"has {held[0]} behind the '?', where nothing is filled in.",
            field="binding.path",
            hint="Take it out of the path; an argument goes there with params: in: query.",
        )
    filled = {param.name for param in params.values() if param.place == "path"}
    for name in PLACEHOLDER.findall(template):
        if name not in filled:
            near = nearest(name, params)
            meant = f"Did you mean {{{near[0]}}}? " if near else ""
            raise InvalidRow(
                f"has {{{name}}}, but no argument goes there.",
                field="binding.path",
                hint=f"{meant}Declare the argument {name!r} in args, or name one in params.",
            )


def _params(
    given: object, declared: Mapping[str, Any], method: str, body: BodyKind, path: str
) -> dict[str, Param]:
    if not isinstance(given, Mapping):
        raise InvalidRow("is an object: argument -> where it goes.", field="binding.params")
    named = set(PLACEHOLDER.findall(path))
    params: dict[str, Param] = {}
    for argument, entry in given.items():
        where = f"binding.params.{argument}"
        if argument not in declared:
            near = nearest(argument, declared)
            raise InvalidRow(
                f"names {argument!r}, which args does not declare.",
                field=where,
                hint=f"Did you mean {near[0]!r}?" if near else "Declare it in args.",
            )
        if not isinstance(entry, Mapping):
            raise InvalidRow("is an object with 'in'.", field=where)
        if unknown := set(entry) - {"in", "name", "style", "explode", "reserved"}:
            raise InvalidRow(f"has no field {sorted(unknown)[0]!r}.", field=where)
        name = entry.get("name", argument)
        fallback = "path" if name in named else default_place(method, body)
        place = entry.get("in", fallback)
        if place not in PLACES:
            raise InvalidRow(f"in is not one of {', '.join(PLACES)}.", field=f"{where}.in")
        style = entry.get("style", "")
        if style and style not in STYLES[place]:
            raise InvalidRow(
                f"{style!r} is not one of {', '.join(STYLES[place])}.", field=f"{where}.style"
            )
        if place == "header" and (not TOKEN.fullmatch(name) or unsafe_header(name)):
            raise InvalidRow(f"{name!r} is a header that no row sets.", field=f"{where}.name")
        if place == "path" and name not in named:
            raise InvalidRow(f"the path has no {{{name}}}.", field=where)
        explode, reserved = entry.get("explode"), entry.get("reserved", False)
        if explode not in (None, True, False) or reserved not in (True, False):
            raise InvalidRow("explode and reserved are true or false.", field=where)
        params[argument] = Param(
            place=place, name=name, style=style, explode=explode, reserved=reserved
        )
    for argument in declared:
        if argument not in params:
            place = "path" if argument in named else default_place(method, body)
            params[argument] = Param(place=place, name=argument)
    return params


def _headers(given: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, Mapping):
        raise InvalidRow("is an object: name -> text.", field="binding.headers")
    for name, value in given.items():
        where = f"binding.headers.{name}"
        if not TOKEN.fullmatch(name) or unsafe_header(name):
            raise InvalidRow("is a header that no row sets.", field=where)
        if not isinstance(value, str) or not HEADER_VALUE.fullmatch(value):
            raise InvalidRow("is a text in one line of ASCII.", field=where)
    return tuple(given.items())


def _errors(given: object) -> ErrorRule | None:
    if given is None:
        return None
    where = "binding.errors"
    if not isinstance(given, Mapping) or not isinstance(given.get("field"), str):
        raise InvalidRow('is such as {"field": "ok", "equals": false}.', field=where)
    if unknown := set(given) - {"field", "equals", "present", "message", "retryable"}:
        raise InvalidRow(f"has no field {sorted(unknown)[0]!r}.", field=where)
    if ("equals" in given) == bool(given.get("present")):
        raise InvalidRow("has either equals or present: true.", field=where)
    retryable = given.get("retryable", ())
    if not isinstance(given.get("message", ""), str) or not all(
        isinstance(reason, str) for reason in retryable
    ):
        raise InvalidRow("message is a dotted path, retryable a list of texts.", field=where)
    return ErrorRule(
        field=given["field"],
        equals=given.get("equals"),
        present=bool(given.get("present")),
        message=given.get("message", ""),
        retryable=tuple(retryable),
    )
