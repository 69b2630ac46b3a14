"""
Every shipped http row, sent for real to a loopback service that knows the operation
from facts and refuses anything else; and that service itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from codemode.bindings import SenderSettings
from codemode.bindings.http import BINDING, make_sender
from codemode.core.call import HttpRequest, Response, SendContext
from codemode.errors import UpstreamError
from codemode.testing import FakeReply
from upstream import FactUpstream
from upstream.facts import services
from upstream.rows import Row, http_rows

CONTEXT = SendContext(workspace=None, timeout_s=10, max_response_bytes=1 << 20, run_id="test")
TOKENS = {"github": "gh-token", "slack": "slack-token", "stripe": "stripe-token"}
ROWS = {row.id: row for row in http_rows()}


def prepared(row: Row, upstream: FactUpstream, args: dict[str, Any] | None = None) -> HttpRequest:
    """The row's request as outbound would send it, token included."""
    variables = {"base_url": f"{upstream.url}/{row.toolset['toolset']}"}
    example = row.raw["example"]["args"]
    request = BINDING.prepare(row.tool, example if args is None else args, variables)
    assert isinstance(request, HttpRequest)
    if request.credential is None:
        return request
    token = ("Authorization", f"Bearer {TOKENS[request.credential]}")
    return replace(request, headers=(*request.headers, token))


async def sent(request: HttpRequest, upstream: FactUpstream) -> Response:
    sender = make_sender(SenderSettings(allow_addresses=frozenset({upstream.address})))
    try:
        return await sender.send(request, CONTEXT)
    finally:
        await sender.close()


def serve(upstream: FactUpstream, row: Row, answer: Any) -> None:
    binding = row.raw["binding"]
    path = binding["path"].partition("?")[0]
    upstream.serve(row.toolset["toolset"], binding["method"], path, answer)


@pytest.fixture(scope="module")
def running() -> Iterator[FactUpstream]:
    with FactUpstream(TOKENS) as running:
        yield running


@pytest.fixture
def upstream(running: FactUpstream) -> FactUpstream:
    running.forget()
    return running


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_the_example_request_is_one_the_service_takes(row: Row, upstream: FactUpstream):
    example = row.raw["example"]
    serve(upstream, row, example["returns"])
    request = prepared(row, upstream)
    response = await sent(request, upstream)
    assert upstream.refused == []
    assert BINDING.read(row.tool, request, response) == example["returns"]


def test_every_toolset_has_facts():
    assert {row.toolset["toolset"] for row in ROWS.values()} == set(services())
    assert len(ROWS) >= 100


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_an_argument_that_is_missing_is_noticed(row: Row, upstream: FactUpstream):
    """The service must refuse each call without one of its required arguments."""
    serve(upstream, row, row.raw["example"]["returns"])
    for name in row.raw["args"].get("required", []):
        if f"{{{name}}}" in row.raw["binding"]["path"]:
            continue  # without it there is no address to send to
        args = {key: value for key, value in row.raw["example"]["args"].items() if key != name}
        response = await sent(prepared(row, upstream, args), upstream)
        if (row.id, name) in ROW_KNOWS_BETTER:
            assert response.status < 300
        else:
            assert response.status == 400, name
            assert name in upstream.refused[-1][1]


ROW_KNOWS_BETTER = {
    # facts leave these optional, but the service refuses a call without them
    ("github.issues_add_labels", "labels"),
    ("github.pulls_create", "title"),
    ("slack.conversations_history", "channel"),
    ("slack.conversations_replies", "channel"),
    ("slack.conversations_replies", "ts"),
    ("slack.chat_delete", "channel"),
    ("slack.chat_delete", "ts"),
}

CREATE = "github.issues_create"
LIST = "github.issues_list_for_repo"


@pytest.mark.parametrize(
    ("tool", "change", "status", "reason"),
    [
        (CREATE, {"headers": ()}, 401, "Bad credentials"),
        (CREATE, {"method": "PUT"}, 400, "wrong method"),
        (CREATE, {"body": b'{"title": "x", "colour": 1}'}, 400, "colour"),
        (CREATE, {"body": b'{"body": "x"}'}, 400, "title"),
        (CREATE, {"body": b""}, 400, "missing"),
        (LIST, {"url": "?stat=open"}, 400, "unknown query parameter 'stat'"),
        (LIST, {"url": "?state=ajar"}, 400, "query state"),
        (LIST, {"url": "?per_page=ten"}, 400, "query per_page"),
        (LIST, {"url": "/x"}, 400, "path issue_number"),
        (LIST, {"url": "/7/x"}, 400, "no such path"),
        (LIST, {"body": b"{}"}, 400, "takes no body"),
        ("stripe.refunds_create", {"body": b'{"charge": "ch_1"}'}, 400, "unknown"),
        ("stripe.refunds_create", {"body": b"amount=ten"}, 400, "form.amount"),
        ("stripe.refunds_create", {"body": b"charge[x]=1"}, 400, "takes no brackets"),
        ("stripe.customers_list", {"url": "?created[since]=1"}, 400, "query created"),
        ("wikipedia.search_pages", {"url": "?limit=1"}, 400, "'q' is missing"),
        ("osv.query", {"type": "text/plain"}, 400, "'text/plain'"),
    ],
)
async def test_the_service_refuses_what_is_not_its_own(
    tool: str, change: dict[str, Any], status: int, reason: str, upstream: FactUpstream
):
    row = ROWS[tool]
    serve(upstream, row, row.raw["example"]["returns"])
    request = prepared(row, upstream)
    if "url" in change:
        change = {"url": request.url.partition("?")[0] + change["url"]}
    if "type" in change:
        kept = [pair for pair in request.headers if pair[0] != "Content-Type"]
        change = {"headers": (*kept, ("Content-Type", change["type"]))}
    response = await sent(replace(request, **change), upstream)
    assert response.status == status
    assert reason in upstream.refused[0][1]
    with pytest.raises(UpstreamError) as caught:
        BINDING.read(row.tool, request, response)
    assert caught.value.status == status


async def test_a_token_for_nobody_is_refused(upstream: FactUpstream):
    row = ROWS["hacker_news.item"]
    serve(upstream, row, None)
    request = prepared(row, upstream)
    stray = replace(request, headers=(*request.headers, ("Authorization", "Bearer x")))
    assert (await sent(stray, upstream)).status == 400


async def test_slack_says_no_with_a_200(upstream: FactUpstream):
    row = ROWS["slack.users_lookup_by_email"]
    serve(upstream, row, {"ok": False, "error": "users_not_found"})
    request = prepared(row, upstream)
    response = await sent(request, upstream)
    assert response.status == 200
    with pytest.raises(UpstreamError, match="users_not_found") as caught:
        BINDING.read(row.tool, request, response)
    assert not caught.value.retryable
    serve(upstream, row, {"ok": False, "error": "ratelimited"})
    response = await sent(request, upstream)
    with pytest.raises(UpstreamError, match="ratelimited") as caught:
        BINDING.read(row.tool, request, response)
    assert caught.value.retryable


async def test_the_reason_of_a_refusal_reaches_the_script(upstream: FactUpstream):
    row = ROWS["github.issues_create_label"]
    answer = {"message": "Validation Failed", "errors": [{"code": "already_exists"}]}
    serve(upstream, row, FakeReply(status=422, json=answer))
    request = prepared(row, upstream)
    response = await sent(request, upstream)
    with pytest.raises(UpstreamError, match=r"Validation Failed.*already_exists"):
        BINDING.read(row.tool, request, response)


async def test_brackets_and_spaces_survive_the_form(upstream: FactUpstream):
    row = ROWS["stripe.customers_create"]
    serve(upstream, row, lambda request: dict(request.form))
    args = {"name": "Ada & Söhne = 1+1", "metadata": {"a b": "ü", "n": "[x]"}}
    request = prepared(row, upstream, args)
    response = await sent(request, upstream)
    assert BINDING.read(row.tool, request, response) == {
        "name": "Ada & Söhne = 1+1",
        "metadata[a b]": "ü",
        "metadata[n]": "[x]",
    }
