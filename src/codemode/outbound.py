"""
Drives the outbound flow with real I/O: one `Outbound` per run.

It owns what the pure flow has not: the clock, the tasks, the count of calls, and
the objects that find secrets, send requests and keep records. Two runs share
those objects and nothing that belongs to a run.
"""

from __future__ import annotations

import asyncio
import logging
import time
from bisect import insort
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol, TypeAlias
from uuid import uuid4

from codemode.core.audit import AuditEvent
from codemode.core.call import Response, SendContext, Sender
from codemode.core.credential import Credential, Secret
from codemode.core.ledger import Entry
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
from codemode.core.outbound import OutboundRun
from codemode.core.policy import Policy
from codemode.core.run import (
    CallError,
    CallRecord,
    Limits,
    LogLine,
    Reply,
    RunResult,
    ScriptError,
    ToolCall,
    Workspace,
)
from codemode.core.tool import RESERVED_TOOLSET, Directory, JsonValue, Tool
from codemode.errors import (
    BadArguments,
    CallBudgetSpent,
    CallRefused,
    CodemodeError,
    HostFault,
    NeedsContainer,
    OutcomeUnknown,
    UpstreamTimeout,
)

LOG = logging.getLogger(__name__)

GRACE_S = 2.0
"""Beyond a call's own deadline, for a sender that does not keep it."""

MAX_HERE_BYTES = 64 * 1024
"""Answers larger than this are read and scrubbed in a thread, off the event loop."""

READ_DRAIN_S = 0.25
"""How long reads in flight are awaited once their run has ended."""

MAX_REFUSED = 100
"""Calls beyond the budget that are still recorded one by one."""

HostFunction: TypeAlias = Callable[[dict[str, JsonValue]], Awaitable[JsonValue]]
Approve: TypeAlias = Callable[[Tool, Mapping[str, JsonValue], str], Awaitable[bool]]
"""Asks a person about one call: tool, arguments, the rule that asks."""


class Ledger(Protocol):
    """See `codemode.store.ledger`."""

    async def reserve(self, entry: Entry) -> Entry | None: ...

    async def executed(self, key: str) -> None: ...

    async def finalise(self, entry: Entry) -> None: ...


class Audit(Protocol):
    """See `codemode.store.audit`."""

    async def write(self, event: AuditEvent, *, duration_ms: float) -> None: ...


class Secrets(Protocol):
    """See `codemode.store.secrets`."""

    async def get(self, credential: Credential, *, fresh: bool = False) -> Secret: ...


class Outbound:
    """
    Answers the tool calls of one run. `answer` is a `codemode.core.run.Answer`.

    Args:
        run: What the calls share; its state belongs to this object alone.
        senders: ``via`` -> its sender.
        approve: Asked for calls that the policy says to ask about; None: refused.
        host_functions: ``codemode.search`` and the like, answered here without policy.
        call_timeout_s: One call.
        max_response_bytes: One decoded answer.
    """

    def __init__(
        self,
        run: OutboundRun,
        *,
        senders: Mapping[str, Sender],
        ledger: Ledger,
        audit: Audit,
        secrets: Secrets,
        approve: Approve | None = None,
        host_functions: Mapping[str, HostFunction] | None = None,
        limits: Limits | None = None,
        call_timeout_s: float = 30.0,
        max_response_bytes: int = 8 * 1024 * 1024,
    ) -> None:
        limits = limits or Limits()
        self._run = run
        self._senders = senders
        self._ledger, self._audit, self._secrets = ledger, audit, secrets
        self._approve = approve
        self._host_functions = dict(host_functions or {})
        self._timeout_s, self._max_response_bytes = call_timeout_s, max_response_bytes
        self._in_flight = asyncio.Semaphore(limits.max_in_flight)
        self._tasks: set[asyncio.Task[Reply]] = set()
        self._closed = False
        self._reads: set[asyncio.Task[Reply]] = set()
        self._out_of_time: set[asyncio.Task[Any] | None] = set()
        self._n_calls = self._n_host_calls = 0
        self.records: list[CallRecord] = []
        """Calls that have ended, in the order they arrived."""

    # -- calls -------------------------------------------------------------------------------

    async def answer(self, call: ToolCall, workspace: Workspace | None) -> Reply:
        """
        Answer one call. Cancelling the caller does not cancel what may have been sent:
        that is awaited in `drain`.
        """
        if call.tool.partition(".")[0] == RESERVED_TOOLSET:
            return await self._answer_here(call)
        # Counted before anything is awaited, so a budget of N under gather lets N through.
        self._n_calls += 1
        if self._n_calls > self._run.max_calls + MAX_REFUSED:
            # A loop that goes on regardless fills neither memory nor the audit file.
            return Reply(error=_say(CallBudgetSpent("The run has used all its calls.")))
        task = asyncio.ensure_future(self._drive(call, self._n_calls, workspace))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        directory = self._run.directory
        if call.tool in directory and directory.get(call.tool).effect == "read":
            self._reads.add(task)
            task.add_done_callback(self._reads.discard)
        return await asyncio.shield(task)

    async def _answer_here(self, call: ToolCall) -> Reply:
        self._n_host_calls += 1
        function = self._host_functions.get(call.tool)
        if function is None or self._n_host_calls > max(self._run.max_calls, 100):
            code, why = "unknown_tool", f"There is no tool {call.tool[:100]!r}."
            if function is not None:
                code, why = "too_many_calls", "The run has used all its searches."
            return Reply(error=CallError(code=code, message=why))
        try:
            value = await function(dict(call.args))
            return Reply(value=self._run.scrubber.value(value))
        except CodemodeError as error:
            return Reply(error=CallError(code=error.code, message=error.message, hint=error.hint))
        except Exception as error:
            return Reply(error=_say(_fault(call.tool, error)))

    async def _drive(self, call: ToolCall, seq: int, workspace: Workspace | None) -> Reply:
        async with self._in_flight:
            started = time.monotonic()
            flow = self._run.call(call, seq, has_workspace=workspace is not None)
            try:
                return await self._supplied(flow, workspace, started)
            except Exception as error:
                # The flow itself is at fault. Whether anything was sent is in the ledger.
                fault = _fault(call.tool, error)
                tool = call.tool if call.tool in self._run.directory else "unknown"
                effect = self._run.directory.get(tool).effect if tool != "unknown" else "read"
                self.records.append(
                    CallRecord(seq=seq, tool=tool, effect=effect, state="unknown", error=fault.code)
                )
                return Reply(error=_say(fault))

    async def _supplied(self, flow: Flow, workspace: Workspace | None, started: float) -> Reply:
        is_large = False
        try:
            need = next(flow)
            while True:
                try:
                    supply = await self._supply(need, workspace, started)
                except CodemodeError as error:
                    need = flow.throw(error)
                except asyncio.CancelledError:
                    if asyncio.current_task() not in self._out_of_time:
                        raise
                    lost = OutcomeUnknown("The run ended before the answer came.")
                    need = flow.throw(lost)
                except Exception as error:
                    need = flow.throw(_fault(type(need).__name__, error))
                else:
                    is_large = is_large or _is_large(supply)
                    step = await (_aside if is_large else _here)(flow, supply)
                    if isinstance(step, Reply):
                        return step
                    need = step
        except StopIteration as done:
            reply: Reply = done.value
            return reply

    async def _supply(self, need: Need, workspace: Workspace | None, started: float) -> Supply:
        match need:
            case NeedSend():
                return await self._send(need, workspace)
            case NeedSecret():
                return await self._secrets.get(need.credential, fresh=need.fresh)
            case NeedReserve():
                self._check_open()
                return await self._ledger.reserve(need.entry)
            case NeedExecuted():
                return await self._ledger.executed(need.key)
            case NeedFinalise():
                return await self._ledger.finalise(need.entry)
            case NeedApproval():
                self._check_open()
                if self._approve is None:
                    return False
                return await self._approve(need.tool, need.args, need.rule)
            case NeedFile():
                return await self._read_file(need.path, workspace)
            case NeedWrite():
                if workspace is None:
                    raise NeedsContainer("The answer is a file, and this engine has none.")
                return await workspace.write_file(need.file.path, need.file.data)
            case NeedRecord():
                duration_ms = (time.monotonic() - started) * 1000
                self._record(replace(need.record, duration_ms=round(duration_ms, 3)))
                try:
                    return await self._audit.write(need.event, duration_ms=duration_ms)
                except Exception as error:
                    # This call has happened; nothing more is sent that cannot be recorded.
                    _fault("the audit file", error)
                    self._closed = True

    async def _send(self, need: NeedSend, workspace: Workspace | None) -> Response:
        self._check_open()
        context = SendContext(
            workspace=workspace,
            timeout_s=self._timeout_s,
            max_response_bytes=self._max_response_bytes,
            run_id=self._run.run_id,
        )
        try:
            async with asyncio.timeout(self._timeout_s + GRACE_S):
                return await self._senders[need.via].send(need.request, context)
        except TimeoutError:
            raise UpstreamTimeout(
                f"No answer within {self._timeout_s:g} s.", retryable=True
            ) from None

    async def _read_file(self, path: str, workspace: Workspace | None) -> bytes:
        if workspace is None:
            raise NeedsContainer("The call sends a file, and this engine has none.")
        try:
            return await workspace.read_file(path, max_bytes=self._run.max_file_bytes)
        except (OSError, ValueError) as error:
            raise BadArguments(f"The file {path!r} cannot be read: {error}") from None

    def _record(self, record: CallRecord) -> None:
        insort(self.records, record, key=lambda each: each.seq)

    def _check_open(self) -> None:
        if self._closed:
            raise CallRefused("The run takes no more calls; this one was not sent.")

    # -- mid-run -----------------------------------------------------------------------------

    def update(self, *, policy: Policy | None = None, directory: Directory | None = None) -> None:
        """Put a new policy or directory in force; the next call obeys it."""
        if policy is not None:
            self._run.policy = policy
        if directory is not None:
            self._run.directory = directory

    # -- the end -----------------------------------------------------------------------------

    def cancel(self) -> None:
        """From now on nothing new is sent. Calls in flight go on; see `drain`."""
        self._closed = True

    async def drain(self, bound_s: float) -> None:
        """
        Close, wait up to *bound_s* seconds for calls in flight, and record every one.

        What is still unanswered then is recorded as unknown (a read: as failed).
        Idempotent.
        """
        self._closed = True
        if self._tasks:
            await self._wait_for_calls(bound_s)
        for sender in self._senders.values():
            # An MCP server that was started for this run ends with it.
            end_run = getattr(sender, "end_run", None)
            if end_run is not None:
                await end_run(self._run.run_id)

    async def _wait_for_calls(self, bound_s: float) -> None:
        # A read that nobody waits for any more changes nothing: it is given up early.
        await asyncio.wait(set(self._tasks), timeout=min(READ_DRAIN_S, bound_s))
        await self._give_up(self._tasks & self._reads)
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=max(bound_s - READ_DRAIN_S, 0))
            await self._give_up(set(self._tasks))

    async def _give_up(self, tasks: set[asyncio.Task[Reply]]) -> None:
        if not tasks:
            return
        self._out_of_time |= tasks
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait(tasks, timeout=GRACE_S)

    async def finished(self, result: RunResult) -> RunResult:
        """As `scrubbed`, off the event loop."""
        return await asyncio.to_thread(self.scrubbed, result)

    def scrubbed(self, result: RunResult) -> RunResult:
        """*result* without any secret this run has used, wherever a script put it."""
        scrub = self._run.scrubber
        if not scrub:
            return result
        error = result.error
        if error is not None:
            error = _scrubbed_error(error, scrub.text)
        return replace(
            result,
            value=scrub.value(result.value),
            error=error,
            logs=tuple(
                LogLine(stream=log.stream, text=scrub.text(log.text)) for log in result.logs
            ),
            files=tuple(
                replace(file, path=scrub.text(file.path), data=scrub.data(file.data))
                for file in result.files
            ),
            notes=tuple(map(scrub.text, result.notes)),
        )


def _is_large(supply: Supply) -> bool:
    """Whether reading and scrubbing it would keep other runs waiting."""
    return isinstance(supply, Response) and (
        len(supply.body) > MAX_HERE_BYTES or supply.value is not None
    )


def _advance(flow: Flow, supply: Supply) -> Need | Reply:
    # A StopIteration cannot leave a thread or a coroutine.
    try:
        return flow.send(supply)
    except StopIteration as done:
        reply: Reply = done.value
        return reply


async def _here(flow: Flow, supply: Supply) -> Need | Reply:
    return _advance(flow, supply)


async def _aside(flow: Flow, supply: Supply) -> Need | Reply:
    """In a thread. The flow cannot be spoken to before it pauses, so a cancellation waits."""
    work = asyncio.ensure_future(asyncio.to_thread(_advance, flow, supply))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        # The answer has come; what is left is to record it.
        return await work


def _scrubbed_error(error: ScriptError, text: Callable[[str], str]) -> ScriptError:
    return replace(error, message=text(error.message), hint=text(error.hint))


def _fault(what: str, error: BaseException) -> HostFault:
    """A fault of ours: the script gets an id, the operator's log where it happened."""
    fault_id = uuid4().hex[:12]
    # Type and place, not the text or the locals: those may quote a request.
    trace: Any = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "?"
    LOG.error("fault %s in %s: %s at %s", fault_id, what[:100], type(error).__name__, place)
    return HostFault(
        f"The host could not answer this call (fault {fault_id}).",
        hint="The operator's log says more under that id.",
    )


def _say(error: CodemodeError) -> CallError:
    return CallError(code=error.code, message=error.message, hint=error.hint)
