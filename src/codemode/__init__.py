"""
codemode: a directory of tools as a typed API, and one sandboxed run of a script against it.

>>> from codemode import Codemode
>>> async with Codemode.open() as codemode:  # doctest: +SKIP
...     result = await codemode.run("return 1 + 1", language="python")

Fakes for your own tests are in `codemode.testing`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codemode.core.policy import Policy
    from codemode.core.run import CheckReport, FileData, RunResult
    from codemode.errors import CodemodeError
    from codemode.service import Codemode
    from codemode.store.config import Config, parse_config, read_config

__all__ = [
    "CheckReport",
    "Codemode",
    "CodemodeError",
    "Config",
    "FileData",
    "Policy",
    "RunResult",
    "parse_config",
    "read_config",
]

_HOMES = {
    "CheckReport": "codemode.core.run",
    "Codemode": "codemode.service",
    "CodemodeError": "codemode.errors",
    "Config": "codemode.store.config",
    "FileData": "codemode.core.run",
    "Policy": "codemode.core.policy",
    "RunResult": "codemode.core.run",
    "parse_config": "codemode.store.config",
    "read_config": "codemode.store.config",
}


def __getattr__(name: str) -> Any:
    """Public names, imported when first used: ``import codemode`` itself costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'codemode' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
