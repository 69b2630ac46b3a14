"""Hardening, proven from inside: a script tries what is denied, in both runtimes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import pytest_asyncio

from codemode.core.run import CallError, Job, Limits, Reply
from codemode.sandbox.container import ContainerEngine

from .conftest import ROOM, SECRET

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]

PROBE = (Path(__file__).parent / "probe.py").read_text()
GROUPS = {
    "system_calls": ("attack:5",),
    "memory_of_the_harness": ("attack:5",),
    "namespaces": ("attack:9",),
    "kernel_files": ("attack:3",),
    "sockets_of_the_host": ("attack:1", "L7"),
    "socket_families": ("attack:7",),
    "privileges": ("attack:9",),
    "devices": ("attack:11",),
    "network": ("attack:31", "attack:35", "L7"),
    "read_only_root": ("attack:55", "L13"),
    "limits": ("attack:55", "attack:61"),
}


async def refuse(call, workspace):
    return Reply(error=CallError(code="not_allowed", message="no"))


async def probe(engine: ContainerEngine, expression: str, limits: Limits = ROOM):
    job = Job(
        run_id="probe",
        language="python",
        source=f"{PROBE}\nreturn {expression}\n",
        names={},
        limits=limits,
    )
    return await engine.run(job, refuse)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def findings(engine: ContainerEngine) -> dict:
    outcome = await probe(engine, "main()")
    assert outcome.status == "succeeded", outcome
    return outcome.value


@pytest.mark.parametrize(
    "group", [pytest.param(name, marks=pytest.mark.case(*ids)) for name, ids in GROUPS.items()]
)
async def test_what_is_denied_is_refused(
    engine: ContainerEngine, findings: dict, group: str
) -> None:
    tried = findings[group]
    if engine.runtime == "runsc":
        # gVisor's own FUSE, made in its kernel and not the host's; mounting it is refused.
        tried.pop("/dev/fuse", None)

    assert tried, "nothing was tried"
    holes = {name: said for name, said in tried.items() if said.startswith("open")}
    assert holes == {}


@pytest.mark.case("attack:45")
async def test_a_script_inherits_stdio_and_its_own_socket_only(findings: dict) -> None:
    found = {fd: what for fd, what in findings["own_descriptors"].items() if int(fd) <= 3}

    assert found["0"] == "/dev/null"
    for fd in ("1", "2"):
        assert found[fd].startswith("pipe:")
    assert found["3"].startswith("socket:")


@pytest.mark.case("attack:45", "R25", "L13")
async def test_a_script_cannot_write_a_frame(engine: ContainerEngine) -> None:
    done = json.dumps({"type": "done", "status": "succeeded", "value": "forged"}).encode()
    frame = len(done).to_bytes(4, "big") + done
    forgery = f"[forge({frame!r}), forge({bytes(16) + frame!r}), os.write(1, {frame!r})]"

    outcome = await probe(engine, forgery)

    assert outcome.value != "forged"
    if engine.runtime == "runc":
        assert outcome.value[:2] == [0, 0], "the channel could be opened"
    else:  # gVisor opens it; what stands in it without the harness's seal ends the run
        assert outcome.error is not None
        assert outcome.error.code in ("protocol_error", "crashed")


@pytest.mark.case("attack:45")
async def test_a_script_cannot_end_the_harness_unnoticed(engine: ContainerEngine) -> None:
    outcome = await probe(engine, "kill_the_harness()")

    if engine.runtime == "runc":
        assert outcome.value == "still here", outcome
    else:
        assert outcome.status in ("succeeded", "engine_lost"), outcome


@pytest.mark.case("attack:55")
async def test_millions_of_empty_files_end_at_a_bound(engine: ContainerEngine) -> None:
    outcome = await probe(engine, "inodes('/tmp')")

    if engine.runtime == "runc":
        assert outcome.value == "refused: ENOSPC", outcome
    else:  # gVisor counts no inodes; they cost the sandbox's own memory
        assert outcome.status in ("succeeded", "failed", "timed_out", "engine_lost"), outcome


@pytest.mark.case("attack:15", "attack:29")
async def test_nothing_readable_holds_a_secret_of_the_host(engine: ContainerEngine) -> None:
    words = ["CODEMODE_TEST_SEEDED", SECRET, "ssl/certs/ca-bundle", "HOSTNAME=sandbox"]
    backwards = ", ".join(repr(word[::-1]) for word in words)

    outcome = await probe(engine, f"readable_words({backwards})")

    assert outcome.status == "succeeded", outcome
    assert outcome.value in ([], ["HOSTNAME=sandbox"[::-1]])


@pytest.mark.parametrize("attack", ["fork_bomb()", "{'fork': threads(), 'children': 0}"])
@pytest.mark.case("attack:53", "attack:59")
async def test_too_many_processes_harm_only_the_run(engine: ContainerEngine, attack: str) -> None:
    outcome = await probe(engine, attack)
    after = await probe(engine, "1")

    if engine.runtime == "runc":
        assert outcome.status == "succeeded", outcome
        assert outcome.value["fork"].startswith("refused")
        assert outcome.value["children"] < ROOM.max_pids
    else:
        # gVisor's threads are its own affair; its processes meet the limit of the whole sandbox.
        assert outcome.status in ("succeeded", "failed", "engine_lost"), outcome
    assert after.value == 1


@pytest.mark.parametrize("folder", ["/workspace", "/tmp"])
@pytest.mark.case("attack:55")
async def test_a_full_disk_is_the_scripts_own_problem(engine: ContainerEngine, folder: str) -> None:
    outcome = await probe(engine, f"disk({folder!r})")

    assert outcome.status == "succeeded", outcome
    assert outcome.value["answer"] == "refused: ENOSPC"
    assert outcome.value["mib"] <= ROOM.disk_mib


@pytest.mark.case("attack:53", "L3")
async def test_memory_in_shared_memory_counts(engine: ContainerEngine) -> None:
    outcome = await probe(engine, "disk('/dev/shm')")

    assert outcome.status == "succeeded", outcome
    assert outcome.value["mib"] <= 16
