"""Starts the HTTP server of `codemode.edges.http`."""

from __future__ import annotations

import os
from socket import socket

import uvicorn

from codemode.edges import terminal
from codemode.edges.http import build_app
from codemode.errors import ConfigError
from codemode.service import Codemode
from codemode.store.config import Config

MIN_KEY_CHARS = 16
MAX_CONNECTIONS = 256


async def serve_http(config: Config, *, host: str | None, port: int | None) -> None:
    """
    Serve until interrupted.

    Raises:
        ConfigError: If there is no API key, or a short one: a missing control refuses to start.
    """
    name = config.server.api_key_env
    key = os.environ.get(name, "")
    if len(key) < MIN_KEY_CHARS:
        raise ConfigError(
            f"{name} must hold an API key of at least {MIN_KEY_CHARS} characters.",
            hint=f"export {name}=$(python3 -c 'import secrets; print(secrets.token_urlsafe())')",
        )
    async with Codemode.open(config) as codemode:
        server = Announced(
            uvicorn.Config(
                build_app(codemode, api_key=key),
                host=host or config.server.host,
                port=config.server.port if port is None else port,
                log_level="warning",
                server_header=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=30,
            )
        )
        await server.serve()


class Announced(uvicorn.Server):
    """A server that says where it listens once it does."""

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in (listener for each in self.servers for listener in each.sockets):
            address, port = listener.getsockname()[:2]
            terminal.show(f"codemode serves http://{address}:{port}", error=True)
