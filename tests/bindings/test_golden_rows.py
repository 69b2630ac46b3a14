"""
The golden cases of all cli and python rows, in the container image they are written for.

One container serves the module: a run that makes one call, answered only when the
last case has been played in its workspace. Each case has a folder of its own.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

import docker
import pytest
import pytest_asyncio
from tests.bindings.goldens import BINDINGS, judge, play, rows, tool_of

from codemode.core.run import Command, Job, Limits, NamedTool, Reply
from codemode.errors import EngineUnavailable
from codemode.sandbox.container import ContainerEngine
from codemode.sandbox.image import default_name

CASES = [
    pytest.param(file, row, number, id=f"{file['toolset']}.{row['name']}-{number}")
    for via in BINDINGS
    for file, row in rows(via)
    for number in range(len(row.get("golden", ())))
]
SOURCE = "from tools import wait\nawait wait.here()\n"

pytestmark = [
    pytest.mark.docker,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(300),
]


class Folder:
    """One folder of a workspace, as a workspace."""

    def __init__(self, workspace, name):
        self.workspace, self.name = workspace, name

    async def run_command(self, command):
        return await self.workspace.run_command(replace(command, cwd=self.name))

    async def read_file(self, path, *, max_bytes):
        return await self.workspace.read_file(f"{self.name}/{path}", max_bytes=max_bytes)

    async def write_file(self, path, data):
        await self.workspace.write_file(f"{self.name}/{path}", data)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workspace():
    image = os.environ.get("CODEMODE_TEST_IMAGE") or default_name("full")
    limits = Limits(wall_s=600.0)
    try:
        engine = ContainerEngine(image, pool_size=0, limits=limits)
        await engine.start()
    except (EngineUnavailable, docker.errors.DockerException) as error:
        if os.environ.get("CODEMODE_REQUIRE_DOCKER") == "1":
            raise
        pytest.skip(f"no image with the programs here: {error}")
    inside, over = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def answer(call, workspace):
        inside.set_result(workspace)
        await over.wait()
        return Reply(value=None)

    job = Job(
        run_id="goldens",
        language="python",
        source=SOURCE,
        names={"wait": {"here": NamedTool(tool="wait.here")}},
        limits=limits,
    )
    running = asyncio.create_task(engine.run(job, answer))
    await asyncio.wait({running, inside}, return_when=asyncio.FIRST_COMPLETED, timeout=60)
    assert inside.done(), running.result() if running.done() else "the run did not start"
    yield inside.result()
    over.set()
    outcome = await running
    await engine.close()
    assert outcome.status == "succeeded", outcome


@pytest.mark.parametrize(("file", "row", "number"), CASES)
async def test_golden_case(file, row, number, workspace):
    tool = tool_of(file, row, BINDINGS[file["binding"]["via"]])
    golden = row["golden"][number]
    name = f"{file['toolset']}-{row['name']}-{number}"
    made = await workspace.run_command(Command(binaries=("mkdir",), argv=(name,)))
    assert made.exit_code == 0, made
    answer = await play(tool, golden, Folder(workspace, name))
    judge(tool, golden, answer, file.get("$defs", {}))


async def test_a_command_that_outlives_its_deadline_ends_the_call_alone(workspace):
    result = await workspace.run_command(Command(binaries=("sleep",), argv=("30",), timeout_s=0.5))
    assert result.timed_out
    result = await workspace.run_command(Command(binaries=("no-such-program", "echo")))
    assert result.exit_code == 0
