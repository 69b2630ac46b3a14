"""A private temporary folder that goes away, at the latest when somebody starts next."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path
from typing import IO

LOCK = "lock"


class Folder:
    """
    A new folder in the system's temporary one; folders of dead owners are removed.

    An owner holds a lock while it lives, so that one that was killed is known by it.

    Args:
        prefix: Of the folder's name; the same for all owners of a kind.
    """

    def __init__(self, prefix: str) -> None:
        _sweep(prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._lock: IO[bytes] | None = _locked(self.path / LOCK)

    def remove(self) -> None:
        """Delete it and what it holds. Idempotent."""
        lock, self._lock = self._lock, None
        shutil.rmtree(self.path, ignore_errors=True)
        if lock is not None:
            lock.close()


def _sweep(prefix: str) -> None:
    if sys.platform == "win32":
        return
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if (path / LOCK).exists() and (lock := _locked(path / LOCK)) is not None:
                shutil.rmtree(path, ignore_errors=True)
                lock.close()


def _locked(path: Path) -> IO[bytes] | None:
    """An open, locked file, or None if another process holds it."""
    if sys.platform == "win32":
        return None
    import fcntl

    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
