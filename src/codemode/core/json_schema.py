"""
The one place that compiles JSON Schema.

A schema is data from a folder, a server or a trace: it may not cause I/O (no
``$ref`` or ``$schema`` is ever fetched or read), and neither it nor a value may cost
time without bound: schemas are nested at most `MAX_NESTING` deep, patterns run on an
engine that is linear, or bounded where a pattern looks around, and of many errors in
a large value only the first is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, TypeAlias

import jsonschema_rs

from codemode.core.tool import Schema

MAX_NESTING = 200
"""Containers within containers of a schema; the validator itself follows little more."""

MAX_BACKTRACKS = 100_000
"""Steps of one pattern with look-around on one string. Others take linear time."""

MAX_PATTERN_BYTES = 1_000_000
"""Of one compiled pattern, since matching takes its size times the text's."""

MAX_LISTED = 2_000
"""Values of up to so many parts get a list of errors; of larger ones the first is said."""

_PATTERNS = jsonschema_rs.FancyRegexOptions(
    backtrack_limit=MAX_BACKTRACKS, size_limit=MAX_PATTERN_BYTES
)
_DATA = frozenset({"enum", "const", "default", "example", "examples"})

Place: TypeAlias = tuple[str | int, ...]


class InvalidSchema(Exception):
    """
    It cannot be used.

    Args:
        place: Where in the schema, as far as known.
    """

    def __init__(self, message: str, place: Place = ()) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


class Validator:
    """A compiled schema. Raises nothing of its own for any value."""

    __slots__ = ("_compiled",)

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def errors(self, value: Any) -> list[jsonschema_rs.ValidationError]:
        """
        All errors in *value*; the first one only if it has more than `MAX_LISTED` parts.

        Raises:
            ValueError, RecursionError: If it cannot be checked: half a surrogate pair,
                or nesting that the validator does not follow.
        """
        if self._compiled.is_valid(value):
            return []
        if parts(value, MAX_LISTED) < MAX_LISTED:
            # They are made all at once, whatever is taken of them.
            return list(self._compiled.iter_errors(value))
        try:
            self._compiled.validate(value)
        except jsonschema_rs.ValidationError as error:
            return [error]
        return []


def compiled(
    schema: Schema | bool, formats: Mapping[str, Callable[[str], bool]] | None = None
) -> Validator:
    """
    Compile *schema* as 2020-12.

    A ``pattern`` that the engine does not know (backreferences) or that is too large is
    left out; everything else stays in force.

    Args:
        formats: Checks for formats beyond the standard's, which are checked too.

    Raises:
        InvalidSchema: Also for a reference to anywhere outside.
    """
    refuse_depth(schema)
    document = schema
    if isinstance(schema, Mapping):
        document = {key: item for key, item in schema.items() if key != "$schema"}
    try:
        try:
            return Validator(_compiled(document, formats))
        except jsonschema_rs.ValidationError:
            return Validator(_compiled(_known_patterns(document), formats))
    except Exception as error:
        raise _invalid(error) from None


def compiled_as_stated(schema: Schema) -> Validator:
    """
    Compile *schema* in the draft that its ``$schema`` names.

    Raises:
        InvalidSchema: As `compiled`.
    """
    refuse_depth(schema)
    try:
        made = jsonschema_rs.validator_for(dict(schema), offline=True, pattern_options=_PATTERNS)
    except Exception:
        return compiled(schema)
    return Validator(made)


def check_schema(schema: object) -> None:
    """
    Check *schema* against the meta-schema of 2020-12.

    Raises:
        InvalidSchema: If it is none.
    """
    if not isinstance(schema, dict | bool):
        raise InvalidSchema("a schema is an object or a boolean")
    refuse_depth(schema)
    if isinstance(schema, dict) and "$schema" in schema:
        # Stated, it would be fetched.
        schema = {key: value for key, value in schema.items() if key != "$schema"}
    try:
        jsonschema_rs.meta.validate(schema)
    except Exception as error:
        raise _invalid(error) from None


def parts(value: Any, limit: int) -> int:
    """How many values *value* is made of, itself included; *limit* if there are more."""
    n, stack = 0, [value]
    while stack and n < limit:
        item = stack.pop()
        n += 1
        if isinstance(item, Mapping):
            stack.extend(islice(item.values(), limit - n))
        elif isinstance(item, list | tuple):
            stack.extend(islice(item, limit - n))
        elif isinstance(item, str):
            n += len(item) // 1000
    return min(n, limit)


def _compiled(document: Any, formats: Mapping[str, Callable[[str], bool]] | None) -> Any:
    return jsonschema_rs.Draft202012Validator(
        document,
        validate_formats=formats is not None,
        formats=dict(formats or {}),
        ignore_unknown_formats=True,
        offline=True,
        pattern_options=_PATTERNS,
    )


def _known_patterns(schema: Any) -> Any:
    """*schema* without the patterns that do not compile."""
    if isinstance(schema, list):
        return [_known_patterns(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: item if key in _DATA else _known_patterns(item)
        for key, item in schema.items()
        if not (key == "pattern" and isinstance(item, str) and not _compiles(item))
    }


def _compiles(pattern: str) -> bool:
    try:
        _compiled({"pattern": pattern}, None)
    except ValueError:
        return False
    return True


def refuse_depth(schema: object) -> None:
    """
    Raises:
        InvalidSchema: If *schema* is nested more than `MAX_NESTING` deep.
    """
    level: list[object] = [schema]
    for _ in range(MAX_NESTING):
        inner: list[object] = []
        for item in level:
            if isinstance(item, Mapping):
                inner.extend(v for v in item.values() if isinstance(v, dict | list))
            elif isinstance(item, list):
                inner.extend(v for v in item if isinstance(v, dict | list))
        if not inner:
            return
        level = inner
    raise InvalidSchema(f"the schema is nested more than {MAX_NESTING} deep")


def _invalid(error: Exception) -> InvalidSchema:
    """In one line and without what the schema or a file holds elsewhere."""
    message = str(getattr(error, "message", error)).partition("\n")[0][:300]
    place = getattr(error, "instance_path", ())
    return InvalidSchema(f"not valid JSON Schema: {message}", tuple(place))
