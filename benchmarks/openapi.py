"""Operations of an OpenAPI document, or of a facts file, as toolset files to measure with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

METHODS = ("get", "put", "post", "delete", "patch")
EFFECTS = {"get": "read", "delete": "destructive"}
BINDING = {"via": "http", "base_url": "https://api.example.com"}


def from_facts(folder: Path) -> Iterator[dict[str, Any]]:
    """One toolset for each service file."""
    for path in sorted(folder.glob("*.json")):
        service = json.loads(path.read_text("utf-8"))
        rows = [
            row(
                op["operation_id"],
                op["method"].lower(),
                op["path"],
                op["params"],
                (op.get("body") or {}).get("schema"),
                (op.get("response") or {}).get("schema"),
            )
            for op in service["operations"]
        ]
        yield toolset(path.stem, rows, {})


def from_openapi(document: Mapping[str, Any], limit: int) -> Iterator[dict[str, Any]]:
    """One toolset for each tag, until *limit* operations are used; shared schemas stay shared."""
    schemas = document["components"]["schemas"]
    by_tag: dict[str, list[dict[str, Any]]] = {}
    n = 0
    for path, item in document["paths"].items():
        for method in METHODS:
            if method not in item or n == limit:
                continue
            op = item[method]
            params = [
                resolved(document, one)
                for one in [*item.get("parameters", ()), *op.get("parameters", ())]
            ]
            content = resolved(document, op.get("requestBody") or {}).get("content") or {}
            answers = [v for code, v in op["responses"].items() if code.startswith("2")]
            answer = resolved(document, answers[0]).get("content") or {} if answers else {}
            tag = re.sub(r"[^a-z0-9]+", "_", op["tags"][0].lower()).strip("_")
            by_tag.setdefault(tag, []).append(
                row(
                    op["operationId"].split("/")[-1],
                    method,
                    path,
                    params,
                    json_schema(content),
                    json_schema(answer),
                    description=op.get("summary") or op["operationId"],
                )
            )
            n += 1
    for tag, rows in sorted(by_tag.items()):
        yield toolset(tag, rows, reachable(rows, schemas))


def json_schema(content: Mapping[str, Any]) -> Any:
    return (content.get("application/json") or {}).get("schema")


def resolved(document: Mapping[str, Any], node: Mapping[str, Any]) -> Any:
    while "$ref" in node:
        found: Any = document
        for part in node["$ref"].split("/")[1:]:
            found = found[part]
        node = found
    return node


def reachable(rows: list[dict[str, Any]], schemas: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    stack: list[Any] = list(rows)
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            ref = node.get("$ref")
            if isinstance(ref, str) and ref.startswith("#/components/schemas/"):
                name = ref.split("/")[3]
                if name not in found:
                    found[name] = schemas[name]
                    stack.append(schemas[name])
            stack.extend(node.values())
    return dict(sorted(found.items()))


def row(
    name: str,
    method: str,
    path: str,
    params: list[Any],
    body: Any,
    returns: Any,
    *,
    description: str = "",
) -> dict[str, Any]:
    name = "_".join(re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()))
    properties = {one["name"]: one.get("schema", {}) for one in params}
    required = [one["name"] for one in params if one.get("required")]
    if isinstance(body, dict) and "properties" in body:
        properties |= body["properties"]
        required += [one for one in body.get("required", ()) if one not in required]
    elif isinstance(body, dict):
        properties["body"] = body
    return {
        "name": name,
        "description": description or f"{method.upper()} {path}.",
        "when_to_use": f"The job is {name.replace('_', ' ')}.",
        "args": {"type": "object", "required": required, "properties": properties}
        if required
        else {"type": "object", "properties": properties},
        **({} if returns is None else {"returns": returns}),
        "effect": EFFECTS.get(method, "write"),
        "binding": {"method": method.upper(), "path": path},
    }


def toolset(name: str, rows: list[dict[str, Any]], defs: dict[str, Any]) -> dict[str, Any]:
    unique = {one["name"].replace("_", ""): one for one in rows}
    return {
        "toolset": name,
        "description": f"Operations of {name}.",
        "binding": BINDING,
        "$defs": defs,
        "rows": sorted(unique.values(), key=lambda one: one["name"]),
    }


def as_peer_input(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same schemas as one JSON Schema document, for datamodel-code-generator."""
    text = json.dumps(document["$defs"] | {})
    definitions = json.loads(text.replace("#/components/schemas/", "#/$defs/"))
    for one in document["rows"]:
        text = json.dumps({"args": one["args"], "returns": one.get("returns", {})})
        pair = json.loads(text.replace("#/components/schemas/", "#/$defs/"))
        definitions[one["name"] + "_args"] = pair["args"]
        definitions[one["name"] + "_returns"] = pair["returns"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions}
