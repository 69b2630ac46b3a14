"""
Values that cross the channel: what JSON can say, exactly, or an error that names the place.

The rules are the same as in TypeScript: no NaN or infinity; -0 is 0; dates are
ISO 8601; tuples and sets are arrays; bytes are base64; Decimal and UUID are text.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import math
import pathlib
import uuid
from typing import Any

MAX_DEPTH = 100
MOST_DIGITS = 1000
"""Of one integer; the same in TypeScript."""
_TOO_LONG = 10**MOST_DIGITS


class BadValue(Exception):
    """A value that has no JSON form."""

    def __init__(self, path: str, problem: str, hint: str = "") -> None:
        super().__init__(f"{path} {problem}.")
        self.hint = hint


def to_json(value: Any, root: str) -> Any:
    """
    What JSON says of *value*.

    Raises:
        BadValue: With the path from *root*.
    """
    return _convert(value, root, set(), 0)


def _convert(value: Any, path: str, above: set[int], depth: int) -> Any:
    if value is None or value is True or value is False:
        return value
    if isinstance(value, enum.Enum):
        return _convert(value.value, path, above, depth)
    if isinstance(value, str):
        return _text(str(value), path)
    if isinstance(value, int):
        if abs(value) >= _TOO_LONG:
            problem = f"is an integer with more than {MOST_DIGITS} digits"
            raise BadValue(path, problem, "Return text instead.")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            name = "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
            raise BadValue(
                path, f"is {name}, which JSON cannot say", "Return None or text instead."
            )
        return 0 if value == 0 else float(value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, (decimal.Decimal, uuid.UUID, pathlib.PurePath)):
        return str(value)
    if id(value) in above:
        raise BadValue(path, "is circular: it contains itself")
    if depth >= MAX_DEPTH:
        raise BadValue(path, f"is nested more than {MAX_DEPTH} deep")
    above.add(id(value))
    try:
        return _compound(value, path, above, depth + 1)
    finally:
        above.discard(id(value))


def _compound(value: Any, path: str, above: set[int], depth: int) -> Any:
    if isinstance(value, dict):
        return _object(value.items(), path, above, depth)
    if isinstance(value, (set, frozenset)):
        try:
            value = sorted(value)
        except TypeError:
            value = list(value)
    if isinstance(value, (list, tuple)):
        return [_convert(item, f"{path}[{i}]", above, depth) for i, item in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return _object(fields, path, above, depth)
    if hasattr(value, "__await__"):
        raise BadValue(path, "is a call that was not awaited", "Put await before it.")
    if isinstance(value, type) or callable(value):
        raise BadValue(path, f"is a {'class' if isinstance(value, type) else 'function'}")
    hint = (
        "Return its text instead: str(error)."
        if isinstance(value, BaseException)
        else "Return list(...) of it."
        if hasattr(value, "__iter__")
        else "Return a dict with the fields you need."
    )
    raise BadValue(path, f"is an instance of {type(value).__name__}", hint)


def _object(items: Any, path: str, above: set[int], depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in items:
        if not isinstance(key, str):
            raise BadValue(path, f"has a key that is {_article(key)}, not text", "Use str(key).")
        name = str(key.value) if isinstance(key, enum.Enum) else str(key)
        below = f"{path}.{name}" if name.isidentifier() else f"{path}[{name!r}]"
        found[_text(name, below)] = _convert(item, below, above, depth)
    return found


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadValue(path, "is text with half a surrogate pair") from None
    return value


def _article(key: Any) -> str:
    name = type(key).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"
