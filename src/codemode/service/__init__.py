"""
The verbs, once: search, describe, check, run. Every edge is a wire format over these.

`codemode` holds them, `wiring` builds what they stand on from the operator's config,
`generation`, `importing` and `doctor` are the developer's side.
"""

from codemode.service.codemode import Codemode

__all__ = ["Codemode"]
