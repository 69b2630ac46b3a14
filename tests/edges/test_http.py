"""A real HTTP client does the main job through the application."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from codemode.edges.guard import MAX_BODY_BYTES, Guard
from codemode.edges.http import build_app
from codemode.edges.serving import serve_http
from codemode.errors import ConfigError
from codemode.service import Codemode
from codemode.store.config import Config

from .conftest import TOKEN

KEY = "an-api-key-of-some-length"


@pytest.fixture
async def client(config: Config) -> AsyncIterator[httpx.AsyncClient]:
    async with Codemode.open(config) as codemode:
        transport = httpx.ASGITransport(build_app(codemode, api_key=KEY))
        headers = {"Authorization": f"Bearer {KEY}"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://codemode", headers=headers
        ) as client:
            yield client


async def test_the_main_job(client: httpx.AsyncClient) -> None:
    found = (
        await client.get("/search", params={"query": "repository", "language": "python"})
    ).json()
    assert any(tool["path"] == "github.repos_get" for tool in found["tools"])

    script = 'return (await github.repos_get(owner="o", repo="r"))["stargazers_count"]'
    report = (await client.post("/check", json={"script": script, "language": "python"})).json()
    assert report["preview"]["read"] == ["github.repos_get"]

    answer = (await client.post("/runs", json={"script": script, "language": "python"})).json()
    assert (answer["status"], answer["value"]) == ("succeeded", 7)
    assert TOKEN not in str(answer)

    kept = (await client.get(f"/runs/{answer['run_id']}")).json()
    assert kept["value"] == 7
    assert (await client.get("/runs")).json()[0]["run_id"] == answer["run_id"]


@pytest.mark.parametrize("path", ["/search", "/runs", "/runs/abc"])
async def test_without_the_key_nothing_answers(client: httpx.AsyncClient, path: str) -> None:
    for header in ("", "Bearer wrong", f"Basic {KEY}", f"Bearer {KEY}x"):
        assert (await client.get(path, headers={"Authorization": header})).status_code == 401
    assert (await client.get("/health", headers={"Authorization": ""})).status_code == 200


async def test_fields_that_would_widen_policy_are_errors(client: httpx.AsyncClient) -> None:
    body = {"script": "return 1", "language": "python", "allow": ["*"]}
    assert (await client.post("/runs", json=body)).status_code == 422


async def test_bad_bodies_are_refused(client: httpx.AsyncClient) -> None:
    files = [{"path": "a", "data": "not base64!"}]
    wrong = {"script": "return 1", "language": "python", "files": files}
    assert (await client.post("/runs", json=wrong)).status_code == 422
    assert (await client.get("/runs/none")).status_code == 404
    good = [{"path": "a", "data": base64.b64encode(b"x").decode()}]
    needs = (await client.post("/runs", json={**wrong, "files": good})).json()
    assert needs["status"] == "refused"
    assert needs["error"]["code"] == "needs_container"


async def test_the_openapi_document_lists_the_routes(client: httpx.AsyncClient) -> None:
    paths = (await client.get("/openapi.json")).json()["paths"]
    assert {"/search", "/describe", "/check", "/runs", "/runs/{run_id}"} <= set(paths)


async def test_serving_without_a_key_refuses_to_start(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CODEMODE_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="CODEMODE_API_KEY"):
        await serve_http(config, host=None, port=0)


async def test_a_stranger_is_refused_before_a_body_is_read(config: Config) -> None:
    """The application is never reached, and nothing of the body is asked for."""
    asked: list[str] = []
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append("app")

    async def receive() -> Any:
        asked.append("body")
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    def scope(*headers: tuple[bytes, bytes]) -> dict[str, Any]:
        return {"type": "http", "path": "/runs", "method": "POST", "headers": list(headers)}

    guard = Guard(app, api_key=KEY)
    key = (b"authorization", f"Bearer {KEY}".encode())
    refused = {
        401: scope((b"content-length", b"30000000")),
        411: scope(key, (b"content-length", b"5"), (b"transfer-encoding", b"chunked")),
        413: scope(key, (b"content-length", str(MAX_BODY_BYTES + 1).encode())),
        400: scope(key, key),
    }
    for status, request in refused.items():
        sent.clear()
        await guard(request, receive, send)
        assert sent[0]["status"] == status
        assert (b"connection", b"close") in sent[0]["headers"]
    assert asked == []
    await guard(scope(key, (b"content-length", b"0")), receive, send)
    assert asked == ["app"]


async def test_a_body_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemode.edges.guard.BODY_TIMEOUT_S", 0.05)
    got: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        got.append(await receive())

    async def receive() -> Any:
        await asyncio.Event().wait()

    headers = [(b"authorization", f"Bearer {KEY}".encode()), (b"content-length", b"10")]
    scope = {"type": "http", "path": "/runs", "headers": headers}
    await Guard(app, api_key=KEY)(scope, receive, lambda message: asyncio.sleep(0))
    assert got == [{"type": "http.disconnect"}]


@pytest.mark.parametrize(
    "body",
    [
        b'{"script": "return \\ud800", "language": "python"}',
        b'{"script": "return 1", "language": "python", "run_key": "\\udfff"}',
        b'{"script": "return 1", "language": "python", "input": NaN}',
        b'{"script": "return 1", "language": "python", "input": ["\\ud800"]}',
        b'{"script": "return 1", "language": "ruby"}',
        b'{"script": "return 1", "language": "python", "timeout_s": 0}',
    ],
)
async def test_what_no_run_can_take_is_the_callers_error(
    client: httpx.AsyncClient, body: bytes
) -> None:
    answer = await client.post("/runs", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text


async def test_short_names_of_languages_and_unknown_parameters(client: httpx.AsyncClient) -> None:
    answer = await client.post("/runs", json={"script": "return 1", "language": "py"})
    assert answer.json()["value"] == 1
    assert (await client.get("/search", params={"q": "issues"})).status_code == 422
    assert (await client.get("/search", params={"query": "x" * 5000})).status_code == 422
