"""
What every binding keeps, found by its file name.

A new module in `codemode.bindings` is tested here unasked: it parses strictly,
prepares without I/O, and its sender closes.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from codemode import bindings
from codemode.core import call as call_types
from codemode.core.tool import Schema
from codemode.errors import InvalidRow
from codemode.store.shipped import shipped

NAMES = bindings.names()
NOTHING: Schema = {"type": "object", "properties": {}}


def shipped_rows() -> dict[str, list[tuple[str, dict[str, Any], Schema]]]:
    """``via`` -> (tool, merged binding fields, args) of every row that ships."""
    rows: dict[str, list[tuple[str, dict[str, Any], Schema]]] = defaultdict(list)
    for path in sorted(shipped("directory").glob("*.json")):
        document = json.loads(path.read_text())
        for row in document.get("rows", []) if isinstance(document, dict) else []:
            fields = {**document.get("binding", {}), **row.get("binding", {})}
            via = fields.pop("via")
            rows[via].append((f"{document['toolset']}.{row['name']}", fields, row["args"]))
    return rows


ROWS = shipped_rows()


def test_the_designs_bindings_are_all_there() -> None:
    assert {"http", "cli", "python", "mcp", "local", "dispatch"} <= set(NAMES)
    assert set(bindings.load_all()) == set(NAMES)
    with pytest.raises(ModuleNotFoundError, match="there are"):
        bindings.load("_http_sender")


@pytest.mark.parametrize("name", NAMES)
def test_it_says_who_it_is(name: str) -> None:
    binding = bindings.load(name)
    assert binding.via == name
    assert isinstance(binding.needs_workspace, bool)
    module = importlib.import_module(f"codemode.bindings.{name}")
    assert module.__doc__
    assert callable(module.make_sender)


@pytest.mark.parametrize("name", NAMES)
def test_it_refuses_unknown_and_missing_fields_by_name(name: str) -> None:
    binding = bindings.load(name)
    with pytest.raises(InvalidRow) as caught:
        binding.parse({}, args=NOTHING)
    assert caught.value.field.startswith("binding")
    fields: dict[str, Any] = dict(ROWS[name][0][1]) if ROWS[name] else {}
    args = ROWS[name][0][2] if ROWS[name] else NOTHING
    with pytest.raises(InvalidRow) as caught:
        binding.parse({**fields, "no_such_field": 1}, args=args)
    if fields:
        assert caught.value.field == "binding.no_such_field"


@pytest.mark.parametrize("name", NAMES)
def test_every_shipped_row_parses_to_a_frozen_spec(name: str) -> None:
    binding = bindings.load(name)
    for tool, fields, args in ROWS[name]:
        spec = binding.parse(fields, args=args)
        assert spec == binding.parse(fields, args=args), tool
        with pytest.raises((AttributeError, TypeError)):
            setattr(spec, next(iter(type(spec).__dataclass_fields__)), None)


@pytest.mark.parametrize("name", NAMES)
def test_the_pure_half_does_no_io(name: str) -> None:
    """``parse``, ``prepare`` and ``read`` are plain functions that call nothing that waits."""
    binding = bindings.load(name)
    for method in (binding.parse, binding.prepare, binding.read):
        assert not inspect.iscoroutinefunction(method)
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
        called = {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & {"open", "print", "input", "exec", "eval"}
        names = {
            node.value.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }
        assert not names & {"os", "subprocess", "socket", "asyncio", "time", "random"}


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_the_protocols(name: str) -> None:
    binding = bindings.load(name)
    for method in ("parse", "prepare", "read"):
        wanted = inspect.signature(getattr(call_types.BindingModule, method)).parameters
        got = inspect.signature(getattr(binding, method)).parameters
        assert list(got) == list(wanted)[1:], method


@pytest.mark.parametrize("name", NAMES)
async def test_its_sender_is_made_without_io_and_closes_twice(name: str, tmp_path: Path) -> None:
    module = importlib.import_module(f"codemode.bindings.{name}")
    sender = module.make_sender(bindings.SenderSettings(state_folder=tmp_path))
    assert inspect.iscoroutinefunction(sender.send)
    assert list(inspect.signature(sender.send).parameters) == ["request", "context"]
    await sender.close()
    await sender.close()
