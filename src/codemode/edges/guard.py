"""What stands before every HTTP route: who may ask and how much, before a body is read."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN_PATHS = frozenset({"/health", "/openapi.json"})
MAX_BODY_BYTES = 96 * 1024 * 1024
BODY_TIMEOUT_S = 60.0
"""From a request's headers to the end of its body."""


class Guard:
    """
    An ASGI application around another.

    Args:
        api_key: Every path but `OPEN_PATHS` needs it as a bearer token.
    """

    def __init__(self, app: App, *, api_key: str) -> None:
        self._app = app
        self._expected = f"Bearer {api_key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = self._refusal(scope)
            if refusal is not None:
                await _refuse(send, *refusal)
            else:
                await self._app(scope, _bounded(receive), send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in (b"authorization", b"content-length") and name in headers:
                return 400, f"{name.decode()} is given twice."
            headers[name] = value
        given = headers.get(b"authorization", b"")
        if scope["path"] not in OPEN_PATHS and not hmac.compare_digest(given, self._expected):
            return 401, "A bearer token with the API key is needed."
        if b"transfer-encoding" in headers:
            return 411, "Send the body with Content-Length, not in chunks."
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 12 or int(length) > MAX_BODY_BYTES:
            return 413, f"A body has at most {MAX_BODY_BYTES} bytes."
        return None


async def _refuse(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _bounded(receive: Receive) -> Receive:
    """*receive* that gives up on a body that does not arrive in time."""
    deadline = asyncio.get_running_loop().time() + BODY_TIMEOUT_S
    whole = False

    async def bounded() -> Message:
        nonlocal whole
        if whole:  # only the client's going away is left to hear of
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return bounded
