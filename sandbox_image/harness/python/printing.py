"""What a script prints, as frames in the order it happened."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

Send = Callable[[dict[str, Any]], None]


class Printed(io.TextIOBase):
    """
    A text stream whose whole lines become `log` frames.

    ``buffer`` and ``fileno()`` lead to the real descriptor, which the harness
    reads through a pipe; so bytes and the output of subprocesses arrive too.
    """

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, send: Send, stream: str, fd: int) -> None:
        self._send, self._stream, self._fd = send, stream, fd
        self._partial = ""
        self.buffer = open(fd, "wb", buffering=0, closefd=False)  # noqa: SIM115

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        whole, newline, rest = (self._partial + text).rpartition("\n")
        self._partial = rest
        if newline:
            self._emit(whole)
        return len(text)

    def flush(self) -> None:
        rest, self._partial = self._partial, ""
        if rest:
            self._emit(rest)

    def _emit(self, text: str) -> None:
        clean = text.encode("utf-8", "replace").decode()
        self._send({"type": "log", "stream": self._stream, "text": clean})

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return False


def capture(send: Send) -> tuple[Printed, Printed]:
    """Replace ``sys.stdout`` and ``sys.stderr``."""
    out, err = Printed(send, "stdout", 1), Printed(send, "stderr", 2)
    sys.stdout, sys.stderr = out, err
    return out, err
