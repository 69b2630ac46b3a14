"""What stubs of every language have in common: reading, naming, prose, layout."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from jinja2 import Environment, StrictUndefined, Template

from codemode.core.names import pascal, refuse_tool, refuse_toolset
from codemode.core.schema import Dropped, Reader, ToolTypes
from codemode.core.tool import Directory, JsonValue, Tool
from codemode.core.types import Type, references
from codemode.errors import InvalidRow, NameCollision
from codemode.targets import Loss

MAX_EXAMPLE = 600
"""Characters of an example in a docstring; longer ones are left out."""

MAX_DECLARATION = 12_000
"""Characters of types below one tool's declaration; further ones are only named."""


class Stubs:
    """
    The types of one toolset, read once.

    Args:
        tools: Of one toolset, sorted.

    Raises:
        NameCollision, InvalidRow: By `check_names`.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools = list(tools)
        self.toolset = self.tools[0].toolset
        self.reader = Reader(self.toolset.defs)
        self.types = [self.reader.read(tool) for tool in self.tools]

    def lookup(self, types: ToolTypes) -> Callable[[str], Type]:
        """Find a named type as seen from one tool."""
        return lambda name: types.named[name] if name in types.named else self.reader.named[name]

    def losses(self, weak: Mapping[str, str]) -> Iterator[Loss]:
        """
        What the types do not say.

        Args:
            weak: Kind of mark -> what the language does not say of it.
        """
        for types in self.types:
            yield from _losses(types.tool.id, types.dropped, types.marks, weak)
        yield from _losses(self.toolset.name, self.reader.dropped, self.reader.marks, weak)


def _losses(
    tool: str, dropped: list[Dropped], marks: list[tuple[str, str]], weak: Mapping[str, str]
) -> Iterator[Loss]:
    for one in dropped:
        yield Loss(tool=tool, path=one.path, reason=one.reason)
    for path, kind in marks:
        if kind in weak:
            yield Loss(tool=tool, path=path, reason=weak[kind])


def read(directory: Directory) -> dict[str, Stubs]:
    """
    Toolset -> its stubs, sorted. Read once for all targets.

    A directory never changes, so the last one read is remembered.
    """
    global _last
    if _last is None or _last[0] is not directory:
        _last = (directory, {name: Stubs(tools) for name, tools in directory.toolsets.items()})
    return _last[1]


def single(tool: Tool) -> Stubs:
    """The stubs of one tool alone, for what is shown of it; some are remembered."""
    held = _singles.get(id(tool))
    if held is None:
        if len(_singles) >= MAX_SINGLES:
            _singles.clear()
        held = _singles[id(tool)] = Stubs([tool])  # it holds the tool, so the id stays its own
    return held


MAX_SINGLES = 2000
_singles: dict[int, Stubs] = {}
_last: tuple[Directory, dict[str, Stubs]] | None = None


def check_names(
    directory: Directory,
    toolset_name: Callable[[str], str],
    tool_name: Callable[[str], str],
    language: str,
) -> None:
    """
    Refuse what would hide, overwrite or be taken for something else.

    Raises:
        InvalidRow: If a name belongs to the language or the harness.
        NameCollision: If two names become one identifier.
    """
    toolsets: dict[str, str] = {}
    for toolset, tools in directory.toolsets.items():
        if reason := refuse_toolset(toolset):
            raise InvalidRow(f"No toolset may be called {toolset!r}: {reason}.", field="toolset")
        _claim(toolsets, toolset_name(toolset), toolset, "toolsets", language)
        functions: dict[str, str] = {}
        types: dict[str, str] = {}
        for tool in tools:
            if reason := refuse_tool(tool.name):
                raise InvalidRow(f"{tool.id}: no tool may be called that: {reason}.", field="name")
            _claim(functions, tool_name(tool.name), tool.id, "rows", language)
            _claim(types, pascal(tool.name), tool.id, "rows", language)


def _claim(taken: dict[str, str], identifier: str, name: str, what: str, language: str) -> None:
    other = taken.setdefault(identifier, name)
    if other != name:
        raise NameCollision(
            f"The {what} {other!r} and {name!r} would both be {identifier!r} in {language}.",
            hint=f"Rename one of the two {what}.",
        )


def closure(roots: Iterable[Type], lookup: Callable[[str], Type]) -> list[str]:
    """Names reachable from *roots*, nearest first."""
    found: dict[str, None] = {}
    level = sorted(set().union(*(references(root) for root in roots)))
    while level:
        found.update(dict.fromkeys(level))
        inner = set().union(*(references(lookup(name)) for name in level))
        level = sorted(inner - found.keys())
    return list(found)


# -- prose ------------------------------------------------------------------------


def prose(text: str) -> list[str]:
    """*text* in lines that cannot steer a terminal, an editor or a reader's eye."""
    return [
        line if line.isprintable() else "".join(c if c.isprintable() else " " for c in line)
        for line in text.strip().splitlines()
    ]


def one_line(text: str) -> str:
    """*text* as one line, as `prose`."""
    if text.isprintable():
        return " ".join(text.split())
    return " ".join(" ".join(prose(text)).split())


def summary(tool: Tool) -> list[str]:
    """Description, when to use (if anyone wrote it), effect: the head of a docstring."""
    effect = [f"Effect: {tool.effect}."]
    if tool.idempotent and tool.effect != "read":
        effect.append("Repeating it changes nothing more.")
    if tool.where != "any":
        effect.append(f"Needs: {'a container' if tool.where == 'container' else 'your machine'}.")
    if tool.inverse:
        effect.append(f"Undone by: {one_line(tool.inverse)}.")
    advice = [f"Use when: {one_line(tool.when_to_use)}"] if tool.when_to_use else []
    return [*prose(tool.description), "", *advice, " ".join(effect)]


def text_literal(value: str, wide: str) -> str:
    """
    *value* as a double-quoted literal of printable characters.

    Args:
        wide: How the language writes a character beyond U+FFFF by its number.
    """
    if value.isprintable() and value.isascii():
        if '"' not in value and "\\" not in value:
            return f'"{value}"'
        return json.dumps(value)
    out = []
    for character in value:
        if character in '"\\':
            out.append("\\" + character)
        elif character == "\n":
            out.append("\\n")
        elif character.isprintable():
            out.append(character)
        elif ord(character) > 0xFFFF:
            out.append(wide.format(ord(character)))
        else:
            out.append(f"\\u{ord(character):04x}")
    return '"' + "".join(out) + '"'


def example_arguments(tool: Tool) -> Mapping[str, JsonValue] | None:
    """The example's arguments, if it has any that are short enough to show."""
    if tool.example is None:
        return None
    args = tool.example.get("args", {})
    if not isinstance(args, Mapping):
        return None
    return args if len(json.dumps(args, default=str)) <= MAX_EXAMPLE else None


# -- layout -----------------------------------------------------------------------


@lru_cache(maxsize=64)
def template(text: str) -> Template:
    """Compile a template; a name that nobody supplies is an error."""
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - the output is source text, escaped where it is made
    )
    return environment.from_string(text)
