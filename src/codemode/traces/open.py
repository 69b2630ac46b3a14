"""Finding traces: files, folders, globs, standard input; and reading each with its format."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from codemode.core.measure.call import Problem, Record
from codemode.errors import TraceError
from codemode.traces import formats
from codemode.traces.formats import Format
from codemode.traces.source import Progress, Source

SUFFIXES = (".json", ".jsonl", ".ndjson", ".log", ".txt")
STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """
    A trace to read. *path* is "-" for standard input.

    Args:
        named: Asked for by name, so a format that nobody knows is a problem, not a skip.
    """

    path: str
    named: bool

    @property
    def size_bytes(self) -> int:
        """0 where it cannot be known."""
        try:
            return 0 if self.path == STDIN else Path(self.path).stat().st_size
        except OSError:
            return 0


def find(names: Iterable[str]) -> list[Found]:
    """
    The traces that *names* mean, each once, in order: files as they are, folders with
    everything below that looks like a trace, patterns with what they match.

    Raises:
        TraceError: If a name means nothing.
    """
    found: dict[str, Found] = {}
    for name in names:
        matches = list(_meant(name))
        if not matches:
            raise TraceError(
                f"{name}: no such trace", hint="Name a file, a folder, a pattern, or - for stdin."
            )
        for one in matches:
            if one.path not in found or one.named:
                found[one.path] = one
    return list(found.values())


def _meant(name: str) -> Iterator[Found]:
    path = Path(name)
    if name == STDIN or path.is_file() or path.is_fifo():
        yield Found(path=name, named=True)
    elif path.is_dir():
        for folder, folders, files in os.walk(path):
            folders[:] = sorted(one for one in folders if not one.startswith("."))
            for file in sorted(files):
                if file.lower().removesuffix(".gz").endswith(SUFFIXES) and file[0] != ".":
                    yield Found(path=str(Path(folder) / file), named=False)
    elif any(sign in name for sign in "*?["):
        for match in sorted(glob.glob(name, recursive=True)):  # noqa: PTH207  Path.glob takes no absolute pattern
            yield from (Found(path=one.path, named=False) for one in _meant(match))


@contextmanager
def opened(found: Found, progress: Progress | None = None) -> Iterator[Source]:
    """
    Open one trace.

    Raises:
        TraceError: If it cannot be opened.
    """
    if found.path == STDIN:
        yield Source(STDIN, sys.stdin.buffer, progress)
        return
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(Path(found.path).open("rb", buffering=0))
        except OSError as error:
            raise TraceError(f"{found.path}: {error.strerror}") from None
        yield Source(found.path, stream, progress)


def recognise(source: Source, name: str | None = None) -> Format | None:
    """The format *name*, or the one that *source* shows."""
    if name is not None:
        return formats.load(name)
    return formats.detect(source.sample())


def records(source: Source, format: Format) -> Iterator[Record]:
    """Everything in *source*; what cannot be read comes as a `Problem`."""
    if source.failure is not None:
        yield source.failure
        return
    yield from format.read(source)


def unknown(source: Source) -> Problem:
    """What to say of a trace that no format knows."""
    reason = "no known format" if source.head else "empty"
    known = ", ".join(formats.names())
    return source.failure or Problem(
        path=source.path, line=0, reason=f"{reason} (known: {known}; --format names one)"
    )
