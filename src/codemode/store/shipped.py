"""Where the folders that ship with codemode are: in the wheel, or in a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

PACKAGE = Path(__file__).resolve().parent.parent


def shipped(name: Literal["directory", "templates", "generated", "sandbox_image"]) -> Path:
    """Folder *name*: inside the installed package, or beside ``src/`` in a checkout."""
    installed = PACKAGE / "shipped" / name
    return installed if installed.is_dir() else PACKAGE.parent.parent / name
