"""A real MCP client over stdio does the main job through ``codemode mcp``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from codemode.testing import FakeUpstream

from .conftest import TOKEN


async def test_search_describe_check_and_run(config_file: Path, upstream: FakeUpstream) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "codemode", "mcp", "--config", str(config_file)],
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]},
    )
    async with Client(server, read_timeout_seconds=60) as client:
        listed = await client.list_tools()
        assert {tool.name for tool in listed.tools} == {"search", "describe", "check", "run"}

        found = await client.call_tool(
            "search", {"query": "repository details", "language": "python"}
        )
        assert found.structured_content is not None
        paths = [tool["path"] for tool in found.structured_content["tools"]]
        assert "github.repos_get" in paths

        described = await client.call_tool("describe", {"names": ["github.repos_get"]})
        assert described.structured_content is not None
        assert "reposGet" in described.structured_content["tools"][0]["declaration"]

        wrong = {"script": "return await github.repos_gt()", "language": "python"}
        refused = await client.call_tool("check", wrong)
        assert refused.structured_content is not None
        assert refused.structured_content["diagnostics"]

        script = 'return (await github.repos_get(owner="o", repo="r"))["stargazers_count"]'
        ran = await client.call_tool("run", {"script": script, "language": "python"})
        assert ran.structured_content is not None
        assert ran.structured_content["value"] == 7
        assert TOKEN not in ran.model_dump_json()

        write = 'return await github.issues_create(owner="o", repo="r", title="t")'
        stopped = await client.call_tool("run", {"script": write, "language": "python"})
        assert stopped.structured_content is not None
        assert stopped.structured_content["status"] == "refused"
        assert stopped.is_error
        assert not ran.is_error
        widened = {"script": write, "language": "python", "allow": ["*"]}
        still = await client.call_tool("run", widened)
        assert still.is_error or still.structured_content["status"] == "refused"
    assert all(request.method == "GET" for request in upstream.requests)
