"""
What leaves the host for one tool call, and what comes back.

A binding's ``prepare`` makes a `Request` (pure); its ``send`` performs it
(I/O); its ``read`` turns the `Response` into a value (pure). The decision in
between is `codemode.core.outbound`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from codemode.core.run import Command, Workspace
from codemode.core.tool import Effect, JsonValue, Schema, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRef:
    """A workspace file whose bytes belong into a request. *path* is the script's own text."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileValue:
    """
    What ``read`` returns for an answer that is a file (``"format": "file"``).

    Outbound writes it into the workspace and gives the script its path.
    """

    path: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HttpRequest:
    """
    One HTTP request, before or after a credential is attached. Its repr shows neither
    query, headers nor body, since any of them may carry a secret.

    Args:
        url: Absolute, normalised; the query string included and percent-encoded.
        headers: In order; names unique without regard to case.
        parts: The body in pieces where some are workspace files; *body* is empty then.
            Outbound reads the files and joins the pieces before sending.
        credential: Name of the credential to attach, or None.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    parts: tuple[bytes | FileRef, ...] = ()
    credential: str | None = None

    def __repr__(self) -> str:
        return f"HttpRequest({self.method} {self.url.partition('?')[0]})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRequest:
    """
    A program to run in the sandbox's workspace.

    Args:
        outputs: Glob patterns of workspace files whose existence the answer depends on.
        effect: Of the tool; decides whether a lost command may be repeated.
    """

    command: Command
    outputs: tuple[str, ...] = ()
    effect: Effect = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpRequest:
    """
    A ``tools/call`` for a server that the operator's config or servers file names.

    Args:
        effect: Of the tool; decides whether a lost call may be repeated.
    """

    server: str
    tool: str
    arguments: Mapping[str, JsonValue]
    effect: Effect = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRequest:
    """Something only a person's own machine can do."""

    capability: str
    arguments: Mapping[str, JsonValue]


Request: TypeAlias = HttpRequest | CommandRequest | McpRequest | LocalRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """
    What came back, bounded.

    Args:
        status: HTTP status or exit code; None if the protocol has none.
        headers: Lower-case names.
        body: Decoded bytes (HTTP: decompressed; command: stdout).
        value: A value the protocol already carries as JSON (MCP), else None.
        is_error: The protocol itself marks this answer as an error.
        detail: Text beside the body (command: stderr).
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    value: JsonValue = None
    is_error: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendContext:
    """
    What a sender may use for one call.

    Args:
        workspace: The run's sandbox, or None where the engine has none.
        timeout_s: Whole call.
        max_response_bytes: Of the decoded body.
        run_id: For per-run state such as an MCP session.
    """

    workspace: Workspace | None
    timeout_s: float
    max_response_bytes: int
    run_id: str


class BindingModule(Protocol):
    """
    One kind of binding: a module of `codemode.bindings` whose ``BINDING`` is this.

    A new file there is found by its name and tested by the contract suite.
    """

    via: str
    needs_workspace: bool

    def parse(self, fields: Mapping[str, Any], *, args: Schema) -> Any:
        """
        Turn the row's ``binding`` object (toolset default and row merged, without
        ``via``) into this binding's frozen spec.

        Raises:
            InvalidRow: With the field named; unknown fields too.
        """
        ...

    def prepare(
        self, tool: Tool, args: Mapping[str, JsonValue], variables: Mapping[str, str]
    ) -> Request:
        """
        Pure. *args* already fit the schema. *variables* are the operator's values
        for the toolset: ``base_url`` overrides, ``{name}`` fills.

        Raises:
            BadArguments: If a value cannot be bound (``..`` in a path, CR in a header).
            ConfigError: If a variable that the row needs is not configured.
        """
        ...

    def read(self, tool: Tool, request: Request, response: Response) -> JsonValue:
        """
        Pure. The value a script gets.

        Raises:
            UpstreamError: If the answer is an error, with status and retryable.
        """
        ...


class Sender(Protocol):
    """Performs the requests of one binding. Made once a service; closed with it."""

    async def send(self, request: Any, context: SendContext) -> Response:
        """
        Raises:
            UpstreamTimeout, OutcomeUnknown, ResponseTooLarge, UpstreamError,
            AddressRefused, NeedsContainer, LocalUnavailable.
        """
        ...

    async def close(self) -> None: ...
