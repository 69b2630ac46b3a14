"""TypeScript declarations: one ambient module ``tools``, a namespace for each toolset."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from codemode.core.host import HOST, HOST_TOOLS
from codemode.core.merge import flatten
from codemode.core.names import TYPESCRIPT_RESERVED, camel
from codemode.core.run import Language, NamedTool, NameTable
from codemode.core.schema import ToolTypes
from codemode.core.tool import Directory, JsonValue, Tool
from codemode.core.types import (
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

WIDTH = 88
"""An object longer than this is written with one property a line."""

MAX_SIGNATURE = 400
"""Characters of a signature's parameters; optional ones beyond it are counted."""

WEAK = {
    "integer": "integer: a fraction is not refused",
    "inherited": "every object has a property of such a name, so a missing one is not refused",
    "rest": "additionalProperties: the types of declared properties are taken there too",
    "closed": "additionalProperties: false is held only to object literals",
}

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_PRIMITIVES = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def literal(value: JsonValue) -> str:
    """*value* as a TypeScript expression."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return text_literal(value, "\\u{{{:x}}}")
        case Mapping():
            inner = ", ".join(f"{key(name)}: {literal(item)}" for name, item in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case list() | tuple():
            return "[" + ", ".join(map(literal, value)) + "]"
    return repr(value)


@lru_cache(maxsize=65536)
def key(name: str) -> str:
    """A property's name, quoted where it has to be."""
    return name if _IDENTIFIER.fullmatch(name) and name != "__proto__" else literal(name)


def type_text(type_: Type, pad: str = "", *, notes: bool = True) -> str:
    """
    *type_* as TypeScript.

    Args:
        pad: Indentation of the line it begins on.
        notes: Write what is known of properties beside them.
    """
    match type_:
        case Primitive(name):
            return _PRIMITIVES[name]
        case Reference(name):
            return name
        case Unknown():
            return "unknown"
        case Literal(value):
            return literal(value)
        case Object():
            return _object(type_, pad, notes)
        case Array(items):
            return f"{_operand(items, pad, notes)}[]"
        case Union(members):
            return " | ".join(_operand(one, pad, notes) for one in members) or "never"
        case Map(values):
            return f"{{ [key: string]: {type_text(values, pad, notes=notes)} }}"
        case Tuple(items, n_required, rest):
            parts = [
                type_text(one, pad, notes=notes)
                if index < n_required
                else _operand(one, pad, notes) + "?"
                for index, one in enumerate(items)
            ]
            if rest is not None:
                parts.append(f"...{_operand(rest, pad, notes)}[]")
            return "[" + ", ".join(parts) + "]"
        case Intersection(parts):
            return " & ".join(_operand(one, pad, notes) for one in parts)
    raise TypeError(type(type_).__name__)


def _operand(type_: Type, pad: str, notes: bool) -> str:
    """*type_* where an operator binds it: unions and intersections in parentheses."""
    text = type_text(type_, pad, notes=notes)
    several = (isinstance(type_, Union) and len(type_.members) > 1) or isinstance(
        type_, Intersection
    )
    return f"({text})" if several else text


def _object(type_: Object, pad: str, notes: bool) -> str:
    inner = pad + "  "
    members: list[str] = []
    wide = False
    for field in type_.fields:
        mark = "" if field.required else "?"
        text = type_text(field.type, inner, notes=notes)
        if notes and field.note:
            members.append(f"/** {comment(field.note)} */\n{inner}{key(field.name)}{mark}: {text}")
            wide = True
        else:
            members.append(f"{key(field.name)}{mark}: {text}")
            wide = wide or "\n" in text
    if type_.rest is not None:
        others = type_text(_index(type_), inner, notes=notes)
        if others != "unknown" and not all(field.required for field in type_.fields):
            others += " | undefined"
        members.append(f"[key: string]: {others}")
    elif not members:
        return "{ [key: string]: never }" if type_.closed else "{ [key: string]: unknown }"
    if not wide and sum(map(len, members)) + 2 * len(members) + len(pad) <= WIDTH:
        return "{ " + "; ".join(members) + " }"
    return "{\n" + "".join(f"{inner}{member};\n" for member in members) + pad + "}"


def _index(type_: Object) -> Type:
    """
    What an index signature has to allow: TypeScript holds declared properties to it too.

    A wrong type for a declared property is still refused by that property's own line.
    """
    assert type_.rest is not None
    return union([type_.rest, *(field.type for field in type_.fields)])


def comment(text: str) -> str:
    """*text* on one line, unable to close a comment."""
    return one_line(text).replace("*/", "*\\/")


def _docstring(tool: Tool, fields: tuple[Field, ...], path: str, pad: str) -> str:
    lines = [line.replace("*/", "*\\/") for line in summary(tool)]
    notes = [field for field in fields if field.note]
    if notes:
        lines.append("")
        lines += [f"@param args.{comment(field.name)} {comment(field.note)}" for field in notes]
    example = example_arguments(tool)
    if example is not None:
        call = f"await {path}({literal(example) if example else ''})"
        lines += ["@example", call.replace("*/", "*\\/")]
    body = "".join(f"{pad} * {line}".rstrip() + "\n" for line in lines)
    return f"{pad}/**\n{body}{pad} */\n"


class TypeScript:
    """The target. Stateless."""

    name = "typescript"
    language: Language = "typescript"

    def toolset_name(self, toolset: str) -> str:
        return camel(toolset)

    def tool_name(self, tool: str) -> str:
        return camel(tool)

    def files(
        self, directory: Directory, templates: Mapping[str, str], losses: list[Loss]
    ) -> Iterator[GeneratedFile]:
        check_names(directory, self.toolset_name, self.tool_name, "TypeScript")
        files = [GeneratedFile("tools.d.ts", self._module(directory, templates))]
        layout = template(templates["toolset.d.ts.j2"])
        for toolset, stubs in read(directory).items():
            losses.extend(stubs.losses(WEAK))
            text = layout.render(
                name=self.toolset_name(toolset),
                description=[
                    line.replace("*/", "*\\/") for line in prose(stubs.toolset.description)
                ],
                types=_named(stubs.reader.named, "    "),
                tools=[
                    _named(types.named, "    ") + self._function(stubs, types, "    ")
                    for types in stubs.types
                ],
            )
            files.append(GeneratedFile(f"{toolset}.d.ts", text))
        yield from sorted(files)

    def _module(self, directory: Directory, templates: Mapping[str, str]) -> str:
        host = Stubs(HOST_TOOLS)
        return template(templates["tools.d.ts.j2"]).render(
            files=[f"{toolset}.d.ts" for toolset in directory.toolsets],
            functions=[self._function(host, types, "  ") for types in host.types],
        )

    def _function(self, stubs: Stubs, types: ToolTypes, pad: str, *, shown: bool = False) -> str:
        """Docstring and declaration; *shown* to a reader, not to the compiler."""
        tool = types.tool
        name = self.tool_name(tool.name)
        path = f"{self.toolset_name(stubs.toolset.name)}.{name}"
        if tool.toolset is HOST:
            path = name
        flat = flatten(types.args, stubs.lookup(types))
        fields = flat.fields if isinstance(flat, Object) else ()
        returns = type_text(types.returns, pad)
        head = _docstring(tool, fields, path, pad)
        parameters = _parameters(types.args, flat, pad)
        if shown:
            return f"{head}function {name}({parameters}): Promise<{returns}>;\n"
        declared = name + "_" if name in TYPESCRIPT_RESERVED else name
        head += f"{pad}export function " if declared == name else f"{pad}function "
        head += f"{declared}({parameters}): Promise<{returns}>;\n"
        if declared != name:
            head += f"{pad}export {{ {declared} as {name} }};\n"
        return head

    def signature(self, tool: Tool) -> str:
        stubs = single(tool)
        types = stubs.types[0]
        flat = flatten(types.args, stubs.lookup(types))
        path = f"{self.toolset_name(tool.toolset.name)}.{self.tool_name(tool.name)}"
        returns = type_text(types.returns, notes=False)
        if isinstance(types.returns, Object | Map) and len(returns) > MAX_SIGNATURE:
            returns = _short(types.returns)
        returns = " ".join(returns.split())
        if isinstance(flat, Object):
            return f"{path}({_listed(flat)}): Promise<{returns}>"
        args = " ".join(type_text(types.args, notes=False).split())
        return f"{path}({args}): Promise<{returns}>"

    def declaration(self, tool: Tool) -> str:
        stubs = single(tool)
        types = stubs.types[0]
        lookup = stubs.lookup(types)
        text = self._function(stubs, types, "", shown=True)
        parts = [f'// import {{ {self.toolset_name(tool.toolset.name)} }} from "tools"\n{text}']
        left = MAX_DECLARATION
        omitted = []
        for name in closure([types.args, types.returns], lookup):
            body = f"type {name} = {type_text(lookup(name))};\n"
            left -= len(body)
            if left >= 0:
                parts.append(body)
            else:
                omitted.append(name)
        if omitted:
            parts.append(f"// Types not shown: {', '.join(omitted)}\n")
        return "\n".join(parts)

    def names(self, directory: Directory, toolsets: tuple[str, ...]) -> NameTable:
        wanted = set(toolsets)
        return {
            self.toolset_name(toolset): {
                self.tool_name(tool.name): NamedTool(tool=tool.id) for tool in tools
            }
            for toolset, tools in directory.toolsets.items()
            if self.toolset_name(toolset) in wanted
        }


def _named(named: Mapping[str, Type], pad: str) -> str:
    return "".join(
        f"{pad}export type {name} = {type_text(named[name], pad)};\n" for name in sorted(named)
    )


def _parameters(args: Type, flat: Type | None, pad: str) -> str:
    """The parameter list: one object, optional where nothing in it is required."""
    if flat == Object() or flat == Object(closed=True):
        return "args?: { [key: string]: never }"
    needed = flat is None or any(
        isinstance(one, Object) and any(field.required for field in one.fields)
        for one in (flat.members if isinstance(flat, Union) else (flat,))
    )
    if isinstance(args, Object):
        bare = tuple(Field(one.name, one.type, one.required) for one in args.fields)
        args = Object(bare, args.rest, args.closed)
    return f"args{'' if needed else '?'}: {type_text(args, pad)}"


def _listed(flat: Object) -> str:
    """Properties in one line: required ones first, optional ones while there is room."""
    parts: list[str] = []
    left = MAX_SIGNATURE
    ordered = sorted(flat.fields, key=lambda field: not field.required)
    for index, field in enumerate(ordered):
        mark = "" if field.required else "?"
        text = " ".join(type_text(field.type, notes=False).split())
        if len(text) > MAX_SIGNATURE // 2:
            text = _short(field.type)
        part = f"{key(field.name)}{mark}: {text}"
        left -= len(part)
        if left < 0 and not field.required:
            parts.append(f"/* {len(ordered) - index} more */")
            break
        parts.append(part)
    if flat.rest is not None:
        parts.append("[key: string]: " + _short(flat.rest))
    return "{ " + ", ".join(parts) + " }" if parts else ""


def _short(type_: Type) -> str:
    """A type where there is room for little."""
    match type_:
        case Object(fields):
            names = ", ".join(key(field.name) for field in fields[:8])
            return f"{{ {names}{', ...' if len(fields) > 8 else ''} }}"
        case Array(items):
            return f"{_short(items)}[]"
        case Union(members) if len(members) > 4:
            return " | ".join(map(_short, members[:4])) + " | ..."
    return " ".join(type_text(type_, notes=False).split())


TARGET = TypeScript()
