"""The MCP server: four tools over the service, structured results, stdio."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from codemode.core.render import report_json, result_json
from codemode.service import Codemode

INSTRUCTIONS = """\
Tools are called from one script, not one by one. search finds callable paths with
signatures; describe gives full types; run executes one TypeScript or Python script once,
after type-checking it. Example (TypeScript): import { github } from "tools";
return (await github.issuesList({ owner: "o", repo: "r" })).length; Example (Python):
from tools import github; return len(await github.issues_list(owner="o", repo="r"))"""

Language = Annotated[
    Literal["typescript", "python"], Field(description="Language the script is written in.")
]
Script = Annotated[str, Field(description="The whole script; top-level await and return work.")]


def build_server(codemode: Codemode) -> MCPServer[None]:
    """An MCP server whose tools are the verbs of *codemode*."""
    server: MCPServer[None] = MCPServer("codemode", instructions=INSTRUCTIONS)
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)

    @server.tool(
        description="Find tools by what they do. Answers callable paths with signatures, N of M.",
        annotations=reads,
    )
    async def search(
        query: Annotated[str, Field(description="What you want to do; empty lists tools.")],
        language: Language = "typescript",
        limit: Annotated[int, Field(ge=1, le=50, description="Most results.")] = 10,
    ) -> dict[str, Any]:
        return codemode.search(query, limit=limit, language=language)

    @server.tool(
        description="Full declarations of tools: arguments, results, when to use, an example.",
        annotations=reads,
    )
    async def describe(
        names: Annotated[list[str], Field(description="Tool ids or callable paths from search.")],
        language: Language = "typescript",
    ) -> dict[str, Any]:
        return codemode.describe(names, language=language)

    @server.tool(
        description="Type-check a script without running it; lists the tools it would call.",
        annotations=reads,
    )
    async def check(script: Script, language: Language | None = None) -> dict[str, Any]:
        return report_json(await codemode.check(script, language=language))

    @server.tool(
        description="Type-check a script, then run it once in a sandbox. Returns value or error, "
        "logs and the list of calls.",
        annotations=ToolAnnotations(read_only_hint=False, open_world_hint=True),
    )
    async def run(
        script: Script,
        language: Language | None = None,
        input: Annotated[Any, Field(description="Seen by the script as `input`.")] = None,
        timeout_s: Annotated[float | None, Field(gt=0, description="At most the limit.")] = None,
    ) -> CallToolResult:
        result = await codemode.run(script, language=language, input=input, timeout_s=timeout_s)
        answer = result_json(result)
        # Marked as an error too, so that clients and their logs see a refusal for what it is.
        return CallToolResult(
            content=[TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))],
            structured_content=answer,
            is_error=result.status != "succeeded",
        )

    return server
