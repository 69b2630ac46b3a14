"""The loopback service that users' own tests stand on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from codemode.store.config import parse_config
from codemode.testing import FakeReply, FakeUpstream


@pytest.fixture
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream() as running:
        yield running


def get(upstream: FakeUpstream, path: str, **more: object) -> httpx.Response:
    return httpx.get(f"{upstream.url}{path}", trust_env=False, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("route", "path", "found"),
    [
        ("/items/{id}", "/items/7", {"id": "7"}),
        ("/items/{id}", "/items/a%2Fb%20c", {"id": "a/b c"}),
        ("/items/{id}", "/items/a/b", None),
        ("/items/{id}", "/items/", None),
        ("/files/{path...}", "/files/docs/a.md", {"path": "docs/a.md"}),
        ("/compare/{base}...{head}", "/compare/v1.0...v2", {"base": "v1.0", "head": "v2"}),
        ("/a.b", "/axb", None),
    ],
)
def test_a_route_matches_encoded_segments(
    upstream: FakeUpstream, route: str, path: str, found: dict[str, str] | None
):
    upstream.route("GET", route, lambda request: dict(request.path_args))
    response = get(upstream, path)
    assert response.status_code == (404 if found is None else 200)
    if found is not None:
        assert response.json() == found


def test_what_arrives_is_recorded_and_readable(upstream: FakeUpstream):
    upstream.route("POST", "/form", lambda request: dict(request.form))
    upstream.route("POST", "/json", lambda request: request.json)
    sent = {"a": "1 & 2", "ü": ""}
    assert httpx.post(f"{upstream.url}/form", data=sent, trust_env=False).json() == sent
    assert httpx.post(f"{upstream.url}/json?x=1&x=2", json=[1], trust_env=False).json() == [1]
    last = upstream.requests[-1]
    assert (last.method, last.path, last.query) == ("POST", "/json", (("x", "1"), ("x", "2")))
    assert last.first("x") == "1"
    assert last.first("y", "none") == "none"


def test_replies_may_have_any_status_and_bytes(upstream: FakeUpstream):
    upstream.route("DELETE", "/x", FakeReply(status=204))
    upstream.route("GET", "/raw", FakeReply(body=b"\x00\xff", headers={"Content-Type": "x/y"}))
    upstream.route("GET", "/null", None)
    gone = httpx.delete(f"{upstream.url}/x", trust_env=False)
    assert (gone.status_code, gone.content) == (204, b"")
    raw = get(upstream, "/raw")
    assert (raw.content, raw.headers["content-type"]) == (b"\x00\xff", "x/y")
    assert get(upstream, "/null").json() is None


def test_the_latest_route_wins_and_none_is_said_so(upstream: FakeUpstream):
    upstream.route("GET", "/a", 1)
    upstream.route("GET", "/a", 2)
    assert get(upstream, "/a").json() == 2
    assert "No route answers GET /b" in get(upstream, "/b").json()["message"]
    assert httpx.put(f"{upstream.url}/a", trust_env=False).status_code == 404


def test_a_broken_route_is_a_500_that_names_the_fault(upstream: FakeUpstream):
    upstream.route("GET", "/a", lambda request: 1 // 0)
    response = get(upstream, "/a")
    assert response.status_code == 500
    assert "ZeroDivisionError" in response.json()["message"]
    assert get(upstream, "/a").status_code == 500  # and it still answers


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer other", "bearer t0ken", "Basic t0ken"])
def test_only_the_right_token_is_let_in(header: str | None):
    with FakeUpstream(require_bearer="t0ken") as upstream:
        upstream.route("GET", "/a", 1)
        headers = {} if header is None else {"Authorization": header}
        assert get(upstream, "/a", headers=headers).status_code == 401
        good = {"Authorization": "Bearer t0ken"}
        assert get(upstream, "/a", headers=good).json() == 1
        assert "t0ken" not in repr(upstream.requests)


async def test_its_tables_are_a_configuration(tmp_path: Path):
    async with FakeUpstream() as upstream:
        tables = upstream.config("github", "slack", credentials=["github"])
        config = parse_config(tables, origin="test", base=tmp_path)
        assert config.allow_addresses == (upstream.address,)
        assert config.toolsets["slack"].base_url == upstream.url
        assert config.credentials["github"].destinations == (upstream.url,)


async def test_many_clients_at_once():
    async with FakeUpstream() as upstream, httpx.AsyncClient(trust_env=False) as client:
        upstream.route("GET", "/{n}", lambda request: int(request.path_args["n"]))
        calls = [client.get(f"{upstream.url}/{n}") for n in range(40)]
        assert [reply.json() for reply in await asyncio.gather(*calls)] == list(range(40))
        assert len(upstream.requests) == 40


def test_outside_its_block_it_is_nowhere():
    upstream = FakeUpstream()
    with pytest.raises(RuntimeError, match="async with"):
        _ = upstream.url
    with upstream:
        address = upstream.address
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://{address}/", trust_env=False)
