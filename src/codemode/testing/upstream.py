"""
A service that answers what a test says, on a port of its own on loopback.

    async with FakeUpstream(require_bearer="t0ken") as upstream:
        upstream.route("GET", "/items/{id}", lambda request: {"id": request.path_args["id"]})
        config = parse_config(upstream.config("shop", credentials=["shop"]), ...)

What no route answers is a 404 that says so; a request without the right bearer
token is a 401. Everything that arrived stands in ``requests``.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

JsonValue: TypeAlias = Any
_HOLE = re.compile(r"\\\{([^{}]+)\\\}")
MAX_BODY_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeRequest:
    """
    One request as it arrived.

    Args:
        path: As sent, percent-encoded, without the query.
        query: Decoded pairs, in order; a name may come twice.
        headers: Lower-case name -> value. Not shown in a repr: a token may be there.
        path_args: Decoded values of the ``{holes}`` of the route that matched.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = b""
    path_args: Mapping[str, str] = field(default_factory=dict)

    @property
    def json(self) -> JsonValue:
        """The body as JSON; None if there is no body."""
        return json.loads(self.body) if self.body else None

    @property
    def form(self) -> tuple[tuple[str, str], ...]:
        """The body as form fields, decoded, in order."""
        return tuple(parse_qsl(self.body.decode(), keep_blank_values=True))

    def first(self, name: str, default: str = "") -> str:
        """The first query value called *name*."""
        return next((value for key, value in self.query if key == name), default)


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeReply:
    """
    An answer that is more than a JSON value.

    Args:
        json: Becomes the body, unless *body* is given.
        body: Exact bytes; ``Content-Type`` then is the caller's to give.
    """

    status: int = 200
    json: JsonValue = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


Handler: TypeAlias = Callable[[FakeRequest], "JsonValue | FakeReply"]


@dataclass(frozen=True, slots=True)
class _Route:
    method: str
    pattern: re.Pattern[str]
    names: tuple[str, ...]
    answer: Handler


class FakeUpstream:
    """
    A loopback HTTP service, alive inside ``async with`` (or ``with``).

    Args:
        require_bearer: Only requests with exactly this bearer token are answered.

    Attributes:
        requests: Every request, in order of arrival, refused ones included.
    """

    def __init__(self, *, require_bearer: str | None = None) -> None:
        self.require_bearer = require_bearer
        self.requests: list[FakeRequest] = []
        self._routes: list[_Route] = []
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    # -- routes ------------------------------------------------------------------------------

    def route(self, method: str, path: str, answer: JsonValue | FakeReply | Handler) -> None:
        """
        Answer *method* on *path*. Later routes win over earlier ones.

        Args:
            path: ``{name}`` matches within one segment, ``{name...}`` slashes too.
            answer: A JSON value, a `FakeReply`, or a function of the request that
                returns either. It runs in a thread of the server.
        """
        names: list[str] = []

        def hole(match: re.Match[str]) -> str:
            name = match[1].replace("\\", "")
            names.append(name.removesuffix("..."))
            return "(.+?)" if name.endswith("...") else "([^/]+?)"

        pattern = re.compile(_HOLE.sub(hole, re.escape(path)))
        handler = answer if callable(answer) else lambda _: answer
        self._routes.insert(0, _Route(method.upper(), pattern, tuple(names), handler))

    def respond(self, request: FakeRequest) -> FakeReply:
        """The answer to *request*; called once for each that arrives."""
        with self._lock:
            self.requests.append(request)
        if self.require_bearer is not None:
            given = request.headers.get("authorization", "")
            if not compare_digest(given.encode(), f"Bearer {self.require_bearer}".encode()):
                return FakeReply(status=401, json={"message": "Bad credentials"})
        for route in self._routes:
            match = route.pattern.fullmatch(request.path)
            if match and route.method == request.method:
                path_args = dict(zip(route.names, map(unquote, match.groups()), strict=True))
                found = route.answer(replace(request, path_args=path_args))
                return found if isinstance(found, FakeReply) else FakeReply(json=found)
        message = f"No route answers {request.method} {request.path}"
        return FakeReply(status=404, json={"message": message})

    # -- where it is -------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """``127.0.0.1:PORT``, as ``allow_addresses`` wants it."""
        if self._server is None:
            raise RuntimeError("The upstream is not running: use it in an async with block.")
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def config(self, *toolsets: str, credentials: Iterable[str] = ()) -> dict[str, Any]:
        """
        Tables of ``codemode.toml`` that point *toolsets* here and let *credentials*
        be sent here; loopback is refused without them.
        """
        return {
            "allow_addresses": [self.address],
            "toolsets": {name: {"base_url": self.url} for name in toolsets},
            "credentials": {name: {"destinations": [self.url]} for name in credentials},
        }

    # -- life --------------------------------------------------------------------------------

    def __enter__(self) -> FakeUpstream:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join(timeout=5)
            self._server = self._thread = None

    async def __aenter__(self) -> FakeUpstream:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, trace)


def _handler(upstream: FakeUpstream) -> type[BaseHTTPRequestHandler]:
    class Handle(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 64 * 1024  # head and body leave in one piece
        timeout = 60

        def _answer(self) -> None:
            length = self.headers.get("Content-Length", "0")
            if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
                self.close_connection = True
                self._send(FakeReply(status=413, json={"message": "Body too large"}))
                return
            parts = urlsplit(self.path)
            request = FakeRequest(
                method=self.command,
                path=parts.path,
                query=tuple(parse_qsl(parts.query, keep_blank_values=True)),
                headers={name.lower(): value for name, value in self.headers.items()},
                body=self.rfile.read(int(length)),
            )
            try:
                reply = upstream.respond(request)
            except Exception as error:  # the test's own function: show it where it is read
                message = f"The route failed: {type(error).__name__}: {error}"
                reply = FakeReply(status=500, json={"message": message})
            self._send(reply)

        def _send(self, reply: FakeReply) -> None:
            no_body = reply.status in (204, 304) or reply.status < 200
            body = reply.body
            if body is None:
                body = b"" if no_body else json.dumps(reply.json, ensure_ascii=False).encode()
            self.send_response(reply.status)
            given = {name.lower() for name in reply.headers}
            if body and reply.body is None and "content-type" not in given:
                self.send_header("Content-Type", "application/json; charset=utf-8")
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if not no_body:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _answer

        def log_message(self, format: str, *args: object) -> None:
            """Quiet: what arrived stands in ``requests``."""

    return Handle
