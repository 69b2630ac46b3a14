"""``codemode import``: what people already have, as rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any


async def import_mcp(
    source: list[str], *, toolset: str, out: Path, dry_run: bool
) -> dict[str, Any]:
    raise NotImplementedError
