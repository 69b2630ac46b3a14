"""TLS names, and redirects over real sockets: what each server really received."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from codemode.bindings import SenderSettings, http
from codemode.core.call import HttpRequest, SendContext
from codemode.core.policy import Policy, Rule
from codemode.core.run import ToolCall
from codemode.errors import ConfigError, UpstreamError
from codemode.testing import FakeReply, FakeUpstream
from outbound.flows import SECRET, credential, http_tool, outbound_of, real_sender, run_of

FILES = Path(__file__).parent / "files"
"""A certificate authority of these tests alone (its key is gone), and one for a.example."""
OPEN = Policy(rules=(Rule(action="allow", label="test"),))
CONTEXT = SendContext(workspace=None, timeout_s=10, max_response_bytes=1 << 20, run_id="r")


@asynccontextmanager
async def tls_server(names: list[str | None]) -> AsyncIterator[int]:
    """Port of a server for a.example; *names* gets the server name of each handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FILES / "server.pem", FILES / "server.key")
    context.sni_callback = lambda sock, name, ctx: names.append(name)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            names.append(head.decode().split("Host: ")[1].split("\r\n")[0])
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def everything_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(host: str, port: int, **kwargs: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)


def tls_sender(port: int, *, ca_bundle: Path | None) -> Any:
    settings = SenderSettings(allow_addresses=frozenset({f"127.0.0.1:{port}"}), ca_bundle=ca_bundle)
    return http.make_sender(settings)


@pytest.mark.case("attack:37", "E4b")
async def test_the_name_in_the_handshake_and_in_host_are_the_urls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names: list[str | None] = []
    async with tls_server(names) as port:
        everything_is_here(monkeypatch)
        sender = tls_sender(port, ca_bundle=FILES / "authority.pem")
        request = HttpRequest(method="GET", url=f"https://a.example:{port}/")
        assert (await sender.send(request, CONTEXT)).body == b"ok"
        await sender.close()
    assert names == ["a.example", f"a.example:{port}"]


@pytest.mark.parametrize(
    ("host", "ca_bundle"), [("b.example", FILES / "authority.pem"), ("a.example", None)]
)
async def test_a_certificate_that_does_not_prove_the_name_ends_it_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, host: str, ca_bundle: Path | None
) -> None:
    names: list[str | None] = []
    async with tls_server(names) as port:
        everything_is_here(monkeypatch)
        sender = tls_sender(port, ca_bundle=ca_bundle)
        request = HttpRequest(method="POST", url=f"https://{host}:{port}/", body=b"secret")
        with pytest.raises(UpstreamError) as caught:
            await sender.send(request, CONTEXT)
        await sender.close()
    assert type(caught.value) is UpstreamError
    assert "certificate" in caught.value.message.lower()
    assert names == [host]  # no request followed the handshake


async def test_a_ca_bundle_that_is_not_there_is_the_operators_to_mend(tmp_path: Path) -> None:
    sender = tls_sender(443, ca_bundle=tmp_path / "none.pem")
    with pytest.raises(ConfigError, match=r"none\.pem"):
        await sender.send(HttpRequest(method="GET", url="https://a.example/"), CONTEXT)


# -- redirects --------------------------------------------------------------------------------


@pytest.mark.case("attack:23")
async def test_a_redirect_to_another_port_of_the_machine_is_refused() -> None:
    with FakeUpstream() as upstream, FakeUpstream() as other:
        upstream.route("GET", "/items/a", FakeReply(status=302, headers={"Location": other.url}))
        sender = real_sender(upstream.address, other.address)
        run = run_of(
            http_tool(),
            variables={"shop": {"base_url": upstream.url}},
            credentials={"shop": credential(upstream.url)},
        )
        outbound = outbound_of(run, sender)
        reply = await outbound.answer(ToolCall(id=1, tool="shop.get", args={"id": "a"}), None)
        await sender.close()
        assert reply.error is not None
        assert "leads to port" in reply.error.message
        assert not other.requests


@pytest.mark.case("attack:23", "attack:35")
async def test_a_redirect_inside_is_refused_although_its_origin_is_allowed() -> None:
    with FakeUpstream() as upstream:
        port = upstream.address.partition(":")[2]
        target = f"http://169.254.169.254:{port}/latest/meta-data"
        upstream.route("GET", "/items/a", FakeReply(status=302, headers={"Location": target}))
        sender = real_sender(upstream.address)
        run = run_of(
            http_tool(),
            variables={"shop": {"base_url": upstream.url}},
            credentials={"shop": credential(upstream.url)},
        )
        outbound = outbound_of(run, sender)
        reply = await outbound.answer(ToolCall(id=1, tool="shop.get", args={"id": "a"}), None)
        await sender.close()
    assert reply.error is not None
    assert reply.error.code == "address_refused"
    assert [record.state for record in outbound.records] == ["failed"]


@pytest.mark.case("attack:23")
@pytest.mark.parametrize(
    ("status", "method", "kept"), [(302, "GET", False), (303, "GET", False), (307, "POST", True)]
)
async def test_what_follows_a_write(status: int, method: str, kept: bool) -> None:
    with FakeUpstream() as upstream:
        upstream.route("POST", "/items/a", FakeReply(status=status, headers={"Location": "/done"}))
        upstream.route("GET", "/done", {"ok": True})
        upstream.route("POST", "/done", {"ok": True})
        sender = real_sender(upstream.address)
        args = {"type": "object", "properties": {"id": {"type": "string"}, "n": {}}}
        run = run_of(
            http_tool("pay", effect="write", args=args),
            policy=OPEN,
            variables={"shop": {"base_url": upstream.url}},
            credentials={"shop": credential(upstream.url)},
        )
        outbound = outbound_of(run, sender)
        call = ToolCall(id=1, tool="shop.pay", args={"id": "a", "n": 1})
        reply = await outbound.answer(call, None)
        await sender.close()
        assert reply.value == {"ok": True}
        last = upstream.requests[-1]
        assert (last.method, bool(last.body)) == (method, kept)
        assert last.headers["authorization"] == f"Bearer {SECRET}"  # same origin, in scope
