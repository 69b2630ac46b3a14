"""
Several constraints on one value, as one type.

``allOf``, and keywords that stand beside ``anyOf``, hold at once. What can be
merged when a schema is read becomes one object; what cannot, because it stands
behind a name, stays an `Intersection` that a target writes as ``A & B`` or, where
the language has none, has merged by `flatten`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from codemode.core.types import (
    INTEGER,
    NEVER,
    UNKNOWN,
    Array,
    Field,
    Intersection,
    Literal,
    Map,
    Object,
    Primitive,
    Reference,
    Tuple,
    Type,
    Union,
    Unknown,
    union,
)

Lookup = Callable[[str], Type]

MAX_VARIANTS = 16
"""Unions are multiplied out at most this far; more stay as they are."""

MAX_TOGETHER = 4
"""Branches of ``anyOf`` that are taken to hold together as well."""


def kind(type_: Type) -> str:
    """The JSON kind of every value of *type_*, or "" if it has several or none is known."""
    match type_:
        case Primitive("integer"):
            return "number"
        case Primitive(name):
            return name
        case Literal(bool()):
            return "boolean"
        case Literal(str()):
            return "string"
        case Literal():
            return "number"
        case Array() | Tuple():
            return "array"
        case Object() | Map():
            return "object"
        case Intersection(parts):
            kinds = {kind(part) for part in parts} - {""}
            return kinds.pop() if len(kinds) == 1 else ""
    return ""


def intersect(parts: Iterable[Type]) -> Type:
    """
    All of *parts* at once, merged as far as no name has to be looked up.

    >>> from codemode.core.types import NUMBER
    >>> intersect([NUMBER, INTEGER])
    Primitive(name='integer')
    """
    parts = list(parts)
    if len(parts) == 2 and _is_enum_of(parts[0], parts[1]):
        return parts[0]
    flat: list[Type] = []
    reason = UNKNOWN
    for part in parts:
        for one in part.parts if isinstance(part, Intersection) else (part,):
            if isinstance(one, Unknown):
                reason = reason if reason.reason else one
            elif one not in flat:
                flat.append(one)
    result: list[Type] = []
    for part in flat:
        for index, other in enumerate(result):
            merged = _merge(other, part)
            if merged is not None:
                result[index] = merged
                break
        else:
            result.append(part)
    if not result:
        return reason
    if NEVER in result:
        return NEVER
    return result[0] if len(result) == 1 else Intersection(tuple(result))


def _is_enum_of(one: Type, two: Type) -> bool:
    """Whether *one* lists values of the scalar *two*: the most frequent pair by far."""
    if not (isinstance(one, Union) and isinstance(two, Primitive)):
        return False
    name = kind(two)
    return all(isinstance(part, Literal) and kind(part) == name for part in one.members) and (
        two is not INTEGER or not any(_is_fraction(part) for part in one.members)
    )


def _is_fraction(type_: Type) -> bool:
    return isinstance(type_, Literal) and isinstance(type_.value, float)


def _merge(one: Type, two: Type) -> Type | None:
    """The intersection of two types as one, or None if it takes both to say it."""
    if one == two:
        return one
    if isinstance(one, Union) or isinstance(two, Union):
        return _merge_union(one, two)
    if isinstance(one, Reference) or isinstance(two, Reference):
        return None
    if isinstance(one, Intersection) or isinstance(two, Intersection):
        return None
    if kind(one) != kind(two):
        return NEVER
    match one, two:
        case Primitive(), Primitive():
            return INTEGER  # equal ones are gone: integer and number are left
        case Literal(), Literal():
            return NEVER
        case (Literal() as literal, Primitive() as primitive) | (
            Primitive() as primitive,
            Literal() as literal,
        ):
            fraction = isinstance(literal.value, float) and not literal.value.is_integer()
            return NEVER if primitive is INTEGER and fraction else literal
        case Array(a), Array(b):
            return Array(intersect([a, b]))
        case Map(a), Map(b):
            return Map(intersect([a, b]))
        case (Tuple() as fixed, Array(items)) | (Array(items), Tuple() as fixed):
            return _merge_tuples(fixed, Tuple((), 0, items))
        case Tuple(), Tuple():
            return _merge_tuples(one, two)
        case Object(), Object():
            return _merge_objects(one, two)
        case (Object() as fixed, Map(values)) | (Map(values), Object() as fixed):
            return _merge_objects(fixed, Object(rest=values))
    return None


def _merge_union(one: Type, two: Type) -> Type | None:
    """Keep the pairs that can both hold; None if that needs names or grows too far."""
    left = one.members if isinstance(one, Union) else (one,)
    right = two.members if isinstance(two, Union) else (two,)
    if len(left) * len(right) > MAX_VARIANTS and not all(
        isinstance(member, Literal | Primitive) for member in (*left, *right)
    ):
        return None
    kept: list[Type] = []
    for a in left:
        for b in right:
            merged = _merge(a, b)
            if merged is None or (isinstance(a, Object) and isinstance(b, Object)):
                return None  # two objects beside a choice read better as A & (B | C)
            if merged != NEVER:
                kept.append(merged)
    return union(kept)


def _merge_tuples(one: Tuple, two: Tuple) -> Type:
    size = max(len(one.items), len(two.items))
    items = []
    for index in range(size):
        pair = [_item(one, index), _item(two, index)]
        if None in pair:
            break
        items.append(intersect([type_ for type_ in pair if type_ is not None]))
    n_required = max(one.n_required, two.n_required)
    if n_required > len(items) and len(items) < size:
        return NEVER
    rests = [one.rest, two.rest]
    rest = None if None in rests else intersect([rest for rest in rests if rest is not None])
    return Tuple(tuple(items), min(n_required, len(items)), rest)


def _item(type_: Tuple, index: int) -> Type | None:
    return type_.items[index] if index < len(type_.items) else type_.rest


def _merge_objects(one: Object, two: Object) -> Object:
    """Every field of both; a field that both declare has both types."""
    fields = {field.name: field for field in one.fields}
    for field in one.fields:
        if two.rest is not None and all(field.name != other.name for other in two.fields):
            fields[field.name] = Field(
                field.name, intersect([field.type, two.rest]), field.required, field.note
            )
    for field in two.fields:
        mine = fields.get(field.name)
        types = [field.type]
        if mine is not None:
            types.insert(0, mine.type)
        elif one.rest is not None:
            types.insert(0, one.rest)
        fields[field.name] = Field(
            field.name,
            intersect(types),
            field.required or (mine is not None and mine.required),
            (mine.note if mine else "") or field.note,
        )
    rests = [rest for rest in (one.rest, two.rest) if rest is not None]
    closed = one.closed or two.closed
    rest = None if closed or not rests else intersect(rests)
    return Object(tuple(fields.values()), rest, closed)


def together(branches: list[Type]) -> list[Type]:
    """
    Several branches of ``anyOf`` may hold at once, so each may have the others' properties.

    Only for a few objects without names; of more, one is usually meant.
    """
    objects = [one for one in branches if isinstance(one, Object) and one.fields]
    if not 1 < len(objects) <= MAX_TOGETHER:
        return branches
    every: dict[str, Field] = {}
    for one in objects:
        for item in one.fields:
            every.setdefault(item.name, item)
    result: list[Type] = []
    for branch in branches:
        if isinstance(branch, Object) and branch.fields and not branch.closed and not branch.rest:
            declared = {item.name for item in branch.fields}
            more = [
                Field(item.name, item.type, False, item.note)
                for item in every.values()
                if item.name not in declared
            ]
            result.append(Object((*branch.fields, *more)))
        else:
            result.append(branch)
    return result


def break_circles(named: dict[str, Type], fresh: Iterable[str]) -> None:
    """
    Take out of each named type what would make it mean itself, as in ``A = A | string``.

    A circle through objects or arrays is an ordinary recursive type and stays.

    Args:
        fresh: The names that may be on a circle not looked at yet.
    """
    state: dict[str, bool] = {}  # name -> still on the path
    for start in [name for name in fresh if _directly(named[name])]:
        if start in state:
            continue
        state[start] = True
        path = [(start, iter(_directly(named[start])))]
        while path:
            name, rest = path[-1]
            inner = next(rest, None)
            if inner is None:
                state[name] = False
                path.pop()
            elif state.get(inner):
                named[name] = _without(named[name], inner)
            elif inner not in state and inner in named:
                state[inner] = True
                path.append((inner, iter(_directly(named[inner]))))


def _directly(type_: Type) -> list[str]:
    """Names that *type_* is, or is a choice or a combination of."""
    match type_:
        case Reference(name):
            return [name]
        case Union(parts) | Intersection(parts):
            return [name for part in parts for name in _directly(part)]
    return []


def _without(type_: Type, name: str) -> Type:
    match type_:
        case Union(members):
            return union(_without(one, name) for one in members if one != Reference(name))
        case Intersection(parts):
            return intersect(_without(one, name) for one in parts if one != Reference(name))
        case Reference(other) if other == name:
            return Unknown("it refers only to itself")
    return type_


def flatten(type_: Type, lookup: Lookup) -> Type | None:
    """
    *type_* as one object, or a union of objects, for a language without intersections.

    Names are looked up, once each on a path. None if that cannot be said in
    `MAX_VARIANTS` objects.
    """
    variants = _variants(type_, lookup, frozenset())
    return None if variants is None else union(variants)


def _variants(type_: Type, lookup: Lookup, seen: frozenset[str]) -> list[Type] | None:
    match type_:
        case Reference(name):
            return None if name in seen else _variants(lookup(name), lookup, seen | {name})
        case Union(members):
            found: list[Type] = []
            for member in members:
                inner = _variants(member, lookup, seen)
                if inner is None or len(found) + len(inner) > MAX_VARIANTS:
                    return None
                found += inner
            return found
        case Intersection(parts):
            product: list[Type] = [UNKNOWN]
            for part in parts:
                inner = _variants(part, lookup, seen)
                if inner is None or len(product) * len(inner) > MAX_VARIANTS:
                    return None
                product = [intersect([a, b]) for a in product for b in inner]
            product = [one for one in dict.fromkeys(product) if one != NEVER]
            return None if any(isinstance(one, Intersection) for one in product) else product
    return [type_]
