"""
The one intermediate form of a type. Both targets are rendered from it, so they agree.

A value of `Type` says which JSON values are meant; it knows no language. Named
types are `Reference`s; the definitions stand beside them, so a graph of shared or
recursive definitions stays as small as the schema it came from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal as Lit
from typing import TypeAlias

PrimitiveName: TypeAlias = Lit["string", "integer", "number", "boolean", "null"]
Scalar: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Primitive:
    """A scalar JSON type."""

    name: PrimitiveName


@dataclass(frozen=True, slots=True)
class Literal:
    """Exactly one scalar. ``True``, ``1`` and ``1.0`` are three literals; null is a `Primitive`."""

    value: Scalar

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Literal)
            and type(other.value) is type(self.value)
            and other.value == self.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Array:
    """Any number of *items*."""

    items: Type


@dataclass(frozen=True, slots=True)
class Tuple:
    """
    Items by position.

    Args:
        n_required: How many must be there.
        rest: Type of further items, or None where there may be none.
    """

    items: tuple[Type, ...]
    n_required: int
    rest: Type | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """
    One declared property.

    Args:
        name: As on the wire, any string.
        note: One paragraph for a reader, or "".
    """

    name: str
    type: Type
    required: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Object:
    """
    Declared properties.

    Args:
        rest: Type of every other property where the schema states one, else None.
        closed: The schema says that there is no other property.
    """

    fields: tuple[Field, ...] = ()
    rest: Type | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Map:
    """Any keys, each with a value of one type."""

    values: Type


@dataclass(frozen=True, slots=True)
class Union:
    """One of *members*; none at all is the type without values. Made by `union`."""

    members: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Intersection:
    """All of *parts* at once. Made by `codemode.core.merge.intersect`."""

    parts: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """A named type, by its identifier (the same in every target)."""

    name: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """
    Any value.

    Args:
        reason: Why nothing more is known, or "" if the schema itself allows anything.
    """

    reason: str = ""


Type: TypeAlias = (
    Primitive | Literal | Array | Tuple | Object | Map | Union | Intersection | Reference | Unknown
)

STRING = Primitive("string")
INTEGER = Primitive("integer")
NUMBER = Primitive("number")
BOOLEAN = Primitive("boolean")
NULL = Primitive("null")
UNKNOWN = Unknown()
NEVER = Union(())


def union(members: Iterable[Type]) -> Type:
    """
    One of *members*: flattened, without repeats, null last.

    >>> union([STRING, union([NULL, STRING])])
    Union(members=(Primitive(name='string'), Primitive(name='null')))
    """
    members = tuple(members)
    if len(members) == 2 and members[1] == NULL and isinstance(members[0], Object | Array | Map):
        return Union(members)  # "or null" of something large, which would be hashed for nothing
    flat: dict[Type, None] = {}
    for member in members:
        for part in member.members if isinstance(member, Union) else (member,):
            if isinstance(part, Unknown):
                return part
            flat[part] = None
    for name, values in _WHOLE.items():
        if Primitive(name) in flat:
            for part in [p for p in flat if isinstance(p, Literal) and type(p.value) in values]:
                del flat[part]
    if INTEGER in flat and NUMBER in flat:
        del flat[INTEGER]
    if NULL in flat:
        del flat[NULL]
        flat[NULL] = None
    return next(iter(flat)) if len(flat) == 1 else Union(tuple(flat))


_WHOLE: dict[PrimitiveName, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
"""A primitive swallows these literals."""


def children(type_: Type) -> Iterable[Type]:
    """The types directly inside *type_*; a reference has none."""
    match type_:
        case Array(items):
            return (items,)
        case Tuple(items, _, rest):
            return items if rest is None else (*items, rest)
        case Object(fields, rest):
            inner = [field.type for field in fields]
            return inner if rest is None else [*inner, rest]
        case Map(values):
            return (values,)
        case Union(members):
            return members
        case Intersection(parts):
            return parts
    return ()


def references(type_: Type) -> set[str]:
    """Names of the types that *type_* mentions, not those behind them."""
    found: set[str] = set()
    stack = [type_]
    while stack:
        current = stack.pop()
        if isinstance(current, Reference):
            found.add(current.name)
        else:
            stack.extend(children(current))
    return found
