"""
Engines: what makes sandboxes. To add one, add a module here that defines
``ENGINE``; the service, ``codemode doctor`` and the contract suite find it by its
file name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TypeAlias

from codemode.core.run import Engine

__all__ = ["EngineFactory", "load", "names"]

EngineFactory: TypeAlias = Callable[..., Engine]
"""``ENGINE(**settings) -> Engine``; every setting has a default, nothing is started."""


def names() -> list[str]:
    """Names of all engines, sorted. Nothing is imported: a Docker client takes its time."""
    return sorted(module.name for module in iter_modules(__path__) if _is_engine(module.name))


def _is_engine(name: str) -> bool:
    if name.startswith("_"):
        return False
    spec = find_spec(f"{__name__}.{name}")
    source = getattr(spec.loader, "get_source", lambda _: None)(spec.name) if spec else None
    return bool(re.search(r"^(def )?ENGINE\b", source or "", re.MULTILINE))


def load(name: str) -> EngineFactory:
    """
    Import one engine's factory.

    Raises:
        ModuleNotFoundError: If there is none of that name.
    """
    factory: EngineFactory = import_module(f"{__name__}.{name}").ENGINE
    return factory
