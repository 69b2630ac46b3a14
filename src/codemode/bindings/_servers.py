"""
Which program an MCP server is: the shipped file, overlaid by the operator's settings.

In arguments and environment values ``{root}`` is the first root, ``{data}`` the
server's own folder, ``{npm}`` where the shipped Node servers are installed; the
argument ``{roots}`` becomes one argument per root.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from codemode.bindings import _npm
from codemode.errors import ConfigError, MissingSecret, UpstreamError

_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
"""Variables whose values are taken for secrets though they stand in the config."""

Session: TypeAlias = Literal["service", "run"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(_Strict):
    """
    What an operator says of one server, under ``[mcp_servers.NAME]``.

    Args:
        command: Program and its first arguments; needed unless the server is a shipped one.
        args: In place of the shipped arguments.
        env: Added to the server's environment, which has nothing of the host's.
        secret_env: The same, but each value is the name of the variable of this
            process's environment that holds the secret.
        roots: Folders the server may work in.
        session: One process for all runs, or one for each.
    """

    command: list[str] | None = Field(default=None, min_length=1)
    args: list[str] | None = None
    env: dict[str, SecretStr] = Field(default_factory=dict)
    secret_env: dict[str, str] = Field(default_factory=dict)
    roots: list[Path] = Field(default_factory=list)
    cwd: Path | None = None
    session: Session | None = None
    start_timeout_s: float = Field(default=60.0, gt=0, le=600)


class ShippedServer(_Strict):
    """One entry of ``directory/servers.json``; *commands* are tried in order."""

    description: str
    package: str
    commands: list[list[str]] = Field(min_length=1)
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    session: Session = "service"


class _ServersFile(_Strict):
    schema_: str = Field(default="", alias="$schema")
    servers: dict[str, ShippedServer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """
    How one server is started. *env* may hold secrets, so it has no repr.

    Args:
        commands: Tried in order; the first whose program is there is used.
    """

    name: str
    commands: tuple[tuple[str, ...], ...]
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret_env: Mapping[str, str] = field(default_factory=dict)
    roots: tuple[Path, ...] = ()
    cwd: Path | None = None
    session: Session = "service"
    start_timeout_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """
    A server's command line, ready to be run.

    Args:
        env: The whole environment.
        secrets: Values in it that must not come back in an answer or a message.
    """

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path
    secrets: frozenset[str] = field(default=frozenset(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """
    What a server said to one call.

    Args:
        content: Its parts, as JSON.
        structured: Its structured content, or None.
        is_error: It marks the answer as an error.
    """

    content: list[dict[str, Any]]
    structured: Any = None
    is_error: bool = False


class ServerGone(Exception):
    """The connection to a server ended before it answered."""


class ServerRefused(Exception):
    """A server answered with a protocol error: *code* and *message* are its own."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def load_servers(file: Path, settings: Mapping[str, Any]) -> dict[str, Server]:
    """
    The servers that calls may use, by name.

    Args:
        file: The shipped servers file.
        settings: Server name -> what the operator's config says (`ServerSettings`).

    Raises:
        ConfigError: With file and key named.
    """
    try:
        shipped = _ServersFile.model_validate_json(file.read_bytes()).servers
    except (OSError, ValidationError) as error:
        raise ConfigError(f"{file}: {_reason(error)}") from None
    servers: dict[str, Server] = {}
    for name in sorted({*shipped, *settings}):
        try:
            said = ServerSettings.model_validate(settings.get(name, {}))
        except ValidationError as error:
            raise ConfigError(f"mcp_servers.{name}: {_reason(error)}") from None
        servers[name] = _overlaid(name, shipped.get(name), said)
    return servers


def _overlaid(name: str, shipped: ShippedServer | None, said: ServerSettings) -> Server:
    if said.command is not None:
        commands: tuple[tuple[str, ...], ...] = (tuple(said.command),)
    elif shipped is not None:
        commands = tuple(tuple(command) for command in shipped.commands)
    else:
        raise ConfigError(
            f"mcp_servers.{name}: command is missing, and no such server is shipped",
            hint=f'Write command = ["program", "argument"] under [mcp_servers.{name}].',
        )
    return Server(
        name=name,
        commands=commands,
        args=tuple(said.args if said.args is not None else shipped.args if shipped else ()),
        env={
            **(shipped.env if shipped else {}),
            **{key: value.get_secret_value() for key, value in said.env.items()},
        },
        secret_env=dict(said.secret_env),
        roots=tuple(root.expanduser().absolute() for root in said.roots),
        cwd=said.cwd,
        session=said.session or (shipped.session if shipped else "service"),
        start_timeout_s=said.start_timeout_s,
    )


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):  # its own text would show values, secrets included
        first = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'file'}: {first['msg']}"
    return str(error)


async def resolve(server: Server, *, data: Path, cache: Path) -> Start:
    """
    Find the program and fill the templates, installing what ships as a lock file.

    Args:
        data: Folder for the server's own files.
        cache: Folder for installed servers.

    Raises:
        UpstreamError: If the program is not there or the server needs a root.
        MissingSecret: If a variable of ``secret_env`` is not set.
    """
    words = [word for command in server.commands for word in command]
    words += [*server.args, *server.env.values()]
    missing = next((root for root in server.roots if not root.is_dir()), None)
    if missing is not None:
        raise _not_set_up(server, f"its root {missing} is no folder")
    if not server.roots and any("{root}" in word or word == "{roots}" for word in words):
        raise _not_set_up(server, "it needs a folder to work in")
    await asyncio.to_thread(data.mkdir, parents=True, exist_ok=True)
    holes = {"{data}": str(data), "{node}": str(_npm.node())}
    if server.roots:
        holes["{root}"] = str(server.roots[0])
    if any("{npm}" in word for word in words):
        holes["{npm}"] = str(await _npm.installed(cache))
    secrets = _secrets(server)
    for command in server.commands:
        program = _program(_filled(command[0], holes))
        if program is None:
            continue
        args: list[str] = []
        for word in (*command[1:], *server.args):
            roots = [str(root) for root in server.roots]
            args += roots if word == "{roots}" else [_filled(word, holes)]
        return Start(
            command=program,
            args=tuple(args),
            env={**_environment(server, holes, data), **secrets},
            cwd=server.cwd or data,
            secrets=frozenset(secrets.values())
            | {value for name, value in server.env.items() if _SECRET_NAME.search(name)},
        )
    tried = ", ".join(sorted({command[0] for command in server.commands}))
    raise UpstreamError(
        f"The MCP server {server.name} cannot be started: none of {tried} is installed.",
        hint=f"Install it, or set command under [mcp_servers.{server.name}] in codemode.toml.",
    )


def _secrets(server: Server) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, variable in server.secret_env.items():
        value = os.environ.get(variable)
        if not value:
            raise MissingSecret(
                f"The MCP server {server.name} needs the environment variable {variable}.",
                hint=f"Set it, or change [mcp_servers.{server.name}.secret_env] in codemode.toml.",
            )
        values[name] = value
    return values


def _not_set_up(server: Server, why: str) -> UpstreamError:
    return UpstreamError(
        f"The MCP server {server.name} is not set up: {why}.",
        hint=f'Write roots = ["/a/folder"] under [mcp_servers.{server.name}] in codemode.toml.',
    )


def _filled(word: str, holes: Mapping[str, str]) -> str:
    for hole, value in holes.items():
        word = word.replace(hole, value)
    return word


def _program(name: str) -> str | None:
    if os.sep in name:
        return name if Path(name).is_file() else None
    # Programs of Python packages are installed beside the interpreter, which need not be on PATH.
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.is_file() else shutil.which(name)


def _environment(server: Server, holes: Mapping[str, str], data: Path) -> dict[str, str]:
    """All that the server sees. The SDK takes these names from the host if they are left out."""
    fixed = {
        "HOME": str(data),
        "LOGNAME": "codemode",
        "USER": "codemode",
        "SHELL": "/bin/sh",
        "TERM": "dumb",
        "PATH": os.defpath if os.name == "nt" else "/usr/local/bin:/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    return {**fixed, **{name: _filled(value, holes) for name, value in server.env.items()}}


def shipped_servers() -> Path:
    """The servers file that ships beside the directory: in the wheel, or in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "shipped" / "directory" / "servers.json"
    return installed if installed.is_file() else package.parents[1] / "directory" / "servers.json"


def user_folder(variable: str, below_home: str) -> Path:
    """codemode's folder where the XDG *variable* says, else below the home folder."""
    said = os.environ.get(variable)
    return (Path(said) if said else Path.home() / below_home) / "codemode"
