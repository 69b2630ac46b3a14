"""
Docker calls that cannot hang.

The SDK blocks, so each call runs in a thread of a pool of our own and is waited
for with a deadline. After a call that was never answered the daemon counts as
down for a few seconds, and further calls fail at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from requests.exceptions import RequestException

from codemode.errors import EngineUnavailable

T = TypeVar("T")

MAX_THREADS = 16
DOWN_S = 5.0
START_HINT = "Start Docker (`.ci/docker start` where nothing manages it), or use --engine isolate."


class Docker:
    """
    One daemon.

    Args:
        host: Its address, such as ``unix:///var/run/docker.sock``; None asks the environment.
        deadline_s: For any one call, unless the call says otherwise.
    """

    def __init__(self, host: str | None = None, *, deadline_s: float = 30.0) -> None:
        self._host = host
        self._deadline_s = deadline_s
        self._local = threading.local()
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="codemode-docker")
        self._down_until = 0.0
        self._clients: list[docker.APIClient] = []

    async def call(
        self,
        method: Callable[[docker.APIClient], T],
        *,
        deadline_s: float | None = None,
    ) -> T:
        """
        Run *method* with a client in a thread.

        Raises:
            EngineUnavailable: If the daemon does not answer in time, cannot be reached,
                or answers with an error.
        """
        if time.monotonic() < self._down_until:
            raise EngineUnavailable("The Docker daemon does not answer.", hint=START_HINT)
        seconds = deadline_s or self._deadline_s
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads, functools.partial(self._run, method))
        try:
            return await asyncio.wait_for(work, seconds)
        except TimeoutError:
            self._down_until = time.monotonic() + DOWN_S
            raise EngineUnavailable(
                f"The Docker daemon did not answer within {seconds:g} s.", hint=START_HINT
            ) from None
        except APIError as error:
            raise EngineUnavailable(
                f"The Docker daemon refused: {error.explanation or _first_line(error)}",
                hint="Run codemode doctor.",
            ) from None
        except (DockerException, RequestException, OSError) as error:
            raise EngineUnavailable(
                f"Docker cannot be reached: {_first_line(error)}", hint=START_HINT
            ) from None

    def _run(self, method: Callable[[docker.APIClient], T]) -> T:
        return method(self._client())

    def _client(self) -> docker.APIClient:
        client = getattr(self._local, "client", None)
        if client is None:  # a client is not safe to share between threads
            options: dict[str, Any] = docker.utils.kwargs_from_env()
            if self._host is not None:
                options = {"base_url": self._host}
            client = docker.APIClient(
                version="auto", timeout=self._deadline_s, use_ssh_client=False, **options
            )
            self._local.client = client
            self._clients.append(client)
        return client

    async def ping(self, *, deadline_s: float = 3.0) -> None:
        """Raises: EngineUnavailable: If no daemon answers."""
        await self.call(lambda client: client.ping(), deadline_s=deadline_s)

    async def image(self, name: str) -> Mapping[str, Any] | None:
        """What the daemon knows of an image, or None if it has none of that name."""

        def inspect(client: docker.APIClient) -> Mapping[str, Any] | None:
            try:
                found: Mapping[str, Any] = client.inspect_image(name)
            except (ImageNotFound, NotFound):
                return None
            return found

        return await self.call(inspect)

    async def info(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = await self.call(lambda client: client.info())
        return found

    async def create(self, options: Mapping[str, Any]) -> str:
        """Create a container from `_hardening.options`; its id."""

        def create(client: docker.APIClient) -> str:
            host_config = client.create_host_config(**options["host"])
            host_config.update(options["raw_host"])
            made = client.create_container(
                host_config=host_config, use_config_proxy=False, **options["container"]
            )
            return str(made["Id"])

        return await self.call(create)

    async def attach(self, container: str) -> socket.socket:
        """Its stdio, both ways, before it is started. Never blocking."""

        def attach(client: docker.APIClient) -> socket.socket:
            stream = client.attach_socket(
                container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            )
            raw: socket.socket = getattr(stream, "_sock", stream)
            if not isinstance(raw, socket.socket):
                raise EngineUnavailable(
                    f"A {type(raw).__name__} cannot carry the channel.",
                    hint="Point docker_host at a unix:// or tcp:// address.",
                )
            ours = raw.dup()  # the SDK's wrapper may close its own when it is collected
            ours.setblocking(False)
            return ours

        return await self.call(attach)

    async def start(self, container: str) -> None:
        await self.call(lambda client: client.start(container))

    async def inspect(
        self, container: str, *, deadline_s: float | None = None
    ) -> Mapping[str, Any]:
        found: Mapping[str, Any] = await self.call(
            lambda client: client.inspect_container(container), deadline_s=deadline_s
        )
        return found

    async def remove(self, container: str) -> None:
        """Kill and remove; nothing happens if it is already gone."""

        def remove(client: docker.APIClient) -> None:
            with contextlib.suppress(NotFound):
                try:
                    client.remove_container(container, force=True, v=True)
                except APIError as error:
                    if error.status_code != 409:  # its removal is already under way
                        raise

        await self.call(remove)

    async def list(self, labels: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """Containers, running or not, that carry all *labels* ("" for any value)."""
        wanted = [f"{name}={value}" if value else name for name, value in labels.items()]
        found: list[Mapping[str, Any]] = await self.call(
            lambda client: client.containers(all=True, filters={"label": wanted})
        )
        return found

    def close(self) -> None:
        """Let go of the threads; a call that hangs is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for client in self._clients:
            client.close()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
