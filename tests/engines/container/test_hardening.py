"""What the daemon says of a sandbox's container, and what the engine refuses to start."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import time

import docker
import pytest

from codemode.core.frames import PROTOCOL
from codemode.core.run import Job, Limits, Reply
from codemode.errors import EngineUnavailable
from codemode.sandbox._owner import PREFIX, this_process
from codemode.sandbox.container import ContainerEngine
from codemode.sandbox.image import PROTOCOL_LABEL

from .conftest import RUNTIMES, SECRET, available_image, started

pytestmark = pytest.mark.docker
MIB = 1024 * 1024


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.case("attack:11", "attack:15", "attack:29")
async def test_a_container_is_hardened(
    runtime: str, client: docker.APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEMODE_TEST_SEEDED", SECRET)
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:{SECRET}@proxy.example:1")
    engine = await started(runtime, pool_size=1)
    try:
        sandbox = engine.pool.take()
        assert sandbox is not None
        found = client.inspect_container(sandbox.id)
        history = client.history(found["Image"])
        await engine._destroy(sandbox)
    finally:
        await engine.close()

    config, host = found["Config"], found["HostConfig"]
    limits = Limits()
    assert found["Image"].startswith("sha256:")
    assert config["Image"] == found["Image"]  # by id, never by a name that can move
    assert config["User"] == "1000:1000"
    assert host["Runtime"] == runtime
    assert host["NetworkMode"] == "none"
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert host["Privileged"] is False
    assert host["ReadonlyRootfs"] is True
    assert host["Init"] is False  # the harness is process 1; see _hardening
    assert host["AutoRemove"] is False
    assert host["LogConfig"]["Type"] == "none"
    assert host["CgroupnsMode"] == "private"
    assert host["IpcMode"] == "private"
    assert host["PidMode"] == ""
    assert host["UTSMode"] == ""
    assert host["UsernsMode"] == ""
    assert not host["Binds"]
    assert not host["Devices"]
    assert not host["VolumesFrom"]
    assert not host["PortBindings"]
    assert not host["PublishAllPorts"]
    assert host["RestartPolicy"]["Name"] in ("", "no")
    assert found["Mounts"] == []
    assert host["Memory"] == limits.memory_mib * MIB
    assert host["MemorySwap"] == host["Memory"]
    assert host["PidsLimit"] >= limits.max_pids
    assert host["NanoCpus"] == 10**9
    assert host["ShmSize"] == 16 * MIB
    ulimits = {one["Name"]: (one["Soft"], one["Hard"]) for one in host["Ulimits"]}
    assert ulimits == {
        "nofile": (1024, 1024),
        "fsize": (limits.disk_mib * MIB,) * 2,
        "core": (0, 0),
    }
    assert set(host["Tmpfs"]) == {"/workspace", "/tmp"}
    sizes = [int(text.split("size=")[1].split("m")[0]) for text in host["Tmpfs"].values()]
    assert sum(sizes) == limits.disk_mib
    for text in host["Tmpfs"].values():
        assert {"nosuid", "nodev"} <= set(text.split(","))

    options = dict(one.partition("=")[::2] for one in host["SecurityOpt"])
    assert "no-new-privileges:true" in options
    profile = json.loads(options["seccomp"])
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    allowed = {
        name
        for rule in profile["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW" and not rule.get("args")
        for name in rule["names"]
    }
    denied = {
        "io_uring_setup", "mount", "keyctl", "add_key", "bpf", "ptrace", "process_vm_readv",
        "pidfd_getfd", "unshare", "setns", "perf_event_open", "userfaultfd", "socket", "clone",
        "init_module", "open_by_handle_at", "mknod",
    }  # fmt: skip
    assert not allowed & denied

    stated = {name: config["Labels"][f"{PREFIX}{name}"] for name in ("host", "pid", "started")}
    me = this_process("")
    assert stated == {"host": me.host, "pid": str(os.getpid()), "started": me.started}
    assert int(config["Labels"][f"{PREFIX}deadline"]) > time.time()
    assert SECRET not in json.dumps([found, history])
    names = {one.partition("=")[0] for one in config["Env"]}
    assert names == {"CODEMODE_MAX_AGE_S", "CODEMODE_MEMORY_MIB", "PATH", "LANG", "HOME"}


@pytest.mark.case("attack:13")
async def test_a_runtime_that_is_missing_is_refused_never_replaced() -> None:
    await (await started("runc", pool_size=0)).close()
    engine = ContainerEngine(available_image(), "kata", pool_size=1)

    with pytest.raises(EngineUnavailable, match="no runtime 'kata'"):
        await engine.start()
    assert (await engine.availability()).ok is False
    await engine.close()


async def test_a_missing_image_says_how_to_get_it() -> None:
    await (await started("runc", pool_size=0)).close()
    engine = ContainerEngine("codemode-sandbox:not-built")

    found = await engine.availability()

    assert not found.ok
    assert "codemode-sandbox:not-built" in found.reason
    assert "codemode image build" in found.fix
    await engine.close()


@pytest.mark.case("attack:11")
async def test_only_images_on_the_allow_list_are_run() -> None:
    await (await started("runc", pool_size=0)).close()
    engine = ContainerEngine(available_image(), allowed_images=frozenset({"sha256:0"}))

    with pytest.raises(EngineUnavailable, match="allow list"):
        await engine.start()
    await engine.close()


async def test_another_protocol_is_one_clear_error(client: docker.APIClient) -> None:
    await (await started("runc", pool_size=0)).close()
    name = "codemode-sandbox:another-protocol"
    made = client.create_container(
        available_image(), labels={PROTOCOL_LABEL: str(PROTOCOL + 1)}, command=[]
    )
    try:
        client.commit(made["Id"], "codemode-sandbox", "another-protocol")
        engine = ContainerEngine(name)
        with pytest.raises(
            EngineUnavailable, match=f"protocol {PROTOCOL + 1}, this host {PROTOCOL}"
        ):
            await engine.start()
        await engine.close()
    finally:
        client.remove_container(made["Id"], force=True)
        client.remove_image(name, force=True)


OWNER = """
    import asyncio, sys
    from codemode.core.run import Job, NamedTool
    from codemode.sandbox.container import ContainerEngine

    SOURCE = "from tools import t; await t.f()"

    async def main():
        engine = ContainerEngine(sys.argv[1], pool_size=1)
        await engine.start()

        async def answer(call, workspace):
            print("in mid run", flush=True)
            await asyncio.sleep(600)

        names = {"t": {"f": NamedTool(tool="t.f")}}
        await engine.run(
            Job(run_id="r", language="python", source=SOURCE, names=names),
            answer,
        )

    asyncio.run(main())
"""


def owned_by(client: docker.APIClient, pid: int) -> list[str]:
    found = client.containers(all=True, filters={"label": [f"{PREFIX}pid={pid}"]})
    return [one["Id"] for one in found]


def made_by(client: docker.APIClient, engine: ContainerEngine) -> list[str]:
    """Its own containers; other engines of this process may have theirs."""
    label = f"{PREFIX}owner={engine._owner.name}"
    return [one["Id"] for one in client.containers(all=True, filters={"label": [label]})]


@pytest.mark.case("attack:67")
async def test_a_killed_host_leaves_no_container_after_the_next_start(
    client: docker.APIClient,
) -> None:
    bystander = await started("runc", pool_size=1)
    program = [sys.executable, "-c", textwrap.dedent(OWNER), available_image()]
    owner = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    try:
        said = await asyncio.wait_for(asyncio.to_thread(owner.stdout.readline), 60)
        assert said == "in mid run\n"
        assert owned_by(client, owner.pid)
        await bystander.sweep()
        assert owned_by(client, owner.pid), "a live owner's containers were removed"
    finally:
        owner.kill()
        owner.wait()

    following = await started("runc", pool_size=0)

    assert owned_by(client, owner.pid) == []
    assert bystander.pool.ready == 1
    assert len(made_by(client, bystander)) == 1
    await following.close()
    await bystander.close()
    assert made_by(client, bystander) == made_by(client, following) == []


@pytest.mark.case("attack:67")
async def test_the_harness_ends_itself_when_its_host_is_gone(client: docker.APIClient) -> None:
    engine = await started("runc", pool_size=1)
    sandbox = engine.pool.take()
    assert sandbox is not None

    sandbox.close()  # what the kernel does for a process that was killed

    ended = await asyncio.wait_for(asyncio.to_thread(client.wait, sandbox.id), 10)
    assert ended["StatusCode"] == 0
    await engine._destroy(sandbox)
    await engine.close()


async def test_a_run_gets_a_container_of_its_own_which_is_removed(client: docker.APIClient) -> None:
    engine = await started("runc", pool_size=1)

    async def answer(call, workspace):
        return Reply(value=1)

    job = Job(run_id="r", language="python", source="return 1", names={})
    outcome = await engine.run(job, answer)
    await engine.close()

    assert outcome.value == 1
    assert made_by(client, engine) == []
