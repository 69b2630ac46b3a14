"""Facts of one call, and what an answer or the ledger's record makes of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from codemode.core.call import BindingModule, FileValue, HttpRequest, Request, Response
from codemode.core.ledger import Entry, decide_replay
from codemode.core.run import CallState
from codemode.core.tool import JsonValue, Tool
from codemode.errors import BadAnswer, OutcomeUnknown, ResponseTooLarge, UpstreamError

GATEWAY_ERRORS = frozenset({502, 504})
"""A gateway lost the service behind it: a write may have been applied."""


@dataclass(slots=True)
class Trace:
    """
    One call, as far as it has come.

    Args:
        state: ``refused`` until something is sent.
        entry: Once the call is reserved.
        digest: Names identical calls; *nth* is this one's number among them.
        keep_value: False for files, which the ledger does not hold.
    """

    tool: Tool | None = None
    state: CallState = "refused"
    rule: str = ""
    credential: str | None = None
    destinations: list[str] = field(default_factory=list)
    entry: Entry | None = None
    digest: str = ""
    nth: int = 0
    replayed: bool = False
    keep_value: bool = True
    status: int | None = None
    sent_bytes: int = 0
    received_bytes: int = 0
    mismatch: str = ""


def read_answer(
    binding: BindingModule, tool: Tool, request: Request, response: Response, trace: Trace
) -> JsonValue | FileValue:
    """
    The value of *response*; *trace* learns whether the call was applied.

    Raises:
        UpstreamError: As ``read`` of the binding; `OutcomeUnknown` where a gateway lost
            the service behind it in the middle of a write.
    """
    try:
        return binding.read(tool, request, response)
    except (BadAnswer, OutcomeUnknown) as error:
        trace.state = "unknown" if isinstance(error, OutcomeUnknown) else "applied"
        raise
    except UpstreamError as error:
        trace.state = "failed"
        if tool.effect == "read" or error.status not in GATEWAY_ERRORS:
            raise
        if not isinstance(request, HttpRequest):
            raise
        trace.state = "unknown"
        raise OutcomeUnknown(
            f"{tool.id} may have been applied: {error.message}",
            hint=unknown_hint(tool),
            status=error.status,
            retryable=tool.idempotent,
        ) from None


def replay(tool: Tool, earlier: Entry, trace: Trace) -> JsonValue:
    """
    What the ledger says instead of a second call.

    Raises:
        OutcomeUnknown: If nobody knows whether the first one was applied.
    """
    trace.replayed = True
    if decide_replay(tool, earlier) == "replay":
        trace.state = "applied"
        trace.rule += " (ledger)"
        if earlier.error is None:
            return earlier.value
        kind = ResponseTooLarge if earlier.error.code == ResponseTooLarge.code else BadAnswer
        error = kind(earlier.error.message, hint=earlier.error.hint)
        error.status = earlier.error.status
        raise error
    if earlier.outcome == "applied":
        trace.state = "applied"
        raise OutcomeUnknown(
            f"{tool.id} was applied before with these arguments; its answer was not kept.",
            hint="Look at the service for the result; the call is not repeated.",
        )
    trace.state = "unknown"
    raise OutcomeUnknown(
        f"{tool.id} was sent before with these arguments and may have been applied.",
        hint=unknown_hint(tool),
    )


def unknown_hint(tool: Tool) -> str:
    if tool.idempotent:
        return "Repeating it is harmless."
    return "Look at the service before doing it again; the call is not repeated for you."
