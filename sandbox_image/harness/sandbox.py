"""What the harness knows of the sandbox around it: logs, memory, itself."""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import json
import os
import resource
from collections.abc import Callable
from typing import Any

PR_SET_DUMPABLE = 4
MAX_LINES = 10_000
"""Of one run's logs; the host keeps no more."""
OUT_OF_MEMORY_MARKS = ("JavaScript heap out of memory", "Array buffer allocation failed\n")


def become_untouchable() -> None:
    """
    Keep children of the same user out of this process.

    Not dumpable: ``/proc/<pid>/fd``, ``mem`` and ptrace of it need a capability
    that nobody in the sandbox has.
    """
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def child_environment(language: str) -> dict[str, str]:
    """What a language's runtime needs beside the ordinary environment."""
    if language == "typescript":
        memory = memory_limit_mib()
        old_space = f"--max-old-space-size={max(64, int(memory * 0.75))}" if memory else ""
        return {"NODE_OPTIONS": old_space, "UV_USE_IO_URING": "0"}
    return {"PYTHONDONTWRITEBYTECODE": "1"}


def memory_limit_mib() -> int:
    """The sandbox's memory limit, or 0 if it cannot be seen."""
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        value = _number(path)
        if 0 < value < 1 << 50:
            return value >> 20
    return int(os.environ.get("CODEMODE_MEMORY_MIB", "0"))


def oom_kills() -> int:
    """How often the kernel ended a process of this sandbox for want of memory."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        with contextlib.suppress(OSError, ValueError), open(path) as lines:
            for line in lines:
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
    return 0


def peak_memory_mib() -> float:
    """Most memory in use at once: the sandbox's, or its largest child's."""
    for path in ("/sys/fs/cgroup/memory.peak", "/sys/fs/cgroup/memory/memory.max_usage_in_bytes"):
        value = _number(path)
        if value > 0:
            return value / (1 << 20)
    most = memory_limit_mib() or 1 << 20  # gVisor counts what is mapped, not what is used
    return min(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, most)


def _number(path: str) -> int:
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def fill(fd: int, data: bytes) -> None:
    """Put *data* into the file *fd* and go back to its start."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)


def clean(text: Any) -> str:
    """Text that UTF-8 can say."""
    return str(text).encode("utf-8", "replace").decode()


def place(number: Any) -> int:
    return number if isinstance(number, int) and 0 <= number < 1 << 31 else 0


def read_done(frame: dict[str, Any], max_result_bytes: int) -> dict[str, Any]:
    """
    The parts of a child's `done` that may go on, nothing else.

    Raises:
        KeyError, TypeError, ValueError: It is not one.
    """
    truncated = [clean(cut)[:500] for cut in frame.get("truncated", ())][:10]
    if frame["status"] == "succeeded":
        text = json.dumps(frame.get("value"), separators=(",", ":"), ensure_ascii=False)
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > max_result_bytes:
            raise ValueError("result")  # the child refuses this itself, with a message
        return {
            "status": "succeeded",
            "truncated": truncated,
            **({"value": frame["value"]} if "value" in frame else {}),
        }
    error = frame["error"]
    return {
        "status": "failed",
        "truncated": truncated,
        "error": {
            "code": clean(error["code"])[:100],
            "message": clean(error["message"])[:20_000],
            "line": place(error.get("line", 0)),
            "column": place(error.get("column", 0)),
            "hint": clean(error.get("hint", ""))[:2000],
        },
    }


class Logs:
    """
    What a script prints, as `log` frames, up to a bound over both streams.

    Args:
        send: Takes one frame.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self.max_bytes = 0
        self._send = send
        self._kept = self._lost = self._n_lines = 0
        self._is_full = False
        self._decoders = {
            name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")
        }
        self._partial = {"stdout": "", "stderr": ""}
        self._out_of_memory = False
        self._marked = b""

    def raw(self, stream: str, data: bytes) -> None:
        """Bytes from a pipe; sent a line at a time, bad UTF-8 replaced."""
        if self._is_full:
            self._lost += len(data)
            tail = self._marked + data
            self._notice(tail.decode("utf-8", "replace"))
            self._marked = tail[-100:]
            return
        text = self._partial[stream] + self._decoders[stream].decode(data)
        *lines, rest = text.split("\n")
        for line in lines:
            self._raw_line(stream, line)
        if len(rest) > 65536:
            self._raw_line(stream, rest)
            rest = ""
        self._partial[stream] = rest

    def _raw_line(self, stream: str, line: str) -> None:
        self._notice(line)
        self.line(stream, line)

    def _notice(self, text: str) -> None:
        if any(mark.strip() in text for mark in OUT_OF_MEMORY_MARKS):
            self._out_of_memory = True

    def line(self, stream: str, text: str) -> None:
        """One printed text without its newline."""
        if stream not in self._partial:
            raise ValueError(stream)
        if self._is_full:
            self._lost += len(text) + 1
            return
        data = text.encode("utf-8", "replace")
        room = self.max_bytes - self._kept
        if len(data) > room or self._n_lines >= MAX_LINES:
            self._is_full = True
            kept = data[: max(room, 0)] if self._n_lines < MAX_LINES else b""
            self._lost += len(data) - len(kept) + (0 if kept else 1)
            if not kept:
                return
            data = kept
        self._kept += len(data) + 1  # its newline counts, so that empty lines are not free
        self._n_lines += 1
        self._send({"type": "log", "stream": stream, "text": data.decode("utf-8", "ignore")})

    def flush(self) -> None:
        """Send what has no newline yet."""
        for stream, decoder in self._decoders.items():
            rest = self._partial[stream] + decoder.decode(b"", final=True)
            self._partial[stream] = ""
            if rest:
                self._raw_line(stream, rest)

    def tells_out_of_memory(self) -> bool:
        """The language runtime itself said that it has no memory left."""
        return self._out_of_memory

    def truncated(self) -> list[str]:
        return [f"logs: {self._lost} bytes dropped"] if self._is_full else []
