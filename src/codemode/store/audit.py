"""The audit file: JSON lines, one per call, in the order they ended."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

from codemode.core.audit import AuditEvent
from codemode.errors import ConfigError

_FIELDS = tuple(field.name for field in fields(AuditEvent))


class AuditFile:
    """
    Appends events; each is one ``write`` of one line, so processes may share the file.

    A line of a call that may have changed something is flushed to disk at once;
    lines of reads are left to the system.

    Args:
        path: Created with its folder, readable by its owner only.

    Raises:
        ConfigError: If the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(
                f"The audit file {path} cannot be written: {error.strerror}",
                hint="Set audit.file in codemode.toml.",
            ) from None
        self._lock = threading.Lock()
        self._closed = False

    async def write(self, event: AuditEvent, *, duration_ms: float) -> None:
        """Append one event. Absent fields are left out."""
        if event.effect != "read" and event.state in ("applied", "unknown"):
            # A flush takes milliseconds; other calls go on meanwhile.
            await asyncio.to_thread(self._append, event, duration_ms, flush=True)
        else:
            self._append(event, duration_ms, flush=False)

    def _append(self, event: AuditEvent, duration_ms: float, *, flush: bool) -> None:
        given = {
            name: value
            for name in _FIELDS
            if (value := getattr(event, name)) not in (None, "", (), [], False) or name == "state"
        }
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"at": at, **given, "duration_ms": round(duration_ms, 3)})
        with self._lock:
            if self._closed:
                return
            os.write(self._fd, line.encode() + b"\n")
            if flush:
                os.fdatasync(self._fd)

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._fd)


class NoAudit:
    """For dry runs and tests: keeps the events in memory."""

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []

    async def write(self, event: AuditEvent, *, duration_ms: float) -> None:
        self.events.append(event)

    def close(self) -> None:
        return None
