"""Templates in, stubs out: what generation reads and writes on disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from codemode.errors import ConfigError
from codemode.store.shipped import shipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """
    How a folder differs from what would be written there. Paths, sorted.

    Args:
        stale: There with other content.
        missing: Not there.
        extra: There, but nothing makes it any more.
    """

    stale: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.stale or self.missing or self.extra)


def read_templates(target: str, folder: Path | None = None) -> dict[str, str]:
    """
    Template name -> text, of one target.

    Args:
        folder: Holds one folder a target; the shipped one if None.

    Raises:
        ConfigError: If there are none.
    """
    folder = (folder or shipped("templates")) / target
    templates = {path.name: path.read_text("utf-8") for path in sorted(folder.glob("*.j2"))}
    if not templates:
        raise ConfigError(
            f"There are no templates for the target {target!r} in {folder}.",
            hint="Add one *.j2 file for each file the target writes.",
        )
    return templates


def compare(out: Path, files: Mapping[str, str]) -> Difference:
    """What `write` would change in *out*."""
    there = _present(out)
    return Difference(
        stale=tuple(
            path
            for path, text in sorted(files.items())
            if path in there and (out / path).read_bytes() != text.encode()
        ),
        missing=tuple(sorted(files.keys() - there)),
        extra=tuple(sorted(there - files.keys())),
    )


def write(out: Path, files: Mapping[str, str]) -> list[str]:
    """
    Make *out* hold exactly *files*; touch only what differs.

    Each file is replaced whole, so a reader never sees half of one.

    Returns:
        Paths written or removed, sorted.
    """
    difference = compare(out, files)
    for path in (*difference.stale, *difference.missing):
        _replace(out / path, files[path].encode())
    for path in difference.extra:
        (out / path).unlink()
    for folder in sorted((path for path in out.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    return sorted((*difference.stale, *difference.missing, *difference.extra))


def _present(out: Path) -> set[str]:
    """Files in *out*, hidden ones aside."""
    return {
        path.relative_to(out).as_posix()
        for path in out.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(out).parts)
    }


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=".", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
