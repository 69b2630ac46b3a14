"""What the cli and python bindings share: workspace paths, and sending a command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codemode.core.call import CommandRequest, Response, SendContext
from codemode.core.nearest import nearest
from codemode.core.run import Command, CommandResult, Workspace
from codemode.core.tool import JsonValue, Schema, Tool
from codemode.errors import (
    BadArguments,
    InvalidRow,
    NeedsContainer,
    OutcomeUnknown,
    ResponseTooLarge,
    UpstreamError,
    UpstreamTimeout,
)

CALL_PROGRAM = "/opt/codemode/harness/call.py"
"""Where the image keeps the program that calls one Python function."""

ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "HOME": "/tmp",  # noqa: S108  inside the container, gone with it
    "XDG_CACHE_HOME": "/tmp/.cache",  # noqa: S108
}
"""Programs answer the same everywhere: no translated messages, no local time. What they
keep for themselves does not end up in the workspace, among a run's files."""

MAX_OUTPUT_FILES = 10_000
SHOWN_STDERR_CHARS = 2_000


def properties(args: Schema) -> Mapping[str, Any]:
    """Argument name -> its schema."""
    found = args.get("properties")
    return found if isinstance(found, Mapping) else {}


def is_file(schema: Any) -> bool:
    """True if the argument names a workspace file, or is a list of such names."""
    if not isinstance(schema, Mapping):
        return False
    return schema.get("format") == "file" or is_file(schema.get("items"))


def known_argument(name: object, args: Schema, *, field: str) -> str:
    """
    *name*, if the row declares it.

    Raises:
        InvalidRow: With *field* named.
    """
    if not isinstance(name, str) or name not in properties(args):
        near = nearest(name, properties(args)) if isinstance(name, str) else []
        declared = ", ".join(sorted(properties(args))) or "none"
        raise InvalidRow(
            f"{name!r} is not an argument of the row (declared: {declared}).",
            field=field,
            hint=f"Did you mean {near[0]!r}?" if near else "Declare it in args.",
        )
    return name


def refuse_unknown(fields: Mapping[str, Any], known: frozenset[str], *, field: str) -> None:
    """
    Raises:
        InvalidRow: If *fields* has a key that is not *known*.
    """
    for name in fields:
        if name not in known:
            raise InvalidRow(
                f"unknown field {name!r}; known: {', '.join(sorted(known))}",
                field=f"{field}.{name}",
            )


def workspace_path(value: object, *, arg: str) -> str:
    """
    *value* as the path of a workspace file.

    Raises:
        BadArguments: If it could leave the workspace or be taken for an option.
    """
    hint = "Give a path relative to the workspace, such as 'reports/june.pdf'."
    if not isinstance(value, str) or not value:
        raise BadArguments(f"{arg}: expected a file path, got {value!r}", hint=hint)
    if "\0" in value or "\\" in value or "\n" in value:
        raise BadArguments(f"{arg}: {value!r} holds a character no path may hold", hint=hint)
    if value.startswith("/"):
        raise BadArguments(f"{arg}: {value!r} is absolute", hint=hint)
    if value.startswith("-"):
        raise BadArguments(f"{arg}: {value!r} would be taken for an option", hint=hint)
    if value.startswith("~") or ".." in value.split("/"):
        raise BadArguments(f"{arg}: {value!r} leaves the workspace", hint=hint)
    return value


def with_defaults(tool: Tool, args: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """
    *args*, and the schema's default for what was not given, in the schema's order.

    Raises:
        BadArguments: If a file path could leave the workspace.
    """
    values: dict[str, JsonValue] = {}
    for name, schema in properties(tool.args).items():
        if name in args:
            values[name] = args[name]
        elif isinstance(schema, Mapping) and "default" in schema:
            values[name] = schema["default"]
        if values.get(name) is not None and is_file(schema):
            given = values[name]
            for path in given if isinstance(given, list) else [given]:
                workspace_path(path, arg=name)
    return values


class CommandSender:
    """Runs `CommandRequest`s in the workspace of the run that asks."""

    async def send(self, request: CommandRequest, context: SendContext) -> Response:
        """
        Run the program; ``Response.value`` lists, for each of ``request.outputs``,
        the files found.

        Raises:
            NeedsContainer: If the engine has no workspace.
            UpstreamTimeout: The deadline passed and the tool only reads.
            OutcomeUnknown: The deadline passed and it may have changed files.
            ResponseTooLarge: It printed more than the run may receive.
            UpstreamError: The image has none of the programs.
        """
        if context.workspace is None:
            raise NeedsContainer(
                f"{request.command.binaries[0]} runs inside a container and this engine has none.",
                hint="Run with --engine container (codemode image build makes the image).",
            )
        command = replace(
            request.command,
            timeout_s=min(request.command.timeout_s, context.timeout_s),
            max_output_bytes=min(request.command.max_output_bytes, context.max_response_bytes),
        )
        result = await context.workspace.run_command(command)
        refuse_lost(command, result, request)
        found: list[list[str]] = []
        if result.exit_code == 0:
            found = [await _find(context.workspace, pattern) for pattern in request.outputs]
        return Response(
            status=result.exit_code,
            body=result.stdout,
            detail=result.stderr.decode("utf-8", "replace"),
            value=found or None,
        )

    async def close(self) -> None:
        """Nothing to let go: each command ended with its call."""


def refuse_lost(command: Command, result: CommandResult, request: CommandRequest) -> None:
    """Raise if *result* is no answer: not found, killed at its deadline, or cut."""
    name = command.binaries[0]
    if result.timed_out:
        message = f"{name} did not end within {command.timeout_s:g} s and was stopped."
        if request.effect == "read":
            raise UpstreamTimeout(message, retryable=True)
        raise OutcomeUnknown(
            message, hint="It may have changed files; look at the workspace before repeating it."
        )
    if result.exit_code is None:
        raise UpstreamError(
            f"The sandbox image has none of the programs {', '.join(command.binaries)}.",
            hint="Add the package to sandbox_image/packages.txt and run: codemode image build",
        )
    if result.truncated:
        raise ResponseTooLarge(
            f"{name} printed more than {command.max_output_bytes} bytes.",
            hint="Ask for less, or have it write to a file.",
        )


async def _find(workspace: Workspace, pattern: str) -> list[str]:
    """Workspace files that match *pattern*, sorted."""
    payload = {"callable": "__main__:files_matching", "args": [pattern], "convert": "json"}
    result = await workspace.run_command(
        Command(
            binaries=("python3",),
            argv=("-I", CALL_PROGRAM),
            stdin=json.dumps(payload).encode(),
            env=ENVIRONMENT,
            timeout_s=10.0,
        )
    )
    answer = call_answer(result.stdout, status=result.exit_code, detail=result.stderr.decode())
    return list(answer)[:MAX_OUTPUT_FILES]


def call_answer(stdout: bytes, *, status: int | None, detail: str) -> JsonValue:
    """
    What `CALL_PROGRAM` says the function returned.

    Raises:
        UpstreamError: If the function raised, could not be imported, or the
            program did not answer.
    """
    try:
        answer = json.loads(stdout)
    except ValueError:
        message = f"The Python call ended without an answer (exit code {status}). {short(detail)}"
        raise UpstreamError(message.strip(), status=status) from None
    if "error" in answer:
        raise UpstreamError(answer["error"], hint=answer.get("hint", ""), status=status)
    return answer["value"]


def short(text: str) -> str:
    """The end of what a program wrote to stderr, where the reason usually is."""
    text = text.strip()
    return text if len(text) <= SHOWN_STDERR_CHARS else "..." + text[-SHOWN_STDERR_CHARS:]
