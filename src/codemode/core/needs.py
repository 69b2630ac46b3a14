"""What the outbound flow asks for, and in what form it is told."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from codemode.core.audit import AuditEvent
from codemode.core.call import FileValue, Request
from codemode.core.credential import Credential
from codemode.core.ledger import Entry
from codemode.core.run import CallRecord, Reply
from codemode.core.tool import JsonValue, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedApproval:
    """Asks a person; sent True or False."""

    tool: Tool
    args: Mapping[str, JsonValue]
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedFile:
    """Asks for a workspace file; sent its bytes."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedReserve:
    """
    Reserves *entry*; sent None, or the earlier entry of that key, which then stands.

    With ``entry.attempt`` above 1 the earlier one of one attempt less is replaced.
    """

    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedSecret:
    """Asks for a credential's secret; sent a `Secret`. *fresh*: not a remembered one."""

    credential: Credential
    fresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedSend:
    """Sends *request*; sent the `Response`."""

    via: str
    request: Request


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedExecuted:
    """Notes in the ledger that the service has answered; sent None."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedWrite:
    """Writes a file into the workspace; sent None."""

    file: FileValue


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedFinalise:
    """Completes the ledger's entry; sent None."""

    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedRecord:
    """The last need of every call: what the operator and the run's answer list."""

    event: AuditEvent
    record: CallRecord


Need: TypeAlias = (
    NeedApproval
    | NeedFile
    | NeedReserve
    | NeedSecret
    | NeedSend
    | NeedExecuted
    | NeedWrite
    | NeedFinalise
    | NeedRecord
)
Supply: TypeAlias = Any
"""Whatever the need's class says it is sent."""
Flow: TypeAlias = Generator[Need, Supply, Reply]
