"""
What a Python script becomes before Monty runs it, and the way back to its own columns.

Monty has no modules made of sandbox code, no exceptions with attributes and no way to
look at a value before it leaves. So a few things are edited, none of them inside plain
text, all on the line where they stand, and every edit is remembered:

* ``from tools import x`` becomes ``x=_t[0]``, padded to the same width.
* a top-level ``return v`` becomes ``return _r((v))``, which names what JSON cannot say.
* ``e.code`` (``message``, ``status``, ``retryable``, ``hint``) becomes ``_f(e).code``,
  which finds the fields of a tool's error and leaves any other object alone.
* ``raise x from e`` becomes ``raise _c((x),e) from e``, which remembers the cause.
* an annotation that names a type of ``tools``, which is not there at run time, becomes ``0``.
* ``getattr(e, "code")`` becomes ``getattr(_f((e)), "code")``, ``type(e).__name__`` becomes
  ``_y(type(e)).__name__``, and ``gather(..., return_exceptions=True)``, which Monty's own
  cannot, ``_g(gather)(...)``.
"""

from __future__ import annotations

import ast
import difflib
import re
import sys
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from codemode.core.run import NameTable, ScriptError

LINE_ENDS = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
"""Where Python's parser ends a line; `str.splitlines` knows more ends than it does."""

FIELDS = frozenset({"code", "message", "status", "retryable", "hint"})
POSITIONS_IN_TEXT = sys.version_info >= (3, 12)
"""Whether the parser knows where an expression inside ``f"..."`` stands."""

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
        for annotation in _annotations_of_tools(tree):
            self._replace(annotation, "0")
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
        for read in _reads(tree):
            self._read(read)
        for value in _returned(tree.body):
            self._wrap(value, "_r((", "))")
        self._apply()
        self._prepared.text = "".join(self._lines)
        return self._prepared

    def _read(self, node: ast.Attribute | ast.Call) -> None:
        if isinstance(node, ast.Attribute):
            self._wrap(node.value, "_f(" if node.attr in FIELDS else "_y(", ")")
        elif _is_gather(node):
            self._wrap(node.func, "_g(", ")")
        else:
            self._wrap(node.args[0], "_f((", "))")

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

    def _replace(self, node: ast.stmt | ast.expr, text: str) -> None:
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
        if POSITIONS_IN_TEXT or node.lineno != node.end_lineno:
            return
        found = Counter(filter(None, (_snippet(one) for one in ast.walk(node))))
        assert node.end_col_offset is not None
        line = node.lineno
        start = self._place(line, node.col_offset)
        text = self._lines[line - 1][: self._place(line, node.end_col_offset)]
        for (snippet, follows, before), n in found.items():
            pattern = re.compile(rf"(?<![\w.]){re.escape(snippet)}(?={re.escape(follows)}\b)")
            places = [m.start() for m in pattern.finditer(text, start)]
            if len(places) != n:
                continue  # the same letters stand in the text itself; better untouched
            for at in places:
                self._insert((line, at), (line, at + len(snippet)), before, ")")


def _annotations_of_tools(tree: ast.Module) -> list[ast.expr]:
    """Annotations with ``toolset.Type`` in them; they are taken out of *tree*."""
    roots = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] == "tools"
    }
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            annotation = getattr(node, name, None)
            if isinstance(annotation, ast.expr) and _names_a_type(annotation, roots):
                found.append(annotation)
                nothing = ast.copy_location(ast.Constant(0), annotation)
                setattr(node, name, nothing)
    return found


def _names_a_type(annotation: ast.expr, roots: set[str]) -> bool:
    for node in ast.walk(annotation):
        root: ast.AST = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if root is not node and isinstance(root, ast.Name) and root.id in roots:
            return True
    return False


def _snippet(node: ast.AST) -> tuple[str, str, str] | None:
    """Of ``e.code``: ``("e", ".code", "_f(")``; of ``type(e).__name__`` likewise."""
    if not isinstance(node, ast.Attribute):
        return None
    if node.attr in FIELDS and isinstance(node.value, ast.Name):
        return node.value.id, f".{node.attr}", "_f("
    if _is_type_name(node):
        return ast.unparse(node.value), ".__name__", "_y("
    return None


def _is_type_name(node: ast.Attribute) -> bool:
    value = node.value
    return (
        node.attr in ("__name__", "__qualname__")
        and isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id == "type"
        and len(value.args) == 1
        and isinstance(value.args[0], ast.Name)
    )


def _is_gather(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else _name(node.func)
    return name == "gather" and any(one.arg == "return_exceptions" for one in node.keywords)


def _is_getattr(node: ast.Call) -> bool:
    return (
        _name(node.func) in ("getattr", "hasattr")
        and len(node.args) >= 2
        and isinstance(node.args[1], ast.Constant)
        and node.args[1].value in FIELDS
    )


def _name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _reads(tree: ast.AST) -> Iterator[ast.Attribute | ast.Call]:
    """Places where a tool's error is looked into, and gathers that take exceptions."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.JoinedStr) and not POSITIONS_IN_TEXT:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if node.attr in FIELDS or _is_type_name(node):
                yield node
        elif isinstance(node, ast.Call) and (_is_gather(node) or _is_getattr(node)):
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
