"""One line an operator reads: who, what, which rule, which credential, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codemode.core.run import CallState
from codemode.core.tool import Effect, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """
    One tool call. Never a secret; arguments only if the operator turned that on.

    Args:
        seq: As in `codemode.core.run.CallRecord`.
        rule: The policy rule that decided, such as ``default:read``.
        credential: Name of the credential attached, or None.
        destinations: Scheme, host and port of each hop, in order; for other
            bindings what was reached (``mcp:git``).
        key: The call's ledger key.
        replayed: Answered from the ledger; nothing was sent.
        error: Code of the error the script got, or None.
        mismatch: Where the answer does not fit ``returns``, or "".
        args: Only with ``audit.include_arguments``.
    """

    run_id: str
    seq: int
    tool: str
    effect: Effect | None
    state: CallState
    rule: str = ""
    credential: str | None = None
    destinations: tuple[str, ...] = ()
    key: str = ""
    replayed: bool = False
    status: int | None = None
    sent_bytes: int = 0
    received_bytes: int = 0
    error: str | None = None
    mismatch: str = ""
    args: Mapping[str, JsonValue] | None = None
