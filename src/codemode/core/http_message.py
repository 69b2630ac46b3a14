"""Arguments to one HTTP request: path, query, headers and body, each percent-encoded once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import quote, unquote

from codemode.core.address import Destination
from codemode.core.call import FileRef, HttpRequest
from codemode.core.http_spec import HEADER_VALUE, PLACEHOLDER, HttpSpec, Param, unsafe_header
from codemode.core.tool import JsonValue
from codemode.errors import AddressRefused, BadArguments, ConfigError

PATH_RESERVED = "/:@!$&'()*,;=+"
QUERY_RESERVED = "/:@!$'()*,;?[]"
_VARIABLE = re.compile(r"[A-Za-z0-9._~-]+")

Pair = tuple[str, str]


@dataclass(slots=True)
class _Places:
    """Arguments sorted by where they go."""

    path: dict[str, str] = field(default_factory=dict)
    query: list[str] = field(default_factory=list)
    headers: list[Pair] = field(default_factory=list)
    body: list[tuple[str, Param, JsonValue]] = field(default_factory=list)


def build(
    spec: HttpSpec, args: Mapping[str, JsonValue], variables: Mapping[str, str]
) -> HttpRequest:
    """
    Bind *args* to the row's method, path and body.

    Raises:
        BadArguments: If a value cannot be bound, such as ``..`` in a path.
        ConfigError: If a variable is not configured or makes no address.
    """
    places = _place(spec, args)
    base = _base(spec, variables)
    url = _url(spec, base, places)
    body, parts, content_type = _body(spec, places.body)
    headers = [*spec.headers, *places.headers]
    if content_type and not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", content_type))
    if not any(name.lower() == "accept" for name, _ in headers):
        headers.append(("Accept", "application/json, */*;q=0.5"))
    return HttpRequest(
        method=spec.method,
        url=url,
        headers=_unique(headers),
        body=body,
        parts=parts,
        credential=spec.credential,
    )


def _place(spec: HttpSpec, args: Mapping[str, JsonValue]) -> _Places:
    places = _Places()
    for argument, value in args.items():
        param = spec.place_of(argument)
        if param.place == "body":
            places.body.append((argument, param, value))
        elif value is None:
            continue  # null has no form outside a body: the parameter is left out
        elif param.place == "path":
            places.path[param.name] = _path_value(argument, param, value)
        elif param.place == "query":
            safe = QUERY_RESERVED if param.reserved else ""
            places.query += [
                f"{_quote(argument, name, '[]')}={_joined(argument, texts, joint, safe)}"
                for name, texts, joint in _pairs(param, value)
            ]
        else:
            places.headers.append((param.name, _header_value(argument, param, value)))
    return places


def _base(spec: HttpSpec, variables: Mapping[str, str]) -> str:
    """The row's base address, or the operator's, with its variables filled."""
    text = variables.get("base_url") or spec.base_url

    def fill(match: re.Match[str]) -> str:
        value = variables.get(match[1])
        if value is None:
            raise ConfigError(
                f"The address {spec.base_url} needs the variable {match[1]!r}.",
                hint=f'Set {match[1]} = "..." under [toolsets.NAME.variables] in codemode.toml.',
            )
        if not _VARIABLE.fullmatch(value):
            raise ConfigError(f"The variable {match[1]!r} has a character that no address has.")
        return value

    filled = PLACEHOLDER.sub(fill, text)
    try:
        destination = Destination.of(filled)
    except AddressRefused as error:
        raise ConfigError(f"base_url: {error.message}") from None
    rest = filled.split("://", 1)[1].partition("/")[2]
    if any(mark in rest for mark in "?#"):
        raise ConfigError("base_url: has a query or fragment.")
    return f"{destination}/{rest}".rstrip("/")


def _url(spec: HttpSpec, base: str, places: _Places) -> str:
    template, _, fixed = spec.path.partition("?")

    def fill(match: re.Match[str]) -> str:
        if match[1] in places.path:
            return places.path[match[1]]
        raise BadArguments(f"{match[1]!r} is missing; it is part of the path {template}.")

    path = PLACEHOLDER.sub(fill, template)
    if any(segment in (".", "..") for segment in path.split("/")) or path.startswith("//"):
        raise BadArguments("The arguments make a path with a dot segment.")
    query = "&".join([*([fixed] if fixed else []), *places.query])
    url = base + path + (f"?{query}" if query else "")
    # The arguments were encoded, so this cannot fail; if it ever does, nothing is sent.
    if Destination.of(url) != Destination.of(base):
        raise BadArguments("The arguments change where the request goes.")
    return url


def _quote(argument: str, text: str, safe: str = "") -> str:
    try:
        return quote(text, safe=safe)
    except UnicodeEncodeError:
        raise BadArguments(f"{argument!r} holds half of a surrogate pair.") from None


def _plain(value: JsonValue) -> str:
    """One scalar (or, inside a list, anything) as parameter text."""
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _path_value(argument: str, param: Param, value: JsonValue) -> str:
    explode = bool(param.explode)
    safe = PATH_RESERVED if param.reserved else ""
    if param.style == "json" or not isinstance(value, list | dict):
        texts = [("", _plain(value))]
    elif isinstance(value, list):
        texts = [("", _plain(item)) for item in value]
    else:
        texts = [(key, _plain(item)) for key, item in value.items()]
    for key, text in texts:
        _check_path_text(argument, text, reserved=param.reserved)
        if key:
            _check_path_text(argument, key, reserved=param.reserved)
    quoted = [(_quote(argument, key), _quote(argument, text, safe)) for key, text in texts]
    is_object = isinstance(value, dict) and param.style != "json"
    if is_object and not explode:
        items = [part for pair in quoted for part in pair]
    else:
        items = [f"{key}={text}" if is_object else text for key, text in quoted]
    match param.style:
        case "label":
            return "." + ("." if explode else ",").join(items)
        case "matrix" if explode and isinstance(value, list | dict):
            return "".join(f";{item}" if is_object else f";{param.name}={item}" for item in items)
        case "matrix":
            return f";{param.name}={','.join(items)}"
        case _:
            return ",".join(items)


def _check_path_text(argument: str, text: str, *, reserved: bool) -> None:
    """
    Percent encoding cannot protect dots (RFC 3986, 2.3), and some servers decode
    twice, so a dot segment is refused however it is spelled.
    """
    if not text:
        raise BadArguments(f"{argument!r} is empty, but it is part of the path.")
    decoded = text
    for _ in range(3):
        segments = re.split(r"[/\\]", decoded)
        if any(segment.split(";")[0] in (".", "..") for segment in segments):
            raise BadArguments(f"{argument!r} has a dot segment, which changes the path.")
        if reserved and "" in segments[:-1]:
            raise BadArguments(f"{argument!r} has an empty segment, which changes the path.")
        decoded = unquote(decoded)
    if any(ord(char) < 32 or ord(char) == 127 for char in decoded):
        raise BadArguments(f"{argument!r} has a control character.")


def _header_value(argument: str, param: Param, value: JsonValue) -> str:
    if param.style == "json" or not isinstance(value, list | dict):
        text = _plain(value)
    elif isinstance(value, list):
        text = ",".join(map(_plain, value))
    else:
        joint = "=" if param.explode else ","
        text = ",".join(f"{key}{joint}{_plain(item)}" for key, item in value.items())
    if not HEADER_VALUE.fullmatch(text):
        raise BadArguments(
            f"{argument!r} goes into a header: one line of ASCII, no control characters."
        )
    if unsafe_header(param.name):  # rows are checked when read; this is the last gate
        raise BadArguments(f"{param.name!r} is a header that no call sets.")
    return text.strip()


Field = tuple[str, tuple[str, ...], str]
"""Name, texts, and what joins them once each is encoded: a delimiter stays a delimiter."""

_JOINTS = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


def _joined(argument: str, texts: tuple[str, ...], joint: str, safe: str = "") -> str:
    return joint.join(_quote(argument, text, safe) for text in texts)


def _pairs(param: Param, value: JsonValue) -> Iterator[Field]:
    """Each query or form field that *value* becomes."""
    name, style = param.name, param.style or "form"
    if style == "json" or not isinstance(value, list | dict):
        yield name, (_plain(value),), ""
    elif style == "deepObject":
        yield from _deep(name, value)
    elif isinstance(value, list):
        if param.explode if param.explode is not None else style == "form":
            yield from ((name, (_plain(item),), "") for item in value)
        elif value:
            yield name, tuple(map(_plain, value)), _JOINTS.get(style, ",")
    elif param.explode is False:
        texts = tuple(text for key, item in value.items() for text in (key, _plain(item)))
        yield name, texts, ","
    else:
        yield from ((key, (_plain(item),), "") for key, item in value.items())


def _deep(name: str, value: JsonValue) -> Iterator[Field]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _deep(f"{name}[{key}]", item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _deep(f"{name}[{index}]", item)
    else:
        yield name, ("" if value is None else _plain(value),), ""


Body = tuple[bytes, tuple[bytes | FileRef, ...], str]
"""Bytes, or pieces with files among them, and the content type ("" for no body)."""


def _body(spec: HttpSpec, items: list[tuple[str, Param, JsonValue]]) -> Body:
    declared = any(param.place == "body" for param in spec.params.values())
    if spec.body == "none" or not (items or declared):
        return b"", (), ""
    if spec.body == "raw":
        return _raw(spec, items)
    if spec.body == "multipart":
        return _multipart(spec, items)
    if spec.body == "form":
        fields = "&".join(
            f"{_quote(argument, name, '[]')}={_joined(argument, texts, joint)}"
            for argument, param, value in items
            for name, texts, joint in _fields(param, value)
        )
        return fields.encode(), (), "application/x-www-form-urlencoded"
    whole = next((value for _, param, value in items if not param.name), None)
    is_whole = any(not param.name for _, param, _ in items)
    document = whole if is_whole else {param.name: value for _, param, value in items}
    return _json(document), (), "application/json"


def _json(document: JsonValue) -> bytes:
    try:
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()
    except (ValueError, RecursionError) as error:
        raise BadArguments(f"The arguments are not JSON: {type(error).__name__}.") from None


def _fields(param: Param, value: JsonValue) -> Iterator[Field]:
    """Form fields. Nested values have one common form, brackets, unless the row has another."""
    if value is None:
        return
    nested = isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(item, list | dict) for item in value)
    )
    if nested and not param.style and param.explode is None:
        yield from _deep(param.name, value)
    else:
        yield from _pairs(param, value)


def _raw(spec: HttpSpec, items: list[tuple[str, Param, JsonValue]]) -> Body:
    if not items:
        return b"", (), ""
    argument, _, value = items[0]
    if argument in spec.files:
        return b"", (FileRef(path=str(value)),), "application/octet-stream"
    if isinstance(value, str):
        try:
            return value.encode(), (), "text/plain; charset=utf-8"
        except UnicodeEncodeError:
            raise BadArguments(f"{argument!r} holds half of a surrogate pair.") from None
    return _json(value), (), "application/json"


def _multipart(spec: HttpSpec, items: list[tuple[str, Param, JsonValue]]) -> Body:
    digest = sha256(_json({argument: value for argument, _, value in items})).hexdigest()
    boundary = f"codemode-{digest[:40]}"
    parts: list[bytes | FileRef] = []
    for argument, param, value in items:
        if argument in spec.files:
            for path in value if isinstance(value, list) else [value]:
                if path is None:
                    continue
                name = str(path).rsplit("/", 1)[-1]
                parts += [_part_head(boundary, param.name, name), FileRef(path=path), b"\r\n"]
        else:
            for name, texts, joint in _fields(param, value):
                head = _part_head(boundary, name, None)
                text = unquote(joint).join(texts)
                parts += [head, text.encode("utf-8", "replace"), b"\r\n"]
    parts.append(f"--{boundary}--\r\n".encode())
    kind = f"multipart/form-data; boundary={boundary}"
    if any(isinstance(part, FileRef) for part in parts):
        return b"", tuple(parts), kind
    return b"".join(part for part in parts if isinstance(part, bytes)), (), kind


def _part_head(boundary: str, name: str, filename: str | None) -> bytes:
    """As browsers write it: quotes and line breaks percent-encoded (RFC 7578, 2)."""

    def quoted(text: str) -> str:
        return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")

    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{quoted(name)}"'
    if filename is not None:
        head += f'; filename="{quoted(filename)}"\r\nContent-Type: application/octet-stream'
    return f"{head}\r\n\r\n".encode("utf-8", "replace")


def _unique(headers: list[Pair]) -> tuple[Pair, ...]:
    """One header of each name; an argument's wins over the row's fixed one."""
    by_name = {name.lower(): (name, value) for name, value in headers}
    return tuple(by_name.values())
