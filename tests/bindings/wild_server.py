"""
An MCP server for tests: answers well, badly, late or never. Run as a process of its own.

The tool's name says how it answers. ``die`` ends the process in mid call, after it
has written the file it is given, as a write that was applied but never confirmed.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


def text(*parts, error=False, structured=None):
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=part) for part in parts],
        is_error=error,
        structured_content=structured,
    )


async def answer(context, params):
    args = params.arguments or {}
    match params.name:
        case "pid":
            return text(str(os.getpid()))
        case "environment":
            return text(json.dumps(dict(os.environ)))
        case "place":
            return text(json.dumps({"argv": sys.argv[1:], "cwd": str(Path.cwd())}))
        case "parts":
            return text("first", "second")
        case "structured":
            return text("not this", structured={"n": 2**60})
        case "mismatch":
            return text("x", structured={"n": "not a number"})
        case "json":
            return text('{"n": 1}')
        case "fails":
            return text("no such", "record", error=True)
        case "image":
            return types.CallToolResult(
                content=[types.ImageContent(type="image", data="AAEC", mime_type="image/png")]
            )
        case "long":
            return text("x" * int(args["n"]))
        case "sleep":
            await asyncio.sleep(args["s"])
            return text("awake")
        case "die":
            if args.get("file"):
                Path(args["file"]).write_text("applied")
            os._exit(3)
        case "roots":
            found = await context.session.list_roots()
            return text(json.dumps([str(root.uri) for root in found.roots]))
    raise ValueError(params.name)


async def listing(context, params):
    schema = {"type": "object"}
    number = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    return types.ListToolsResult(
        tools=[
            types.Tool(name="pid", description="Process id.", input_schema=schema),
            types.Tool(name="mismatch", input_schema=schema, output_schema=number),
        ]
    )


async def main():
    if "--refuse" in sys.argv:
        sys.exit("this server has a bad day")
    server = Server("wild", on_call_tool=answer, on_list_tools=listing)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
