"""
The verbs, once: search, describe, check, run. Every edge is a wire format over these.

`codemode` holds them, `wiring` builds what they stand on from the operator's config,
`generation` and `doctor` are the developer's side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codemode.service.codemode import Codemode

__all__ = ["Codemode"]


def __getattr__(name: str) -> Any:
    """`Codemode`, imported when first used: generating stubs needs no sandbox."""
    if name != "Codemode":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from codemode.service.codemode import Codemode

    return Codemode
