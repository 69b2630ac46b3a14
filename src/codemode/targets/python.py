"""Python stubs: a package ``tools`` with one module for each toolset."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from keyword import iskeyword

from codemode.core.host import HOST, HOST_TOOLS
from codemode.core.merge import flatten
from codemode.core.names import PYTHON_TYPES, parameters, pascal, python_name
from codemode.core.run import Language, NamedTool, NameTable
from codemode.core.schema import ToolTypes, unique
from codemode.core.tool import Directory, JsonValue, Tool
from codemode.core.types import (
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
)
from codemode.targets import GeneratedFile, Loss
from codemode.targets._stub import (
    MAX_DECLARATION,
    Stubs,
    check_names,
    closure,
    example_arguments,
    one_line,
    prose,
    read,
    single,
    summary,
    template,
    text_literal,
)

WIDTH = 96
MAX_SIGNATURE = 400
"""Characters of a signature's parameters; optional ones beyond it are counted."""

MAX_INLINE = 8
"""Fields of an object that a signature shows."""

WEAK = {
    "integer": "integer: True and False are not refused, 1.0 is",
    "numeric": "a number by its value: 1.0 is not taken for 1, and any float for 1.5",
    "number": "number: True and False are not refused",
}

_PRIMITIVES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}


def literal(value: JsonValue) -> str:
    """*value* as a Python expression."""
    match value:
        case str():
            return text_literal(value, "\\U{:08x}")
        case Mapping():
            return (
                "{" + ", ".join(f"{literal(k)}: {literal(item)}" for k, item in value.items()) + "}"
            )
        case list() | tuple():
            return "[" + ", ".join(map(literal, value)) + "]"
    return repr(value)


class Types:
    """
    Writes types, and the definitions they need, as Python.

    Every object becomes a TypedDict of its own, since Python has none without a name.

    Args:
        types: Of the tool they are written for, or None for shared definitions.
        taken: Identifiers in use; added to.
        shown: For a line that is read, not compiled: objects stand in it without a name.

    Attributes:
        definitions: What was defined so far, in order; each ends in a newline.
    """

    def __init__(
        self, stubs: Stubs, types: ToolTypes | None, taken: set[str], *, shown: bool = False
    ) -> None:
        self._shown = shown
        self._lookup = stubs.lookup(types) if types else stubs.reader.named.__getitem__
        self._taken = taken
        self.definitions: list[str] = []

    def text(self, type_: Type, name: str) -> str:
        """*type_* as an annotation; objects inside it are called *name* or begin with it."""
        match type_:
            case Primitive(primitive):
                return _PRIMITIVES[primitive]
            case Reference(reference):
                return reference
            case Unknown():
                return "Any"
            case Literal(float()):
                return "float"
            case Literal(value):
                return f"Literal[{literal(value)}]"
            case Array(items):
                return f"list[{self.text(items, name + '_Item')}]"
            case Map(values):
                return f"dict[str, {self.text(values, name + '_Value')}]"
            case Union(members):
                return self._union(members, name)
            case Tuple():
                return self._tuple(type_, name)
            case Object():
                if not type_.fields and not type_.closed:
                    return self.text(Map(type_.rest or UNKNOWN), name)
                if self._shown:
                    return self._inline(type_)
                name = unique(name, self._taken)
                self._taken.add(name)
                self.define(type_, name)
                return name
            case Intersection():
                flat = flatten(type_, self._lookup)
                return "Any" if flat is None else self.text(flat, name)
        raise TypeError(type(type_).__name__)

    def _inline(self, type_: Object) -> str:
        """An object in a line that is read, not compiled: its fields beside each other."""
        parts = []
        for field in type_.fields[:MAX_INLINE]:
            mark = "" if field.required else "?"
            parts.append(f"{literal(field.name)}{mark}: {self.text(field.type, '')}")
        if len(type_.fields) > MAX_INLINE:
            parts.append("...")
        return "{" + ", ".join(parts) + "}"

    def _union(self, members: tuple[Type, ...], name: str) -> str:
        if not members:
            return "Never"
        values = [
            literal(one.value)
            for one in members
            if isinstance(one, Literal) and not isinstance(one.value, float)
        ]
        texts: dict[str, None] = {}
        for one in members:
            if isinstance(one, Literal) and not isinstance(one.value, float):
                texts[f"Literal[{', '.join(values)}]"] = None
            else:
                texts[self.text(one, name)] = None
        return " | ".join(texts)

    def _tuple(self, type_: Tuple, name: str) -> str:
        texts = [self.text(one, f"{name}_{index}") for index, one in enumerate(type_.items)]
        rest = None if type_.rest is None else self.text(type_.rest, name + "_Item")
        if rest is not None and not texts:
            return f"tuple[{rest}, ...]"
        tail = [] if rest is None else [f"*tuple[{rest}, ...]"]
        shorter = [
            f"tuple[{', '.join(texts[:size]) or '()'}]"
            for size in range(type_.n_required, len(texts))
        ]
        return " | ".join([*shorter, f"tuple[{', '.join([*texts, *tail]) or '()'}]"])

    def define(self, type_: Type, name: str) -> None:
        """Define *type_* as *name*."""
        if isinstance(type_, Intersection):
            flat = flatten(type_, self._lookup)
            type_ = Unknown("") if flat is None else flat
        if not isinstance(type_, Object) or not (type_.fields or type_.closed):
            self.definitions.append(f"type {name} = {self.text(type_, name + '_Item')}\n")
            return
        index = len(self.definitions)
        options = ""
        if type_.closed:
            options = ", closed=True"
        elif type_.rest is not None:
            options = f", extra_items={self.text(type_.rest, name + '_Value')}"
        lines = []
        plain = all(map(_is_attribute, (field.name for field in type_.fields)))
        for field in type_.fields:
            text = self.text(field.type, f"{name}_{pascal(field.name)}")
            if not field.required:
                text = f"NotRequired[{text}]"
            label = field.name if plain else literal(field.name)
            end = "" if plain else ","
            said = f"  {_comment(field.note)}" if field.note else ""
            lines.append(f"    {label}: {text}{end}{said}\n")
        if plain:
            body = "".join(lines) or "    ...\n"
            text = f"class {name}(TypedDict{options}):\n{body}"
        else:
            text = f'{name} = TypedDict("{name}", {{\n{"".join(lines)}}}{options})\n'
        self.definitions.insert(index, text)


_DIRECTIVE = re.compile(r"#+(?=\s*(?:type|ty|pyright|mypy|noqa|ruff|fmt)\b)", re.IGNORECASE)


def _comment(text: str) -> str:
    """*text* as a comment that no checker takes for an instruction."""
    text = _DIRECTIVE.sub("", one_line(text))
    return f"# - {text}" if _DIRECTIVE.match(f"# {text}") else f"# {text}"


@lru_cache(maxsize=65536)
def _is_attribute(name: str) -> bool:
    """Whether a TypedDict's class body can declare *name* without hiding a type."""
    return (
        name.isascii()
        and name.isidentifier()
        and not iskeyword(name)
        and not name.startswith("__")
        and name not in PYTHON_TYPES
        and not name[0].isupper()
    )


class Python:
    """The target. Stateless."""

    name = "python"
    language: Language = "python"

    def toolset_name(self, toolset: str) -> str:
        return python_name(toolset)

    def tool_name(self, tool: str) -> str:
        return python_name(tool)

    def files(
        self, directory: Directory, templates: Mapping[str, str], losses: list[Loss]
    ) -> Iterator[GeneratedFile]:
        check_names(directory, self.toolset_name, self.tool_name, "Python")
        host = Stubs(HOST_TOOLS)
        package = template(templates["tools.pyi.j2"]).render(
            toolsets=[self.toolset_name(toolset) for toolset in directory.toolsets],
            functions=[self._function(host, types, set()) for types in host.types],
        )
        files = [GeneratedFile("tools/__init__.pyi", package)]
        layout = template(templates["toolset.pyi.j2"])
        for toolset, stubs in read(directory).items():
            functions = [self._function(stubs, types, set(types.named)) for types in stubs.types]
            shared = Types(stubs, None, set(stubs.reader.named))
            for name in sorted(stubs.reader.named):
                shared.define(stubs.reader.named[name], name)
            losses.extend(stubs.losses(WEAK))
            text = layout.render(
                description=list(map(_escaped, prose(stubs.toolset.description))),
                types="\n".join(shared.definitions),
                tools=functions,
            )
            files.append(GeneratedFile(f"tools/{self.toolset_name(toolset)}.pyi", text))
        yield from sorted(files)

    def _function(self, stubs: Stubs, types: ToolTypes, taken: set[str]) -> str:
        """The types of one tool, its docstring and declaration."""
        tool = types.tool
        writer = Types(stubs, types, taken)
        for name in sorted(types.named):
            writer.define(types.named[name], name)
        flat = flatten(types.args, stubs.lookup(types))
        variants = _variants(flat)
        prefix = pascal(tool.name)
        returns = writer.text(types.returns, f"{prefix}_Result")
        docstring = self._docstring(stubs, types, variants)
        text = ""
        for index, variant in enumerate(variants):
            name = f"{prefix}_Args" if index == 0 else f"{prefix}_Args{index + 1}"
            head = _declaration(
                tool, self.tool_name(tool.name), _parameters(tool, variant, writer, name), returns
            )
            text += "@overload\n" + head + ": ...\n" if len(variants) > 1 else head + ":\n"
        if len(variants) == 1:
            return "".join(writer.definitions) + text + docstring
        first, rest = text.split(": ...\n", 1)
        return "".join(writer.definitions) + first + ":\n" + docstring + rest

    def _docstring(self, stubs: Stubs, types: ToolTypes, variants: list[Object]) -> str:
        tool = types.tool
        lines = summary(tool)
        fields = {field.name: field for variant in variants for field in variant.fields}
        keywords = parameters(tool, tuple(fields))
        notes = [
            f"    {keywords[name]}: {one_line(field.note)}"
            for name, field in fields.items()
            if field.note
        ]
        if notes:
            lines += ["", "Args:", *notes]
        example = example_arguments(tool)
        if example is not None:
            path = self._path(tool)
            given = ", ".join(
                f"{keywords.get(name, name)}={literal(value)}" for name, value in example.items()
            )
            lines += ["", f"Example: await {path}({given})"]
        body = "".join(f"    {_escaped(line)}".rstrip() + "\n" for line in lines)
        return f'    """\n{body}    """\n'

    def _path(self, tool: Tool) -> str:
        name = self.tool_name(tool.name)
        return name if tool.toolset is HOST else f"{self.toolset_name(tool.toolset.name)}.{name}"

    def signature(self, tool: Tool) -> str:
        stubs = single(tool)
        types = stubs.types[0]
        writer = Types(stubs, types, set(types.named), shown=True)
        prefix = pascal(tool.name)
        returns = writer.text(types.returns, f"{prefix}_Result")
        variants = _variants(flatten(types.args, stubs.lookup(types)))
        listed = " or ".join(
            f"({_listed(_parameters(tool, variant, writer, f'{prefix}_Args'))})"
            for variant in variants
        )
        return f"{self._path(tool)}{listed} -> {returns}"

    def declaration(self, tool: Tool) -> str:
        stubs = single(tool)
        types = stubs.types[0]
        module = self.toolset_name(tool.toolset.name)
        parts = [f"# from tools import {module}\n" + self._function(stubs, types, set(types.named))]
        names = closure([types.args, types.returns, *types.named.values()], stubs.lookup(types))
        writer = Types(stubs, None, set(stubs.reader.named))
        left = MAX_DECLARATION
        omitted = []
        for name in [name for name in names if name not in types.named]:
            if left < 0:
                omitted.append(name)
                continue
            writer.define(stubs.reader.named[name], name)
            left = MAX_DECLARATION - sum(map(len, writer.definitions))
        if omitted:
            writer.definitions.append(f"# Types not shown: {', '.join(omitted)}\n")
        return "\n".join([*parts, *writer.definitions])

    def names(self, directory: Directory, toolsets: tuple[str, ...]) -> NameTable:
        return {
            self.toolset_name(toolset): _table(tools)
            for toolset, tools in directory.toolsets.items()
            if self.toolset_name(toolset) in toolsets
        }


def _table(tools: list[Tool]) -> Mapping[str, NamedTool]:
    """Names of one toolset; a run asks for them every time, so they are remembered."""
    held = _tables.get(id(tools))
    if held is None or held[0] is not tools:
        if len(_tables) >= MAX_TABLES:
            _tables.clear()
        table = {python_name(one.name): _named(one) for one in tools}
        held = _tables[id(tools)] = (tools, table)
    return held[1]


def _named(tool: Tool) -> NamedTool:
    return NamedTool(tool=tool.id, renames=_renames(tool))


MAX_TABLES = 1000
_tables: dict[int, tuple[list[Tool], Mapping[str, NamedTool]]] = {}


def _variants(flat: Type | None) -> list[Object]:
    """The ways to call a tool, each as the object of its arguments."""
    if isinstance(flat, Union):
        kept = [one for member in flat.members for one in _variants(member)]
        return kept or [Object(rest=Unknown())]
    if isinstance(flat, Map):
        return [Object(rest=flat.values)]
    return [flat if isinstance(flat, Object) else Object(rest=Unknown())]


def _parameters(tool: Tool, args: Object, writer: Types, name: str) -> list[str]:
    """Each parameter, required ones first."""
    keywords = parameters(tool, tuple(field.name for field in args.fields))
    ordered: list[Field] = sorted(args.fields, key=lambda field: not field.required)
    texts = [
        f"{keywords[field.name]}: {writer.text(field.type, f'{name}_{pascal(field.name)}')}"
        f"{'' if field.required else ' = ...'}"
        for field in ordered
    ]
    if args.rest is not None:
        others = unique("others", keywords.values())
        texts.append(f"**{others}: {writer.text(args.rest, name + '_Value')}")
    return texts


def _declaration(tool: Tool, name: str, texts: list[str], returns: str) -> str:
    star = [] if not texts or texts[0].startswith("**") else ["*"]
    line = f"async def {name}({', '.join([*star, *texts])}) -> {returns}"
    if len(line) <= WIDTH:
        return line
    body = "".join(f"    {text},\n" for text in [*star, *texts])
    return f"async def {name}(\n{body}) -> {returns}"


def _listed(texts: list[str]) -> str:
    star = [] if not texts or texts[0].startswith("**") else ["*"]
    shown: list[str] = []
    left = MAX_SIGNATURE
    for index, text in enumerate(texts):
        left -= len(text)
        if left < 0 and text.endswith(" = ..."):
            return ", ".join([*star, *shown, f"... {len(texts) - index} more"])
        shown.append(text)
    return ", ".join([*star, *shown])


def _escaped(line: str) -> str:
    """*line* inside a docstring, unable to end it."""
    return line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _renames(tool: Tool) -> Mapping[str, str]:
    """Python keyword -> argument on the wire, where they differ."""
    names: list[str] = list(tool.python_names)
    properties = tool.args.get("properties")
    plain = isinstance(properties, Mapping) and tool.args.keys().isdisjoint(
        ("$ref", "allOf", "anyOf", "oneOf")
    )
    if plain and isinstance(properties, Mapping):
        required = tool.args.get("required")
        names = [*properties, *(required if isinstance(required, list) else ())]
    else:
        stubs = single(tool)
        types = stubs.types[0]
        for variant in _variants(flatten(types.args, stubs.lookup(types))):
            names += [field.name for field in variant.fields]
    chosen = parameters(tool, tuple(dict.fromkeys(names)))
    return {keyword: name for name, keyword in chosen.items() if keyword != name}


TARGET = Python()
