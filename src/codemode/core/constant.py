"""The type of one value: what ``const`` and ``enum`` mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codemode.core.types import (
    BOOLEAN,
    INTEGER,
    NULL,
    NUMBER,
    STRING,
    UNKNOWN,
    Field,
    Literal,
    Object,
    Primitive,
    Tuple,
    Type,
    Unknown,
)


def literal_type(value: Any) -> Type:
    """Exactly *value*; unknown if it is no JSON value."""
    if value is None:
        return NULL
    if isinstance(value, float) and value - value != 0:
        return Unknown(f"{value!r} is not JSON")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return Literal(int(value))  # JSON has one kind of number
    if isinstance(value, str | bool | int | float):
        return Literal(value)
    if isinstance(value, list):
        return Tuple(tuple(literal_type(item) for item in value), len(value))
    if isinstance(value, Mapping):
        fields = (Field(str(key), literal_type(item), True) for key, item in value.items())
        return Object(tuple(fields), closed=True)
    return Unknown(f"{type(value).__name__} is not JSON")


def widened(value: Any) -> Type:
    """The scalar type that *value* is one of; unknown if it is no scalar."""
    literal = literal_type(value)
    match literal:
        case Literal(bool()):
            return BOOLEAN
        case Literal(str()):
            return STRING
        case Literal(int()):
            return INTEGER
        case Literal(float()):
            return NUMBER
        case Primitive():
            return literal
    return UNKNOWN


def has_number(value: Any) -> bool:
    """Whether a number stands in *value*; languages differ in which numbers are equal."""
    if isinstance(value, Mapping):
        return any(map(has_number, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_number, value))
    return type(value) in (int, float)
