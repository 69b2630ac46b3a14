"""Stubs of whole directories have no fault of their own, and every example fits them."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import codemode.bindings
from codemode import targets
from codemode.core.tool import Directory, Tool, Toolset
from codemode.store.rows import load_directory
from codemode.store.shipped import shipped

from .judge import (
    NO_BINDING,
    check_python,
    check_typescript,
    python_call,
    stubs,
    typescript_call,
)

CAPTURES = Path(__file__).resolve().parents[3] / "shared" / "mcp_captures"
CHECK = {"typescript": check_typescript, "python": check_python}
CALL = {"typescript": typescript_call, "python": python_call}


@pytest.fixture(scope="module")
def directory() -> Directory:
    names = [m.name for m in iter_modules(codemode.bindings.__path__) if m.name[0] != "_"]
    modules = [import_module(f"codemode.bindings.{name}") for name in names]
    bindings = {m.BINDING.via: m.BINDING for m in modules if hasattr(m, "BINDING")}
    return load_directory(shipped("directory"), bindings)


@pytest.mark.case("D7")
@pytest.mark.parametrize("language", ["typescript", "python"])
def test_every_example_of_the_shipped_directory_fits_its_stub(
    directory: Directory, language: str, tmp_path: Path
) -> None:
    target = targets.load(language)
    lines = []
    for toolset, tools in directory.toolsets.items():
        for tool in tools:
            if tool.example is not None:
                called = CALL[language](tool, tool.example.get("args", {}))
                lines.append(called.replace("cases.", f"{target.toolset_name(toolset)}.", 1))
    assert len(lines) >= 80
    imported = ", ".join(target.toolset_name(name) for name in directory.toolsets)

    said = CHECK[language](stubs(directory, language).files, lines, tmp_path, toolset=imported)

    assert {lines[number]: message for number, message in said.items()} == {}


@pytest.mark.shared
@pytest.mark.skipif(not CAPTURES.is_dir(), reason="../shared is not there")
@pytest.mark.parametrize("language", ["typescript", "python"])
def test_tools_of_real_mcp_servers_make_stubs_without_a_fault(
    language: str, tmp_path: Path
) -> None:
    tools = []
    for path in sorted(CAPTURES.glob("*.json")):
        document = json.loads(path.read_text("utf-8"))
        listed = document if isinstance(document, list) else document.get("tools")
        listed = document.get("result", {}).get("tools", []) if listed is None else listed
        toolset = Toolset(name="mcp_" + path.stem.replace("-", "_"), description="A server.")
        tools += [
            Tool(
                toolset=toolset,
                name=one["name"],
                description=one.get("description") or "It says nothing.",
                when_to_use="A test needs it.",
                args=one.get("inputSchema") or {"type": "object"},
                returns=one.get("outputSchema"),
                effect="read",
                binding=NO_BINDING,
            )
            for one in listed
        ]
    assert len(tools) > 100
    directory = Directory(tools)
    toolset = targets.load(language).toolset_name(next(iter(directory.toolsets)))

    assert CHECK[language](stubs(directory, language).files, [], tmp_path, toolset=toolset) == {}
