"""What a server lists becomes rows, and what it does not say is reported."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.targets.judge import check_python, check_typescript

from codemode import targets
from codemode.bindings import load_all
from codemode.core.tool import UNWRITTEN
from codemode.errors import DirectoryError
from codemode.generate import generate
from codemode.importers._layout import lay_out
from codemode.importers._mcp_source import Listing, read_listing
from codemode.importers.mcp import import_mcp, merge
from codemode.store.generated import read_templates
from codemode.store.rows import load_directory

CAPTURES = Path(__file__).parents[3] / "shared" / "mcp_captures"
WILD = Path(__file__).parents[1] / "bindings" / "wild_server.py"

GARDEN = {
    "server": "garden",
    "package": "npm garden-server",
    "version": "1.2.3",
    "tools": [
        {
            "name": "list-plants",
            "description": "Lists the plants of a bed. Use this when you plan the next season.",
            "inputSchema": {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "title": "list-plantsArguments",
                "properties": {
                    "bed": {"type": "string", "title": "Bed", "description": None},
                    "sown<": {"type": "string"},
                    "sown>": {"type": "string"},
                    "class": {"type": ["string", "null"], "default": None},
                    "title": {"type": "string", "title": "Heading"},
                },
                "required": ["bed"],
            },
            "outputSchema": {"type": "array", "items": {"type": "string"}},
            "annotations": {"readOnlyHint": True},
        },
        {
            "name": "water",
            "description": "Waters a bed.",
            "inputSchema": {"type": "object", "properties": {"bed": {"type": "string"}}},
        },
        {"name": "uproot", "inputSchema": None, "annotations": {"destructiveHint": True}},
        {"name": "toString", "description": "Names the garden.", "inputSchema": {}},
        {"name": "rake", "inputSchema": {"type": "array"}},
        {"name": "list_plants", "inputSchema": {"type": "object"}},
        "hoe",
    ],
}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "garden.json"
    path.write_text(json.dumps(GARDEN))
    return path


async def imported(saved, tmp_path, **options):
    return await import_mcp([str(saved)], toolset="garden", out=tmp_path / "rows", **options)


def by_name(done):
    return {row["name"]: row for row in done.file["rows"]}


async def test_rows_say_what_the_server_says(saved, tmp_path):
    done = await imported(saved, tmp_path)
    rows = by_name(done)
    assert sorted(rows) == ["list_plants", "to_string_tool", "uproot", "water"]
    row = rows["list_plants"]
    assert row["when_to_use"] == "Use this when you plan the next season."
    assert row["binding"] == {"tool": "list-plants"}
    assert row["returns"] == {"type": "array", "items": {"type": "string"}}
    assert (row["effect"], row["idempotent"]) == ("read", True)
    assert row["source"] == "tools/list of npm garden-server 1.2.3"
    assert row["args"] == {
        "type": "object",
        "properties": {
            "bed": {"type": "string"},
            "sown<": {"type": "string"},
            "sown>": {"type": "string"},
            "class": {"type": ["string", "null"], "default": None},
            "title": {"type": "string", "title": "Heading"},
        },
        "required": ["bed"],
    }
    assert rows["uproot"]["effect"] == "destructive"


async def test_what_the_server_does_not_say_is_reported(saved, tmp_path):
    done = await imported(saved, tmp_path)
    assert done.unwritten == ["water", "uproot", "to_string_tool"]
    assert by_name(done)["water"]["when_to_use"].startswith(UNWRITTEN)
    assert done.taken == ["list_plants"]
    assert done.assumed == ["water", "to_string_tool"]
    assert done.untyped == ["water", "uproot", "to_string_tool"]
    assert done.renamed == ["list-plants -> list_plants", "toString -> to_string_tool"]
    report = "\n".join(done.lines())
    assert "when_to_use has to be written (3): water, uproot, to_string_tool" in report
    assert "[mcp_servers.garden]" in report


@pytest.mark.case("N5", "N11", "S45")
async def test_tools_that_cannot_be_rows_are_left_out_with_the_reason(saved, tmp_path):
    done = await imported(saved, tmp_path)
    assert done.left_out == [
        "rake: its inputSchema is not one of an object",
        "list_plants: it would have the same name as list-plants",
        "tools[6]: it is not an object",
    ]


async def test_python_names_are_proposed_and_told_apart(saved, tmp_path):
    done = await imported(saved, tmp_path)
    assert by_name(done)["list_plants"]["python_names"] == {
        "class": "class_",
        "sown<": "sown",
        "sown>": "sown_greater_than_sign",
    }


async def test_the_file_loads_and_is_written_sorted(saved, tmp_path):
    done = await imported(saved, tmp_path)
    directory = load_directory(tmp_path / "rows", load_all())
    assert directory.quarantined == ()
    assert len(directory) == done.n_rows == 4
    document = json.loads(done.path.read_text())
    assert document == done.file
    assert [row["name"] for row in document["rows"]] == sorted(by_name(done))


async def test_a_dry_run_writes_nothing(saved, tmp_path):
    done = await imported(saved, tmp_path, dry_run=True)
    assert done.n_rows == 4
    assert not done.path.exists()


async def test_importing_again_keeps_what_a_person_wrote(saved, tmp_path):
    first = await imported(saved, tmp_path)
    document = json.loads(first.path.read_text())
    mine = {row["name"]: row for row in document["rows"]}
    mine["water"].update(
        description="Opens the tap for a bed.",
        when_to_use="The soil is dry.",
        effect="destructive",
        returns={"type": "string"},
        example={"args": {"bed": "north"}},
    )
    mine["water"]["args"]["properties"]["bed"]["description"] = "Which bed."
    mine["list_plants"]["python_names"]["sown<"] = "sown_before"
    document["description"] = "My garden."
    document["$defs"] = {"Bed": {"type": "string"}}
    first.path.write_text(json.dumps(document))

    newer = json.loads(json.dumps(GARDEN))
    newer["version"] = "2.0.0"
    water = newer["tools"][1]
    water["description"] = "Waters one bed. Use it when leaves hang."
    water["inputSchema"]["properties"]["litres"] = {"type": "number"}
    newer["tools"] = [tool for tool in newer["tools"] if tool != newer["tools"][2]]
    newer["tools"].append({"name": "sow", "description": "Sows.", "inputSchema": {}})
    saved.write_text(json.dumps(newer))
    again = await imported(saved, tmp_path)

    row = by_name(again)["water"]
    assert row["description"] == "Opens the tap for a bed."
    assert row["when_to_use"] == "The soil is dry."
    assert row["effect"] == "destructive"
    assert row["returns"] == {"type": "string"}
    assert row["example"] == {"args": {"bed": "north"}}
    assert row["args"]["properties"] == {
        "bed": {"type": "string", "description": "Which bed."},
        "litres": {"type": "number"},
    }
    assert row["source"].endswith("2.0.0")
    assert by_name(again)["list_plants"]["python_names"]["sown<"] == "sown_before"
    assert again.file["description"] == "My garden."
    assert again.file["$defs"] == {"Bed": {"type": "string"}}
    assert (again.added, again.gone) == (["sow"], ["uproot"])
    assert again.kept == ["water"]
    assert "water" not in [*again.unwritten, *again.taken, *again.assumed, *again.untyped]


async def test_importing_the_same_again_changes_nothing(saved, tmp_path):
    first = (await imported(saved, tmp_path)).path.read_text()
    again = await imported(saved, tmp_path)
    assert again.path.read_text() == first
    assert (again.added, again.kept, again.gone) == ([], [], [])


async def test_files_that_are_not_its_own_are_not_overwritten(saved, tmp_path):
    (tmp_path / "rows").mkdir()
    path = tmp_path / "rows" / "garden.json"
    for text, said in (
        ('{"toolset": "garden", "binding": {"via": "http"}, "rows": []}', "no toolset of an MCP"),
        ("{", "cannot be read"),
    ):
        path.write_text(text)
        with pytest.raises(DirectoryError, match=said):
            await imported(saved, tmp_path)
        assert path.read_text() == text


async def test_sources_that_hold_no_tools_are_refused(tmp_path):
    path = tmp_path / "x.json"
    for text, said in (("{}", "no list of tools"), ("nonsense", "cannot be read")):
        path.write_text(text)
        with pytest.raises(DirectoryError, match=said):
            await import_mcp([str(path)], toolset="garden", out=tmp_path)
    for name in ("codemode", "Garden", "import"):
        with pytest.raises(DirectoryError, match="No toolset may be called"):
            await import_mcp([str(path)], toolset=name, out=tmp_path)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (["gone.json"], "There is no file gone.json."),
        (["my", "tools.json"], "There is no file my tools.json."),
        (["saved/gone"], "There is no file saved/gone."),
        (["./serve", "--stdio"], "There is no file ./serve."),
        (["no-such-program"], "There is no file and no command 'no-such-program'."),
        (["."], ". is neither a file to read nor one to run."),
    ],
)
async def test_a_source_that_is_not_there_is_named(tmp_path, source, said):
    with pytest.raises(DirectoryError) as caught:
        await import_mcp(source, toolset="garden", out=tmp_path / "rows")
    assert caught.value.message == said
    assert "saved tools/list answer" in caught.value.hint
    assert not (tmp_path / "rows").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "the list is empty"),
        ('{"tools": []}', "the list is empty"),
        ('{"tools": [{"nam": "x"}]}', "tools[0]: it has no field 'name' (it has 'nam')"),
        ('[{"name": " "}, 7]', "tools[0]: its 'name' is not a text, or blank; tools[1]: it is not"),
        ('[{"name": "x", "inputSchema": 1}]', "x: its inputSchema is not one of an object"),
    ],
)
async def test_nothing_is_written_where_no_tool_becomes_a_row(tmp_path, text, said):
    saved, out = tmp_path / "x.json", tmp_path / "rows"
    saved.write_text(text)
    with pytest.raises(DirectoryError) as caught:
        await import_mcp([str(saved)], toolset="garden", out=out)
    assert said in caught.value.message
    assert str(saved) in caught.value.message
    assert "nothing was written" in caught.value.message
    assert not out.exists()


async def test_no_file_is_emptied_by_a_list_that_is_empty(saved, tmp_path):
    before = (await imported(saved, tmp_path)).path.read_text()
    saved.write_text("[]")
    with pytest.raises(DirectoryError, match="the list is empty"):
        await imported(saved, tmp_path)
    assert (tmp_path / "rows" / "garden.json").read_text() == before


@pytest.mark.parametrize("wrapped", [lambda t: t, lambda t: {"tools": t}, None])
def test_saved_answers_come_in_three_shapes(tmp_path, wrapped):
    tools = [{"name": "water", "inputSchema": {"type": "object"}}]
    rpc = {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}
    path = tmp_path / "x.json"
    path.write_text(json.dumps(wrapped(tools) if wrapped else rpc))
    assert read_listing(path).tools == tools


async def test_a_running_server_can_be_the_source(tmp_path):
    done = await import_mcp([sys.executable, str(WILD)], toolset="wild", out=tmp_path)
    assert sorted(by_name(done)) == ["mismatch", "pid"]
    assert by_name(done)["mismatch"]["returns"]["required"] == ["n"]
    assert any("command = [" in note for note in done.notes)
    assert load_directory(tmp_path, load_all()).quarantined == ()


async def test_a_server_that_does_not_start_is_one_clear_error(tmp_path):
    with pytest.raises(DirectoryError, match="cannot be asked for its tools"):
        await import_mcp([sys.executable, str(WILD), "--refuse"], toolset="wild", out=tmp_path)


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1)


@given(st.lists(NAMES, unique=True, max_size=6), st.lists(NAMES, unique=True, max_size=6))
def test_no_names_break_an_import(tool_names, argument_names):
    properties = {name: {"type": "string"} for name in argument_names}
    schema = {"type": "object", "properties": properties}
    tools = [{"name": name, "inputSchema": schema} for name in tool_names]
    listing = read_listing_of(tools)
    done = merge(listing, toolset="garden", path=Path("garden.json"), existing=None)
    assert done.n_rows + len(done.left_out) == len(tool_names)
    text = lay_out(done.file)
    assert json.loads(text) == done.file
    again = merge(listing, toolset="garden", path=Path("garden.json"), existing=done.file)
    assert lay_out(again.file) == text


def read_listing_of(tools):
    return Listing(tools=tools, server="garden", origin="garden 1")


@pytest.mark.shared
@pytest.mark.skipif(not CAPTURES.is_dir(), reason="../shared is not here")
async def test_every_capture_loads_and_its_stubs_have_no_fault(tmp_path):
    rows = tmp_path / "rows"
    n_rows = 0
    for path in sorted(CAPTURES.glob("*.json")):
        # The checkers' wrapper imports a toolset of that name, so one of them has it.
        name = "cases" if path.stem == "time" else f"{path.stem.replace('-', '_')}_server"
        done = await import_mcp([str(path)], toolset=name, out=rows)
        assert done.left_out == [], path.name
        n_rows += done.n_rows
    directory = load_directory(rows, load_all())
    assert directory.quarantined == ()
    assert len(directory) == n_rows == 354
    for language, check in (("typescript", check_typescript), ("python", check_python)):
        stubs = generate(directory, targets.load(language), read_templates(language))
        (tmp_path / language).mkdir()
        # It also asserts that nothing is said of the stubs themselves.
        assert await asyncio.to_thread(check, stubs.files, ["cases"], tmp_path / language) == {}
