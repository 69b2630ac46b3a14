"""``codemode generate``: read the directory, write or compare the stubs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from codemode import bindings, targets
from codemode.core.tool import Quarantined
from codemode.errors import ConfigError
from codemode.generate import generate as generate_stubs
from codemode.service.directory import read_directory
from codemode.store import generated
from codemode.store.config import Config
from codemode.targets import Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """
    What one generation did.

    Args:
        changed: Files written or removed (with *check*: that would be), as
            ``target/path`` below the output folder.
        untyped: Ids of tools whose row does not say what they return.
        undescribed: Arguments that their row does not describe, as ``tool id.argument``.
        unwritten: Ids of tools whose when_to_use nobody has written yet.
    """

    n_tools: int
    n_files: int
    changed: tuple[str, ...]
    quarantined: tuple[Quarantined, ...]
    losses: tuple[Loss, ...]
    untyped: tuple[str, ...]
    undescribed: tuple[str, ...]
    unwritten: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Every row is there and says what a row has to say."""
        return not (self.quarantined or self.undescribed or self.unwritten)

    def as_json(self) -> dict[str, Any]:
        return {
            "n_tools": self.n_tools,
            "n_files": self.n_files,
            "changed": list(self.changed),
            "quarantined": [asdict(row) for row in self.quarantined],
            "losses": [asdict(loss) for loss in self.losses],
            "untyped": list(self.untyped),
            "undescribed": list(self.undescribed),
            "unwritten": list(self.unwritten),
        }


def generate(config: Config, *, target: str, out: Path, check: bool) -> Generation:
    """
    Generate the stubs of the directory that *config* names.

    Args:
        target: A target's name, or ``all``.
        out: Gets one folder per target.
        check: Compare only; write nothing.

    Raises:
        ConfigError: If there is no such target.
        DirectoryError: If the directory cannot be read, or two rows collide.
    """
    known = targets.names()
    if target != "all" and target not in known:
        raise ConfigError(
            f"There is no target {target!r}.", hint=f"Known: all, {', '.join(known)}."
        )
    directory = read_directory(config, bindings.load_all())
    losses: dict[tuple[str, str, str], Loss] = {}
    changed: list[str] = []
    n_files = 0
    untyped: tuple[str, ...] = ()
    undescribed: tuple[str, ...] = ()
    unwritten: tuple[str, ...] = ()
    for name in known if target == "all" else [target]:
        made = generate_stubs(directory, targets.load(name), generated.read_templates(name))
        if check:
            found = generated.compare(out / name, made.files)
            differing = sorted((*found.stale, *found.missing, *found.extra))
        else:
            differing = generated.write(out / name, made.files)
        changed += [f"{name}/{path}" for path in differing]
        losses |= {(loss.tool, loss.path, loss.reason): loss for loss in made.losses}
        untyped, undescribed, unwritten = made.untyped, made.undescribed, made.unwritten
        n_files += len(made.files)
    return Generation(
        n_tools=len(directory),
        n_files=n_files,
        changed=tuple(changed),
        quarantined=directory.quarantined,
        losses=tuple(losses.values()),
        untyped=untyped,
        undescribed=undescribed,
        unwritten=unwritten,
    )
