"""
What a call's durable record says, and what may be done because of it.

A call is *reserved* before anything is sent, *executed* once the service has
answered (writes alone), *finalised* with what the script was told. Reserved without finalised
means that nobody knows whether it happened.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, TypeAlias

from codemode.core.run import CallError, CallState
from codemode.core.tool import JsonValue, Tool

LedgerState: TypeAlias = Literal["reserved", "executed", "finalised"]

KEY_LIFE_S = 12 * 3600.0
"""How long a service that takes idempotency keys is trusted to know one (most: 24 h)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """
    One call in the ledger.

    Args:
        key: `call_key`; the same call of the same run has the same key for good.
        durable: Reserving it must survive a power cut; only reads can do without.
        state: How far it came.
        outcome: Set once finalised.
        attempt: How often it was reserved, from 1.
        value: What the script was told; only if *has_value*.
        age_s: Since it was reserved.
    """

    key: str
    run_id: str
    run_key: str
    tool: str
    durable: bool = True
    attempt: int = 1
    state: LedgerState = "reserved"
    outcome: CallState | None = None
    has_value: bool = False
    value: JsonValue = field(default=None, repr=False)
    error: CallError | None = None
    age_s: float = 0.0


def canonical(args: Mapping[str, JsonValue]) -> bytes:
    """*args* in one spelling: keys sorted, no spaces, 1.0 as 1."""
    return json.dumps(
        _same_numbers(args), sort_keys=True, separators=(",", ":"), ensure_ascii=True
    ).encode()


def _same_numbers(value: JsonValue) -> JsonValue:
    """JSON has one kind of number, and JavaScript writes 1.0 as 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _same_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_same_numbers(item) for item in value]
    return value


def call_key(run_key: str, tool: str, args: Mapping[str, JsonValue], nth: int) -> str:
    """Key of the *nth* identical call (from 0) of a run; 64 hexadecimal digits."""
    digest = sha256()
    for part in (run_key.encode(), tool.encode(), canonical(args), str(nth).encode()):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


class Slots:
    """
    Numbers identical calls of one run: which *nth* a new one is.

    A failed attempt gives its number back, so that a retry is the same call with
    the same key; so does one of unknown outcome, so that its retry meets the
    ledger's record instead of a second effect.
    """

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: dict[str, set[int]] = {}

    def take(self, digest: str) -> int:
        """The lowest free number for calls of this *digest*."""
        taken = self._taken.setdefault(digest, set())
        nth = next(number for number in range(len(taken) + 1) if number not in taken)
        taken.add(nth)
        return nth

    def give_back(self, digest: str, nth: int) -> None:
        self._taken[digest].discard(nth)


Verdict: TypeAlias = Literal["send", "replay", "unknown"]


def decide_replay(tool: Tool, earlier: Entry | None) -> Verdict:
    """
    What to do with a call that the ledger may know already. First match wins:

    ==  =======================================================  =======
    1   not known, or it failed or was refused before            send
    2   finalised as applied, and its value was kept             replay
    3   a read                                                   send
    4   finalised as applied, and its answer was an error        replay
    5   the row says that repeating it is harmless               send
    6   the service takes idempotency keys, and still knows it   send
    7   reserved, executed, unknown, or the value was not kept   unknown
    ==  =======================================================  =======
    """
    if earlier is None or earlier.outcome in ("failed", "refused"):
        return "send"
    if earlier.outcome == "applied" and earlier.has_value:
        return "replay"
    if tool.effect == "read":
        return "send"
    if earlier.outcome == "applied" and earlier.error is not None:
        return "replay"
    if tool.idempotent:
        return "send"
    if tool.idempotency_header and earlier.age_s < KEY_LIFE_S:
        return "send"
    return "unknown"
