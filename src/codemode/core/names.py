"""
Identifiers. Each is a pure function of the row's own name, so adding a row,
reordering rows or rewriting a description renames nothing.

Different names may give one identifier; whoever puts rows side by side refuses
that and names both. Nothing is numbered to make it fit: a number would depend on
the other rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from keyword import kwlist, softkwlist
from unicodedata import normalize

from codemode.core.tool import RESERVED_TOOLSET, Tool
from codemode.errors import NameCollision

TYPESCRIPT_RESERVED = frozenset(
    """
    abstract any arguments as async await boolean break case catch class const constructor
    continue debugger declare default delete do else enum eval export extends false finally for
    from function get if implements import in instanceof interface is keyof let module namespace
    never new null number object of package private protected public readonly require return set
    static string super switch symbol this throw true try type typeof undefined unknown var void
    while with yield
    """.split()
)
"""Words that TypeScript does not take everywhere as a name."""

PYTHON_TYPES = frozenset("str int float bool list dict tuple".split())
"""Builtins that annotations are written with; a function of that name would hide them."""

PYTHON_RESERVED = frozenset(kwlist) | PYTHON_TYPES | {"overload"}

HARNESS_GLOBALS = frozenset(
    """
    codemode tools input search describe console print run_code runCode globalThis global self
    window process require module exports fetch eval
    """.split()
)
"""What scripts and harness already call something else. Toolsets may not take them."""

TOOL_REFUSED = frozenset("codemode console globalThis run_code runCode".split())
"""The same for a tool, which stands behind its toolset and so is refused less."""

PROTOTYPE = frozenset(
    """
    __proto__ constructor prototype then hasOwnProperty isPrototypeOf propertyIsEnumerable
    toLocaleString toString valueOf toJSON
    """.split()
)
"""Members that JavaScript looks up by itself: on every object, and on what is awaited."""

TYPE_RESERVED = frozenset(
    "Any Literal Never NotRequired TypedDict Promise ToolError Array Record".split()
)
"""Types that generated text refers to."""

_TOOLSET = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(maxsize=65536)
def words(name: str) -> tuple[str, ...]:
    """
    The parts of *name* that identifiers are made of, in NFKC (as Python reads names).

    >>> words("get-item v2")
    ('get', 'item', 'v2')
    """
    if name.isascii():
        return tuple(re.findall(r"[A-Za-z0-9]+", name))
    name = normalize("NFKC", name)
    spaced = "".join(c if c != "_" and ("a" + c).isidentifier() else " " for c in name)
    return tuple(spaced.split())


@lru_cache(maxsize=65536)
def camel(name: str) -> str:
    """
    TypeScript's form.

    >>> camel("issues_create"), camel("HTTPGet"), camel("2fa"), camel("+")
    ('issuesCreate', 'httpGet', '_2fa', 'tool_2b')
    """
    first, *rest = _split(name) or [_spelled(name)]
    if rest or words(name):
        first = first[:1].lower() + first[1:] if not first.isupper() else first.lower()
    return _led("".join([first, *(word[:1].upper() + word[1:] for word in rest)]))


@lru_cache(maxsize=65536)
def snake(name: str) -> str:
    """
    Python's form, before reserved words are set apart.

    >>> snake("issuesCreate"), snake("HTTPGet"), snake("2fa"), snake("+")
    ('issues_create', 'http_get', '_2fa', 'tool_2b')
    """
    return _led("_".join(word.lower() for word in _split(name)) or _spelled(name))


@lru_cache(maxsize=65536)
def pascal(name: str) -> str:
    """
    The form of types, without underscores, so that ``Row_Part`` never meets ``RowPart``.

    >>> pascal("issues_create"), pascal("pull-request"), pascal("Page[Item]"), pascal("None")
    ('IssuesCreate', 'PullRequest', 'PageItem', 'None_')
    """
    joined = "".join(word[:1].upper() + word[1:] for word in words(name))
    if not joined:
        joined = "T" + _spelled(name).replace("_", "")
    elif not joined[0].isupper():
        joined = "T" + joined
    return joined + "_" if joined in TYPE_RESERVED or joined in kwlist else joined


def _split(name: str) -> list[str]:
    return [part for word in words(name) for part in _HUMP.split(word)]


def _spelled(name: str) -> str:
    """A name for what has no letter or digit: its characters as hexadecimal numbers."""
    return "tool_" + "_".join(f"{ord(character):x}" for character in normalize("NFKC", name))


def _led(identifier: str) -> str:
    """Identifiers do not begin with a digit or a combining mark."""
    return identifier if identifier.isidentifier() else "_" + identifier


@lru_cache(maxsize=65536)
def python_name(name: str) -> str:
    """
    A Python function's or toolset's identifier.

    >>> python_name("import"), python_name("list"), python_name("getItem")
    ('import_', 'list_', 'get_item')
    """
    identifier = normalize("NFKC", snake(name))
    return identifier + "_" if identifier in PYTHON_RESERVED else identifier


@lru_cache(maxsize=65536)
def python_parameter(name: str) -> str:
    """
    The keyword for an argument that the row gives no ``python_names`` entry.

    An identifier stays as it is; the wire's own spelling is what documents show.

    >>> python_parameter("maxResults"), python_parameter("class"), python_parameter("a.b")
    ('maxResults', 'class_', 'a_b')
    """
    if name in kwlist:
        return name + "_"
    if name.isidentifier() and not name.startswith("__"):
        return normalize("NFKC", name)
    identifier = _led("_".join(words(name)) or _spelled(name).replace("tool_", "arg_", 1))
    return identifier + "_" if identifier in kwlist else identifier


def parameters(tool: Tool, names: tuple[str, ...]) -> Mapping[str, str]:
    """
    Argument on the wire -> Python keyword, for the arguments *names* of *tool*.

    Raises:
        NameCollision: If two arguments become one keyword, or one is no identifier.
    """
    chosen: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in names:
        keyword = tool.python_names.get(name) or python_parameter(name)
        if not keyword.isidentifier() or keyword in kwlist:
            raise NameCollision(
                f"{tool.id}: python_names gives {name!r} the name {keyword!r}, "
                "which is no Python identifier."
            )
        other = taken.setdefault(normalize("NFKC", keyword), name)
        if other != name:
            raise NameCollision(
                f"{tool.id}: the arguments {other!r} and {name!r} would both be "
                f"{keyword!r} in Python.",
                hint="Give one of them another name in the row's python_names.",
            )
        chosen[name] = keyword
    return chosen


def refuse_tool(name: str) -> str:
    """
    Why no tool may be called *name*, or "".

    >>> refuse_tool("to_string")
    "it becomes 'toString' in TypeScript, which JavaScript looks up by itself"
    """
    if name.startswith("__"):
        return "names that begin with two underscores belong to the languages"
    for identifier in (name, camel(name)):
        if identifier in PROTOTYPE:
            return f"it becomes {identifier!r} in TypeScript, which JavaScript looks up by itself"
        if identifier in TOOL_REFUSED:
            return f"{identifier!r} already means something else in a script"
    return ""


def refuse_toolset(name: str) -> str:
    """
    Why no toolset may be called *name*, or "".

    >>> refuse_toolset("codemode")
    "'codemode' holds the host's own functions"
    """
    if name == RESERVED_TOOLSET:
        return f"{name!r} holds the host's own functions"
    if not _TOOLSET.fullmatch(name):
        return "a toolset's name is snake_case: a-z, 0-9 and single underscores, a letter first"
    if name in TYPESCRIPT_RESERVED or name in PYTHON_RESERVED or name in softkwlist:
        return f"{name!r} is a word of TypeScript or Python, so no script could import it"
    if camel(name) in HARNESS_GLOBALS | PROTOTYPE or name in HARNESS_GLOBALS:
        return f"{name!r} already means something else in a script"
    return ""
