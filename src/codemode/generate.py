"""Directory x target -> files. Pure: the rim reads templates and writes what comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from codemode.core.garbage import nothing_is_garbage
from codemode.core.reference import Unresolved, find
from codemode.core.tool import Directory, Tool
from codemode.targets import Loss, Target

MAX_STEPS = 8
"""References that are followed from an argument to its description."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """
    Stubs in one language.

    Args:
        files: Path below the target's folder -> text, sorted by path.
        losses: What schemas say that the language cannot; by tool, then path.
        untyped: Ids of tools whose row does not say what they return.
        undescribed: Arguments that their row does not describe: ``github.gists_get.id``.
        unwritten: Ids of tools whose when_to_use nobody has written yet.
    """

    files: dict[str, str]
    losses: tuple[Loss, ...]
    untyped: tuple[str, ...]
    undescribed: tuple[str, ...]
    unwritten: tuple[str, ...]


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
    return Generated(
        files=files,
        losses=tuple(losses),
        untyped=tuple(tool.id for tool in directory if tool.returns is None),
        undescribed=tuple(name for tool in directory for name in _undescribed(tool)),
        unwritten=tuple(tool.id for tool in directory if not tool.when_to_use),
    )


def _undescribed(tool: Tool) -> Iterator[str]:
    properties = tool.args.get("properties")
    for name, schema in properties.items() if isinstance(properties, Mapping) else ():
        if not _is_described(schema, tool):
            yield f"{tool.id}.{name}"


def _is_described(schema: Any, tool: Tool) -> bool:
    """By its own words, or by those of the definition that it is."""
    root: Any = tool.args
    in_defs = False
    for _ in range(MAX_STEPS):
        if not isinstance(schema, Mapping):
            return False
        said = schema.get("description")
        if isinstance(said, str) and said.strip():
            return True
        if "$ref" not in schema:
            return False
        try:
            target = find(schema["$ref"], root, tool.toolset.defs, in_defs=in_defs)
        except Unresolved:
            return False
        schema = target.schema
        if target.shared:
            root, in_defs = schema, True
    return False
