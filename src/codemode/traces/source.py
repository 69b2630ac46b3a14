"""
One trace as a stream: its first bytes to tell the format by, then its parts in order.

Nothing here holds a whole file. Lines are parsed one at a time; a JSON document that is
not one line is parsed incrementally, and only the parts that a format asks for are built.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, cast

import ijson  # type: ignore[import-untyped]

from codemode.core.measure.call import Problem

HEAD_BYTES = 1024 * 1024
SAMPLE_BYTES = 256 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is reported and skipped."""
_MAX_VALUES = 100
_UNREADABLE = (OSError, EOFError, gzip.BadGzipFile)

Progress = Callable[[int], None]
"""Called with the bytes read from disk since the last call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    A value that a format asked for.

    Args:
        path: As asked for: ``messages.item``, or "" for a whole document.
        document: From 0: the line, or the element of an outer list.
        line: From 1 in line mode, else 0.
    """

    path: str
    value: Any
    document: int
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """
    What the start of a trace shows.

    Args:
        text: Its first characters.
        values: Path -> short texts found there. Lists add ``.item``; an outer list adds
            nothing, so that ``[{"a": 1}]``, ``{"a": 1}`` and lines look alike.
    """

    text: str
    values: Mapping[str, frozenset[str]]

    def has(self, *paths: str) -> bool:
        return all(path in self.values for path in paths)

    def any_of(self, path: str, *texts: str) -> bool:
        return bool(self.values.get(path, frozenset()) & set(texts))


class Source:
    """
    Args:
        path: As it is to be shown.
        stream: Binary; compressed or not. Closed by the caller.
        progress: Told how much has been read, before decompression.
    """

    def __init__(self, path: str, stream: IO[bytes], progress: Progress | None = None) -> None:
        self.path = path
        raw: Any = io.BufferedReader(_Counted(stream, progress), 1024 * 1024)
        if raw.peek(2)[:2] == b"\x1f\x8b":
            raw = io.BufferedReader(cast(Any, gzip.GzipFile(fileobj=raw)), 1024 * 1024)
        self._stream: Any = raw
        self._sample: Sample | None = None
        self.failure: Problem | None = None
        try:
            self.head = _read_up_to(raw, HEAD_BYTES)
        except (*_UNREADABLE,) as error:
            self.head, self.failure = b"", Problem(path=path, line=0, reason=_reason(error))
        self._whole = len(self.head) < HEAD_BYTES
        self.head = self.head.removeprefix(b"\xef\xbb\xbf")
        self.in_lines = _in_lines(self.head, path)

    def sample(self) -> Sample:
        """What a format is told by."""
        if self._sample is None:
            self._sample = self._look()
        return self._sample

    def _look(self) -> Sample:
        found: dict[str, set[str]] = {}
        if self.in_lines:
            for line in self.head[:SAMPLE_BYTES].splitlines()[:200]:
                _look(line, found)
        else:
            _look(self.head[:SAMPLE_BYTES], found)
        return Sample(
            text=self.head[:4096].decode("utf-8", "replace"),
            values={path: frozenset(texts) for path, texts in found.items()},
        )

    def lines(self) -> Iterator[tuple[int, bytes] | Problem]:
        """Lines without their ends, numbered from 1; empty ones are left out."""
        number, rest = 0, _Rejoined(self.head, self._stream)
        while True:
            try:
                line = rest.readline(MAX_LINE_BYTES)
                number += 1
                if not line:
                    return
                if len(line) >= MAX_LINE_BYTES and not line.endswith(b"\n"):
                    while line and not line.endswith(b"\n"):
                        line = rest.readline(MAX_LINE_BYTES)
                    reason = f"longer than {MAX_LINE_BYTES} bytes, skipped"
                    yield Problem(path=self.path, line=number, reason=reason)
                    continue
            except _UNREADABLE as error:
                yield Problem(path=self.path, line=number + 1, reason=_reason(error))
                return
            if line := line.strip():
                yield number, line

    def parts(self, *wanted: str) -> Iterator[Part | Problem]:
        """The values at *wanted* paths, in the order of the file; "" is a whole document."""
        if not self.in_lines:
            yield from self._document_parts(frozenset(wanted))
            return
        document = -1
        for found in self.lines():
            if isinstance(found, Problem):
                yield found
                continue
            number, line = found
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield Problem(path=self.path, line=number, reason=_reason(error))
                continue
            for one in value if isinstance(value, list) else [value]:
                if not isinstance(one, dict):
                    yield Problem(path=self.path, line=number, reason="not a JSON object")
                    continue
                document += 1
                for path, part in _walk(one, wanted):
                    yield Part(path=path, value=part, document=document, line=number)

    def _document_parts(self, wanted: frozenset[str]) -> Iterator[Part | Problem]:
        counted = _Lines(_Rejoined(self.head, self._stream))
        try:
            for path, value, document in _build(counted, wanted):
                yield Part(path=path, value=value, document=document, line=0)
        except (ijson.JSONError, ValueError, RecursionError, *_UNREADABLE) as error:
            yield Problem(path=self.path, line=self._broken_line(counted), reason=_reason(error))

    def _broken_line(self, counted: _Lines) -> int:
        """Exact where the whole document is at hand, else where reading had got to."""
        if self._whole:
            try:
                json.loads(self.head)
            except json.JSONDecodeError as error:
                return error.lineno
            except (ValueError, RecursionError):
                return 0
        return counted.line


def _build(stream: Any, wanted: frozenset[str]) -> Iterator[tuple[str, Any, int]]:
    """(path, value, document) of each wanted path, built as the events come."""
    in_list, document, depth, at = False, -1, 0, ""
    builder: Any = None
    for prefix, event, value in ijson.parse(stream, multiple_values=True, use_float=True):
        if builder is not None:
            builder.event(event, value)
            depth += event.startswith("start") - event.startswith("end")
            if depth == 0:
                yield at, builder.value, document
                builder = None
            continue
        if prefix == "" and event in ("start_array", "end_array"):
            in_list = event == "start_array"
            continue
        if event in ("map_key", "end_map", "end_array"):
            continue
        at = prefix
        if in_list:
            at = "" if prefix == "item" else prefix.removeprefix("item.")
        if at == "" and event == "start_map":
            document += 1
        if at in wanted:
            if event.startswith("start"):
                builder, depth = ijson.ObjectBuilder(), 1
                builder.event(event, value)
            else:
                yield at, value, document


def _walk(value: Any, wanted: tuple[str, ...], at: str = "") -> Iterator[tuple[str, Any]]:
    """As `_build` gives them, from a document already parsed."""
    if at in wanted:
        yield at, value
    elif isinstance(value, dict):
        for key, one in value.items():
            below = f"{at}.{key}" if at else key
            if any(path == below or path.startswith(below + ".") for path in wanted):
                yield from _walk(one, wanted, below)
    elif isinstance(value, list):
        for one in value:
            yield from _walk(one, wanted, f"{at}.item")


def _look(data: bytes, found: dict[str, set[str]]) -> None:
    """Note paths and short texts of *data*, which may break off or not be JSON at all."""
    in_list = False
    try:
        for prefix, event, value in ijson.parse(io.BytesIO(data), multiple_values=True):
            if prefix == "":
                in_list = in_list or event == "start_array"
                continue
            path = prefix
            if in_list:
                path = "" if prefix == "item" else prefix.removeprefix("item.")
            texts = found.setdefault(path, set())
            if event == "string" and len(value) < 100 and len(texts) < _MAX_VALUES:
                texts.add(value)
    except (ijson.JSONError, ValueError, RecursionError):
        return


def _in_lines(head: bytes, path: str) -> bool:
    """One JSON value a line, as opposed to one document over many lines."""
    name = path.lower().removesuffix(".gz")
    if name.endswith((".jsonl", ".ndjson")):
        return True
    if b"\n" not in head and len(head) >= HEAD_BYTES - 3:
        return False  # a first line so long is a document
    lines = [line for line in head.splitlines()[:50] if line.strip()]
    if lines and lines[0].strip() in (b"[", b"{", b"[{"):
        return False
    return any(line[:1] in (b"{", b"[") and _is_json(line) for line in lines)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _read_up_to(stream: Any, n: int) -> bytes:
    chunks, left = [], n
    while left > 0 and (chunk := stream.read(left)):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} (column {error.colno})"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, EOFError):
        return "the compressed file breaks off"
    first = " ".join(str(error).split("\n")[0].split())
    return f"cannot be read: {first[:200]}"


class _Counted(io.RawIOBase):
    """Tells *progress* what is read; never closes what it reads."""

    def __init__(self, stream: IO[bytes], progress: Progress | None) -> None:
        self._stream = stream
        self._progress = progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        if self._progress is not None and data:
            self._progress(len(data))
        return len(data)


class _Rejoined:
    """The head that has been read, then the rest."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def read(self, n: int = 65536) -> bytes:
        return self._head.read(n) or cast(bytes, self._rest.read(n))

    def readline(self, limit: int) -> bytes:
        line = self._head.readline(limit)
        if line.endswith(b"\n") or len(line) >= limit:
            return line
        return line + cast(bytes, self._rest.readline(limit - len(line)))


class _Lines:
    """Counts the lines that went by."""

    def __init__(self, stream: _Rejoined) -> None:
        self._stream = stream
        self.line = 1

    def read(self, n: int = 65536) -> bytes:
        data = self._stream.read(n)
        self.line += data.count(b"\n")
        return data
