"""What each field of a frame from a harness may hold. Nothing else is ever read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Check: TypeAlias = Callable[[Any], bool]

MAX_ID = (1 << 53) - 1
MAX_PLACE = (1 << 31) - 1
MAX_NUMBER = 1e15
MAX_NAME = 1000
"""Characters of a tool's name, far beyond what any has."""


def text(value: Any) -> bool:
    return isinstance(value, str)


def name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_NAME


def whole(most: int, least: int = 0) -> Check:
    def check(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return check


def number(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_NUMBER
    )


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def one_of(*values: str) -> Check:
    return lambda value: isinstance(value, str) and value in values


def optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


def list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def texts_by_name(value: Any) -> bool:
    return isinstance(value, dict) and all(map(text, value.values()))


def record(required: Mapping[str, Check], others: Mapping[str, Check] | None = None) -> Check:
    """An object with *required* fields, and *others* of the given kind where they are."""

    def check(value: Any) -> bool:
        return isinstance(value, dict) and wrong_field(value, required, others or {}) is None

    return check


def wrong_field(
    value: Mapping[str, Any], required: Mapping[str, Check], others: Mapping[str, Check]
) -> str | None:
    """Name of the first field that is missing or no such thing; None if all are right."""
    for field, check in required.items():
        if field not in value or not check(value[field]):
            return field
    for field, check in others.items():
        if field in value and not check(value[field]):
            return field
    return None


def anything(value: Any) -> bool:
    return True


ID = {"id": whole(MAX_ID)}
ERROR = record(
    {"code": text, "message": text},
    {"line": whole(MAX_PLACE), "column": whole(MAX_PLACE), "hint": optional(text)},
)
USAGE = record({}, {"cpu_ms": number, "peak_memory_mib": number})
FILE = record({"path": text, "data": text})

FIELDS: dict[str, tuple[dict[str, Check], dict[str, Check]]] = {
    # frame type: (fields that must be there, fields that may be)
    "ready": ({"protocol": whole(MAX_ID)}, {"versions": optional(texts_by_name)}),
    "started": ({}, {}),
    "call": ({**ID, "tool": name, "args": record({})}, {}),
    "log": ({"stream": one_of("stdout", "stderr"), "text": text}, {}),
    "done_file": (ID, {"error": optional(text)}),
    "file": (ID, {"data": optional(text), "error": optional(text)}),
    "command_result": (
        {**ID, "stdout": text, "stderr": text},
        {
            "exit_code": optional(whole(MAX_PLACE, -MAX_PLACE)),
            "timed_out": flag,
            "truncated": flag,
        },
    ),
    "done": (
        {"status": one_of("succeeded", "failed")},
        {
            "value": anything,
            "error": optional(ERROR),
            "files": optional(list_of(FILE)),
            "usage": optional(USAGE),
            "truncated": optional(list_of(text)),
        },
    ),
}
