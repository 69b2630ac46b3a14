"""Directory x target -> files. Pure: the rim reads templates and writes what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codemode.core.garbage import nothing_is_garbage
from codemode.core.tool import Directory
from codemode.targets import Loss, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """
    Stubs in one language.

    Args:
        files: Path below the target's folder -> text, sorted by path.
        losses: What schemas say that the language cannot; by tool, then path.
        untyped: Ids of tools whose row does not say what they return.
    """

    files: dict[str, str]
    losses: tuple[Loss, ...]
    untyped: tuple[str, ...]


def generate(directory: Directory, target: Target, templates: Mapping[str, str]) -> Generated:
    """
    Write the stubs of every toolset.

    Args:
        templates: Template name -> text, of this target.

    Raises:
        NameCollision: If two rows become one identifier; both are named.
        InvalidRow: If a name belongs to the language or the harness.
    """
    losses: list[Loss] = []
    with nothing_is_garbage():
        files = {file.path: file.text for file in target.files(directory, templates, losses)}
    losses.sort(key=lambda loss: (loss.tool, loss.path, loss.reason))
    untyped = tuple(tool.id for tool in directory if tool.returns is None)
    return Generated(files=files, losses=tuple(losses), untyped=untyped)
