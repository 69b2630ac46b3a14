"""Engines on a real daemon. Skipped where there is none, unless CODEMODE_REQUIRE_DOCKER=1."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from functools import cache

import docker
import pytest
import pytest_asyncio

from codemode.core.run import Limits
from codemode.errors import EngineUnavailable
from codemode.sandbox.container import ContainerEngine
from codemode.sandbox.image import build_image, default_name

RUNTIMES = ("runc", "runsc")
SECRET = "seeded-secret-0815"


@cache
def available_image() -> str:
    """
    The full image of this version, or the base one: these tests need no programs.

    The base image is built if neither is there, which takes seconds once its
    layers are known and a minute or two before that.
    """
    client = docker.APIClient(version="auto", timeout=10)
    try:
        names = {tag for image in client.images() for tag in image.get("RepoTags") or ()}
    finally:
        client.close()
    for target in ("full", "base"):
        if default_name(target) in names:
            return default_name(target)
    return build_image(target="base").name


async def started(runtime: str, **settings: object) -> ContainerEngine:
    """An engine that runs, or a skip that says why there is none."""
    try:
        engine = ContainerEngine(available_image(), runtime, **settings)  # type: ignore[arg-type]
        await engine.start()
    except (EngineUnavailable, docker.errors.DockerException) as error:
        if os.environ.get("CODEMODE_REQUIRE_DOCKER") == "1":
            raise
        pytest.skip(f"no {runtime} here: {error}")
    return engine


@pytest_asyncio.fixture(
    loop_scope="module",
    scope="module",
    params=[("container", runtime) for runtime in RUNTIMES],
    ids=RUNTIMES,
)
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[ContainerEngine]:
    os.environ["CODEMODE_TEST_SEEDED"] = SECRET
    made = await started(request.param[1], pool_size=1)
    yield made
    await made.close()


@pytest.fixture
def client() -> Iterator[docker.APIClient]:
    made = docker.APIClient(version="auto", timeout=30)
    yield made
    made.close()


ROOM = Limits(wall_s=90.0, cpu_s=60.0)
