"""Tools as values, and a driver that supplies a flow's needs from a table."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from codemode.bindings import SenderSettings
from codemode.bindings import http as http_binding
from codemode.core.address import Destination
from codemode.core.audit import AuditEvent
from codemode.core.call import HttpRequest, Response
from codemode.core.credential import Credential, Lookup, Secret
from codemode.core.ledger import Entry
from codemode.core.needs import (
    Need,
    NeedApproval,
    NeedExecuted,
    NeedFile,
    NeedFinalise,
    NeedRecord,
    NeedReserve,
    NeedSecret,
    NeedSend,
    NeedWrite,
)
from codemode.core.outbound import OutboundRun
from codemode.core.run import CallRecord, Limits, Reply, ToolCall
from codemode.core.tool import Binding, Directory, Tool, Toolset
from codemode.errors import CodemodeError, MissingSecret
from codemode.outbound import Outbound
from codemode.store.audit import NoAudit
from codemode.store.ledger import MemoryLedger
from codemode.store.secrets import SecretStore

SECRET = "s3cr3t/Value+For=Tests"

ID_ARGS = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}


def http_tool(
    name: str = "get",
    *,
    args: Mapping[str, Any] | None = None,
    returns: Mapping[str, Any] | None = None,
    effect: Any = "read",
    toolset: str = "shop",
    defs: Mapping[str, Any] | None = None,
    idempotent: bool = False,
    idempotency_header: str | None = None,
    where: Any = "any",
    **binding: Any,
) -> Tool:
    """A tool with an http binding; defaults make ``GET https://shop.example/items/{id}``."""
    schema = ID_ARGS if args is None else args
    fields = {
        "base_url": "https://shop.example",
        "credential": "shop",
        "method": "GET" if effect == "read" else "POST",
        "path": "/items/{id}" if "id" in schema.get("properties", {}) else "/items",
        **binding,
    }
    if fields["credential"] is None:
        del fields["credential"]
    return Tool(
        toolset=Toolset(name=toolset, description="A shop.", defs=defs or {}),
        name=name,
        description="Does a thing.",
        when_to_use="When the thing is wanted.",
        args=schema,
        returns=returns,
        effect=effect,
        binding=Binding(via="http", spec=http_binding.BINDING.parse(fields, args=schema)),
        idempotent=idempotent,
        idempotency_header=idempotency_header,
        where=where,
    )


def credential(*destinations: str, **changes: Any) -> Credential:
    fields: dict[str, Any] = {
        "name": "shop",
        "scheme": "bearer",
        "destinations": frozenset(
            map(Destination.of, destinations or ("https://shop.example:443",))
        ),
        "lookup": Lookup(env="SHOP_TOKEN"),
    }
    return Credential(**(fields | changes))


def run_of(*tools: Tool, **changes: Any) -> OutboundRun:
    fields: dict[str, Any] = {
        "run_id": "run-1",
        "run_key": "key-1",
        "directory": Directory(tools),
        "bindings": {"http": http_binding.BINDING},
        "credentials": {"shop": credential()},
    }
    return OutboundRun(**(fields | changes))


@dataclass
class Supplier:
    """
    Supplies needs with values, and remembers which were asked for.

    Args:
        responses: Taken in order by sends; an exception is thrown in, a function called.
    """

    responses: list[Any] = field(default_factory=list)
    secrets: list[str] = field(default_factory=lambda: [SECRET])
    approves: bool | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    needs: list[Need] = field(default_factory=list)
    sent: list[HttpRequest] = field(default_factory=list)
    written: dict[str, bytes] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    events: list[AuditEvent] = field(default_factory=list)
    records: list[CallRecord] = field(default_factory=list)

    @property
    def asked(self) -> list[str]:
        return [type(need).__name__.removeprefix("Need").lower() for need in self.needs]

    def __call__(self, run: OutboundRun, tool: str, seq: int = 1, **kwargs: Any) -> Reply:
        workspace = kwargs.pop("has_workspace", False)
        args = kwargs.pop("args", kwargs)
        flow = run.call(ToolCall(id=seq, tool=tool, args=args), seq, has_workspace=workspace)
        try:
            need = next(flow)
            while True:
                self.needs.append(need)
                try:
                    supply = self._supply(need)
                except CodemodeError as error:
                    need = flow.throw(error)
                else:
                    need = flow.send(supply)
        except StopIteration as done:
            return done.value

    def _supply(self, need: Need) -> Any:
        match need:
            case NeedSend():
                self.sent.append(need.request)
                answer = self.responses.pop(0)
                if isinstance(answer, Exception):
                    raise answer
                return answer(need.request) if callable(answer) else answer
            case NeedSecret():
                if not self.secrets:
                    raise MissingSecret("none")
                value = self.secrets.pop(0) if len(self.secrets) > 1 else self.secrets[0]
                return Secret(value)
            case NeedApproval():
                return self.approves
            case NeedFile():
                return self.files[need.path]
            case NeedWrite():
                self.written[need.file.path] = need.file.data
            case NeedReserve():
                earlier = self.entries.get(need.entry.key)
                if earlier is not None and earlier.attempt != need.entry.attempt - 1:
                    return earlier
                self.entries[need.entry.key] = need.entry
            case NeedFinalise():
                self.entries[need.entry.key] = need.entry
            case NeedRecord():
                self.events.append(need.event)
                self.records.append(need.record)
            case NeedExecuted():
                pass
        return None


def json_response(text: str | bytes, status: int = 200, **headers: str) -> Response:
    body = text.encode() if isinstance(text, str) else text
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status=status, headers={"content-type": "application/json", **named}, body=body)


class FakeSender:
    """Answers with whatever *answer* makes of a request; counts what is in flight."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer = answer
        self.requests: list[Any] = []
        self.now = self.most = 0

    async def send(self, request: Any, context: Any) -> Response:
        self.requests.append(request)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            found = self.answer(request)
            if asyncio.iscoroutine(found):
                found = await found
            if isinstance(found, Exception):
                raise found
            return found
        finally:
            self.now -= 1

    async def close(self) -> None:
        return None


def outbound_of(
    run: OutboundRun,
    sender: Any,
    *,
    ledger: Any = None,
    audit: Any = None,
    secrets: Any = None,
    **kwargs: Any,
) -> Outbound:
    kwargs.setdefault("limits", Limits())
    return Outbound(
        run,
        senders={"http": sender},
        ledger=ledger or MemoryLedger(),
        audit=audit or NoAudit(),
        secrets=secrets or SecretStore({"SHOP_TOKEN": SECRET}),
        **kwargs,
    )


def real_sender(*allow: str) -> Any:
    return http_binding.make_sender(SenderSettings(allow_addresses=frozenset(allow)))
