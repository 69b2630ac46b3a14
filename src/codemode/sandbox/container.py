"""
The container engine: one hardened container a run, taken warm from a pool.

The harness inside is the container's main process; the control channel is its
attached stdio. There is no network interface, no mount and no socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable
from dataclasses import dataclass

from codemode.core.frames import PROTOCOL
from codemode.core.run import Answer, Engine, Job, Limits, Outcome
from codemode.errors import CodemodeError, EngineUnavailable
from codemode.sandbox import image as images
from codemode.sandbox._docker import Docker
from codemode.sandbox._hardening import Instance, options
from codemode.sandbox._owner import PREFIX, Owner, fate, this_process
from codemode.sandbox._pool import Pool
from codemode.sandbox._run import ContainerRun
from codemode.sandbox._sandbox import Sandbox

READY_S = 60.0
MAX_IDLE_S = 1800.0
LOST_S = 1.0
MAX_MAKING = 8
"""Containers being made at once; more only make each other wait."""


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether the engine can start here; if not, why and what to do."""

    ok: bool
    reason: str = ""
    fix: str = ""


class ContainerEngine:
    """
    Sandboxes made by a Docker daemon (`codemode.core.run.Engine`).

    Args:
        image: Name or id; None takes the one built from this version's `sandbox_image`,
            the full one if it is there, else the base one, which has no programs.
        runtime: ``runc`` or ``runsc``. One that is missing is refused, never replaced.
        pool_size: Containers kept warm; 0 makes each run wait for a cold one.
        docker_host: Address of the daemon; None asks the environment as the CLI does.
        allowed_images: Ids that may be run; None allows exactly what *image* names at start.
        cpus: Processors' worth of time that one sandbox may use.
        instance: Size of the warm containers; a job with other limits gets a cold one.
    """

    name = "container"

    def __init__(
        self,
        image: str | None = None,
        runtime: str = "runc",
        pool_size: int = 2,
        docker_host: str | None = None,
        *,
        allowed_images: frozenset[str] | None = None,
        cpus: float = 1.0,
        limits: Limits | None = None,
        deadline_s: float = 30.0,
    ) -> None:
        self.runtime = runtime
        self.capabilities = frozenset(
            {
                "typescript",
                "python",
                "files",
                "commands",
                "full_python",
                "memory_limit",
                "cpu_limit",
                "process_isolation",
            }
        )
        self._images = (image,) if image else (images.default_name(), images.default_name("base"))
        self._allowed_images = allowed_images
        self._image_id = ""
        self._cpus = cpus
        self._instance = Instance.of(limits or Limits(), cpus=cpus)
        self._seccomp = images.seccomp_profile()
        self._docker = Docker(docker_host, deadline_s=deadline_s)
        self._owner: Owner = this_process(secrets.token_hex(8))
        self.pool = Pool(
            lambda: self._make(self._instance),
            self._destroy,
            size=pool_size,
            max_idle_s=MAX_IDLE_S,
        )
        self._active: set[Sandbox] = set()
        self._idle = asyncio.Event()
        self._making = asyncio.Semaphore(MAX_MAKING)
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    async def availability(self) -> Availability:
        """Cheap: does the daemon answer, is the runtime known, is the image there?"""
        try:
            await self._docker.ping()
            await self._resolve()
        except CodemodeError as error:
            return Availability(False, error.message, error.hint)
        return Availability(True)

    async def start(self) -> None:
        await self._docker.ping()
        await self._resolve()
        await self.sweep()
        if self.pool.size and self.pool.ready == 0:
            # One is made here, so that what is wrong is said now and not at the first run.
            sandbox = await self._make(self._instance)
            self.pool.add(sandbox)
            self.pool.refill()

    async def run(self, job: Job, answer: Answer) -> Outcome:
        if self._closed:
            raise EngineUnavailable("The container engine is closed.")
        sandbox = await self._take(job)
        self._active.add(sandbox)
        try:
            return await ContainerRun(
                sandbox, job, answer, lambda: self._ran_out_of_memory(sandbox)
            ).outcome()
        finally:
            self._active.discard(sandbox)
            if self._closed and not self._active:
                self._idle.set()
            self._later(self._destroy(sandbox))

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for sandbox in self._active:
            sandbox.close()  # their runs end as lost, and remove the containers
        await self.pool.close()
        if self._active:
            await self._idle.wait()
        while self._ending:
            await asyncio.wait(self._ending)
        self._docker.close()

    async def sweep(self) -> list[str]:
        """
        Remove containers whose owner is proven dead; ids of those removed.

        Raises:
            EngineUnavailable: If the daemon does not answer.
        """
        removed = []
        for container in await self._docker.list({f"{PREFIX}sandbox": "1"}):
            running = container.get("State") == "running"
            if fate(container.get("Labels") or {}, self._owner, running=running) == "remove":
                with contextlib.suppress(EngineUnavailable):  # the next sweep tries again
                    await self._docker.remove(container["Id"])
                    removed.append(container["Id"])
        return removed

    async def _take(self, job: Job) -> Sandbox:
        instance = Instance.of(job.limits, cpus=self._cpus)
        if instance == self._instance:
            sandbox = self.pool.take()
            if sandbox is not None:
                return sandbox
        return await self._make(instance)

    async def _resolve(self) -> None:
        """
        Find the image's id and the runtime.

        Raises:
            EngineUnavailable: If either is missing or not allowed.
        """
        for name in self._images:
            found = await self._docker.image(name)
            if found is not None:
                break
        else:
            raise EngineUnavailable(
                f"The sandbox image {self._images[0]} is not on this machine.",
                hint="Build it: codemode image build",
            )
        image_id = str(found["Id"])
        if self._allowed_images is not None and image_id not in self._allowed_images:
            raise EngineUnavailable(
                f"Image {name} is {image_id}, which is not on the allow list.",
                hint="Add the id to allowed_images, or name another image.",
            )
        labels = (found.get("Config") or {}).get("Labels") or {}
        spoken = labels.get(images.PROTOCOL_LABEL)
        if spoken != str(PROTOCOL):
            raise EngineUnavailable(
                f"Image {name} speaks protocol {spoken or 'none'}, this host {PROTOCOL}.",
                hint="Rebuild it: codemode image build",
            )
        runtimes = (await self._docker.info()).get("Runtimes") or {}
        if self.runtime not in runtimes:
            known = ", ".join(sorted(runtimes))
            raise EngineUnavailable(
                f"The daemon has no runtime {self.runtime!r}; it has {known}.",
                hint="Register it in the daemon's configuration; nothing else is used instead.",
            )
        self._image_id = image_id

    async def _make(self, instance: Instance) -> Sandbox:
        """Create, attach, start and greet one container, or leave nothing behind."""
        async with self._making:
            return await self._make_one(instance)

    async def _make_one(self, instance: Instance) -> Sandbox:
        if not self._image_id:
            await self._resolve()
        container = ""
        sandbox: Sandbox | None = None
        try:
            container = await self._docker.create(
                options(
                    image_id=self._image_id,
                    runtime=self.runtime,
                    instance=instance,
                    seccomp=self._seccomp,
                    labels=self._owner.labels(deadline_s=images.MAX_AGE_S),
                    max_age_s=images.MAX_AGE_S,
                )
            )
            sandbox = Sandbox(container, await self._docker.attach(container))
            await self._docker.start(container)
            await sandbox.greet(deadline_s=READY_S)
        except BaseException:
            if sandbox is not None:
                self._later(self._destroy(sandbox))
            elif container:
                self._later(self._remove(container))
            raise
        return sandbox

    async def _destroy(self, sandbox: Sandbox) -> None:
        sandbox.close()
        await self._remove(sandbox.id)

    async def _remove(self, container: str) -> None:
        with contextlib.suppress(CodemodeError):  # the next sweep tries again
            await self._docker.remove(container)

    async def _ran_out_of_memory(self, sandbox: Sandbox) -> bool:
        with contextlib.suppress(CodemodeError):
            state = (await self._docker.inspect(sandbox.id, deadline_s=LOST_S))["State"]
            return bool(state.get("OOMKilled"))
        return False

    def _later(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            await work

        task = asyncio.create_task(run())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def ENGINE(
    *,
    image: str | None = None,
    runtime: str = "runc",
    pool_size: int = 2,
    docker_host: str | None = None,
    limits: Limits | None = None,
) -> Engine:
    """A `ContainerEngine`, not started. *limits*: the size of its warm containers."""
    return ContainerEngine(image, runtime, pool_size, docker_host, limits=limits)
