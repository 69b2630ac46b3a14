"""
Sends HTTP requests: own resolution, vetted addresses, bounded answers.

A thin use of httpcore (the transport below httpx): it has no proxies, no
environment, no cookies, no redirects and no decoding of its own, so nothing
happens here that `codemode.core.outbound` did not decide.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import zlib
from collections.abc import Iterable
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import certifi
import httpcore

from codemode.core.address import Destination, canonical_host, is_allowed, vet
from codemode.core.call import HttpRequest, Response, SendContext
from codemode.errors import (
    AddressRefused,
    BadAnswer,
    ConfigError,
    OutcomeUnknown,
    ResponseTooLarge,
    UpstreamError,
    UpstreamTimeout,
)

CONNECT_S = 10.0
IDLE_S = 30.0
KEEPALIVE_S = 30.0
MAX_HEADERS = 200
MAX_RATIO = 200
"""Decoded bytes for each compressed one, beyond the first MiB: more is a bomb."""
USER_AGENT = "codemode"


_ours: ContextVar[bool] = ContextVar("_ours", default=False)


class _Quiet(logging.Filter):
    """
    httpcore logs whole headers at DEBUG, credentials that a service echoes among them.

    Only while one of our requests is under way: an application's own use keeps its log.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        return not _ours.get()


for _name in ("connection", "http11", "http2", "proxy", "socks"):
    logging.getLogger(f"httpcore.{_name}").addFilter(_Quiet())


class VettingBackend(httpcore.AsyncNetworkBackend):
    """Resolves a host once, vets every address it has, and dials one of those."""

    def __init__(self, allow_addresses: frozenset[str]) -> None:
        self._allow = allow_addresses
        self._dial = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await self._resolve(canonical_host(host), port, timeout)
        fault: Exception | None = None
        for address in addresses:
            try:
                return await self._dial.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                fault = error
        assert fault is not None
        raise fault

    async def _resolve(self, host: str, port: int, timeout: float | None) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"{host} was not resolved in time") from None
        except (OSError, UnicodeError):
            raise httpcore.ConnectError(f"{host} cannot be resolved") from None
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        # All of them, not only the one dialled: a name with one bad address is not trusted.
        for address in addresses:
            vet(host, address, port, self._allow)
            if not is_allowed(address, port, self._allow) and _is_own(address):
                raise AddressRefused(
                    f"{host} is {address}: one of this machine's own addresses.",
                    hint=f'The operator can list it: allow_addresses = ["{address}"].',
                )
        if not addresses:
            raise httpcore.ConnectError(f"{host} has no address")
        return addresses

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore.AsyncNetworkStream:
        raise AddressRefused("Unix sockets are not dialled.")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _is_own(address: str) -> bool:
    """Only an address of this machine can be bound."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


class Progress:
    """How far one request came, so that a failure says whether it may have been acted on."""

    def __init__(self) -> None:
        self.sent = False
        self.status: int | None = None

    async def trace(self, event: str, info: dict[str, Any]) -> None:
        """httpcore's trace hook. From the first header byte on, anything may have arrived."""
        if event.endswith(".send_request_headers.started"):
            self.sent = True

    def timed_out(self, seconds: float) -> UpstreamError:
        if not self.sent:
            return UpstreamError(
                f"No connection within {seconds:g} s.",
                hint="Nothing was sent, so the call can be made again.",
                retryable=True,
            )
        return UpstreamTimeout(
            f"No whole answer within {seconds:g} s.", status=self.status, retryable=True
        )

    def broken(self, words: str) -> UpstreamError:
        if not self.sent:
            return UpstreamError(f"The connection broke: {words}.", retryable=True)
        return OutcomeUnknown(f"The connection broke: {words}.", status=self.status)


class HttpSender:
    """
    Connections are kept and used again per scheme, host and port.

    Args:
        allow_addresses: As in `codemode.bindings.SenderSettings`.
    """

    def __init__(
        self,
        *,
        allow_addresses: frozenset[str] = frozenset(),
        ca_bundle: Path | None = None,
        max_connections: int = 64,
    ) -> None:
        self._backend = VettingBackend(allow_addresses)
        self._ca_bundle = ca_bundle
        self._max_connections = max_connections
        self._pools: dict[str, httpcore.AsyncConnectionPool] = {}
        self._opening = asyncio.Lock()

    async def _pool(self, scheme: str) -> httpcore.AsyncConnectionPool:
        async with self._opening:
            pool = self._pools.get(scheme)
            if pool is None:
                context = None
                if scheme == "https":
                    # Reading some hundred certificates takes long enough to hold up other calls.
                    context = await asyncio.to_thread(_trusted, self._ca_bundle)
                pool = self._pools[scheme] = httpcore.AsyncConnectionPool(
                    ssl_context=context,
                    max_connections=self._max_connections,
                    max_keepalive_connections=self._max_connections,
                    keepalive_expiry=KEEPALIVE_S,
                    network_backend=self._backend,
                )
            return pool

    async def send(self, request: HttpRequest, context: SendContext) -> Response:
        """See `codemode.core.call.Sender`. Sends once; follows nothing."""
        token = _ours.set(True)
        try:
            return await self._sent(request, context)
        finally:
            _ours.reset(token)

    async def _sent(self, request: HttpRequest, context: SendContext) -> Response:
        """Every way it can fail, typed by whether anything may have arrived."""
        sending = Progress()
        destination = Destination.of(request.url)
        pool = await self._pool(destination.scheme)
        try:
            async with asyncio.timeout(context.timeout_s):
                return await self._send(pool, destination, request, context, sending)
        except TimeoutError:
            raise sending.timed_out(context.timeout_s) from None
        except (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout) as error:
            raise UpstreamError(
                f"No connection: {_words(error)}.",
                hint="Nothing was sent, so the call can be made again.",
                retryable=True,
            ) from None
        except httpcore.TimeoutException:
            raise sending.timed_out(IDLE_S) from None
        except (httpcore.NetworkError, httpcore.RemoteProtocolError) as error:
            raise sending.broken(_words(error)) from None
        except (httpcore.LocalProtocolError, httpcore.UnsupportedProtocol) as error:
            raise UpstreamError(f"The request cannot be sent: {_words(error)}.") from None

    async def _send(
        self,
        pool: httpcore.AsyncConnectionPool,
        destination: Destination,
        request: HttpRequest,
        context: SendContext,
        sending: Progress,
    ) -> Response:
        # The one spelling that was decided on, whatever the request's own was.
        parts = urlsplit(request.url)
        url = f"{destination}{parts.path or '/'}" + (f"?{parts.query}" if parts.query else "")
        if not (url.isascii() and url.isprintable()) or " " in url:
            raise UpstreamError("The address of the request is not percent-encoded.")
        outgoing = httpcore.Request(
            request.method,
            url,
            headers=_headers(request, destination),
            content=request.body,
            extensions={
                "timeout": {
                    "connect": min(CONNECT_S, context.timeout_s),
                    "pool": min(CONNECT_S, context.timeout_s),
                    "read": min(IDLE_S, context.timeout_s),
                    "write": min(IDLE_S, context.timeout_s),
                },
                "trace": sending.trace,
            },
        )
        answer = await pool.handle_async_request(outgoing)
        try:
            sending.status = answer.status
            if len(answer.headers) > MAX_HEADERS:
                raise BadAnswer(
                    f"The answer has more than {MAX_HEADERS} headers.", status=answer.status
                )
            found: dict[str, str] = {}
            for raw_name, raw_value in answer.headers:
                name, value = raw_name.decode("ascii").lower(), raw_value.decode("latin-1")
                found[name] = f"{found[name]}, {value}" if name in found else value
            body = await _body(answer, found, context.max_response_bytes)
            return Response(status=answer.status, headers=found, body=body)
        finally:
            await answer.aclose()

    async def close(self) -> None:
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.aclose()


@cache
def _trusted(ca_bundle: Path | None) -> ssl.SSLContext:
    """The system's authorities (a company's own among them), certifi's, and the operator's."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    if ca_bundle is not None:
        try:
            context.load_verify_locations(str(ca_bundle))
        except OSError as error:  # ssl.SSLError is one
            raise ConfigError(f"The CA bundle {ca_bundle} cannot be used: {error}") from None
    return context


def _headers(request: HttpRequest, destination: Destination) -> list[tuple[bytes, bytes]]:
    """
    On the wire. Host is the URL's own, so it cannot differ from where the request goes.

    Raises:
        UpstreamError: For anything but printable ASCII; nothing is sent.
    """
    pairs = [("Host", destination.authority), *request.headers]
    if not any(name.lower() == "user-agent" for name, _ in pairs):
        pairs.append(("User-Agent", USER_AGENT))
    pairs.append(("Accept-Encoding", "gzip, deflate"))
    if request.body or request.method in ("POST", "PUT", "PATCH"):
        pairs.append(("Content-Length", str(len(request.body))))
    for name, value in pairs:
        if not (name.isascii() and name.isprintable() and value.isascii() and value.isprintable()):
            raise UpstreamError(f"The header {name!r} cannot be sent: it is not plain ASCII.")
    return [(name.encode(), value.encode()) for name, value in pairs]


async def _body(answer: httpcore.Response, headers: dict[str, str], max_bytes: int) -> bytes:
    """
    The decoded body.

    Raises:
        ResponseTooLarge: If it is longer than *max_bytes*, or far longer than it arrived.
        BadAnswer: If it is encoded in a way that cannot be looked into.
    """
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:18]) > max_bytes:
        raise _too_large(max_bytes, answer.status)
    decoder = _decoder(headers.get("content-encoding", ""), answer.status)
    body, n_received = bytearray(), 0
    assert not isinstance(answer.stream, bytes)
    async for chunk in answer.aiter_stream():
        n_received += len(chunk)
        if n_received > max_bytes:
            raise _too_large(max_bytes, answer.status)
        # Bounded before it is unpacked, so a bomb is never held in memory.
        room = min(max_bytes, max(1 << 20, n_received * MAX_RATIO))
        body += decoder.feed(chunk, room + 1 - len(body)) if decoder else chunk
        if len(body) > room:
            raise _too_large(max_bytes, answer.status)
    return bytes(body)


def _too_large(max_bytes: int, status: int) -> ResponseTooLarge:
    return ResponseTooLarge(
        f"The answer is larger than {max_bytes} bytes, or packed like a bomb.",
        hint="Ask for fewer items or fields.",
        status=status,
    )


class _Decoder:
    """gzip and deflate, never more than asked for at a time."""

    def __init__(self, status: int) -> None:
        self._status = status
        self._zlib: Any = None

    def feed(self, data: bytes, max_bytes: int) -> bytes:
        out = bytearray()
        while data and len(out) < max_bytes:
            if self._zlib is None:
                # zlib or gzip by its header; raw deflate as some servers send it
                wrapped = data[:2] == b"\x1f\x8b" or (len(data) > 1 and data[0] & 0x0F == 8)
                self._zlib = zlib.decompressobj(47 if wrapped or len(data) < 2 else -15)
            try:
                out += self._zlib.decompress(data, max_bytes - len(out))
            except zlib.error:
                raise BadAnswer("The answer is not validly packed.", status=self._status) from None
            data = self._zlib.unconsumed_tail
            if self._zlib.eof:
                data, self._zlib = self._zlib.unused_data, None
                if not data.strip(b"\0"):
                    break
        return bytes(out)


def _decoder(encoding: str, status: int) -> _Decoder | None:
    names = [name.strip().lower() for name in encoding.split(",") if name.strip()]
    names = [name for name in names if name != "identity"]
    if not names:
        return None
    if len(names) > 1 or names[0] not in ("gzip", "x-gzip", "deflate"):
        raise BadAnswer(
            f"The answer is encoded as {encoding[:60]!r}, which was not asked for.", status=status
        )
    return _Decoder(status)


def _words(error: Exception) -> str:
    """What went wrong, without the request that it may quote."""
    text = str(error).strip().rstrip(".")
    return text[:200] if text else type(error).__name__
