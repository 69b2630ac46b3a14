"""Answers to values, and the sentence a model reads when there is none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.core.call import FileValue, Response
from codemode.core.http_answer import content, parse_json, read
from codemode.core.tool import Tool
from codemode.errors import BadAnswer, UpstreamError
from outbound.flows import http_tool, json_response

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=20),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(st.characters(exclude_categories=("Cs",)), max_size=8), inner),
    max_leaves=20,
)  # fmt: skip


def value_of(response: Response, tool: Tool | None = None) -> Any:
    tool = tool or http_tool()
    return read(tool, tool.binding.spec, response)


def error_of(response: Response, tool: Tool | None = None) -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        value_of(response, tool)
    return caught.value


@given(JSON, st.booleans())
def test_json_is_carried_exactly(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    if value != "":
        assert value_of(json_response(text)) == value


@pytest.mark.case("attack:47")
def test_numbers_and_nesting() -> None:
    assert value_of(json_response("[9007199254740993]")) == [9007199254740993]
    assert value_of(json_response(str(10**400))) == 10**400
    for text in ("1e999", "NaN", "[Infinity]", "[" * 5000 + "]" * 5000, "9" * 5000):
        with pytest.raises(BadAnswer):
            value_of(json_response(text))
    assert value_of(json_response("[" * 100 + "]" * 100)) is not None
    with pytest.raises(BadAnswer, match="deep"):
        value_of(json_response("[" * 102 + "]" * 102))


@pytest.mark.case("attack:47")
def test_keys_and_surrogates() -> None:
    got = value_of(json_response('{"__proto__": {"a": 1}, "constructor": 2, "x": 1, "x": 3}'))
    assert got == {"__proto__": {"a": 1}, "constructor": 2, "x": 3}
    assert value_of(json_response(r'{"\ud800": "a\udfffb", "ok": "\ud83d\ude00"}')) == {
        "�": "a�b",
        "ok": "😀",
    }


@pytest.mark.parametrize(
    ("kind", "body", "value"),
    [
        ("application/json", b"", None),
        ("application/json", b"  \n", None),
        ("application/vnd.x+json; charset=utf-8", b'{"a":1}', {"a": 1}),
        ("", b"[1]", [1]),
        ("", b"plain", "plain"),
        ("text/plain", b"[1]", "[1]"),
        ("text/plain; charset=latin-1", b"\xe4", "ä"),
        ("text/plain; charset=nonsense", b"a\xff", "a�"),
        ("text/html", b"<p>x</p>", "<p>x</p>"),
        ("application/json", b"not json", "not json"),
        ("application/json", '"ä"'.encode("utf-16"), "ä"),
        ("application/octet-stream", b"\xff\xfe\x00", "//4A"),
        ("image/png", b"\x89PNG", "iVBORw=="),
        ("image/svg+xml", b"<svg/>", "<svg/>"),
    ],
)
def test_kinds_of_content(kind: str, body: bytes, value: Any) -> None:
    headers = {"content-type": kind} if kind else {}
    assert content(Response(status=200, headers=headers, body=body)) == value


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"message": "Not Found", "documentation_url": "x"}', "Not Found"),
        ('{"error": {"code": 1, "message": "No such thing"}}', "No such thing"),
        ('{"error": "invalid_grant", "error_description": "Expired"}', "Expired"),
        ('{"errors": [{"detail": "one"}, {"detail": "two"}]}', "one; two"),
        ('{"message": "Failed", "errors": [{"message": "title is missing"}]}',
         "Failed: title is missing"),
        ('{"title": "Bad", "status": 400}', "Bad"),
        ('{"code": 7}', '{"code": 7}'),
        ("plain words", "plain words"),
    ],
)  # fmt: skip
def test_the_reason_is_found_where_services_put_it(body: str, said: str) -> None:
    error = error_of(json_response(body, 422))
    assert error.message == f"shop.get: the service answered 422: {said}"
    assert error.status == 422


def test_html_errors_are_short_plain_text() -> None:
    page = "<html><body><h1>Bad gateway</h1>" + "x" * 5000 + "</body></html>"
    response = Response(status=500, headers={"content-type": "text/html"}, body=page.encode())
    error = error_of(response)
    assert "Bad gateway" in error.message
    assert "<h1>" not in error.message
    assert len(error.message) < 700


def test_hints() -> None:
    assert "codemode credentials test" in error_of(json_response("{}", 401)).hint
    bare = http_tool(credential=None)
    assert "has none" in error_of(json_response("{}", 403), bare).hint
    assert error_of(json_response("{}", 503, retry_after="9")).hint == "Retry after 9 s."


SLACK = {"field": "ok", "equals": False, "message": "error", "retryable": ["ratelimited"]}


def test_services_that_answer_200_and_mean_no() -> None:
    tool = http_tool(errors=SLACK)
    error = error_of(json_response('{"ok": false, "error": "channel_not_found"}'), tool)
    assert "says no: channel_not_found" in error.message
    assert (error.status, error.retryable) == (200, False)
    assert error_of(json_response('{"ok": false, "error": "ratelimited"}'), tool).retryable
    assert value_of(json_response('{"ok": true}'), tool) == {"ok": True}
    assert value_of(json_response('{"other": 1}'), tool) == {"other": 1}
    graphql = http_tool(errors={"field": "errors", "present": True, "message": "errors.0.message"})
    failed = json_response('{"errors": [{"message": "no field x"}], "data": null}')
    assert "no field x" in error_of(failed, graphql).message
    for fine in ('{"data": 1}', '{"data": 1, "errors": []}', '{"data": 1, "errors": null}'):
        assert value_of(json_response(fine), graphql)["data"] == 1


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('attachment; filename="report 1.pdf"', "report_1.pdf"),
        ("attachment; filename=../../etc/passwd", "passwd"),
        ('attachment; filename="..\\\\..\\\\x.exe"', "x.exe"),
        ("attachment; filename*=UTF-8''na%C3%AFve.txt", "na_ve.txt"),
        ("", "get"),
        ('attachment; filename="..."', "get"),
    ],
)
def test_file_answers_have_harmless_names(disposition: str, name: str) -> None:
    tool = replace(http_tool(), returns={"type": "string", "format": "file"})
    response = Response(
        status=200, headers={"content-disposition": disposition}, body=b"\x00\x01data"
    )
    got = value_of(response, tool)
    assert isinstance(got, FileValue)
    assert got.data == b"\x00\x01data"
    assert got.path.startswith("downloads/")
    assert got.path.split("-", 1)[1] == name
    assert "data" not in repr(got)


@given(st.binary(max_size=200), st.sampled_from(["", "application/json", "text/plain", "x/y"]))
def test_any_bytes_become_a_value_or_a_typed_error(body: bytes, kind: str) -> None:
    try:
        got = content(Response(status=200, headers={"content-type": kind}, body=body))
    except BadAnswer:
        return
    json.dumps(got, allow_nan=False).encode()


@given(st.text(alphabet='[]{}:,"\\ud8f0123456789eE+-.tnfN', max_size=60))
def test_any_json_text_is_carried_or_refused(text: str) -> None:
    try:
        got = parse_json(text.encode())
    except ValueError:
        return
    json.dumps(got, allow_nan=False, ensure_ascii=False).encode()
