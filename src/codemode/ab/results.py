"""
What is kept on disk: the plan, a line for each finished session, a line for each message paid.

A line is there as a whole or not at all; a last line that was cut by a crash is removed, and
its session is run again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TypeAlias

from codemode.ab.conversation import Spent
from codemode.ab.plan import Plan, parse_plan
from codemode.errors import ConfigError

Cell: TypeAlias = tuple[str, str, int]
"""(task, surface, seed)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """
    One finished session.

    Args:
        problems: What the world lacks or has too much; empty if the task was done.
        usd: None without prices.
        trace: Path below the folder.
        model: The name that the service answered under.
    """

    task: str
    surface: str
    seed: int
    solved: bool
    problems: tuple[str, ...]
    end: str
    turns: int
    calls: int
    input: int
    cached: int
    output: int
    seconds: float
    usd: float | None
    trace: str
    model: str

    @property
    def cell(self) -> Cell:
        return self.task, self.surface, self.seed

    @property
    def tokens(self) -> int:
        return self.input + self.cached + self.output


class Results:
    """
    The folder of one experiment. Use it in a ``with`` block: one process at a time writes.

    Raises:
        ConfigError: If the folder holds results of another plan, or another process has it.
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self.finished: dict[Cell, Finished] = {}
        self.spent: list[Spent] = []
        self.seconds = 0.0
        self._files: dict[str, IO[bytes]] = {}

    def __enter__(self) -> Results:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._keep_plan()
        for name in ("sessions", "spent"):
            self._files[name] = (self.folder / f"{name}.jsonl").open("ab")
        _lock(self._files["sessions"], self.folder)
        for name in self._files:
            _mend(self.folder / f"{name}.jsonl")
        for session in read_finished(self.folder):
            self.finished[session.cell] = session
        for line in _lines(self.folder / "spent.jsonl"):
            self.spent.append(
                Spent(input=line["input"], cached=line["cached"], output=line["output"])
            )
            self.seconds += line["seconds"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in self._files.values():
            file.close()

    def pay(self, cell: Cell, spent: Spent, seconds: float) -> None:
        """Note what one message cost, finished session or not."""
        self.spent.append(spent)
        self.seconds += seconds
        self._append("spent", {"cell": list(cell), "seconds": round(seconds, 3), **asdict(spent)})

    def finish(self, session: Finished, trace: dict[str, Any]) -> None:
        """Keep the trace, then the line that says the session is done."""
        path = self.folder / session.trace
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(trace, ensure_ascii=False), encoding="utf-8")
        part.replace(path)
        self._append("sessions", asdict(session))
        self.finished[session.cell] = session

    def _append(self, name: str, line: dict[str, Any]) -> None:
        file = self._files[name]
        file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())

    def _keep_plan(self) -> None:
        path = self.folder / "plan.json"
        if path.exists():
            known = json.loads(path.read_bytes())["hash"]
            if known != self.plan.hash:
                raise ConfigError(
                    f"{self.folder} holds results of another plan ({known[:12]}, this one is "
                    f"{self.plan.hash[:12]}).",
                    hint="A plan does not change once the first call is made: take a new folder.",
                )
            return
        kept = {"hash": self.plan.hash, "plan": self.plan.model_dump(mode="json")}
        path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def read_results(folder: Path) -> tuple[Plan, list[Finished]]:
    """
    A folder that is not being written to.

    Raises:
        ConfigError: If it holds no results, or its plan was edited.
    """
    path = folder / "plan.json"
    try:
        kept = json.loads(path.read_bytes())
        plan = parse_plan(kept["plan"], origin=str(path))
    except (OSError, ValueError, KeyError, TypeError):
        raise ConfigError(
            f"{folder} holds no results.", hint="codemode ab run PLAN --out FOLDER makes some."
        ) from None
    if plan.hash != kept["hash"]:
        raise ConfigError(f"{path} was edited: its hash is not that of its plan.")
    return plan, list(read_finished(folder))


def read_finished(folder: Path) -> Iterator[Finished]:
    for line in _lines(folder / "sessions.jsonl"):
        yield Finished(**{**line, "problems": tuple(line["problems"])})


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield json.loads(line)


def _mend(path: Path) -> None:
    """Remove a last line that a crash cut short."""
    if not path.exists():
        return
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole != len(data):
        with path.open("r+b") as file:
            file.truncate(whole)


def _lock(file: IO[bytes], folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on this system: one process is the user's to see to
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ConfigError(
            f"Another process is writing to {folder}.", hint="Wait for it, or end it."
        ) from None
