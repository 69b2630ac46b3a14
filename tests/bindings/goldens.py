"""Plays the golden cases of rows in a workspace and judges the answers."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs

from codemode.bindings import cli, python
from codemode.bindings._command import CALL_PROGRAM, CommandSender
from codemode.core.call import SendContext
from codemode.core.run import Command, CommandResult
from codemode.core.tool import Binding, Tool, Toolset
from codemode.store.shipped import shipped

FILES = Path(__file__).parent / "files"
HARNESS = shipped("sandbox_image") / "harness"
BINDINGS = {"cli": cli.BINDING, "python": python.BINDING}


def rows(via: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(toolset file, row) of every shipped row of one binding."""
    for path in sorted(shipped("directory").glob("*.json")):
        file = json.loads(path.read_bytes())
        for row in file.get("rows", []):
            if {**file["binding"], **row["binding"]}["via"] == via:
                yield file, row


def tool_of(file: Mapping[str, Any], row: Mapping[str, Any], binding: Any) -> Tool:
    fields = {**file["binding"], **row["binding"]}
    via = fields.pop("via")
    return Tool(
        toolset=Toolset(name=file["toolset"], description=file["description"]),
        name=row["name"],
        description=row["description"],
        when_to_use=row["when_to_use"],
        args=row["args"],
        returns=row.get("returns"),
        effect=row["effect"],
        binding=Binding(via=via, spec=binding.parse(fields, args=row["args"])),
        golden=tuple(row.get("golden", ())),
    )


def data_of(content: Any) -> bytes:
    match content:
        case str():
            return content.encode()
        case {"base64": text}:
            return base64.b64decode(text)
        case {"fixture": name}:
            return (FILES / name).read_bytes()
    raise TypeError(content)


async def play(tool: Tool, golden: Mapping[str, Any], workspace: Any) -> Any:
    """The answer of one golden case; the workspace is new."""
    validator = jsonschema_rs.Draft202012Validator(dict(tool.args), validate_formats=True)
    validator.validate(golden["args"])
    for path, content in golden.get("files", {}).items():
        await workspace.write_file(path, data_of(content))
    for argv in golden.get("before", ()):
        done = await workspace.run_command(Command(binaries=(argv[0],), argv=tuple(argv[1:])))
        assert done.exit_code == 0, (argv, done)
    binding = BINDINGS[tool.binding.via]
    request = binding.prepare(tool, golden["args"], {})
    context = SendContext(
        workspace=workspace, timeout_s=60.0, max_response_bytes=10_000_000, run_id="r"
    )
    return binding.read(tool, request, await CommandSender().send(request, context))


def judge(tool: Tool, golden: Mapping[str, Any], answer: Any, defs: Mapping[str, Any]) -> None:
    """The answer is the one written down, and of the type the row promises."""
    assert ("returns" in golden) != ("matches" in golden), "a golden case must judge the answer"
    if "returns" in golden:
        assert answer == golden["returns"]
    else:
        jsonschema_rs.Draft202012Validator(golden["matches"]).validate(answer)
    if tool.returns is not None:
        schema = {**tool.returns, "$defs": {**defs, **tool.returns.get("$defs", {})}}
        jsonschema_rs.Draft202012Validator(schema, validate_formats=True).validate(answer)


class HostWorkspace:
    """
    A workspace that is a folder of this machine, for tests alone: no isolation.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def run_command(self, command: Command) -> CommandResult:
        program = next(filter(None, map(shutil.which, command.binaries)), None)
        if program is None:
            return CommandResult(exit_code=None)
        argv = [word.replace(CALL_PROGRAM, str(HARNESS / "call.py")) for word in command.argv]
        process = await asyncio.create_subprocess_exec(
            program,
            *argv,
            cwd=self.folder / command.cwd,
            env={"PATH": os.environ["PATH"], **command.env},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(command.timeout_s):
                stdout, stderr = await process.communicate(command.stdin)
        except TimeoutError:
            process.kill()
            await process.wait()
            return CommandResult(exit_code=-9, timed_out=True)
        cut = command.max_output_bytes
        return CommandResult(
            exit_code=process.returncode,
            stdout=stdout[:cut],
            stderr=stderr[:cut],
            truncated=max(len(stdout), len(stderr)) > cut,
        )

    async def read_file(self, path: str, *, max_bytes: int) -> bytes:
        return (self.folder / path).read_bytes()[:max_bytes]

    async def write_file(self, path: str, data: bytes) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
