"""Every shipped mcp row, live against the official server it names."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import jsonschema_rs
import pytest
import pytest_asyncio
from tests.bindings.goldens import data_of, judge, rows, tool_of

from codemode.bindings._servers import load_servers, user_folder
from codemode.bindings.mcp import BINDING, McpSender
from codemode.core.call import McpRequest, SendContext
from codemode.errors import UpstreamError
from codemode.store.shipped import shipped

SERVERS = ("filesystem", "git", "memory", "time")
ROWS = [pytest.param(file, row, id=f"{file['toolset']}.{row['name']}") for file, row in rows("mcp")]
CONTEXT = SendContext(workspace=None, timeout_s=280.0, max_response_bytes=1_000_000, run_id="r")

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]


class Servers:
    """One process of each server for the whole module; a new memory for each case."""

    def __init__(self, root: Path) -> None:
        self.root = root
        run(["git", "init", "-q"], root)
        settings = {name: {"roots": [str(root)]} for name in SERVERS}
        self.settings = load_servers(shipped("directory") / "servers.json", settings)
        self.shared = self.new(root / "state")

    def new(self, state: Path) -> McpSender:
        # The user's own cache: npm installs the two Node servers once a machine, not once a test.
        return McpSender(self.settings, state=state, cache=user_folder("XDG_CACHE_HOME", ".cache"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(tmp_path_factory):
    made = Servers(tmp_path_factory.mktemp("roots"))
    yield made
    await made.shared.close()


def run(argv, folder):
    env = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    subprocess.run(argv, cwd=folder, env=env, check=True)


def laid_out(golden, root: Path):
    """The case with ``{root}`` filled in, its files written and its commands run."""
    golden = json.loads(json.dumps(golden).replace("{root}", str(root)))
    root.mkdir(parents=True)
    for path, content in golden.get("files", {}).items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data_of(content))
    for argv in golden.get("before", ()):
        run(argv, root)
    return golden


async def play(file, row, golden, sender):
    tool = tool_of(file, row, BINDING)
    server = tool.binding.spec.server
    for called, args in golden.get("setup", ()):
        await sender.send(McpRequest(server=server, tool=called, arguments=args), CONTEXT)
    request = BINDING.prepare(tool, golden["args"], {})
    return tool, BINDING.read(tool, request, await sender.send(request, CONTEXT))


@pytest.mark.parametrize(("file", "row"), ROWS)
async def test_row_answers_its_golden_case(file, row, servers):
    assert row.get("golden"), "an mcp row has a case that was played against the server"
    for number, golden in enumerate(row["golden"]):
        folder = servers.root / file["toolset"] / f"{row['name']}-{number}"
        golden = laid_out(golden, folder)
        schema = {**row["args"], "$defs": file.get("$defs", {})}
        jsonschema_rs.validator_for(schema).validate(golden["args"])
        forgets = file["toolset"] == "memory"
        sender = servers.new(folder) if forgets else servers.shared
        try:
            tool, answer = await play(file, row, golden, sender)
        finally:
            if forgets:
                await sender.close()
        judge(tool, golden, answer, file.get("$defs", {}))


@pytest.mark.parametrize("name", SERVERS)
async def test_rows_and_server_agree_on_tools_and_arguments(name, servers):
    """Each row names a tool that its server lists, and only arguments that it takes."""
    request = McpRequest(server=name, tool="no_such_tool", arguments={}, effect="read")
    with pytest.raises(UpstreamError):
        await sent(request, tool_of(*rows_of(name)[0], BINDING), servers.shared)
    session = servers.shared._sessions[name, ""].result()._session
    listed = {tool.name: tool.input_schema for tool in (await session.list_tools()).tools}
    for _, row in rows_of(name):
        schema = listed[row["binding"]["tool"]]
        assert set(row["args"]["properties"]) <= set(schema.get("properties", {})), row["name"]
        assert set(row["args"].get("required", ())) >= set(schema.get("required", ())), row["name"]


async def sent(request, tool, sender):
    return BINDING.read(tool, request, await sender.send(request, CONTEXT))


def rows_of(server):
    return [(file, row) for file, row in rows("mcp") if file["binding"]["server"] == server]
