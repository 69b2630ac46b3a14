"""
The outbound flow: one tool call, from the sandbox's request to its answer.

Written as a generator that *yields what it needs* and is *sent what it asked
for*, so the whole decision reads top to bottom and does no I/O:

    known tool, budget -> policy -> arguments valid -> approval -> ledger reserve
    -> credential, only in its scope -> send, each redirect decided anew
    -> answer read -> secrets scrubbed -> answer checked -> ledger finalise -> audit

`codemode.outbound` supplies the needs with real I/O; tests supply values.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace

from codemode.core.address import Destination
from codemode.core.audit import AuditEvent
from codemode.core.call import (
    BindingModule,
    CommandRequest,
    FileRef,
    FileValue,
    HttpRequest,
    LocalRequest,
    McpRequest,
    Request,
    Response,
)
from codemode.core.credential import Credential, Secret, inject
from codemode.core.ledger import Entry, Slots, call_key, canonical, decide_replay
from codemode.core.needs import (
    Flow,
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
    Supply,
)
from codemode.core.policy import DEFAULT, Policy, decide
from codemode.core.redirect import follow, location
from codemode.core.run import CallError, CallRecord, Preview, Reply, ToolCall
from codemode.core.scrub import Scrubber
from codemode.core.tool import Directory, JsonValue, Tool
from codemode.core.trace import Trace, read_answer, replay, unknown_hint
from codemode.core.validate import Validators, check_json
from codemode.errors import (
    BadAnswer,
    BadArguments,
    CallBudgetSpent,
    CallRefused,
    CodemodeError,
    ConfigError,
    CredentialOutOfScope,
    HostFault,
    NeedsContainer,
    NotAllowed,
    OutcomeUnknown,
    UpstreamError,
    UpstreamTimeout,
)


@dataclass(slots=True, kw_only=True)
class OutboundRun:
    """
    What the calls of one run share. One object per run; runs share nothing that changes.

    Args:
        run_key: Names the logical run; the same key again replays what was applied.
        keep_reads: Keep the answers of reads too; sensible if *run_key* comes back.
        policy: May be replaced in mid-run; the next call obeys the new one.
        directory: Likewise.
        preview: The cap, or None.
        bindings: ``via`` -> its module.
        variables: Toolset -> the operator's values for its addresses.
        include_args: Put arguments into audit events.
    """

    run_id: str
    run_key: str
    directory: Directory
    bindings: Mapping[str, BindingModule]
    credentials: Mapping[str, Credential] = field(default_factory=dict)
    policy: Policy = DEFAULT
    preview: Preview | None = None
    variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    max_calls: int = 100
    max_file_bytes: int = 64 * 1024 * 1024
    keep_reads: bool = False
    include_args: bool = False
    validators: Validators = field(default_factory=Validators)
    slots: Slots = field(default_factory=Slots)
    scrubber: Scrubber = field(default_factory=Scrubber)
    used: dict[str, tuple[Credential, Scrubber]] = field(default_factory=dict)

    def call(self, call: ToolCall, seq: int, *, has_workspace: bool) -> Flow:
        """
        Handle call number *seq* (from 1). Never raises for what a call can end in:
        the script gets it as a `Reply`, the operator as an `AuditEvent`.
        """
        trace = Trace()
        error: CallError | None = None
        value: JsonValue = None
        try:
            value = yield from self._steps(call, seq, trace, has_workspace)
        except CodemodeError as failure:
            error = self._say(failure)
        reply = Reply(error=error) if error else Reply(value=value)
        if trace.entry is not None and not trace.replayed:
            entry = self._finalised(trace, reply)
            try:
                yield NeedFinalise(entry=entry)
            except CodemodeError as failure:
                # It stays reserved, which the next run reads as unknown: the safe side.
                trace.mismatch = f"ledger: {failure.message}"
        if trace.entry is not None and trace.state in ("failed", "unknown", "refused"):
            self.slots.give_back(trace.digest, trace.nth)
        yield self._record(call, seq, trace, error)
        return reply

    def _steps(
        self, call: ToolCall, seq: int, trace: Trace, has_workspace: bool
    ) -> Generator[Need, Supply, JsonValue]:
        tool = trace.tool = self.directory.get(call.tool)
        limit = self.max_calls if self.policy.max_calls is None else self.policy.max_calls
        if seq > min(limit, self.max_calls):
            trace.rule = "max_calls"
            raise CallBudgetSpent(
                f"The run has used all its {min(limit, self.max_calls)} calls.",
                hint="Fetch more per call, or ask the operator for a larger max_calls.",
            )
        decision = decide(self.policy, tool, self.preview)
        trace.rule = decision.rule
        if decision.action == "deny":
            raise _not_allowed(tool, decision.rule)
        check_json(call.args)
        self.validators.check_args(tool, call.args)
        binding = self.bindings[tool.binding.via]
        variables = self.variables.get(tool.toolset.name, {})
        request = binding.prepare(tool, call.args, variables)
        if not has_workspace and (tool.where == "container" or _uses_files(binding, tool, request)):
            raise NeedsContainer(
                f"{tool.id} works on files or programs, which this engine has not.",
                hint="Run the script with --engine container.",
            )
        request = yield from self._with_files(request)
        if decision.action == "ask":
            approved = yield NeedApproval(tool=tool, args=call.args, rule=decision.rule)
            if approved is not True:
                raise _not_allowed(tool, decision.rule)
            trace.rule = f"{decision.rule} (approved)"
        # A command changes its run's own sandbox, which the same run again does not have.
        if not isinstance(request, CommandRequest):
            earlier = yield from self._reserve(tool, call.args, trace)
            if earlier is not None:
                return replay(tool, earlier, trace)
        if trace.entry and tool.idempotency_header and isinstance(request, HttpRequest):
            # 36 characters: the shortest limit that services have is that of a UUID.
            header = (tool.idempotency_header, trace.entry.key[:36])
            request = replace(request, headers=(*request.headers, header))
        response = yield from self._send(tool, request, trace)
        if trace.entry is not None and trace.entry.durable:
            yield NeedExecuted(key=trace.entry.key)
        value = read_answer(binding, tool, request, response, trace)
        if isinstance(value, FileValue):
            trace.keep_value = False
            file = replace(value, data=self.scrubber.data(value.data))
            yield NeedWrite(file=file)
            value = file.path
        value = self.scrubber.value(value)
        trace.mismatch = self.scrubber.text(self.validators.mismatch(tool, value))
        return value

    def _with_files(self, request: Request) -> Generator[Need, Supply, Request]:
        """The request with the workspace files it names read into its body."""
        if not isinstance(request, HttpRequest) or not request.parts:
            return request
        pieces: list[bytes] = []
        for part in request.parts:
            if isinstance(part, FileRef):
                data: bytes = yield NeedFile(path=part.path)
                boundary = _boundary(request)
                if boundary and boundary in data:
                    raise BadArguments(f"{part.path!r} holds the boundary between parts.")
                pieces.append(data)
            else:
                pieces.append(part)
            if sum(map(len, pieces)) > self.max_file_bytes:
                raise BadArguments(f"The files are larger than {self.max_file_bytes} bytes.")
        return replace(request, body=b"".join(pieces), parts=())

    def _reserve(
        self, tool: Tool, args: Mapping[str, JsonValue], trace: Trace
    ) -> Generator[Need, Supply, Entry | None]:
        """None once the call is ours to send; else the entry that answers it."""
        trace.digest = f"{tool.id} {canonical(args).decode()}"
        trace.nth = self.slots.take(trace.digest)
        entry = trace.entry = Entry(
            key=call_key(self.run_key, tool.id, args, trace.nth),
            run_id=self.run_id,
            run_key=self.run_key,
            tool=tool.id,
            durable=tool.effect != "read",
        )
        earlier: Entry | None = yield NeedReserve(entry=entry)
        if earlier is None or decide_replay(tool, earlier) != "send":
            return earlier
        trace.entry = replace(entry, attempt=earlier.attempt + 1)
        lost: Entry | None = yield NeedReserve(entry=trace.entry)
        return lost

    def _send(
        self, tool: Tool, request: Request, trace: Trace
    ) -> Generator[Need, Supply, Response]:
        if not isinstance(request, HttpRequest):
            trace.destinations.append(_place(request))
            return (yield from self._send_one(tool, request, trace))
        credential = self._credential(request)
        in_scope, refreshed, n_hops = credential is not None, False, 0
        secret: Secret | None = None
        while True:
            trace.destinations.append(str(Destination.of(request.url)))
            outgoing = request
            # Once a redirect has left the scope, nothing gets the credential again.
            in_scope = in_scope and credential is not None
            if in_scope and credential is not None:
                if n_hops and not credential.covers(request.url):
                    in_scope = False
                else:
                    if secret is None:
                        secret = yield NeedSecret(credential=credential)
                    assert isinstance(secret, Secret)
                    outgoing, scrubber = inject(request, credential, secret)
                    self.scrubber |= scrubber
                    self.used[credential.name] = credential, scrubber
                    trace.credential = credential.name
            response = yield from self._send_one(tool, outgoing, trace)
            if response.status == 401 and in_scope and not refreshed and credential is not None:
                refreshed = True
                trace.state = "failed"
                fresh = yield from self._refreshed(credential)
                if (
                    fresh is not None and fresh != secret
                ):  # expired in mid-run: once more, since 401 did nothing
                    secret = fresh
                    continue
            target = location(response)
            if target is None:
                return response
            try:
                request = follow(request, target, response.status or 0, n_hops)
                self._keep_in_scope(request.url)
            except (UpstreamError, CredentialOutOfScope) as error:
                if isinstance(error, CredentialOutOfScope):
                    trace.rule += "; its redirect carries a secret out of scope"
                if tool.effect == "read":
                    trace.state = "failed"
                    raise
                trace.state = "unknown"
                raise OutcomeUnknown(
                    f"{tool.id} may have been applied. {error.message}", status=response.status
                ) from None
            n_hops += 1

    def _keep_in_scope(self, url: str) -> None:
        """
        Raises:
            CredentialOutOfScope: If *url* itself carries a secret that may not go there.
        """
        for name, (credential, scrubber) in self.used.items():
            if not credential.covers(url) and scrubber.text(url) != url:
                raise CredentialOutOfScope(
                    f"A redirect was not followed: its address carries the secret of {name!r} "
                    f"to {Destination.of(url)}, where that may not go."
                )

    def _refreshed(self, credential: Credential) -> Generator[Need, Supply, Secret | None]:
        try:
            secret: Secret = yield NeedSecret(credential=credential, fresh=True)
        except ConfigError:
            return None  # the service's own refusal says more
        return secret

    def _send_one(
        self, tool: Tool, request: Request, trace: Trace
    ) -> Generator[Need, Supply, Response]:
        """One request; what its failure means depends on what the tool may change."""
        if isinstance(request, HttpRequest):
            trace.sent_bytes += len(request.body)
        repeatable = tool.effect == "read" or tool.idempotent
        try:
            response: Response = yield NeedSend(via=tool.binding.via, request=request)
        except BadAnswer as error:
            trace.state, trace.status = "applied", error.status
            raise
        except (UpstreamTimeout, OutcomeUnknown) as error:
            trace.status = error.status
            if tool.effect == "read":
                trace.state = "failed"
                if isinstance(error, UpstreamTimeout):
                    raise
                raise UpstreamError(error.message, hint=error.hint, retryable=True) from None
            trace.state = "unknown"
            raise OutcomeUnknown(
                f"{tool.id} may have been applied: {error.message}",
                hint=error.hint or unknown_hint(tool),
                status=error.status,
                retryable=repeatable,
            ) from None
        except UpstreamError as error:
            trace.state, trace.status = "failed", error.status
            raise
        except HostFault:
            trace.state = "failed" if tool.effect == "read" else "unknown"
            raise
        except CallRefused:
            if trace.state == "applied":  # an earlier hop was sent
                trace.state = "failed" if tool.effect == "read" else "unknown"
            raise
        trace.state, trace.status = "applied", response.status
        trace.received_bytes += len(response.body)
        return response

    def _credential(self, request: HttpRequest) -> Credential | None:
        if request.credential is None:
            return None
        try:
            return self.credentials[request.credential]
        except KeyError:
            raise ConfigError(
                f"There is no credential {request.credential!r}.",
                hint="codemode credentials list shows those there are.",
            ) from None

    def _say(self, failure: CodemodeError) -> CallError:
        return CallError(
            code=failure.code,
            message=self.scrubber.text(failure.message),
            status=getattr(failure, "status", None),
            retryable=getattr(failure, "retryable", False),
            hint=self.scrubber.text(failure.hint),
        )

    def _finalised(self, trace: Trace, reply: Reply) -> Entry:
        assert trace.entry is not None
        keep = trace.keep_value and (trace.entry.durable or self.keep_reads)
        has_value = keep and reply.error is None
        return replace(
            trace.entry,
            state="finalised",
            outcome=trace.state,
            has_value=has_value,
            value=reply.value if has_value else None,
            error=reply.error,
        )

    def _record(
        self, call: ToolCall, seq: int, trace: Trace, error: CallError | None
    ) -> NeedRecord:
        tool_id = self.scrubber.text(trace.tool.id if trace.tool else call.tool[:200])
        effect = trace.tool.effect if trace.tool else None
        args: Mapping[str, JsonValue] | None = None
        if self.include_args:
            args = self.scrubber.value(dict(call.args))
        code = error.code if error else None
        return NeedRecord(
            event=AuditEvent(
                run_id=self.run_id,
                seq=seq,
                tool=tool_id,
                effect=effect,
                state=trace.state,
                rule=trace.rule,
                credential=trace.credential,
                destinations=tuple(trace.destinations),
                key=trace.entry.key if trace.entry else "",
                replayed=trace.replayed,
                status=trace.status,
                sent_bytes=trace.sent_bytes,
                received_bytes=trace.received_bytes,
                error=code,
                mismatch=trace.mismatch,
                args=args,
            ),
            record=CallRecord(
                seq=seq,
                tool=tool_id,
                effect=effect or "read",
                state=trace.state,
                status=trace.status,
                received_bytes=trace.received_bytes,
                sent_bytes=trace.sent_bytes,
                credential=trace.credential,
                error=code,
            ),
        )


def _not_allowed(tool: Tool, rule: str) -> NotAllowed:
    if rule == "preview":
        hint = "Name the tool directly in the script, so that the preview lists it."
    else:
        hint = f"The operator can allow it: --allow {tool.id}, or a rule in the policy file."
    return NotAllowed(f"{tool.id} ({tool.effect}) is not allowed: {rule}.", hint=hint)


def _uses_files(binding: BindingModule, tool: Tool, request: Request) -> bool:
    if binding.needs_workspace:
        return True
    if isinstance(request, HttpRequest) and any(isinstance(p, FileRef) for p in request.parts):
        return True
    returns = tool.returns
    return returns is not None and returns.get("format") == "file"


def _boundary(request: HttpRequest) -> bytes:
    kind = next((v for name, v in request.headers if name.lower() == "content-type"), "")
    return kind.partition("boundary=")[2].encode()


def _place(request: Request) -> str:
    match request:
        case McpRequest():
            return f"mcp:{request.server}"
        case CommandRequest():
            return f"sandbox:{request.command.binaries[0] if request.command.binaries else ''}"
        case LocalRequest():
            return f"local:{request.capability}"
        case _:
            return ""
