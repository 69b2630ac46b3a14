"""
Engines: what makes sandboxes. To add one, add a module here that defines
``ENGINE``; the service, ``codemode doctor`` and the contract suite find it by its
file name. A name that begins with ``_`` is a part of an engine, not one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeAlias

from codemode.core.run import Engine

__all__ = ["EngineFactory", "load", "names"]

EngineFactory: TypeAlias = Callable[..., Engine]
"""``ENGINE(**settings) -> Engine``; every setting has a default, nothing is started."""


def names() -> list[str]:
    """Names of all engines, sorted."""
    return sorted(
        module.name for module in iter_modules(__path__) if not module.name.startswith("_")
    )


def load(name: str) -> EngineFactory:
    """
    Import one engine's factory.

    Raises:
        ModuleNotFoundError: If there is none of that name.
    """
    factory: EngineFactory = import_module(f"{__name__}.{name}").ENGINE
    return factory
