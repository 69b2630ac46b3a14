"""
Trace formats. To add one, add a module here that defines ``FORMAT``; detection, the command
and the tests find it by its file name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol

from codemode.core.measure.call import Record
from codemode.traces.source import Sample, Source


class Format(Protocol):
    """One way of writing traces."""

    name: str

    def detect(self, sample: Sample) -> int:
        """How many signs of this format *sample* shows; 0: it is another's."""
        ...

    def read(self, source: Source) -> Iterator[Record]:
        """
        The records of *source*, in the order of the trace, holding no more of it than
        it must. What cannot be read is a `Problem`; reading goes on.
        """
        ...


@cache
def names() -> tuple[str, ...]:
    """Names of all formats, sorted."""
    return tuple(
        sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))
    )


def load(name: str) -> Format:
    """
    Import one format.

    Raises:
        ModuleNotFoundError: If there is none of that name.
    """
    found: Format = import_module(f"{__name__}.{name}").FORMAT
    return found


def detect(sample: Sample) -> Format | None:
    """The format with most signs; None if no format knows *sample*."""
    found = [(format.detect(sample), format) for format in map(load, names())]
    best = max(found, key=lambda each: each[0])
    return best[1] if best[0] > 0 else None
