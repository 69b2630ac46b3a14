"""
What a Python script becomes before Monty runs it, and the way back to its own columns.

Monty has no modules made of sandbox code, no exceptions with attributes and no way to
look at a value before it leaves. So four things are edited, none of them inside text,
all on the line where they stand, and every edit is remembered:

* ``from tools import x`` becomes ``x=_t[0]``, padded to the same width.
* a top-level ``return v`` becomes ``return _r((v))``, which names what JSON cannot say.
* ``e.code`` (``message``, ``status``, ``retryable``, ``hint``) becomes ``_f(e).code``,
  which finds the fields of a tool's error and leaves any other object alone.
* ``raise x from e`` becomes ``raise _c((x),e) from e``, which remembers the cause.
"""

from __future__ import annotations

import ast
import difflib
import re
from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from codemode.core.run import NameTable, ScriptError

LINE_ENDS = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
"""Where Python's parser ends a line; `str.splitlines` knows more ends than it does."""

FIELDS = frozenset({"code", "message", "status", "retryable", "hint"})
OWN = ("search", "describe", "ToolError")
"""What ``tools`` exports beside toolsets."""


_Insert: TypeAlias = tuple[int, int, tuple[int, int], str]
"""Column, 0 for closing and 1 for opening, order among equals, text."""


class Unrunnable(Exception):
    """The script cannot be made runnable; *error* says why and where."""

    def __init__(self, error: ScriptError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(slots=True, kw_only=True)
class Prepared:
    """
    A script as Monty gets it.

    Args:
        bindings: For each rewritten import, what it binds: "" for all of ``tools``, the
            name of an export, or ``toolset.function``.
        inserted: Line -> ``(column from 0, length)`` of each insertion, ascending.
        cause_lines: Lines of ``raise x from e``.
    """

    text: str
    bindings: list[tuple[str, ...]] = field(default_factory=list)
    inserted: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    cause_lines: set[int] = field(default_factory=set)

    def column(self, line: int, column: int) -> int:
        """Column (code points, from 1) in the script as submitted to the engine."""
        shift = 0
        for at, length in self.inserted.get(line, ()):
            past = column - 1 - (at + shift)
            if past <= 0:
                break
            shift += min(length, past)
        return column - shift


def prepare(source: str, names: NameTable) -> Prepared:
    """
    Edit *source* for Monty.

    Raises:
        Unrunnable: On a syntax error or an import that ``tools`` does not have.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        told = ScriptError(
            code="syntax",
            message=f"SyntaxError: {error.msg}",
            line=error.lineno or 0,
            column=max(error.offset or 0, 0),
        )
        raise Unrunnable(told) from None
    except (ValueError, MemoryError, RecursionError) as error:
        message = f"SyntaxError: the script cannot be parsed: {error or type(error).__name__}"
        raise Unrunnable(ScriptError(code="syntax", message=message)) from None
    return _Editor(source, names).edit(tree)


class _Editor:
    def __init__(self, source: str, names: NameTable) -> None:
        self._names = names
        self._lines = LINE_ENDS.split(source)
        self._encoded = [line.encode() for line in self._lines]
        self._prepared = Prepared(text=source)
        self._inserts: dict[int, list[_Insert]] = {}

    def edit(self, tree: ast.Module) -> Prepared:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
            elif isinstance(node, ast.Raise) and node.cause is not None:
                # Monty does not even evaluate what stands behind `from`.
                if isinstance(node.cause, ast.Name) and node.exc is not None:
                    self._wrap(node.exc, "_c((", f"),{node.cause.id})")
                    last = node.end_lineno or node.lineno
                    self._prepared.cause_lines.update(range(node.lineno, last + 1))
            elif isinstance(node, ast.JoinedStr):
                self._fields_in_text(node)
        for attribute in _attributes(tree):
            self._wrap(attribute.value, "_f(", ")")
        for value in _returned(tree.body):
            self._wrap(value, "_r((", "))")
        self._apply()
        self._prepared.text = "".join(self._lines)
        return self._prepared

    def _place(self, line: int, byte: int) -> int:
        return len(self._encoded[line - 1][:byte].decode("utf-8", "replace"))

    def _wrap(self, node: ast.expr, before: str, after: str) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = (node.lineno, self._place(node.lineno, node.col_offset))
        end = (node.end_lineno, self._place(node.end_lineno, node.end_col_offset))
        self._insert(start, end, before, after)

    def _insert(
        self, start: tuple[int, int], end: tuple[int, int], before: str, after: str
    ) -> None:
        # At one place closing comes first, inner before outer; then opening, outer first.
        close = (end[1], 0, (-start[0], -start[1]), after)
        opening = (start[1], 1, (-end[0], -end[1]), before)
        insort(self._inserts.setdefault(start[0], []), opening)
        insort(self._inserts.setdefault(end[0], []), close)

    def _apply(self) -> None:
        for line, inserts in self._inserts.items():
            text = self._lines[line - 1]
            for column, _, _, added in reversed(inserts):
                text = text[:column] + added + text[column:]
            self._lines[line - 1] = text
            self._prepared.inserted[line] = [(at, len(added)) for at, _, _, added in inserts]

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        bound: list[tuple[str, str]] = []  # (identifier, what)
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level or module.partition(".")[0] != "tools":
                return
            toolset = module.partition(".")[2]
            for alias in node.names:
                what = f"{toolset}.{alias.name}" if toolset else alias.name
                bound.append((alias.asname or alias.name, self._known(what, node)))
        else:
            if not any(alias.name.partition(".")[0] == "tools" for alias in node.names):
                return
            for alias in node.names:
                root, _, rest = alias.name.partition(".")
                if root != "tools":
                    message = f"Import {alias.name} in a statement of its own."
                    raise Unrunnable(self._error("syntax", message, node))
                if rest:
                    self._known(rest, node)
                bound.append((alias.asname or "tools", rest if alias.asname else ""))
        index = len(self._prepared.bindings)
        self._prepared.bindings.append(tuple(what for _, what in bound))
        self._replace(node, f"{','.join(name for name, _ in bound)}=_t[{index}]")

    def _known(self, what: str, node: ast.stmt) -> str:
        toolset, _, function = what.partition(".")
        if what == "*":
            message = "ImportError: import * is not supported here."
            raise Unrunnable(
                self._error(
                    "exception", message, node, hint="Name what you need: from tools import x."
                )
            )
        if toolset in self._names and (not function or function in self._names[toolset]):
            return what
        if what in OWN:
            return what
        known = [*self._names, *OWN] if not function else list(self._names.get(toolset, ()))
        near = difflib.get_close_matches(function or toolset, known, n=3, cutoff=0.4)
        hint = (
            f"Did you mean {', '.join(near)}?"
            if near
            else 'Use await search("...") to find a tool.'
        )
        where = f"tools.{toolset}" if function else "tools"
        message = f"ImportError: cannot import name {function or toolset!r} from {where!r}"
        raise Unrunnable(self._error("exception", message, node, hint=hint))

    def _error(self, code: str, message: str, node: ast.stmt, hint: str = "") -> ScriptError:
        column = self._place(node.lineno, node.col_offset) + 1
        return ScriptError(code=code, message=message, line=node.lineno, column=column, hint=hint)

    def _replace(self, node: ast.stmt, text: str) -> None:
        """Put *text* where *node* stands; the rest of its room becomes blanks."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first, last = node.lineno, node.end_lineno
        start = self._place(first, node.col_offset)
        end = self._place(last, node.end_col_offset)
        if first == last:
            line = self._lines[first - 1]
            self._lines[first - 1] = line[:start] + text.ljust(end - start) + line[end:]
            longer = len(text) - (end - start)
            if longer > 0:  # cannot be: every form is shorter than the import it replaces
                raise AssertionError(text)
            return
        # Over several lines the blanks are continuations, so that a `;` may follow.
        self._lines[first - 1] = self._lines[first - 1][:start] + text + " \\\n"
        for number in range(first + 1, last):
            self._lines[number - 1] = "\\\n"
        self._lines[last - 1] = " " * end + self._lines[last - 1][end:]

    def _fields_in_text(self, node: ast.JoinedStr) -> None:
        """``f"{e.code}"``: Python 3.11 does not say where inside, so it is looked up."""
        if node.lineno != node.end_lineno:
            return
        found = [
            attribute
            for attribute in ast.walk(node)
            if isinstance(attribute, ast.Attribute) and attribute.attr in FIELDS
        ]
        assert node.end_col_offset is not None
        start = self._place(node.lineno, node.col_offset)
        end = self._place(node.lineno, node.end_col_offset)
        text = self._lines[node.lineno - 1]
        for name, attr in sorted({(_name(one.value), one.attr) for one in found}):
            if name is None:
                continue
            pattern = rf"(?<![\w.]){re.escape(name)}(?=\.{attr}\b)"
            places = [m.start() for m in re.finditer(pattern, text[start:end])]
            if len(places) != sum((_name(o.value), o.attr) == (name, attr) for o in found):
                continue  # the same letters stand in the text itself; better untouched
            for place in places:
                at, line = start + place, node.lineno
                self._insert((line, at), (line, at + len(name)), "_f(", ")")


def _name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _attributes(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Reads of a tool error's fields, outside formatted text."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.JoinedStr):
            continue
        if (
            isinstance(node, ast.Attribute)
            and node.attr in FIELDS
            and isinstance(node.ctx, ast.Load)
        ):
            yield node
        todo.extend(ast.iter_child_nodes(node))


def _returned(body: Iterable[ast.stmt]) -> Iterator[ast.expr]:
    """Values of the script's own ``return`` statements, not those of its functions."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
            continue
        todo.extend(ast.iter_child_nodes(node))
