"""
Syntax trees and edits that remember where each character came from.

tree-sitter parses both languages, so that what is understood does not depend on
the Python that the host happens to run. Everything here counts code points.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

import tree_sitter_python
import tree_sitter_typescript
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Tree

from codemode.core.run import Language

MAX_DEPTH = 500
"""Deepest tree that is analysed; models write a tenth of it, attackers more."""


@cache
def _grammar(language: Language) -> Grammar:
    if language == "python":
        return Grammar(tree_sitter_python.language())
    return Grammar(tree_sitter_typescript.language_typescript())


class Source:
    """A text and its tree. Offsets of this class count code points."""

    __slots__ = ("_all", "_starts", "_wide", "text", "tree")

    def __init__(self, text: str, language: Language) -> None:
        self.text = text
        self._all: list[Node] | None = None
        data = text.encode("utf-8", "replace")
        self.tree: Tree = Parser(_grammar(language)).parse(data)
        # Byte offset at which each code point starts; only where the two differ.
        self._wide = len(data) != len(text)
        self._starts: list[int] = []
        if self._wide:
            at = 0
            for char in text:
                self._starts.append(at)
                at += len(char.encode("utf-8", "replace"))
            self._starts.append(at)

    @property
    def root(self) -> Node:
        return self.tree.root_node

    def offset(self, byte: int) -> int:
        """Code point offset of a byte offset of the tree."""
        return bisect_right(self._starts, byte) - 1 if self._wide else byte

    def start(self, node: Node) -> int:
        return self.offset(node.start_byte)

    def end(self, node: Node) -> int:
        return self.offset(node.end_byte)

    def of(self, node: Node | None) -> str:
        """The node's text; "" for None."""
        return "" if node is None else self.text[self.start(node) : self.end(node)]

    def walk(self, node: Node | None = None) -> Iterator[Node]:
        """*node* (or all) and everything below it, in order of appearance, without recursion."""
        if node is not None:
            return _walk(node)
        if self._all is None:
            self._all = list(_walk(self.root))
        return iter(self._all)

    def first_error(self) -> Node | None:
        """The first node that did not parse, or None."""
        if not self.root.has_error:
            return None
        return next((node for node in self.walk() if node.is_error or node.is_missing), None)

    def is_too_deep(self) -> bool:
        """Whether the tree is nested more than `MAX_DEPTH`."""
        stack = [(self.root, 0)]
        while stack:
            node, depth = stack.pop()
            if depth > MAX_DEPTH:
                return True
            stack.extend((child, depth + 1) for child in node.children)
        return False


def _walk(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


@lru_cache(maxsize=16)
def read(text: str, language: Language) -> Source:
    """The source of *text*, kept for the next step of the same check."""
    return Source(text, language)


def same(left: Node | None, right: Node | None) -> bool:
    """Whether two handles are one node."""
    return left is not None and right is not None and left.id == right.id


@dataclass(frozen=True, slots=True)
class Edit:
    """
    Replace ``[start, end)`` by *text*.

    Args:
        moved_from: Where *text* stands in the text being edited, character for
            character, if it is not new but moved.
    """

    start: int
    end: int
    text: str = ""
    moved_from: int | None = None


@dataclass(frozen=True, slots=True)
class Mapped:
    """
    A text made from another by edits.

    Args:
        spans: ``(offset here, offset there, length)`` of what was kept or moved,
            ascending by the first.
    """

    text: str
    spans: tuple[tuple[int, int, int], ...]

    @classmethod
    def whole(cls, text: str) -> Mapped:
        return cls(text, ((0, 0, len(text)),) if text else ())

    def edit(self, edits: Iterable[Edit]) -> Mapped:
        """
        Apply *edits*, given in offsets of this text, to it.

        Edits at one place are applied in the order given; overlapping ones are a bug.
        """
        pieces: list[str] = []
        spans: list[tuple[int, int, int]] = []
        here = done = 0
        ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
        for edit in [*ordered, Edit(len(self.text), len(self.text))]:
            if edit.start < done:
                raise ValueError(f"edits overlap at {edit.start}")
            for kept, there, length in self._kept(done, edit.start):
                spans.append((here + kept - done, there, length))
            here += edit.start - done
            if (source := edit.moved_from) is not None:
                for kept, there, length in self._kept(source, source + len(edit.text)):
                    spans.append((here + kept - source, there, length))
            pieces += (self.text[done : edit.start], edit.text)
            here += len(edit.text)
            done = edit.end
        return Mapped("".join(pieces), tuple(spans))

    def _kept(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        for here, there, length in self.spans:
            low, high = max(here, start), min(here + length, end)
            if low < high:
                yield low, there + low - here, high - low


def origin(spans: tuple[tuple[int, int, int], ...], offset: int) -> int:
    """
    Where *offset* came from. Inserted text belongs to what follows it, or at the
    end of the text to what came last.
    """
    index = bisect_right(spans, offset, key=lambda span: span[0]) - 1
    if index >= 0:
        here, there, length = spans[index]
        if offset < here + length:
            return there + offset - here
    if index + 1 < len(spans):
        return spans[index + 1][1]
    if spans:
        _, there, length = spans[-1]
        return there + length
    return 0


def line_column(text: str, offset: int) -> tuple[int, int]:
    """Line and column of *offset*, both from 1, columns in code points."""
    before = text[: max(0, min(offset, len(text)))]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def at(text: str, line: int, column: int) -> int:
    """Offset of a line and column from 1; clamped to the text and the line."""
    start = 0
    for _ in range(max(line, 1) - 1):
        newline = text.find("\n", start)
        if newline < 0:
            return len(text)
        start = newline + 1
    end = text.find("\n", start)
    return min(start + max(column, 1) - 1, end if end >= 0 else len(text))


def blank(text: str) -> str:
    """*text* as spaces, line breaks kept, so that nothing behind it moves."""
    return "".join(char if char in "\r\n" else " " for char in text)
