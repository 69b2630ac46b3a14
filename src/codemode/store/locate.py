"""Where in a JSON text a value stands, so that a message can point at it."""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = JSONDecoder()


def locate(text: str, path: tuple[str | int, ...]) -> tuple[int, int]:
    """
    Line and column, both from 1, of the value at *path*; columns count code points.

    A member of an object is pointed at by its name. Where *path* leads nowhere, the
    place is the last one on the way that exists: a missing field points at its row.

    Args:
        text: JSON that parses.

    >>> locate('{"rows": [\\n  {"name": 1}]}', ("rows", 0, "name"))
    (2, 4)
    """
    at = found = _skip(text, 0)
    for step in path:
        place = _member(text, at, step)
        if place is None:
            break
        found, at = place
    before = text[:found]
    return before.count("\n") + 1, found - (before.rfind("\n") + 1) + 1


def _member(text: str, at: int, step: str | int) -> tuple[int, int] | None:
    """Of the container at *at*: where member *step* is pointed at, and where its value begins."""
    opened = text[at : at + 1]
    if opened != ("{" if isinstance(step, str) else "["):
        return None
    at = _skip(text, at + 1)
    index = 0
    last = None
    while text[at : at + 1] not in ("}", "]", ""):
        pointed = at
        name: str | int = index
        if opened == "{":
            name, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # the colon
        if name == step:
            last = pointed, at  # of a repeated name the last one counts, as in json.loads
            if opened == "[":
                return last
        try:
            at = _skip(text, _DECODER.raw_decode(text, at)[1])
        except JSONDecodeError:
            return last
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        index += 1
    return last


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
