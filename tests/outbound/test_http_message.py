"""Arguments to requests: every place, every style, and what cannot be smuggled."""

from __future__ import annotations

import json
from email.parser import BytesParser
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.core.address import Destination
from codemode.core.call import FileRef, HttpRequest
from codemode.core.http_message import build
from codemode.core.http_spec import HttpSpec, parse
from codemode.errors import BadArguments, ConfigError, InvalidRow

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)


def spec(properties: Any = (), **binding: Any) -> HttpSpec:
    declared = (
        properties
        if isinstance(properties, dict)
        else {name: {"type": "string"} for name in properties}
    )
    fields = {"base_url": "https://api.example/v1", "method": "GET", "path": "/x", **binding}
    return parse(fields, {"type": "object", "properties": declared})


def url(made: HttpSpec, **args: Any) -> str:
    return build(made, args, {}).url.removeprefix("https://api.example/v1")


STYLES = [
    # param, value -> what stands in the URL (OpenAPI 3.1, "Style examples")
    ({"in": "query"}, "a b&c", "/x?p=a%20b%26c"),
    ({"in": "query"}, ["b", "c,d"], "/x?p=b&p=c%2Cd"),
    ({"in": "query"}, {"R": 1, "G": True}, "/x?R=1&G=true"),
    ({"in": "query"}, [], "/x"),
    ({"in": "query"}, None, "/x"),
    ({"in": "query"}, "", "/x?p="),
    ({"in": "query", "explode": False}, ["b", "c,d"], "/x?p=b,c%2Cd"),
    ({"in": "query", "explode": False}, {"R": 1, "G": 2}, "/x?p=R,1,G,2"),
    ({"in": "query", "style": "spaceDelimited"}, ["b", "c"], "/x?p=b%20c"),
    ({"in": "query", "style": "pipeDelimited"}, ["b", "c"], "/x?p=b%7Cc"),
    ({"in": "query", "style": "deepObject"}, {"gt": 5, "in": {"a": [1, 2]}},
     "/x?p[gt]=5&p[in][a][0]=1&p[in][a][1]=2"),
    ({"in": "query", "style": "json"}, {"a": [1]}, "/x?p=%7B%22a%22%3A%5B1%5D%7D"),
    ({"in": "query", "reserved": True}, "a/b?c:d&e#f", "/x?p=a/b?c:d%26e%23f"),
    ({"in": "query", "name": "filter[x]"}, "1", "/x?filter[x]=1"),
    ({"in": "query"}, 2**70, f"/x?p={2**70}"),
    ({"in": "query"}, 1.5, "/x?p=1.5"),
]  # fmt: skip


@pytest.mark.parametrize(("param", "value", "expected"), STYLES)
def test_query_styles(param: dict[str, Any], value: Any, expected: str) -> None:
    assert url(spec({"p": {}}, params={"p": param}), p=value) == expected


PATHS = [
    ({}, "a/b c", "/x/a%2Fb%20c"),
    ({}, 7, "/x/7"),
    ({}, ["b", "c"], "/x/b,c"),
    ({}, {"R": 1, "G": 2}, "/x/R,1,G,2"),
    ({"explode": True}, {"R": 1, "G": 2}, "/x/R=1,G=2"),
    ({"style": "label"}, ["b", "c"], "/x/.b,c"),
    ({"style": "label", "explode": True}, ["b", "c"], "/x/.b.c"),
    ({"style": "label"}, "b", "/x/.b"),
    ({"style": "matrix"}, "b", "/x/;p=b"),
    ({"style": "matrix"}, ["b", "c"], "/x/;p=b,c"),
    ({"style": "matrix", "explode": True}, ["b", "c"], "/x/;p=b;p=c"),
    ({"style": "matrix", "explode": True}, {"R": 1}, "/x/;R=1"),
    ({"reserved": True}, "src/main file.py", "/x/src/main%20file.py"),
    ({"reserved": True}, "a?b#c", "/x/a%3Fb%23c"),
]


@pytest.mark.parametrize(("param", "value", "expected"), PATHS)
def test_path_styles(param: dict[str, Any], value: Any, expected: str) -> None:
    made = spec({"p": {}}, path="/x/{p}", params={"p": {"in": "path", **param}})
    assert url(made, p=value) == expected


@pytest.mark.case("E3")
@pytest.mark.parametrize("reserved", [False, True])
@pytest.mark.parametrize(
    "value",
    [
        *("", ".", "..", "%2e%2e", "%2E.", "%252e%252e", "..;x", "../y", "..%2fy", "..\\y"),
        *("%2e%2e%5cy", "a/../b", "a\r\nb", "a\0b", "%00", "%0d%0aX: y"),
    ],
)
def test_dot_segments_and_control_characters_do_not_enter_a_path(
    value: str, reserved: bool
) -> None:
    made = spec(["p"], path="/x/{p}/z", params={"p": {"in": "path", "reserved": reserved}})
    with pytest.raises(BadArguments):
        build(made, {"p": value}, {})


@pytest.mark.case("E1", "E3")
@given(TEXT, st.booleans())
def test_no_argument_changes_where_a_request_goes(text: str, reserved: bool) -> None:
    made = spec(["p", "q"], path="/x/{p}/z", params={"p": {"in": "path", "reserved": reserved}})
    try:
        request = build(made, {"p": text, "q": text}, {})
    except BadArguments:
        return
    assert Destination.of(request.url) == Destination.of("https://api.example")
    parts = urlsplit(request.url)
    assert parts.path.startswith("/v1/x/")
    assert parts.path.endswith("/z")
    assert not parts.fragment
    assert parse_qsl(parts.query, keep_blank_values=True) == [("q", text)]
    if not reserved:
        assert unquote(parts.path) == f"/v1/x/{text}/z"
        assert parts.path.count("/") == 4
    assert request.url.isascii()


@pytest.mark.case("E1")
@pytest.mark.parametrize(
    "path",
    ["x", "//evil.com/x", "https://evil.com/x", "/x/../y", "/x/%2e%2e/y", "/x\\y", "/x#y", "/a b"],
)
def test_paths_of_rows_that_are_refused(path: str) -> None:
    with pytest.raises(InvalidRow) as caught:
        spec(path=path)
    assert caught.value.field == "binding.path"


@pytest.mark.parametrize(
    ("path", "params", "said"),
    [
        ("/items/{item}", {}, "no argument goes there. Did you mean {items}?"),
        ("/items/{other}", {}, "no argument goes there. Declare the argument 'other'"),
        ("/items/{items}", {"items": {"in": "query"}}, "no argument goes there"),
        ("/items?item={items}", {}, "behind the '?'"),
    ],
)
def test_what_stands_in_a_path_is_filled_by_an_argument(
    path: str, params: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidRow) as caught:
        spec(["items"], path=path, params=params)
    assert caught.value.field == "binding.path"
    assert said in f"{caught.value.message} {caught.value.hint}"
    assert spec(["items"], path="/{i}", params={"items": {"in": "path", "name": "i"}})


def test_a_param_names_an_argument() -> None:
    with pytest.raises(InvalidRow, match="does not declare") as caught:
        spec(["items"], params={"itmes": {"in": "query"}})
    assert caught.value.field == "binding.params.itmes"
    assert caught.value.hint == "Did you mean 'items'?"


@pytest.mark.case("E1", "E3")
@pytest.mark.parametrize(
    "base_url",
    [
        *("api.example", "//api.example", "ftp://api.example", "https://u@api.example"),
        *("https://api.example/?q=1", "https://api.example/#f", "https://", "file:///x"),
    ],
)
def test_base_addresses_of_rows_that_are_refused(base_url: str) -> None:
    with pytest.raises(InvalidRow) as caught:
        spec(base_url=base_url)
    assert caught.value.field == "binding.base_url"


@pytest.mark.case("E10")
def test_methods() -> None:
    assert spec(method="get").method == "GET"
    for method in ("CONNECT", "TRACE", "FETCH", "GET /x", ""):
        with pytest.raises(InvalidRow) as caught:
            spec(method=method)
        assert caught.value.field == "binding.method"


UNSAFE = [
    *("Authorization", "cookie", "Host", "Proxy-Authorization", "X-Forwarded-For", "Connection"),
    *("X-Forwarded-Host", "X-HTTP-Method-Override", "X-Original-URL", "Transfer-Encoding"),
    *("Content-Length", "Sec-Fetch-Site", "Forwarded", "X-Rewrite-URL", "Upgrade", "Bad Name"),
]


@pytest.mark.case("E6", "attack:25")
@pytest.mark.parametrize("name", UNSAFE)
def test_headers_that_neither_a_row_nor_an_argument_sets(name: str) -> None:
    with pytest.raises(InvalidRow):
        spec(headers={name: "x"})
    with pytest.raises(InvalidRow):
        spec(["h"], params={"h": {"in": "header", "name": name}})
    with pytest.raises(InvalidRow):
        spec([name], params={name: {"in": "header"}})


@pytest.mark.case("attack:39")
@given(TEXT)
def test_header_values_are_one_line_of_ascii(text: str) -> None:
    made = spec(["h"], params={"h": {"in": "header", "name": "X-H"}})
    try:
        request = build(made, {"h": text}, {})
    except BadArguments:
        assert not (text.isascii() and text.isprintable())
        return
    value = dict(request.headers)["X-H"]
    assert value.isascii()
    assert not set(value) & set("\r\n\0")


def test_header_styles_and_precedence() -> None:
    made = spec(
        {"ids": {}, "Accept": {}},
        headers={"Accept": "a/b", "X-Fixed": "1"},
        params={"ids": {"in": "header", "name": "X-Ids"}, "Accept": {"in": "header"}},
    )
    request = build(made, {"ids": ["a", "b"], "Accept": "c/d"}, {})
    assert dict(request.headers) == {"Accept": "c/d", "X-Fixed": "1", "X-Ids": "a,b"}


# -- variables --------------------------------------------------------------------------------


def test_variables_fill_addresses_and_only_as_one_piece() -> None:
    made = spec(["id"], base_url="https://{site}.example/rest/{account}", path="/{id}")
    request = build(made, {"id": "x"}, {"site": "acme", "account": "A-1"})
    assert request.url == "https://acme.example/rest/A-1/x"
    with pytest.raises(ConfigError, match="site"):
        build(made, {"id": "x"}, {"account": "A-1"})
    for bad in ("evil.com/", "a@b", "a?b", "a#b", "a:1", "", "a b"):
        with pytest.raises(ConfigError):
            build(made, {"id": "x"}, {"site": bad, "account": "A"})


def test_the_operator_points_a_toolset_elsewhere() -> None:
    made = spec()
    assert build(made, {}, {"base_url": "http://127.0.0.1:80/"}).url == "http://127.0.0.1/x"
    for bad in ("ftp://x", "https://u@x", "https://x/?y", "nonsense"):
        with pytest.raises(ConfigError):
            build(made, {}, {"base_url": bad})


# -- bodies -----------------------------------------------------------------------------------


def body(made: HttpSpec, **args: Any) -> HttpRequest:
    return build(made, args, {})


def test_json_bodies_are_exact() -> None:
    made = spec({"a": {}, "q": {}}, method="POST", params={"q": {"in": "query"}})
    value = {"n": 2**70, "f": 0.1, "t": "ü😀", "none": None, "__proto__": 1}
    request = body(made, a=value, q="1")
    assert json.loads(request.body) == {"a": value}
    assert dict(request.headers)["Content-Type"] == "application/json"
    assert request.url.endswith("?q=1")
    assert body(made).body == b"{}"
    assert body(spec(method="POST")).body == b""


def test_a_whole_body() -> None:
    made = spec({"items": {}}, method="PUT", params={"items": {"in": "body", "name": ""}})
    assert body(made, items=[1, 2]).body == b"[1,2]"


def test_form_bodies() -> None:
    made = spec(
        {name: {} for name in ("a", "list", "deep", "csv", "none")},
        method="POST",
        body="form",
        params={"csv": {"in": "body", "explode": False}},
    )
    request = body(
        made, a="x y&z", list=[1, True], deep={"k": [{"price": 5}]}, csv=["a", "b"], none=None
    )
    assert request.body == b"a=x%20y%26z&list=1&list=true&deep[k][0][price]=5&csv=a,b"
    assert dict(request.headers)["Content-Type"] == "application/x-www-form-urlencoded"


FILE = {"type": "string", "format": "file"}


def multipart(request: HttpRequest, files: dict[str, bytes]) -> list[tuple[str, str | None, bytes]]:
    """What Python's own parser reads out of a body, files put in."""
    data = request.body or b"".join(
        files[part.path] if isinstance(part, FileRef) else part for part in request.parts
    )
    head = f"Content-Type: {dict(request.headers)['Content-Type']}\r\n\r\n".encode()
    message = BytesParser().parsebytes(head + data)
    found = []
    for part in message.get_payload():
        name = part.get_param("name", header="content-disposition")
        found.append((name, part.get_filename(), part.get_payload(decode=True)))
    return found


def test_multipart_bodies() -> None:
    made = spec(
        {"doc": FILE, "more": {"type": "array", "items": FILE}, "name": {}, "tags": {}},
        method="POST",
        body="multipart",
    )
    files = {"in/a.bin": b"\x00\xff", "b.txt": b"b"}
    request = body(made, doc="in/a.bin", more=["b.txt"], name="ü", tags=["x", "y"])
    assert multipart(request, files) == [
        ("doc", "a.bin", b"\x00\xff"),
        ("more", "b.txt", b"b"),
        ("name", None, "ü".encode()),
        ("tags", None, b"x"),
        ("tags", None, b"y"),
    ]
    assert request == body(made, doc="in/a.bin", more=["b.txt"], name="ü", tags=["x", "y"])


@given(st.text(max_size=40), st.text(st.characters(codec="utf-8"), max_size=40))
def test_no_text_forges_a_part(value: str, name: str) -> None:
    made = spec({"t": {}}, method="POST", body="multipart", params={})
    value = value.encode("utf-8", "replace").decode()
    parts = multipart(body(made, t=f"\r\n--codemode-x\r\n{value}"), {})
    assert len(parts) == 1
    named = spec(
        {"t": FILE}, method="POST", body="multipart", params={"t": {"in": "body", "name": "t"}}
    )
    request = body(named, t=f'a"\r\nX: y{name}')
    assert isinstance(request.parts[0], bytes)
    assert b"\r\nX: y" not in request.parts[0]


def test_raw_bodies() -> None:
    text = body(spec(["t"], method="POST", body="raw"), t="hällo")
    assert (text.body, dict(text.headers)["Content-Type"]) == (
        "hällo".encode(),
        "text/plain; charset=utf-8",
    )
    file = body(spec({"f": FILE}, method="PUT", body="raw"), f="a.bin")
    assert file.parts == (FileRef(path="a.bin"),)
    markdown = spec(["t"], method="POST", body="raw", headers={"Content-Type": "text/markdown"})
    assert dict(body(markdown, t="# x").headers)["Content-Type"] == "text/markdown"


ROWS = [
    ({"nonsense": 1}, "binding.nonsense"),
    ({"pth": "/x"}, "binding.pth"),
    ({"params": {"zz": {"in": "query"}}}, "binding.params.zz"),
    ({"params": {"a": {"in": "cookie"}}}, "binding.params.a.in"),
    ({"params": {"a": {"in": "query", "style": "matrix"}}}, "binding.params.a.style"),
    ({"params": {"a": {"in": "path"}}}, "binding.params.a"),
    ({"params": {"a": {"in": "query", "explod": True}}}, "binding.params.a"),
    ({"params": {"a": {"in": "query", "explode": "yes"}}}, "binding.params.a"),
    ({"params": []}, "binding.params"),
    ({"body": "xml"}, "binding.body"),
    ({"method": "POST", "body": "none", "params": {"a": {"in": "body"}}}, "binding.body"),
    ({"credential": 5}, "binding.credential"),
    ({"headers": {"X": "a\nb"}}, "binding.headers.X"),
    ({"headers": ["X"]}, "binding.headers"),
    ({"errors": {"equals": 1}}, "binding.errors"),
    ({"errors": {"field": "ok"}}, "binding.errors"),
    ({"errors": {"field": "ok", "equals": 1, "x": 1}}, "binding.errors"),
    ({"method": 5}, "binding.method"),
]


@pytest.mark.parametrize(("binding", "field"), ROWS)
def test_rows_that_break_the_format_name_the_field(binding: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRow) as caught:
        spec(["a"], **binding)
    assert caught.value.field == field


def test_a_file_outside_a_multipart_or_raw_body_is_refused() -> None:
    with pytest.raises(InvalidRow, match="multipart or raw"):
        spec({"f": FILE}, method="POST")


@pytest.mark.case("attack:47")
def test_lone_surrogates_are_refused_everywhere() -> None:
    half = "\ud800"
    for made in (
        spec(["p"], path="/x/{p}"),
        spec(["p"]),
        spec(["p"], params={"p": {"in": "header"}}),
        spec(["p"], method="POST"),
        spec(["p"], method="POST", body="raw"),
        spec(["p"], method="POST", body="form"),
    ):
        with pytest.raises(BadArguments):
            build(made, {"p": half}, {})
