"""Starts the HTTP server of `codemode.edges.http`."""

from __future__ import annotations

import os

import uvicorn

from codemode.edges.http import build_app
from codemode.errors import ConfigError
from codemode.service import Codemode
from codemode.store.config import Config

MIN_KEY_CHARS = 16


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
        server = uvicorn.Server(
            uvicorn.Config(
                build_app(codemode, api_key=key),
                host=host or config.server.host,
                port=config.server.port if port is None else port,
                log_level="warning",
                server_header=False,
            )
        )
        await server.serve()
