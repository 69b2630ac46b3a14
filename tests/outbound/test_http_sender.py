"""The HTTP sender against servers on loopback that misbehave. Real sockets, real bytes."""

from __future__ import annotations

import asyncio
import gzip
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from codemode.bindings import _http_sender
from codemode.core.call import HttpRequest, SendContext
from codemode.errors import (
    AddressRefused,
    BadAnswer,
    OutcomeUnknown,
    ResponseTooLarge,
    UpstreamError,
    UpstreamTimeout,
)
from outbound.flows import real_sender

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(talk: Talk) -> AsyncIterator[str]:
    """``127.0.0.1:PORT`` of a server that says exactly what *talk* says."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def saying(*pieces: bytes, gap_s: float = 0.0, heads: list[bytes] | None = None) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if heads is not None:
            heads.append(head)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(gap_s)

    return talk


def context(timeout_s: float = 60.0, max_bytes: int = 1 << 20) -> SendContext:
    return SendContext(
        workspace=None, timeout_s=timeout_s, max_response_bytes=max_bytes, run_id="r"
    )


@asynccontextmanager
async def sender(*allow: str) -> AsyncIterator[Any]:
    made = real_sender(*allow)
    try:
        yield made
    finally:
        await made.close()


async def ask(talk: Talk, ctx: SendContext | None = None, **request: Any) -> Any:
    async with serving(talk) as address, sender(address) as http:
        fields = {"method": "GET", "url": f"http://{address}/x"} | request
        return await http.send(HttpRequest(**fields), ctx or context())


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.case("attack:37")
async def test_what_is_sent_is_what_was_decided() -> None:
    heads: list[bytes] = []
    talk = saying(OK + b"Content-Length: 2\r\nSet-Cookie: a=b\r\n\r\nok", heads=heads)
    async with serving(talk) as address, sender(address) as http:
        for _ in range(2):
            response = await http.send(
                HttpRequest(method="GET", url=f"http://{address}/x", headers=(("A", "b"),)),
                context(),
            )
    assert response.body == b"ok"
    for head in heads:
        lines = head.decode().split("\r\n")
        assert lines[0] == "GET /x HTTP/1.1"
        assert [line for line in lines if line.lower().startswith("host:")] == [f"Host: {address}"]
        assert not [line for line in lines if line.lower().startswith("cookie")]


async def test_connections_are_reused() -> None:
    n_connections = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal n_connections
        n_connections += 1
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK + b"Content-Length: 2\r\n\r\nok")

    async with serving(talk) as address, sender(address) as http:
        for _ in range(5):
            await http.send(HttpRequest(method="GET", url=f"http://{address}/"), context())
    assert n_connections == 1


async def test_redirects_are_given_back_not_followed() -> None:
    response = await ask(
        saying(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
    )
    assert (response.status, response.headers["location"]) == (302, "http://127.0.0.1:1/")


async def test_the_environments_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://user:pw@127.0.0.1:1")
    assert (await ask(saying(OK + b"Content-Length: 2\r\n\r\nok"))).body == b"ok"


# -- addresses --------------------------------------------------------------------------------

REFUSED = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "１２７.0.0.1",
    "169.254.169.254",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "10.0.0.1",
    "172.17.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "0.0.0.0",
    "[fe80::1]",
    "[2002:7f00:1::]",
    "224.0.0.1",
    "255.255.255.255",
]


@pytest.mark.parametrize("host", REFUSED)
@pytest.mark.case("attack:33", "attack:35", "E3")
async def test_addresses_that_are_not_dialled(host: str) -> None:
    async with sender() as http:
        with pytest.raises(AddressRefused):
            await http.send(HttpRequest(method="GET", url=f"http://{host}/"), context())


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Every name resolves to the next answer; gives the names asked for."""
    asked: list[str] = []
    left = list(answers)

    async def getaddrinfo(host: str, port: int, **kwargs: Any) -> list[Any]:
        asked.append(host)
        addresses = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.case("attack:35")
async def test_a_name_that_resolves_inside_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["93.184.215.14", "169.254.169.254"])
    async with sender() as http:
        with pytest.raises(AddressRefused, match="metadata"):
            await http.send(HttpRequest(method="GET", url="http://nice.example/"), context())
    resolving(monkeypatch, ["93.184.215.14"])
    async with sender() as http:
        with pytest.raises(AddressRefused, match="metadata"):
            await http.send(
                HttpRequest(method="GET", url="http://metadata.google.internal/"), context()
            )


@pytest.mark.case("E4b")
async def test_a_name_is_resolved_once_and_that_address_dialled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DNS rebinding: a second look-up would give another answer; there is none."""
    heads: list[bytes] = []
    talk = saying(OK + b"Content-Length: 2\r\n\r\nok", heads=heads)
    async with serving(talk) as address, sender(address) as http:
        port = address.partition(":")[2]
        asked = resolving(monkeypatch, ["127.0.0.1"], ["10.0.0.1"])
        await http.send(HttpRequest(method="GET", url=f"http://a.example:{port}/"), context())
        assert asked == ["a.example"]
        assert f"Host: a.example:{port}\r\n".encode() in heads[0]
        with pytest.raises(AddressRefused):
            await http.send(HttpRequest(method="GET", url=f"http://b.example:{port}/"), context())


@pytest.mark.case("attack:41")
@pytest.mark.parametrize("port", [22, 25, 6379])
async def test_other_protocols_ports_are_not_dialled(
    monkeypatch: pytest.MonkeyPatch, port: int
) -> None:
    resolving(monkeypatch, ["93.184.215.14"])
    async with sender() as http:
        with pytest.raises(AddressRefused, match="another protocol"):
            await http.send(HttpRequest(method="GET", url=f"http://a.example:{port}/"), context())


async def test_an_allowed_address_is_exactly_that_one() -> None:
    async with serving(saying(OK + b"Content-Length: 2\r\n\r\nok")) as address:
        async with sender("127.0.0.1:1", "127.0.0.2") as http:
            with pytest.raises(AddressRefused) as caught:
                await http.send(HttpRequest(method="GET", url=f"http://{address}/"), context())
            assert 'allow_addresses = ["127.0.0.1"]' in caught.value.hint
        async with sender("127.0.0.1") as http:
            got = await http.send(HttpRequest(method="GET", url=f"http://{address}/"), context())
            assert got.status == 200


# -- answers that are too much ----------------------------------------------------------------


def packed(data: bytes, encoding: str = "gzip") -> bytes:
    body = gzip.compress(data) if encoding == "gzip" else zlib.compress(data)
    head = f"Content-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n"
    return OK + head.encode() + body


async def test_gzip_and_both_kinds_of_deflate_are_decoded() -> None:
    assert (await ask(saying(packed(b"hello" * 9)))).body == b"hello" * 9
    assert (await ask(saying(packed(b"hello" * 9, "deflate")))).body == b"hello" * 9
    raw = zlib.compress(b"hello", wbits=-15)
    head = b"Content-Encoding: deflate\r\nContent-Length: %d\r\n\r\n" % len(raw)
    assert (await ask(saying(OK + head + raw))).body == b"hello"
    two = gzip.compress(b"one") + gzip.compress(b"two")
    head = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(two)
    assert (await ask(saying(OK + head + two))).body == b"onetwo"


@pytest.mark.case("attack:43")
async def test_a_bomb_is_not_unpacked() -> None:
    bomb = packed(b"\0" * (64 << 20))
    assert len(bomb) < 100_000
    with pytest.raises(ResponseTooLarge) as caught:
        await ask(saying(bomb))
    assert caught.value.status == 200
    with pytest.raises(ResponseTooLarge, match="bomb"):  # below the limit, but a bomb all the same
        await ask(saying(bomb), context(max_bytes=1 << 30))


@pytest.mark.case("attack:43")
async def test_a_body_is_bounded_whether_or_not_it_is_announced() -> None:
    with pytest.raises(ResponseTooLarge):
        await ask(saying(OK + b"Content-Length: 10000000000\r\n\r\n"), context(max_bytes=1000))
    endless = saying(OK + b"\r\n", *[b"x" * 1000] * 50)
    with pytest.raises(ResponseTooLarge):
        await ask(endless, context(max_bytes=10_000))


@pytest.mark.case("attack:43")
async def test_headers_are_bounded() -> None:
    many = b"".join(b"X-%d: y\r\n" % n for n in range(_http_sender.MAX_HEADERS + 1))
    with pytest.raises(BadAnswer, match="headers"):
        await ask(saying(OK + many + b"Content-Length: 0\r\n\r\n"))
    with pytest.raises(UpstreamError):
        await ask(saying(OK, *[b"X: " + b"y" * 60_000 + b"\r\n"] * 20))


@pytest.mark.case("attack:43")
async def test_a_trickle_ends_at_the_calls_deadline() -> None:
    trickle = saying(OK + b"Content-Length: 1000\r\n\r\n", *[b"x"] * 1000, gap_s=0.01)
    with pytest.raises(UpstreamTimeout):
        await ask(trickle, context(timeout_s=0.15))


@pytest.mark.case("attack:43")
async def test_silence_ends_at_the_idle_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http_sender, "IDLE_S", 0.05)
    with pytest.raises(UpstreamTimeout):
        await ask(saying(OK + b"Content-Length: 10\r\n\r\n", b"x", gap_s=1))


@pytest.mark.case("attack:17")
async def test_encodings_that_cannot_be_looked_into_are_refused() -> None:
    for encoding in (b"br", b"zstd", b"gzip, gzip", b"unknown"):
        answer = OK + b"Content-Encoding: " + encoding + b"\r\nContent-Length: 2\r\n\r\nxx"
        with pytest.raises(BadAnswer, match="not asked for"):
            await ask(saying(answer))
    with pytest.raises(BadAnswer, match="validly"):
        await ask(saying(OK + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope"))


# -- what may have been sent ------------------------------------------------------------------


async def test_no_connection_means_nothing_was_sent() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    async with sender(address) as http:
        with pytest.raises(UpstreamError) as caught:
            await http.send(HttpRequest(method="POST", url=f"http://{address}/"), context())
    assert type(caught.value) is UpstreamError
    assert caught.value.retryable
    assert "Nothing was sent" in caught.value.hint


async def test_a_name_nobody_knows_means_nothing_was_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def getaddrinfo(*args: Any, **kwargs: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    async with sender() as http:
        with pytest.raises(UpstreamError, match="cannot be resolved") as caught:
            await http.send(HttpRequest(method="GET", url="http://a.example/"), context())
    assert caught.value.retryable


async def test_a_connection_that_breaks_after_sending_leaves_the_outcome_open() -> None:
    for pieces in ((), (b"HTTP/1.1 2",), (OK + b"Content-Length: 10\r\n\r\nabc",)):
        with pytest.raises(OutcomeUnknown):
            await ask(saying(*pieces), method="POST", body=b"{}")


async def test_a_connection_that_breaks_while_the_body_is_sent_leaves_the_outcome_open() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()

    with pytest.raises(OutcomeUnknown):
        await ask(hang_up, method="POST", body=b"x" * (32 << 20))


async def test_an_answer_that_is_no_http_leaves_the_outcome_open() -> None:
    with pytest.raises(OutcomeUnknown):
        await ask(saying(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), method="POST")


async def test_a_service_that_speaks_no_tls_means_nothing_was_sent() -> None:
    async with serving(saying(b"nope")) as address, sender(address) as http:
        with pytest.raises(UpstreamError) as caught:
            await http.send(HttpRequest(method="POST", url=f"https://{address}/"), context())
    assert type(caught.value) is UpstreamError


@pytest.mark.case("attack:39")
@pytest.mark.parametrize("value", ["a\r\nB: c", "a\nb", "a\0b", "é", "a\x7fb"])
async def test_header_injection_is_refused_before_any_io(value: str) -> None:
    async with sender() as http:
        for headers in ((("X", value),), ((value, "x"),)):
            with pytest.raises(UpstreamError, match="not plain ASCII"):
                await http.send(
                    HttpRequest(method="GET", url="http://a.example/", headers=headers), context()
                )


async def test_cancelling_a_send_gives_the_connection_back() -> None:
    never = saying(gap_s=0)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await never(reader, writer)
        await asyncio.sleep(30)

    async with serving(talk) as address, sender(address) as http:
        request = HttpRequest(method="GET", url=f"http://{address}/")
        tasks = [asyncio.ensure_future(http.send(request, context())) for _ in range(3)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert all(task.cancelled() for task in tasks)
        assert not http._pools["http"].connections
