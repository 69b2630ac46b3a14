"""
Every exception codemode raises, and how each edge reports it.

* CodemodeError
  x DirectoryError          the rows are wrong; the maintainer fixes data
    + InvalidRow            one row breaks the format; it is quarantined
    + NameCollision         two rows become one identifier
  x ConfigError             the operator's configuration cannot be used
    + MissingSecret         a credential's secret is not supplied
  x UnknownTool             the caller named a tool that is not there
  x UnknownRun              the caller named a run that is not kept
  x ScriptRefused           the script was refused before anything ran
  x CallRefused             a rule said no to one call; nothing was sent
    + NotAllowed            the policy has no rule that allows it
    + BadArguments          the arguments do not fit the tool
    + CredentialOutOfScope  the destination is not one of the credential's
    + AddressRefused        the destination is private, loopback or metadata
    + NeedsContainer        the binding runs in a container and there is none
    + LocalUnavailable      the tool lives on a person's own machine
    + CallBudgetSpent       the run has used all the calls it may make
  x UpstreamError           the service behind a tool failed or refused
    + UpstreamTimeout       it did not answer in time
    + OutcomeUnknown        it may have acted; the call is never repeated
    + BadAnswer             it acted, but its answer cannot be used
      - ResponseTooLarge    it answered more than the run may receive
  x TraceError              a recorded trace cannot be found or opened
  x HostFault               a fault of this program; the log has it under its id
  x CheckUnavailable        a checker is missing or broken; run doctor
  x EngineError             the sandbox, not the script, failed
    + EngineUnavailable     no daemon, no image, no runtime: cannot start
    + EngineLost            it died without reporting a result
    + ProtocolError         a frame broke the protocol

A script that raises, times out or exits non-zero is *not* an exception here:
it is a `RunResult` with a status, because the model must be able to read it.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "CALL_ERRORS",
    "REPORT",
    "AddressRefused",
    "BadAnswer",
    "BadArguments",
    "CallBudgetSpent",
    "CallRefused",
    "CheckUnavailable",
    "CodemodeError",
    "ConfigError",
    "CredentialOutOfScope",
    "DirectoryError",
    "EngineError",
    "EngineLost",
    "EngineUnavailable",
    "HostFault",
    "InvalidRow",
    "LocalUnavailable",
    "MissingSecret",
    "NameCollision",
    "NeedsContainer",
    "NotAllowed",
    "OutcomeUnknown",
    "ProtocolError",
    "ResponseTooLarge",
    "ScriptRefused",
    "TraceError",
    "UnknownRun",
    "UnknownTool",
    "UpstreamError",
    "UpstreamTimeout",
    "report",
]


class CodemodeError(Exception):
    """
    Base class. Catch this and you have caught everything codemode raises.

    Args:
        message: What went wrong, in one sentence that names the thing.
        hint: What to do next, or "".
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class DirectoryError(CodemodeError):
    """The directory cannot be used as written."""

    code = "bad_directory"


class InvalidRow(DirectoryError):
    """
    One row breaks the row format.

    Args:
        message: What is wrong with the field.
        field: Dotted path inside the row, such as ``binding.method``; "" if the whole row.
    """

    code = "invalid_row"

    def __init__(self, message: str, *, field: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.field = field


class NameCollision(DirectoryError):
    """Two rows claim one name, or become one identifier in a target."""

    code = "name_collision"


class ConfigError(CodemodeError):
    """The operator's configuration cannot be used. The message names file and key."""

    code = "bad_config"


class MissingSecret(ConfigError):
    """A credential's secret is not supplied. The hint says where it is looked up."""

    code = "missing_secret"


class UnknownTool(CodemodeError):
    """No such tool. The hint lists the nearest names."""

    code = "unknown_tool"


class UnknownRun(CodemodeError):
    """No such run is kept."""

    code = "unknown_run"


class ScriptRefused(CodemodeError):
    """The script was refused before a sandbox existed; nothing happened."""

    code = "script_refused"


class CallRefused(CodemodeError):
    """A tool call was stopped on this side; nothing was sent."""

    code = "refused"


class NotAllowed(CallRefused):
    """The policy denies the call, or no rule allows it."""

    code = "not_allowed"


class BadArguments(CallRefused):
    """The arguments do not fit the tool's schema or cannot be bound."""

    code = "bad_arguments"


class CredentialOutOfScope(CallRefused):
    """The destination's scheme, host or port is not one the credential names."""

    code = "credential_out_of_scope"


class AddressRefused(CallRefused):
    """The destination resolves to an address that may not be dialled."""

    code = "address_refused"


class NeedsContainer(CallRefused):
    """The tool's binding runs inside a container and this engine has none."""

    code = "needs_container"


class LocalUnavailable(CallRefused):
    """The tool lives on a person's own machine and no bridge to it exists."""

    code = "local_unavailable"


class CallBudgetSpent(CallRefused):
    """The run has used all the calls it may make."""

    code = "too_many_calls"


class UpstreamError(CodemodeError):
    """
    The service behind a tool failed, refused, or broke its protocol.

    Args:
        status: Its HTTP status or exit code, if it gave one.
        retryable: The service says that the same call may work later.
    """

    code = "upstream_error"

    def __init__(
        self, message: str, *, hint: str = "", status: int | None = None, retryable: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retryable = retryable


class UpstreamTimeout(UpstreamError):
    """A read call did not answer in time, so repeating it is safe."""

    code = "timeout"


class OutcomeUnknown(UpstreamError):
    """The call may have been applied; it is reported, never repeated."""

    code = "outcome_unknown"


class BadAnswer(UpstreamError):
    """The service acted, but its answer cannot be carried or read."""

    code = "bad_answer"


class ResponseTooLarge(BadAnswer):
    """The answer is larger than the run may receive."""

    code = "response_too_large"


class TraceError(CodemodeError):
    """A recorded trace cannot be found, opened or recognised."""

    code = "bad_trace"


class HostFault(CodemodeError):
    """A fault of this program. The message carries an opaque id; the log has the rest."""

    code = "host_fault"


class CheckUnavailable(CodemodeError):
    """A checker is missing or broken. The hint says what ``codemode doctor`` would."""

    code = "check_unavailable"


class EngineError(CodemodeError):
    """The sandbox could not run the script at all."""

    code = "engine_error"


class EngineUnavailable(EngineError):
    """The engine cannot start here: no daemon, image, runtime or program."""

    code = "engine_unavailable"


class EngineLost(EngineError):
    """The sandbox died without reporting a result."""

    code = "engine_lost"


class ProtocolError(EngineError):
    """Bytes from a sandbox broke the frame protocol; that run ends, others go on."""

    code = "protocol_error"


CALL_ERRORS = (CallRefused, MissingSecret, UpstreamError, UnknownTool)
"""Errors one tool call can end in. The outbound flow turns them into data."""

REPORT: dict[type[CodemodeError], tuple[int, int, int]] = {
    # error: (HTTP status, CLI exit code, JSON-RPC error code)
    CodemodeError: (500, 3, -32603),
    DirectoryError: (500, 3, -32603),
    ConfigError: (500, 3, -32603),
    UnknownTool: (404, 2, -32602),
    UnknownRun: (404, 2, -32602),
    ScriptRefused: (422, 2, -32602),
    TraceError: (422, 2, -32602),
    CallRefused: (403, 2, -32001),
    BadArguments: (422, 2, -32602),
    UpstreamError: (502, 3, -32002),
    UpstreamTimeout: (504, 3, -32002),
    HostFault: (500, 3, -32603),
    CheckUnavailable: (503, 2, -32003),
    EngineError: (503, 3, -32003),
}
"""The one place where an error meets a status code. Subclasses inherit."""


def report(error: CodemodeError) -> tuple[int, int, int]:
    """
    Look up how the edges report *error*.

    >>> report(NotAllowed("no rule"))
    (403, 2, -32001)
    """
    for cls in type(error).__mro__:
        if cls in REPORT:
            return REPORT[cls]
    raise LookupError(type(error).__name__)
