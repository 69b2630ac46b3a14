"""
The workspace's files: read, written and collected without following a link.

Every path is walked one component at a time from the workspace's own
descriptor with ``O_NOFOLLOW``, so no symlink, ``..`` or absolute path leads out
and none can be swapped in while a path is being judged.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from itertools import islice

MAX_DEPTH = 32
MAX_FILES = 1000
MAX_VISITED = 20_000
MAX_NAME_BYTES = 255

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLAIN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Refused(Exception):
    """A path or file that is not the workspace's to give. The message is for the caller."""


def split(path: str) -> list[str]:
    """
    Components of a workspace path.

    Raises:
        Refused: If it is absolute, empty, holds ``..``, a backslash or NUL, or is too deep.
    """
    if not isinstance(path, str) or not path or "\0" in path or "\\" in path:
        raise Refused(f"{path!r} is not a workspace path")
    if path.startswith("/"):
        raise Refused(f"{path!r} is absolute; paths are relative to the workspace")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise Refused(f"{path!r} leaves the workspace or names no file")
    if len(parts) > MAX_DEPTH or any(len(os.fsencode(p)) > MAX_NAME_BYTES for p in parts):
        raise Refused(f"{path[:80]!r} is too deep or has too long a name")
    return parts


class Workspace:
    """Files below *root*. Paths are relative and ``/``-separated."""

    def __init__(self, root: str) -> None:
        self._root = os.open(root, _FOLDER)
        self._before: dict[str, tuple[int, int, int]] = {}

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a regular file; folders on the way are made."""
        *folders, name = split(path)
        folder = self._enter(folders, make=True)
        try:
            fd = os.open(name, os.O_WRONLY | os.O_CREAT | _PLAIN, 0o644, dir_fd=folder)
        except OSError as error:
            raise Refused(f"{path!r}: {error.strerror}") from None
        finally:
            os.close(folder)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise Refused(f"{path!r} is not a regular file")
            os.ftruncate(fd, 0)
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
        except OSError as error:
            raise Refused(f"{path!r}: {error.strerror}") from None
        finally:
            os.close(fd)

    def read(self, path: str, max_bytes: int) -> bytes:
        """A regular file of at most *max_bytes*."""
        *folders, name = split(path)
        folder = self._enter(folders, make=False)
        try:
            return _read(folder, name, path, max_bytes)
        finally:
            os.close(folder)

    def folder(self, path: str) -> str:
        """
        An absolute path for a child's working folder.

        Raises:
            Refused: If *path* is no folder inside the workspace.
        """
        parts = [] if path in ("", ".") else split(path)
        fd = self._enter(parts, make=False)
        try:
            return os.readlink(f"/proc/self/fd/{fd}")
        finally:
            os.close(fd)

    def remember(self) -> None:
        """Note what is there now, so that `collect` gives only what changed."""
        self._before = {path: _mark(info) for path, info in self._walk()}

    def collect(self, max_bytes: int) -> tuple[list[tuple[str, bytes]], list[str]]:
        """
        Files made or changed since `remember`, sorted by path.

        Returns:
            ``[(path, data)]`` of at most *max_bytes* together, and what was left out, in words.
        """
        changed: list[tuple[str, int]] = []
        for path, info in self._walk():
            if self._before.get(path) != _mark(info):
                changed.append((path, info.st_size))
        found: list[tuple[str, bytes]] = []
        left: list[str] = []
        room = max_bytes
        for path, size in sorted(changed):
            if len(found) >= MAX_FILES or size > room:
                left.append(path)
                continue
            try:
                data = self.read(path, room)
            except Refused:
                left.append(path)
                continue
            room -= len(data)
            found.append((path, data))
        if not left:
            return found, []
        names = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
        return found, [
            f"files: not returned, {max_bytes} bytes and {MAX_FILES} files at most: {names}"
        ]

    def _enter(self, folders: list[str], *, make: bool) -> int:
        fd = os.dup(self._root)
        for name in folders:
            try:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, 0o755, dir_fd=fd)
                below = os.open(name, _FOLDER, dir_fd=fd)
            except OSError as error:
                raise Refused(f"{'/'.join(folders)!r}: {error.strerror}") from None
            finally:
                os.close(fd)
            fd = below
        return fd

    def _walk(self) -> Iterator[tuple[str, os.stat_result]]:
        visited = 0
        stack: list[list[str]] = [[]]
        while stack:
            above = stack.pop()
            try:
                folder = self._enter(above, make=False)
            except Refused:
                continue  # it vanished or became a link: then it is not a result
            try:
                with os.scandir(folder) as entries:
                    listed = list(islice(entries, MAX_VISITED - visited))
                    visited += len(listed)
                    for entry in listed:
                        here = [*above, entry.name]
                        info = entry.stat(follow_symlinks=False)
                        if not _sayable(entry.name):
                            continue
                        if stat.S_ISREG(info.st_mode):
                            yield "/".join(here), info
                        elif stat.S_ISDIR(info.st_mode) and len(here) < MAX_DEPTH:
                            stack.append(here)
            except OSError:
                continue
            finally:
                os.close(folder)


def _read(folder: int, name: str, path: str, max_bytes: int) -> bytes:
    try:
        fd = os.open(name, os.O_RDONLY | _PLAIN, dir_fd=folder)
    except OSError as error:
        raise Refused(f"{path!r}: {error.strerror}") from None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise Refused(f"{path!r} is not a regular file")
        if info.st_size > max_bytes:
            raise Refused(f"{path!r} has {info.st_size} bytes; {max_bytes} may be read")
        data = bytearray()
        while len(data) <= max_bytes:
            block = os.read(fd, min(1 << 20, max_bytes + 1 - len(data)))
            if not block:
                return bytes(data)
            data += block
        raise Refused(f"{path!r} has more than {max_bytes} bytes")
    except OSError as error:
        raise Refused(f"{path!r}: {error.strerror}") from None
    finally:
        os.close(fd)


def _mark(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_mtime_ns, info.st_size, info.st_ino


def _sayable(name: str) -> bool:
    """Names that cannot be said in UTF-8 or a workspace path are not returned."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\\" not in name
