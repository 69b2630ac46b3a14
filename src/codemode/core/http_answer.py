"""One HTTP answer to the value a script gets, or to the reason why there is none."""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Mapping
from email.message import Message
from hashlib import sha256
from typing import Any

from codemode.core.call import FileValue, Response
from codemode.core.frames import MAX_DEPTH
from codemode.core.http_spec import ErrorRule, HttpSpec, is_file
from codemode.core.tool import JsonValue, Tool
from codemode.errors import BadAnswer, UpstreamError

RETRYABLE_ALWAYS = frozenset({429, 503})
"""The service says that it did not act."""
RETRYABLE_READS = frozenset({408, 425, 500, 502, 504})
_REASONS = ("message", "error_description", "detail", "title", "error", "errors", "reason")
_MAX_REASON = 500


def read(tool: Tool, spec: HttpSpec, response: Response) -> JsonValue | FileValue:
    """
    The value of an answer.

    Raises:
        UpstreamError: If the status or the row's ``errors`` says that it failed.
        BadAnswer: If it did not, but the answer cannot be carried.
    """
    status = response.status or 0
    if status >= 400:
        raise UpstreamError(
            f"{tool.id}: the service answered {status}{_dash(_reason(response))}",
            hint=_hint(status, response.headers, spec),
            status=status,
            retryable=status in RETRYABLE_ALWAYS
            or (status in RETRYABLE_READS and tool.effect == "read"),
        )
    if tool.returns is not None and is_file(tool.returns):
        return FileValue(path=_file_name(tool, response), data=response.body)
    value = content(response)
    if spec.errors is not None:
        _check(tool, spec.errors, value, status)
    return value


def content(response: Response) -> JsonValue:
    """
    JSON as it is, text as text, anything else as base64.

    Raises:
        BadAnswer: If it says JSON and is nested too deep or has a number no one can hold.
    """
    if not response.body.strip():
        return None
    kind, charset = _content_type(response.headers)
    if kind.startswith(("image/", "audio/", "video/")) and kind != "image/svg+xml":
        return b64encode(response.body).decode()
    says_json = kind == "application/json" or kind.endswith("+json")
    if says_json or not kind.startswith("text/") or kind in ("text/json", "text/javascript"):
        try:
            return parse_json(response.body)
        except ValueError as error:
            if says_json and isinstance(error, Unusable):
                raise BadAnswer(f"The answer cannot be used: {error}.") from None
    try:
        return response.body.decode(charset)
    except (LookupError, UnicodeDecodeError):
        if kind.startswith("text/") or says_json:
            return response.body.decode("utf-8", "replace")
        return b64encode(response.body).decode()


class Unusable(ValueError):
    """JSON that cannot be carried exactly."""


def parse_json(body: bytes) -> JsonValue:
    """
    JSON with exact integers. Lone surrogates become U+FFFD, which every target can hold.

    Raises:
        ValueError: If it is not JSON; `Unusable` if it is, but cannot be carried.
    """
    try:
        value = json.loads(body, parse_constant=_constant, parse_float=_float, parse_int=_int)
    except RecursionError:
        raise Unusable(f"it is nested more than {MAX_DEPTH} deep") from None
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH and _too_deep(value):
        raise Unusable(f"it is nested more than {MAX_DEPTH} deep")
    return _whole_text(value) if b"\\u" in body else value


def _constant(name: str) -> Any:
    raise Unusable(f"{name} is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Unusable(f"the number {text[:40]} is too large")
    return number


def _int(text: str) -> int:
    if len(text) > 4000:  # Python itself refuses beyond 4300 digits, with a plain ValueError
        raise Unusable(f"a number has {len(text)} digits")
    return int(text)


def _too_deep(value: JsonValue) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for item in level
            if isinstance(item, list | dict)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def _whole_text(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_whole_text(item) for item in value]
    if isinstance(value, dict):
        return {_whole_text(key): _whole_text(item) for key, item in value.items()}
    return value


def _content_type(headers: Mapping[str, str]) -> tuple[str, str]:
    message = Message()
    message["content-type"] = headers.get("content-type", "")
    kind = message.get_content_type() if headers.get("content-type") else ""
    return kind, message.get_content_charset() or "utf-8"


def _check(tool: Tool, rule: ErrorRule, value: JsonValue, status: int) -> None:
    found, at = _lookup(value, rule.field)
    failed = at not in (None, False, "", [], {}) if rule.present else found and at == rule.equals
    if not failed:
        return
    reason = _lookup(value, rule.message)[1] if rule.message else None
    text = _words(reason if reason is not None else at)
    raise UpstreamError(
        f"{tool.id}: the service says no{_dash(text)}",
        status=status,
        retryable=text in rule.retryable,
    )


def _lookup(value: JsonValue, dotted: str) -> tuple[bool, JsonValue]:
    for name in dotted.split("."):
        if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return False, None
    return True, value


def _reason(response: Response) -> str:
    try:
        return _words(content(response))
    except UpstreamError:
        return ""


def _words(value: JsonValue) -> str:
    """The sentence in an error answer, wherever services put it."""
    if isinstance(value, str):
        text = re.sub(r"<[^>]{0,200}>", " ", value) if value.lstrip().startswith("<") else value
        return " ".join(text.split())[:_MAX_REASON]
    if isinstance(value, list):
        return "; ".join(filter(None, map(_words, value[:5])))[:_MAX_REASON]
    if isinstance(value, dict):
        parts = [_words(value[name]) for name in _REASONS if name in value]
        parts = [part for part in parts if part]
        if "message" in value and isinstance(value.get("errors"), list | dict):
            return ": ".join(dict.fromkeys(parts))[:_MAX_REASON]
        if parts:
            return parts[0]
        return json.dumps(value, ensure_ascii=False)[:_MAX_REASON]
    return "" if value is None else str(value)


def _dash(text: str) -> str:
    return f": {text}" if text else "."


def _hint(status: int, headers: Mapping[str, str], spec: HttpSpec) -> str:
    wait = headers.get("retry-after", "")
    if wait and len(wait) < 40:
        return f"Retry after {wait} s." if wait.isdecimal() else f"Retry after {wait}."
    if status in (401, 403):
        if spec.credential is None:
            return "The service asks for a credential and this toolset has none."
        return f"Credential {spec.credential!r} was not accepted: codemode credentials test."
    if status == 404:
        return "Nothing is there, or the credential may not see it."
    return ""


def _file_name(tool: Tool, response: Response) -> str:
    """``downloads/`` and a name: the service's own, made harmless, with a mark of the content."""
    message = Message()
    message["content-disposition"] = response.headers.get("content-disposition", "")
    given = message.get_filename("") or ""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", re.split(r"[/\\]", given)[-1]).strip("._")[:100]
    mark = sha256(response.body).hexdigest()[:8]
    return f"downloads/{mark}-{plain or tool.name}"
