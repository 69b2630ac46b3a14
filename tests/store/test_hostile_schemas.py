"""Schemas are data: whatever a row's say, nothing is fetched or read and no other row is lost."""

from __future__ import annotations

import ast
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import codemode
from codemode.core.json_schema import InvalidSchema, compiled, compiled_as_stated
from codemode.core.replay import schema_problem
from codemode.core.tool import Directory
from codemode.store.rows import load_directory
from store.test_rows import BINDINGS, ROW, toolset

GOOD = ROW | {"name": "good", "example": {"args": {"n": 1}}}
HIDDEN = "what-only-the-host-may-read"


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """A loopback server's address, and the paths that were asked of it."""
    paths: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            body = json.dumps({"const": HIDDEN}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/schema", paths
        server.shutdown()
        thread.join()


def loaded(folder: Path, *rows: Any, **more: Any) -> Directory:
    (folder / "things.json").write_text(json.dumps(toolset(GOOD, *rows, **more)))
    (folder / "others.json").write_text(json.dumps(toolset(GOOD) | {"toolset": "others"}))
    directory = load_directory(folder, BINDINGS)
    assert {"things.good", "others.good"} <= {tool.id for tool in directory}
    return directory


def carriers(ref: str) -> dict[str, dict[str, Any]]:
    """Where an address can stand in a schema."""
    pointing = {"$ref": ref}
    return {
        "property": {"type": "object", "properties": {"n": pointing}},
        "root": {"type": "object", "properties": {}, **pointing},
        "items": {"type": "object", "properties": {"n": {"items": pointing}}},
        "dynamic": {"type": "object", "properties": {"n": {"$dynamicRef": ref}}},
        "id and ref": {"$id": ref, "type": "object", "properties": {"n": {"$ref": "other.json"}}},
        "$schema": {"$schema": ref, "type": "object", "properties": {"n": {}}},
        "inner $schema": {
            "type": "object",
            "properties": {"n": {"$schema": ref, "$id": "x:y", "type": "string"}},
        },
        "definition": {
            "type": "object",
            "properties": {"n": {"$ref": "#/$defs/A"}},
            "$defs": {"A": pointing},
        },
    }


@pytest.mark.case("attack:41")
@pytest.mark.parametrize("where", carriers(""))
@pytest.mark.parametrize("kind", ["http", "file"])
def test_no_schema_causes_a_request_or_reads_a_file(
    tmp_path: Path, asked: tuple[str, list[str]], kind: str, where: str
) -> None:
    address, paths = asked
    secret = tmp_path / "secret.txt"
    secret.write_text(json.dumps({"const": HIDDEN}))
    schema = carriers(address if kind == "http" else secret.as_uri())[where]
    folder = tmp_path / "directory"
    folder.mkdir()
    row = ROW | {"args": schema, "returns": schema, "example": {"args": {"n": "x"}}}
    found = loaded(folder, row, **{"$defs": {"Shared": schema}})
    said = schema_problem(schema, {"n": "x"})
    for compile_it in (compiled, compiled_as_stated):
        try:
            said += str(compile_it(schema).errors({"n": "x"}))
        except InvalidSchema as error:
            said += error.message
    assert paths == []
    assert HIDDEN not in said + str(found.quarantined)


def test_every_validator_of_the_source_is_made_offline_in_one_module() -> None:
    root = Path(codemode.__file__).parent
    made = 0
    for path in root.rglob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                if names & {"jsonschema_rs", "jsonschema"}:
                    assert path.name == "json_schema.py", path
            if isinstance(node, ast.Call) and "jsonschema_rs." in ast.unparse(node.func):
                called = ast.unparse(node.func).removeprefix("jsonschema_rs.")
                if "alidator" in called or called in ("validate", "is_valid", "evaluate"):
                    made += 1
                    offline = {word.arg: ast.unparse(word.value) for word in node.keywords}
                    assert offline.get("offline") == "True", f"{path}:{node.lineno}"
                else:
                    assert called in ("FancyRegexOptions", "meta.validate"), called
    assert made == 2


def nested(levels: int, word: str = "not") -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"properties": {"a": schema}} if word == "properties" else {word: schema}
    return schema


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"args": {"$id": "http://[::bad"}}, "args"),
        ({"args": {"$ref": "http://[::bad"}}, "args"),
        ({"args": {"properties": {"n": {"$ref": "https://elsewhere.example/x"}}}}, "args"),
        ({"args": nested(300)}, "args"),
        ({"args": nested(300, "properties")}, "args"),
        ({"returns": nested(300)}, "returns"),
        ({"args": {"properties": {"n": {"nullable": True, **nested(400)}}}}, "args"),
        ({"args": {"properties": {"n": {"title": "\ud800"}}}}, "args"),
        ({"example": {"args": {"n": nested(300)}}}, "example.args"),
        ({"golden": [{"args": {"n": "\ud800"}}]}, "golden.0.args"),
    ],
)
def test_a_schema_that_cannot_be_used_costs_its_row(
    tmp_path: Path, change: dict[str, Any], field: str
) -> None:
    row = ROW | {"example": {"args": {"n": 1}}} | change
    directory = loaded(tmp_path, row)
    [one] = directory.quarantined
    assert (Path(one.file).name, one.row) == ("things.json", "get")
    assert one.field == field
    assert one.line > 0
    assert len(one.message) < 500


def test_a_file_too_deep_to_parse_costs_only_itself(tmp_path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    (tmp_path / "deep.json").write_text('{"toolset": "deep", "rows": ' + deep + "}")
    directory = loaded(tmp_path)
    [one] = directory.quarantined
    assert Path(one.file).name == "deep.json"


KEYWORDS = st.sampled_from(
    "$id $ref $anchor $defs $schema $dynamicRef type properties items prefixItems required enum "
    "const pattern patternProperties additionalProperties anyOf allOf not if then format "
    "minimum maxLength nullable definitions dependencies n".split()
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["object", "string", "#", "#/$defs/n", "(", "http://[", "file:///x"])
    | st.just("\ud800")
    | st.text(max_size=6)
)
GARBAGE = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=15,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(KEYWORDS, GARBAGE, max_size=5), GARBAGE, GARBAGE, GARBAGE)
def test_no_garbage_raises_or_costs_another_row(
    tmp_path: Path, args: Any, returns: Any, sample: Any, shared: Any
) -> None:
    row = ROW | {"args": args, "returns": returns, "example": {"args": sample}}
    loaded(tmp_path, row, ROW | {"name": "third", "args": returns}, **{"$defs": {"n": shared}})
