"""
Finding the code in what was submitted: fences, prose, byte order marks.

Everything around the code becomes empty lines, so that lines keep their numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from codemode.core.run import Language
from codemode.core.syntax import Edit, read

LABELS: dict[str, Language] = {
    **dict.fromkeys(
        ("js", "javascript", "ts", "typescript", "tsx", "jsx", "mjs", "mts", "cts", "cjs"),
        "typescript",
    ),
    **dict.fromkeys(("py", "python", "python3", "py3"), "python"),
}
"""What a fence's label says of the language."""

SUFFIXES: dict[str, Language] = {
    **dict.fromkeys((".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".tsx", ".jsx"), "typescript"),
    **dict.fromkeys((".py", ".pyi"), "python"),
}

_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^\s`{]*)[^`\r\n]*$")
_CR = re.compile("\r")
_OTHER = {"json", "bash", "sh", "shell", "text", "txt", "console", "output", "yaml", "diff", "md"}
_TEXT_NODES = {"comment", "string", "template_string"}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: lines ``[first, last)`` are its content; *indent* stands before each."""

    first: int
    last: int
    label: str
    indent: str
    marker: str


def find_blocks(text: str) -> list[Block]:
    """Fenced blocks that look like Markdown's, an unclosed one up to the end."""
    blocks: list[Block] = []
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        opening = _FENCE.match(lines[index].rstrip("\r"))
        index += 1
        if opening is None:
            continue
        indent, marker, label = opening.groups()
        closing = re.compile(rf"^[ \t]*{re.escape(marker[0])}{{{len(marker)},}}[ \t]*\r?$")
        last = next((i for i in range(index, len(lines)) if closing.match(lines[i])), len(lines))
        blocks.append(Block(index, last, label.lower(), indent, marker))
        index = last + 1
    return blocks


def choose_block(text: str, language: Language | None) -> Block | None:
    """
    The block that holds the script, or None if the text itself is the script.

    A fence inside a string or a comment of working code is that code's business.
    """
    blocks = [block for block in find_blocks(text) if block.label not in _OTHER]
    if not blocks:
        return None
    first = next(line for line in text.split("\n") if line.strip())
    if not _FENCE.match(first.rstrip("\r")):
        blocks = [block for block in blocks if not _is_inside_text(text, block, language)]
    if language is not None:
        labelled = [block for block in blocks if LABELS.get(block.label) in (language, None)]
        blocks = labelled or blocks
    lines = text.split("\n")
    return max(
        blocks,
        key=lambda block: sum(len(line) for line in lines[block.first : block.last]),
        default=None,
    )


def _is_inside_text(text: str, block: Block, language: Language | None) -> bool:
    """Whether the whole text reads as code in which the fence is only text."""
    lines = text.split("\n")
    offset = sum(len(line) + 1 for line in lines[: block.first - 1]) + len(block.indent)
    languages: tuple[Language, ...] = (language,) if language else ("python", "typescript")
    for candidate in languages:
        source = read(text, candidate)
        node = source.root.descendant_for_byte_range(
            *(2 * (len(text[:offset].encode("utf-8", "replace")),))
        )
        while node is not None and node.type not in _TEXT_NODES:
            node = node.parent
        if node is not None and source.start(node) < offset and source.end(node) > offset:
            return True
        if candidate == "python" and not source.root.has_error:
            return True
    return False


def outside(text: str, block: Block | None) -> list[Edit]:
    """Edits that leave only the code: fence, prose, BOM, shebang and CRs go."""
    edits: list[Edit] = []
    offset = 0
    at_start = True
    for number, line in enumerate(text.split("\n")):
        end = offset + len(line)
        inside = block is None or block.first <= number < block.last
        code = line.rstrip("\r") if inside else ""
        start = offset
        if block is not None and inside and block.indent and code.startswith(block.indent):
            start += len(block.indent)
        if inside and at_start:
            # A byte order mark is only allowed first, and some put it after the shebang.
            while text.startswith("\ufeff", start):
                start += 1
            if text.startswith("#!", start):
                start = end
            elif text[start:end].strip():
                at_start = False
        if start > offset:
            edits.append(Edit(offset, start))
        if not inside and end > start:
            edits.append(Edit(start, end))
        else:
            # Both languages read CRLF and CR as LF, inside strings too.
            edits += [
                Edit(match.start(), match.end(), "" if match.end() == end < len(text) else "\n")
                for match in _CR.finditer(text, start, end)
            ]
        offset = end + 1
    return edits


def detect_language(text: str, filename: str = "") -> Language:
    """
    TypeScript or Python, from the file's name, the fence's label, or the text.

    >>> detect_language("const x = await github.f({});")
    'typescript'
    """
    suffix = filename[filename.rfind(".") :].lower() if "." in filename else ""
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    block = choose_block(text, None)
    if block is not None:
        if block.label in LABELS:
            return LABELS[block.label]
        text = "\n".join(text.split("\n")[block.first : block.last])
    if re.match(r"\ufeff?#!.*\bpython", text):
        return "python"
    if re.match(r"\ufeff?#!.*\b(node|deno|bun|tsx?)\b", text):
        return "typescript"
    broken = {candidate: _error_bytes(text, candidate) for candidate in ("python", "typescript")}
    if broken["python"] != broken["typescript"]:
        return "python" if broken["python"] < broken["typescript"] else "typescript"
    return "python" if _PYTHON.search(text) and not _TYPESCRIPT.search(text) else "typescript"


_PYTHON = re.compile(
    r"^\s*(from\s+\S+\s+import|import\s+\w+(\s+as\s+\w+)?\s*$|(async\s+)?def\s|elif\b|print\()|"
    r"\w+\(\w+=[^=>]|\b(None|True|False)\b|^\s*#",
    re.MULTILINE,
)
_TYPESCRIPT = re.compile(r"\b(const|let|var|function|interface)\s|=>|;\s*$|//", re.MULTILINE)


def _error_bytes(text: str, language: Language) -> int:
    """How much of the text does not parse, plus one for each missing token."""
    source = read(text, language)
    if not source.root.has_error:
        return 0
    total = 0
    for node in source.walk():
        if node.is_error:
            total += max(1, node.end_byte - node.start_byte)
        elif node.is_missing:
            total += 1
    return total
