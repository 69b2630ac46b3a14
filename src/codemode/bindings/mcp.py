"""
The mcp binding: a tool of an MCP server that runs on the host, over stdio.

Servers start with their first call, one process per service (or per run where the
server's settings say so), with an environment and roots of their own. Structured
content is preferred; else text parts are joined, and read as JSON where the row
promises something other than text.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codemode.bindings import SenderSettings
from codemode.bindings._command import refuse_unknown
from codemode.bindings._servers import (
    Answer,
    Server,
    ServerGone,
    ServerRefused,
    load_servers,
    resolve,
    shipped_servers,
    user_folder,
)
from codemode.core.call import McpRequest, Request, Response, SendContext
from codemode.core.tool import JsonValue, Schema, Tool
from codemode.errors import (
    BadAnswer,
    InvalidRow,
    OutcomeUnknown,
    ResponseTooLarge,
    UpstreamError,
    UpstreamTimeout,
)

if TYPE_CHECKING:
    from codemode.bindings._session import Session

RUN_IDLE_S = 60.0
"""A per-run server is closed after so long without a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSpec:
    """
    An mcp row's binding.

    Args:
        media: ``refuse`` images, audio and blobs, or give the parts as ``base64``.
    """

    server: str
    tool: str
    media: str = "refuse"


class McpBinding:
    """Tools of MCP servers."""

    via = "mcp"
    needs_workspace = False

    def parse(self, fields: Mapping[str, Any], *, args: Schema) -> McpSpec:
        """
        Raises:
            InvalidRow: With the field named.
        """
        refuse_unknown(fields, frozenset({"server", "tool", "media"}), field="binding")
        for name in ("server", "tool"):
            if not isinstance(fields.get(name), str) or not fields[name]:
                raise InvalidRow("needs a name", field=f"binding.{name}")
        media = fields.get("media", "refuse")
        if media not in ("refuse", "base64"):
            raise InvalidRow("needs refuse or base64", field="binding.media")
        return McpSpec(server=fields["server"], tool=fields["tool"], media=media)

    def prepare(
        self, tool: Tool, args: Mapping[str, JsonValue], variables: Mapping[str, str]
    ) -> Request:
        """The arguments go as they are: the server's own schema is the row's."""
        spec: McpSpec = tool.binding.spec
        return McpRequest(
            server=spec.server, tool=spec.tool, arguments=dict(args), effect=tool.effect
        )

    def read(self, tool: Tool, request: Request, response: Response) -> JsonValue:
        """
        Raises:
            UpstreamError: If the server marked its answer as an error.
            BadAnswer: If it holds media that the row does not take, or text that is
                not the JSON promised.
        """
        spec: McpSpec = tool.binding.spec
        answer = response.value if isinstance(response.value, Mapping) else {}
        parts = answer.get("content") or []
        text = "\n".join(filter(None, map(_text, parts)))
        if response.is_error:
            raise UpstreamError(f"{spec.tool}: {text or 'the server reports an error'}")
        if "structured" in answer:
            return answer["structured"]
        media = [part for part in parts if _text(part) is None]
        if media and spec.media == "base64":
            return parts
        if media:
            kinds = ", ".join(sorted({str(part.get("type")) for part in media}))
            raise BadAnswer(
                f"{spec.tool} answered with {kinds}, which this row does not take.",
                hint='The row needs "media": "base64" in its binding.',
            )
        if tool.returns is None or _may_be_text(tool.returns):
            return text
        try:
            return json.loads(text)
        except ValueError as error:
            raise BadAnswer(
                f"{spec.tool} should answer with JSON and did not: {error}. It said {text[:200]!r}."
            ) from None


def _text(part: Mapping[str, Any]) -> str | None:
    match part:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource_link", "uri": uri}:
            return str(uri)
    return None


def _may_be_text(returns: Schema) -> bool:
    kind = returns.get("type")
    return kind == "string" or (isinstance(kind, list) and "string" in kind)


class McpSender:
    """
    Keeps the servers running and calls them.

    Args:
        servers: By name (`load_servers`).
        state: Folder under which each server has its own.
        cache: Folder for installed servers.
    """

    def __init__(self, servers: Mapping[str, Server], *, state: Path, cache: Path) -> None:
        self._servers = dict(servers)
        self._state, self._cache = state, cache
        self._sessions: dict[tuple[str, str], asyncio.Task[Session]] = {}

    async def send(self, request: McpRequest, context: SendContext) -> Response:
        """
        Raises:
            UpstreamTimeout: A read did not answer in time.
            OutcomeUnknown: A write did not, or its server died in mid call.
            ResponseTooLarge: The answer is larger than the run may receive.
            UpstreamError: The server cannot be started, refused the call, or died
                while reading.
        """
        deadline_s = asyncio.get_running_loop().time() + context.timeout_s
        session = await self._session(request, context)
        left_s = deadline_s - asyncio.get_running_loop().time()
        try:
            answer = await session.call(request.tool, request.arguments, max(left_s, 0.001))
        except TimeoutError:
            raise _lost(request, f"did not answer within {context.timeout_s:g} s") from None
        except ServerGone:
            raise _lost(request, "ended in mid call") from None
        except ServerRefused as error:
            raise UpstreamError(f"{request.tool}: {error.message}", status=error.code) from None
        except Exception as error:  # an answer that breaks the protocol: it may have acted
            raise _lost(
                request, f"gave an answer that breaks the protocol ({type(error).__name__})"
            ) from None
        return _response(request, answer, context.max_response_bytes)

    async def end_run(self, run_id: str) -> None:
        """Close the servers that were started for one run."""
        mine = [key for key in self._sessions if key[1] == run_id and run_id]
        await self._close([self._sessions.pop(key) for key in mine])

    async def close(self) -> None:
        """End every server and wait for it. Idempotent."""
        tasks = list(self._sessions.values())
        self._sessions.clear()
        await self._close(tasks)

    async def _session(self, request: McpRequest, context: SendContext) -> Session:
        server = self._servers.get(request.server)
        if server is None:
            known = ", ".join(sorted(self._servers)) or "none"
            raise UpstreamError(
                f"There is no MCP server {request.server!r} (known: {known}).",
                hint=f"Add [mcp_servers.{request.server}] to codemode.toml.",
            )
        key = (server.name, context.run_id if server.session == "run" else "")
        opening = self._sessions.get(key)
        if opening is None or _is_over(opening):
            self._forget_closed()
            opening = asyncio.create_task(self._open(server, key[1]), name=f"open {server.name}")
            self._sessions[key] = opening
        try:
            async with asyncio.timeout(context.timeout_s):
                # Shielded: a first start may install the server and outlive this call's deadline.
                return await asyncio.shield(opening)
        except TimeoutError:
            raise UpstreamError(
                f"The MCP server {server.name} is still starting.",
                hint="Nothing was sent; try again in a minute.",
                retryable=True,
            ) from None
        except asyncio.CancelledError:
            me = asyncio.current_task()
            if opening.cancelled() and not (me and me.cancelling()):
                # Not this call was cancelled but the sender closed under it.
                raise UpstreamError(f"The MCP server {server.name} was stopped.") from None
            raise

    async def _open(self, server: Server, run_id: str) -> Session:
        # The SDK takes seconds to import: not before a server is called, and not on the loop.
        sessions = await asyncio.to_thread(import_module, "codemode.bindings._session")
        start = await resolve(server, data=self._state / server.name, cache=self._cache)
        session: Session = sessions.Session(
            server.name, start, roots=server.roots, idle_s=RUN_IDLE_S if run_id else None
        )
        await session.open(server.start_timeout_s)
        return session

    def _forget_closed(self) -> None:
        for key in [key for key, task in self._sessions.items() if _is_over(task)]:
            del self._sessions[key]

    @staticmethod
    async def _close(tasks: list[asyncio.Task[Session]]) -> None:
        for task in tasks:
            if not task.done():
                task.cancel()
        for opened in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(opened, BaseException):
                await opened.close()


def _is_over(opening: asyncio.Task[Session]) -> bool:
    if not opening.done():
        return False
    return opening.cancelled() or opening.exception() is not None or opening.result().closed


def _lost(request: McpRequest, what: str) -> UpstreamError:
    message = f"The MCP server {request.server} {what} ({request.tool})."
    if request.effect != "read":
        return OutcomeUnknown(message, hint="It may have been applied; look before repeating it.")
    if what.startswith("did not answer"):
        return UpstreamTimeout(message, retryable=True)
    return UpstreamError(message, retryable=True)


def _response(request: McpRequest, answer: Answer, max_bytes: int) -> Response:
    value: dict[str, JsonValue] = {"content": answer.content}
    if answer.structured is not None:
        value["structured"] = answer.structured
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if len(body) > max_bytes:
        raise ResponseTooLarge(
            f"{request.tool} answered with {len(body)} bytes; the run may receive {max_bytes}.",
            hint="Ask for less.",
        )
    return Response(value=value, body=body, is_error=answer.is_error)


BINDING = McpBinding()


def make_sender(settings: SenderSettings) -> McpSender:
    """
    Raises:
        ConfigError: If the settings of a server cannot be used.
    """
    return McpSender(
        load_servers(shipped_servers(), settings.mcp_servers),
        state=(settings.state_folder or user_folder("XDG_STATE_HOME", ".local/state")) / "mcp",
        cache=user_folder("XDG_CACHE_HOME", ".cache"),
    )
