"""
JSON Schema to `codemode.core.types`.

2020-12 is read as it is; draft-04 to draft-07 and OpenAPI 3.0 spellings (``items``
as a list, ``definitions``, ``nullable``, boolean ``exclusiveMinimum``) are understood
beside it, so nothing is rewritten first. What a type cannot say is *dropped*, and
each such place is listed; the validator still enforces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from codemode.core.constant import has_number, literal_type, widened
from codemode.core.merge import break_circles, intersect, together
from codemode.core.names import PROTOTYPE, pascal
from codemode.core.note import note
from codemode.core.reference import Target, Unresolved, find
from codemode.core.tool import Schema, Tool
from codemode.core.types import (
    BOOLEAN,
    INTEGER,
    NEVER,
    NULL,
    NUMBER,
    STRING,
    UNKNOWN,
    Array,
    Field,
    Literal,
    Map,
    Object,
    Reference,
    Tuple,
    Type,
    Union,
    Unknown,
    union,
)

MAX_DEPTH = 100
"""Objects inside objects without a name between them; deeper ones are unknown."""

MAX_ENUM = 500
"""More values than this stay out of the stub."""

SCALARS: Mapping[str, Type] = {
    "string": STRING,
    "integer": INTEGER,
    "number": NUMBER,
    "boolean": BOOLEAN,
    "null": NULL,
}
SCALAR_WORDS = frozenset({"type", "description", "default", "format", "title", "example"})
"""What may stand beside ``type`` without saying more of the type than it does."""

OBJECT_WORDS = frozenset({"properties", "required", "additionalProperties", "patternProperties"})
ARRAY_WORDS = frozenset({"items", "prefixItems", "additionalItems"})
"""Who writes these without a type means an object, an array."""

ENUM_WORDS = SCALAR_WORDS | {"enum"}
CHOICES = frozenset({"allOf", "anyOf", "oneOf"})
COMBINING = frozenset("$ref $dynamicRef allOf anyOf oneOf not if dependentSchemas".split())
"""Words beside which a property may be declared elsewhere."""

ANNOTATIONS = frozenset(
    """
    $schema $id id $anchor $comment $defs definitions components title description default
    example examples deprecated readOnly writeOnly externalDocs xml summary nullable
    """.split()
)
DROPPED = frozenset(
    """
    minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern
    minItems maxItems uniqueItems contains minContains maxContains minProperties maxProperties
    propertyNames dependentRequired dependentSchemas dependencies not if then else
    contentEncoding contentMediaType unevaluatedItems unevaluatedProperties
    $dynamicRef $recursiveRef
    """.split()
)
"""Keywords that no type says."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """
    What a type does not say.

    Args:
        path: JSON pointer from the row (``/args/...``) or the toolset (``/$defs/...``).
    """

    path: str
    reason: str


@dataclass(slots=True)
class ToolTypes:
    """
    One tool's types.

    Args:
        args: An `Object`, `Map` or combination of these.
        named: Types of its own that something refers to, by identifier.
        marks: ``(path, kind)`` of what languages say more or less well: ``integer``,
            ``number``, ``numeric`` (literals), ``inherited``, ``closed``,
            ``rest`` (typed undeclared properties beside declared ones).
        taken: Identifiers in use, *named* and those a target adds.
    """

    tool: Tool
    args: Type
    returns: Type
    named: dict[str, Type] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    marks: list[tuple[str, str]] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Document:
    """One schema with its own ``#``."""

    root: Any
    name: str  # identifier of the root, and the beginning of all others
    path: str
    into: ToolTypes | Reader
    definition: str | None = None  # set for a toolset's definition
    names: dict[tuple[str, ...], Reference] = field(default_factory=dict)
    pending: list[tuple[tuple[str, ...], Any]] = field(default_factory=list)
    followed: dict[str, tuple[Target, _Document]] = field(default_factory=dict)


class Reader:
    """
    Reads the schemas of one toolset. Shared definitions are read once, when reached.

    Args:
        defs: The toolset's ``$defs``.

    Attributes:
        named: Identifier -> type, of the definitions that tools read so far reach.
        dropped, marks: Of these definitions.
    """

    def __init__(self, defs: Mapping[str, Schema]) -> None:
        self.defs = defs
        self.named: dict[str, Type] = {}
        self.dropped: list[Dropped] = []
        self.marks: list[tuple[str, str]] = []
        self.taken: set[str] = set()
        self._names = type_names(defs)
        self._documents: dict[str, _Document] = {}
        self._waiting: list[_Document] = []

    def read(self, tool: Tool) -> ToolTypes:
        """The types of *tool*."""
        types = ToolTypes(tool, UNKNOWN, UNKNOWN)
        name = pascal(tool.name)
        args = _Document(tool.args, f"{name}_Args", "/args", types)
        types.args = _arguments(self._root(args), tool.args)
        if tool.returns is None:
            types.returns = Unknown("the row does not say what the tool returns")
        else:
            types.returns = self._root(_Document(tool.returns, f"{name}_Result", "/returns", types))
        return types

    def _root(self, document: _Document) -> Type:
        result = self._type(document, document.root, document.path, 0)
        self._finish(document, {(): result})
        break_circles(document.into.named, list(document.into.named))
        if self._waiting:
            n_known = len(self.named)
            while self._waiting:
                self._finish(self._waiting.pop(), {})
            break_circles(self.named, list(self.named)[n_known:])
        return result

    def _finish(self, document: _Document, known: dict[tuple[str, ...], Type]) -> None:
        """Read what *document*'s references wait for; each adds at most new names."""
        while document.pending:
            pointer, schema = document.pending.pop()
            reference = document.names[pointer]
            if pointer not in known:
                path = document.path + "".join(_step(part) for part in pointer)
                known[pointer] = self._type(document, schema, path, 0)
            document.into.named[reference.name] = known[pointer]

    # -- references ---------------------------------------------------------------

    def _reference(self, document: _Document, ref: object, path: str) -> Type:
        try:
            target, home = self._follow(document, ref)
        except Unresolved as error:
            document.into.dropped.append(Dropped(path, str(error)))
            return Unknown(str(error))
        if not _worth_a_name(target.schema):
            return self._type(home, target.schema, path, 0)
        pointer = target.pointer
        if home.definition is not None and target.definition is not None:
            pointer = ()
        reference = home.names.get(pointer)
        if reference is None:
            reference = home.names[pointer] = Reference(self._identifier(home, pointer))
            if not home.pending and home.definition is not None:
                self._waiting.append(home)
            home.pending.append((pointer, target.schema))
        return reference

    def _follow(self, document: _Document, ref: object) -> tuple[Target, _Document]:
        """Through a chain of bare references to what it ends in, remembering the end."""
        trail: list[tuple[_Document, str]] = []
        seen: set[tuple[int, str]] = set()
        while True:
            if str(ref) in document.followed:
                end = document.followed[str(ref)]
                break
            if (id(document), str(ref)) in seen:
                raise Unresolved(f"$ref {ref!r} leads back to itself")
            seen.add((id(document), str(ref)))
            trail.append((document, str(ref)))
            target = find(ref, document.root, self.defs, in_defs=document.definition is not None)
            home = document
            if target.shared and target.pointer[:1] == ("$defs",):
                home = self._definition(target.pointer[1])
            end = (target, home)
            schema = target.schema
            if not (isinstance(schema, Mapping) and "$ref" in schema):
                break
            if schema.get("nullable") or not schema.keys() <= ANNOTATIONS | {"$ref"}:
                break
            document, ref = home, schema["$ref"]
        for passed, text in trail:
            passed.followed[text] = end
        return end

    def _definition(self, name: str) -> _Document:
        if name not in self._documents:
            path = f"/$defs{_step(name)}"
            self._documents[name] = _Document(self.defs[name], self._names[name], path, self, name)
        return self._documents[name]

    def _identifier(self, home: _Document, pointer: tuple[str, ...]) -> str:
        parts = [p for p in pointer if p not in ("$defs", "definitions", "properties")]
        if home.definition is not None and parts[:1] == [home.definition]:
            parts = parts[1:]
        if not parts:
            return home.name
        name = unique("_".join([home.name, *map(pascal, parts)]), home.into.taken)
        home.into.taken.add(name)
        return name

    # -- types --------------------------------------------------------------------

    def _type(self, document: _Document, schema: Any, path: str, depth: int) -> Type:
        if schema is True:
            return UNKNOWN
        if schema is False:
            return NEVER
        if type(schema) is not dict and isinstance(schema, Mapping):
            schema = dict(schema)
        if type(schema) is not dict:
            reason = f"a schema is an object or a boolean, not {type(schema).__name__}"
            document.into.dropped.append(Dropped(path, reason))
            return Unknown(reason)
        if depth > MAX_DEPTH:
            reason = f"nested more than {MAX_DEPTH} deep"
            document.into.dropped.append(Dropped(path, reason))
            return Unknown(reason)
        stated = schema.get("type")
        if isinstance(stated, str) and stated in SCALARS and schema.keys() <= SCALAR_WORDS:
            if stated in ("integer", "number"):
                document.into.marks.append((path, stated))
            return SCALARS[stated]
        keys = schema.keys()
        if stated == "string" and "enum" in keys and keys <= ENUM_WORDS:
            listed = _enum(schema["enum"], document, path)
            if isinstance(listed, Union) and all(
                isinstance(one, Literal) and type(one.value) is str for one in listed.members
            ):
                return listed
        if dropped := keys & DROPPED:
            document.into.dropped.append(Dropped(path, ", ".join(sorted(dropped))))
        parts: list[Type] = []
        if "$ref" in keys:
            parts.append(self._reference(document, schema["$ref"], path))
        if "const" in keys:
            parts.append(literal_type(schema["const"]))
            self._mark_numbers(document, [schema["const"]], path)
        elif "enum" in keys:
            parts.append(_enum(schema["enum"], document, path))
            self._mark_numbers(document, schema["enum"], path)
        base = self._base(document, schema, path, depth)
        if base is not None:
            parts.append(base)
        for word in () if CHOICES.isdisjoint(keys) else ("allOf", "anyOf", "oneOf"):
            branches = schema.get(word)
            if isinstance(branches, list) and branches:
                read = [
                    self._type(document, branch, f"{path}/{word}/{index}", depth + 1)
                    for index, branch in enumerate(branches)
                ]
                if word == "anyOf":
                    read = together(read)
                parts.append(intersect(read) if word == "allOf" else union(read))
                if word == "oneOf" and len(read) > 1:
                    document.into.dropped.append(Dropped(path, "oneOf: exactly one, not several"))
        result = parts[0] if len(parts) == 1 else intersect(parts)
        if schema.get("nullable") is True or schema.get("x-nullable") is True:
            return union([result, NULL])
        return result

    def _mark_numbers(self, document: _Document, values: Any, path: str) -> None:
        if has_number(values):
            document.into.marks.append((path, "numeric"))

    def _base(self, document: _Document, schema: Schema, path: str, depth: int) -> Type | None:
        """What ``type`` says, or the words that only make sense for one type; else None."""
        stated = schema.get("type")
        if isinstance(stated, str):
            return self._of_type(document, stated, schema, path, depth)
        if isinstance(stated, list):
            return union(self._of_type(document, one, schema, path, depth) for one in stated)
        if not OBJECT_WORDS.isdisjoint(schema):
            if path != "/args":  # arguments are an object whatever they say
                document.into.dropped.append(Dropped(path, "no type: read as an object's"))
            return self._object(document, schema, path, depth)
        if not ARRAY_WORDS.isdisjoint(schema):
            document.into.dropped.append(Dropped(path, "no type: read as an array's"))
            return self._array(document, schema, path, depth)
        return None

    def _of_type(
        self, document: _Document, stated: object, schema: Schema, path: str, depth: int
    ) -> Type:
        if stated == "object":
            return self._object(document, schema, path, depth)
        if stated == "array":
            return self._array(document, schema, path, depth)
        if stated in ("integer", "number"):
            document.into.marks.append((path, str(stated)))
        if isinstance(stated, str) and stated in SCALARS:
            return SCALARS[stated]
        if stated == "file":
            return STRING  # Swagger 2's spelling of a file: here, its workspace path
        if stated != "any":
            document.into.dropped.append(Dropped(path, f"type {stated!r} is not JSON Schema's"))
        return UNKNOWN

    def _object(self, document: _Document, schema: Schema, path: str, depth: int) -> Type:
        properties = schema.get("properties")
        required = schema.get("required")
        needed = dict.fromkeys(required) if isinstance(required, list) else {}
        fields: list[Field] = []
        if isinstance(properties, Mapping):
            for name, value in properties.items():
                inner = f"{path}/properties{_step(name)}"
                type_ = self._type(document, value, inner, depth + 1)
                present = name in needed or (type(value) is dict and value.get("required") is True)
                fields.append(Field(name, type_, present, note(value)))
        declared = {one.name for one in fields}
        fields += [
            Field(name, UNKNOWN, True)
            for name in needed
            if isinstance(name, str) and name not in declared
        ]
        if any(name in PROTOTYPE for name in declared | needed.keys()):
            document.into.marks.append((path, "inherited"))
        rest, closed = self._rest(document, schema, path, depth)
        if not fields and not closed and (rest is not None or properties is None):
            return Map(UNKNOWN if rest is None else rest)
        if closed:
            document.into.marks.append((path, "closed"))
        elif rest is not None and rest != UNKNOWN:
            document.into.marks.append((path, "rest"))
        return Object(tuple(fields), rest, closed)

    def _rest(
        self, document: _Document, schema: Schema, path: str, depth: int
    ) -> tuple[Type | None, bool]:
        """What is said of undeclared properties: their type, and that there are none."""
        others = schema.get("additionalProperties")
        if "unevaluatedProperties" in schema and others is None:
            others = schema["unevaluatedProperties"] if COMBINING.isdisjoint(schema) else None
        rest: Type | None = None
        if others is not None and others is not False:
            rest = self._type(document, others, f"{path}/additionalProperties", depth + 1)
        patterns = schema.get("patternProperties")
        if not isinstance(patterns, Mapping) or not patterns:
            return rest, others is False
        matched = [
            self._type(document, value, f"{path}/patternProperties{_step(pattern)}", depth + 1)
            for pattern, value in patterns.items()
        ]
        document.into.dropped.append(Dropped(path, "patternProperties: which key takes which type"))
        if others is not False:
            matched.append(UNKNOWN if rest is None else rest)
        return union(matched), False

    def _array(self, document: _Document, schema: Schema, path: str, depth: int) -> Type:
        items = schema.get("items")
        first = schema.get("prefixItems")
        rest = items
        word = "prefixItems"
        if isinstance(items, list):
            first, rest, word = items, schema.get("additionalItems"), "items"
        if not isinstance(first, list) or not first:
            if items is False:
                return Tuple((), 0)
            if items is None or isinstance(items, list):
                return Array(UNKNOWN)
            return Array(self._type(document, items, f"{path}/items", depth + 1))
        size = len(first)
        maximum = schema.get("maxItems")
        if isinstance(maximum, int) and maximum <= size:
            first, rest = first[:maximum], False
        types = tuple(
            self._type(document, one, f"{path}/{word}/{index}", depth + 1)
            for index, one in enumerate(first)
        )
        n_required = schema.get("minItems")
        if not isinstance(n_required, int):
            n_required = len(types)
            document.into.dropped.append(
                Dropped(path, "an array with fewer items than prefixItems; the type wants all")
            )
        more = None
        if rest is not False:
            more = self._type(document, True if rest is None else rest, f"{path}/items", depth + 1)
        return Tuple(types, min(n_required, len(types)), more)


def type_names(defs: Iterable[str]) -> dict[str, str]:
    """
    Definition -> identifier of its type, all different.

    >>> type_names(["Issue", "pull-request"])
    {'Issue': 'Issue', 'pull-request': 'PullRequest'}
    """
    names: dict[str, str] = {}
    claimed: dict[str, list[str]] = {}
    for name in defs:
        claimed.setdefault(pascal(name), []).append(name)
    for identifier, claimants in claimed.items():
        for name in claimants:
            exact = len(claimants) == 1 or name == identifier
            names[name] = identifier if exact else f"{identifier}_{name.encode().hex()}"
    return names


def unique(name: str, taken: Iterable[str]) -> str:
    """*name*, or with the first number from 2 that is not *taken* within one row."""
    if name not in taken:
        return name
    n = 2
    while f"{name}{n}" in taken:
        n += 1
    return f"{name}{n}"


def _arguments(args: Type, schema: Schema) -> Type:
    """A row without declared arguments takes anything only if it says so."""
    if isinstance(args, Unknown):
        return Map(UNKNOWN)
    if isinstance(args, Map) and "properties" in schema and "additionalProperties" not in schema:
        return Object()
    return args


def _enum(values: Any, document: _Document, path: str) -> Type:
    if not isinstance(values, list | tuple | set | frozenset):
        document.into.dropped.append(Dropped(path, "enum is not a list"))
        return UNKNOWN
    if 1 < len(values) <= MAX_ENUM and all(type(value) is str for value in values):
        return Union(tuple(map(Literal, dict.fromkeys(values))))  # nearly every enum
    if len(values) <= MAX_ENUM:
        return union(literal_type(value) for value in values)
    document.into.dropped.append(Dropped(path, f"enum: which of {len(values)} values"))
    return union(widened(value) for value in values)


def _worth_a_name(schema: Any) -> bool:
    """Whether a referenced schema becomes a type of its own; a plain scalar does not."""
    if not isinstance(schema, Mapping):
        return False
    stated = schema.get("type")
    scalar = isinstance(stated, str) and stated in SCALARS
    return not schema.keys() <= ANNOTATIONS and not (
        scalar and schema.keys().isdisjoint(("enum", "const", "allOf", "anyOf", "oneOf", "$ref"))
    )


def _step(part: str) -> str:
    """One step of a JSON pointer."""
    if "~" in part or "/" in part:
        part = part.replace("~", "~0").replace("/", "~1")
    return "/" + part
