"""
Bindings: how a call reaches the world. To add one, add a module here that
defines ``BINDING`` (pure) and ``make_sender`` (I/O); rows name it with ``via``,
and the contract tests find it by its file name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from codemode.core.call import BindingModule, Sender


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderSettings:
    """
    What the operator's config and the service give to every sender.

    Args:
        allow_addresses: Exact addresses (or ``address:port``) that may be dialled
            although they are loopback, private or the host's own.
        mcp_servers: Name -> command, roots and environment.
        state_folder: Where a sender may keep files, or None.
        ca_bundle: More certificate authorities, or None.
        max_connections: Open at once, all hosts together.
    """

    allow_addresses: frozenset[str] = frozenset()
    mcp_servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    state_folder: Path | None = None
    ca_bundle: Path | None = None
    max_connections: int = 64


@cache
def names() -> tuple[str, ...]:
    """Names of all bindings, sorted; what ``via`` may say."""
    return tuple(
        sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))
    )


def load(name: str) -> BindingModule:
    """
    Import one binding.

    Raises:
        ModuleNotFoundError: If there is none of that name.
    """
    if name not in names():
        raise ModuleNotFoundError(f"there is no binding {name!r}; there are {', '.join(names())}")
    binding: BindingModule = import_module(f"{__name__}.{name}").BINDING
    return binding


def load_all() -> dict[str, BindingModule]:
    """Every binding, by name."""
    return {name: load(name) for name in names()}


def make_senders(settings: SenderSettings) -> dict[str, Sender]:
    """One sender for each binding, by name. Nothing is opened before its first call."""
    return {name: import_module(f"{__name__}.{name}").make_sender(settings) for name in names()}
