"""Where an MCP server's tools are listed: a saved answer, or the running server."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codemode.errors import DirectoryError

LIST_S = 60.0
MAX_PAGES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """
    What a server lists.

    Args:
        server: The name it is called by, or "".
        origin: Package and version, for ``source``.
        command: How it was started, if it was.
    """

    tools: Sequence[Any]
    server: str = ""
    origin: str = ""
    command: tuple[str, ...] = ()


def read_listing(path: Path) -> Listing:
    """
    A saved answer: ``{"tools": [...]}``, a JSON-RPC answer around it, or the bare list.

    Raises:
        DirectoryError: If it is none of these.
    """
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DirectoryError(f"{path} cannot be read: {error}") from None
    if isinstance(document, dict) and isinstance(document.get("result"), dict):
        document = document["result"]
    tools = document.get("tools") if isinstance(document, dict) else document
    if not isinstance(tools, list):
        raise DirectoryError(
            f"{path} holds no list of tools.",
            hint='Save the answer to tools/list: {"tools": [...]}.',
        )
    said = document if isinstance(document, dict) else {}
    origin = " ".join(str(said[key]) for key in ("package", "version") if said.get(key))
    return Listing(tools=tools, server=str(said.get("server") or ""), origin=origin)


def _refuse_missing(command: Sequence[str]) -> None:
    """Raise if *command* is no program here: most likely it was meant to be a file."""
    program, whole = command[0], " ".join(command)
    if shutil.which(program) is not None:
        return
    hint = "Give the file of a saved tools/list answer, or the command of a stdio server."
    if Path(program).exists():
        raise DirectoryError(f"{program} is neither a file to read nor one to run.", hint=hint)
    if whole.endswith(".json") or "/" in program:
        name = whole if whole.endswith(".json") else program
        raise DirectoryError(f"There is no file {name}.", hint=hint)
    raise DirectoryError(f"There is no file and no command {program!r}.", hint=hint)


async def ask(command: Sequence[str]) -> Listing:
    """
    Start the server, list its tools, end it. It sees only what the MCP SDK passes on
    (home folder, path, terminal), nothing else of this process's environment.

    Raises:
        DirectoryError: If it is not there, does not start or answer within `LIST_S`
            seconds.
    """
    from mcp import ClientSession, MCPError, StdioServerParameters, types
    from mcp.client.stdio import stdio_client

    if not command:
        raise DirectoryError("There is no source.", hint="Give a file or a command.")
    _refuse_missing(command)
    start = StdioServerParameters(command=command[0], args=list(command[1:]))
    tools: list[Any] = []
    try:
        async with (
            asyncio.timeout(LIST_S),
            stdio_client(start) as (read, write),
            ClientSession(read, write) as session,
        ):
            about = (await session.initialize()).server_info
            cursor: str | None = None
            for _ in range(MAX_PAGES):
                params = types.PaginatedRequestParams(cursor=cursor)
                page = await session.list_tools(params=params)
                dumped = page.model_dump(mode="json", by_alias=True, exclude_unset=True)
                tools += dumped["tools"]
                cursor = page.next_cursor
                if not cursor:
                    break
    except TimeoutError:
        raise DirectoryError(f"{command[0]} did not answer within {LIST_S:.0f} s.") from None
    except (OSError, MCPError, RuntimeError, ValueError, ExceptionGroup) as error:
        raise DirectoryError(
            f"{command[0]} cannot be asked for its tools: {error}",
            hint="Start the command by hand to see what it says.",
        ) from None
    origin = f"{about.name} {about.version}".strip()
    return Listing(tools=tools, server=about.name, origin=origin, command=tuple(command))
