"""Records of past runs: one JSON file each, for ``codemode runs``. No file contents, no secrets."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from codemode.errors import UnknownRun

_ID = re.compile(r"^[0-9A-Za-z_-]{1,64}$")
KEEP = 1000
"""Records kept; the oldest go first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One line of ``codemode runs list``. *at* is UTC, ISO 8601."""

    run_id: str
    at: str
    status: str
    engine: str
    n_calls: int
    wall_ms: float


class RunStore:
    """
    Args:
        folder: Made on the first write, readable by its owner only.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, run_id: str, record: dict[str, Any]) -> None:
        """Keep *record*, the JSON form of a run's answer (already scrubbed)."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        whole = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **record}
        path = self._folder / f"{run_id}.json"
        part = path.with_suffix(".part")
        # A lone surrogate becomes its own JSON escape, so that no record is lost for it.
        part.write_bytes(json.dumps(whole, ensure_ascii=False).encode("utf-8", "backslashreplace"))
        part.chmod(0o600)
        part.replace(path)
        for old in self._newest_first()[KEEP:]:
            old.unlink(missing_ok=True)

    def latest(self, *, limit: int = 20) -> list[RunSummary]:
        """The latest runs, newest first. A record that cannot be read is left out."""
        found = []
        for path in self._newest_first()[:limit]:
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
                found.append(
                    RunSummary(
                        run_id=record["run_id"],
                        at=record["at"],
                        status=record["status"],
                        engine=record["engine"],
                        n_calls=len(record["calls"]),
                        wall_ms=record["usage"]["wall_ms"],
                    )
                )
            except (OSError, ValueError, KeyError):
                continue
        return found

    def read(self, run_id: str) -> dict[str, Any]:
        """
        One record, whole.

        Raises:
            UnknownRun: If there is none of that id.
        """
        path = self._folder / f"{run_id}.json"
        if not _ID.match(run_id) or not path.is_file():
            raise UnknownRun(
                f"There is no run {run_id[:64]!r}.", hint="codemode runs list shows the latest."
            )
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return record

    def _newest_first(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)[::-1]
