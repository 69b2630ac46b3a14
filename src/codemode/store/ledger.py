"""
The ledger on disk: SQLite in WAL mode, one row per call.

A write is reserved with a flush to disk before anything is sent, so that even a
power cut cannot hide that it may have happened. Reads and later states survive
the death of this process, which is what decides a run's answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

from codemode.core.ledger import Entry
from codemode.core.run import CallError
from codemode.errors import ConfigError

MAX_VALUE_BYTES = 4 * 1024 * 1024
"""A longer value is not kept; its call can then not be replayed."""
KEEP_S = 90 * 24 * 3600.0
"""A run key protects its calls this long."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    run_key TEXT NOT NULL,
    tool TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'executed', 'finalised')),
    outcome TEXT,
    value TEXT,
    error TEXT,
    reserved_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS calls_by_run ON calls (run_id);
CREATE INDEX IF NOT EXISTS calls_by_age ON calls (reserved_at);
"""
_COLUMNS = "key, run_id, run_key, tool, attempt, state, outcome, value, error, reserved_at"


class SqliteLedger:
    """
    One file for all runs of one host. Several processes may share it.

    Args:
        path: Created with its folder, readable by its owner only.

    Raises:
        ConfigError: If the file cannot be made or is no ledger.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=10
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)
            self.forget(older_than_s=KEEP_S)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"The ledger {path} cannot be used: {error}",
                hint="Set state in codemode.toml to a folder that can be written.",
            ) from None

    async def reserve(self, entry: Entry) -> Entry | None:
        """
        Reserve *entry*, or give the one that has its key.

        With ``attempt`` above 1 the earlier one is replaced if it still is of the
        attempt before; otherwise another process was quicker and its entry is given.
        """
        if entry.durable:  # a flush to disk takes milliseconds; others go on meanwhile
            return await asyncio.to_thread(self._reserve, entry)
        return self._reserve(entry)

    def _reserve(self, entry: Entry) -> Entry | None:
        row = (entry.key, entry.run_id, entry.run_key, entry.tool, entry.attempt, time.time())
        with self._lock:
            if entry.durable:
                self._db.execute("PRAGMA synchronous=FULL")
            try:
                if entry.attempt == 1:
                    done = self._db.execute(
                        "INSERT OR IGNORE INTO calls"
                        " (key, run_id, run_key, tool, attempt, state, reserved_at)"
                        " VALUES (?, ?, ?, ?, ?, 'reserved', ?)",
                        row,
                    )
                else:
                    done = self._db.execute(
                        "UPDATE calls SET run_id = ?2, attempt = ?5, state = 'reserved',"
                        " outcome = NULL, value = NULL, error = NULL, reserved_at = ?6"
                        " WHERE key = ?1 AND attempt = ?5 - 1 AND run_key = ?3 AND tool = ?4",
                        row,
                    )
            finally:
                if entry.durable:
                    self._db.execute("PRAGMA synchronous=NORMAL")
            return None if done.rowcount == 1 else self._find(entry.key)

    async def executed(self, key: str) -> None:
        """The service has answered; what it said follows with `finalise`."""
        with self._lock:
            self._db.execute(
                "UPDATE calls SET state = 'executed' WHERE key = ? AND state = 'reserved'", (key,)
            )

    async def finalise(self, entry: Entry) -> None:
        """Complete *entry*, with its value if that is to be kept."""
        value = json.dumps(entry.value, separators=(",", ":")) if entry.has_value else None
        if value is not None and len(value) > MAX_VALUE_BYTES:
            value = None
        error = json.dumps(asdict(entry.error)) if entry.error is not None else None
        with self._lock:
            self._db.execute(
                "UPDATE calls SET state = 'finalised', outcome = ?, value = ?, error = ?"
                " WHERE key = ? AND attempt = ?",
                (entry.outcome, value, error, entry.key, entry.attempt),
            )

    def find(self, key: str) -> Entry | None:
        """One entry, or None."""
        with self._lock:
            return self._find(key)

    def of_run(self, run_id: str) -> list[Entry]:
        """Every call that *run_id* reserved, oldest first."""
        with self._lock:
            rows = self._db.execute(
                f"SELECT {_COLUMNS} FROM calls WHERE run_id = ? ORDER BY reserved_at",  # noqa: S608 - constant
                (run_id,),
            ).fetchall()
        return [_entry(row) for row in rows]

    def forget(self, *, older_than_s: float) -> int:
        """Delete entries of that age; how many. Their keys protect nothing afterwards."""
        with self._lock:
            done = self._db.execute(
                "DELETE FROM calls WHERE reserved_at < ?", (time.time() - older_than_s,)
            )
            return done.rowcount

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _find(self, key: str) -> Entry | None:
        row = self._db.execute(
            f"SELECT {_COLUMNS} FROM calls WHERE key = ?",  # noqa: S608 - constant
            (key,),
        ).fetchone()
        return _entry(row) if row is not None else None


def _entry(row: tuple[object, ...]) -> Entry:
    key, run_id, run_key, tool, attempt, state, outcome, value, error, reserved_at = row
    assert isinstance(reserved_at, float)
    assert isinstance(attempt, int)
    return Entry(
        key=str(key),
        run_id=str(run_id),
        run_key=str(run_key),
        tool=str(tool),
        attempt=attempt,
        state=str(state),  # type: ignore[arg-type] # the table's own CHECK
        outcome=None if outcome is None else str(outcome),  # type: ignore[arg-type]
        has_value=value is not None,
        value=json.loads(value) if isinstance(value, str) else None,
        error=CallError(**json.loads(error)) if isinstance(error, str) else None,
        # A clock that was set back makes no age negative.
        age_s=max(0.0, time.time() - reserved_at),
    )


class MemoryLedger:
    """For dry runs and tests: the same answers, gone with the process."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}

    async def reserve(self, entry: Entry) -> Entry | None:
        earlier = self.entries.get(entry.key)
        if earlier is not None and earlier.attempt != entry.attempt - 1:
            return earlier
        self.entries[entry.key] = entry
        return None

    async def executed(self, key: str) -> None:
        self.entries[key] = replace(self.entries[key], state="executed")

    async def finalise(self, entry: Entry) -> None:
        self.entries[entry.key] = entry
