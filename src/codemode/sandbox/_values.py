"""
Results and arguments of Python scripts, from Monty's objects to JSON.

The rules are the harness's: no NaN or infinity; -0 is 0; dates are ISO 8601;
tuples and sets are arrays; bytes are base64; Decimal and UUID are text; whatever
JSON cannot say is an error that names where it stands.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import uuid
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from pydantic_monty import MontyClassProxy, MontyClassTypeProxy, MontyStdTypeProxy

from codemode.core.frames import MAX_DEPTH
from codemode.core.tool import JsonValue

MOST_DIGITS = 1000
"""Of one integer; the same in every engine."""
_TOO_LONG = 10**MOST_DIGITS


class BadValue(Exception):
    """A value that has no JSON form; the message names the path."""

    def __init__(self, path: str, problem: str, hint: str = "") -> None:
        super().__init__(f"{path} {problem}.")
        self.hint = hint


def to_json(value: Any, path: str, depth: int = 0) -> JsonValue:
    """
    What JSON says of *value*. Monty never hands over a circular one.

    Raises:
        BadValue: With the path, which starts with *path*.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        if abs(value) >= _TOO_LONG:
            problem = f"is an integer with more than {MOST_DIGITS} digits"
            raise BadValue(path, problem, "Return text instead.")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            name = "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
            raise BadValue(
                path, f"is {name}, which JSON cannot say", "Return None or text instead."
            )
        return 0 if value == 0 else value
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, decimal.Decimal | uuid.UUID | PurePath):
        return str(value)
    if depth >= MAX_DEPTH:
        raise BadValue(path, f"is nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        return _object(value.items(), path, depth + 1)
    if isinstance(value, set | frozenset):
        value = _sorted(value)
    if isinstance(value, list | tuple):
        return [to_json(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, MontyClassProxy) and value.is_dataclass:
        return _object(value.attributes.items(), path, depth + 1)
    raise _unfit(value, path)


def _object(items: Iterable[tuple[Any, Any]], path: str, depth: int) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for key, item in items:
        if not isinstance(key, str):
            name = type(key).__name__
            article = "an" if name[0] in "aeiou" else "a"
            raise BadValue(path, f"has a key that is {article} {name}, not text", "Use str(key).")
        below = f"{path}.{key}" if key.isidentifier() else f"{path}[{key!r}]"
        found[_text(key, below)] = to_json(item, below, depth)
    return found


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadValue(path, "is text with half a surrogate pair") from None
    return value


def _sorted(values: Iterable[Any]) -> list[Any]:
    items = list(values)
    try:
        return sorted(items)
    except TypeError:
        return items


def _unfit(value: Any, path: str) -> BadValue:
    if isinstance(value, type | MontyClassTypeProxy):
        return BadValue(path, "is a class")
    if isinstance(value, MontyStdTypeProxy) or callable(value):
        return BadValue(path, "is a function")
    if isinstance(value, BaseException):
        hint = "Return its text instead: str(error)."
        return BadValue(path, f"is an instance of {type(value).__name__}", hint)
    name = value.name if isinstance(value, MontyClassProxy) else type(value).__name__
    hint = "Return a dict with the fields you need."
    return BadValue(path, f"is an instance of {name}", hint)
