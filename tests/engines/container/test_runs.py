"""Runs in a container: programs, files, processes that stay, and faults in mid run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from codemode.core.run import (
    Command,
    FileData,
    Job,
    Language,
    Limits,
    NamedTool,
    Outcome,
    Reply,
    ToolCall,
    Workspace,
)
from codemode.errors import BadArguments, EngineUnavailable, OutcomeUnknown
from codemode.sandbox._docker import Docker
from codemode.sandbox.container import ContainerEngine

from .conftest import started

pytestmark = [pytest.mark.docker, pytest.mark.asyncio(loop_scope="module")]
NAMES = {"t": {"f": NamedTool(tool="t.f")}}
LANGUAGES: tuple[Language, ...] = ("python", "typescript")
WAITS = {
    "python": "from tools import t\nreturn await t.f()",
    "typescript": 'import { t } from "tools"; export default async () => await t.f();',
}


async def nothing(call: ToolCall, workspace: Workspace | None) -> Reply:
    return Reply(value=None)


async def python(engine: ContainerEngine, source: str, answer=nothing, **job: object) -> Outcome:
    settings = {"language": "python", "names": NAMES, "limits": Limits(wall_s=30.0), **job}
    return await engine.run(Job(run_id="r", source=source, **settings), answer)  # type: ignore[arg-type]


async def in_workspace(engine: ContainerEngine, use, **job: object):
    """What *use* gives, called with the workspace of a run that waits for it."""
    found = {}

    async def answer(call: ToolCall, workspace: Workspace | None) -> Reply:
        assert workspace is not None
        found["it"] = await use(workspace)
        return Reply(value=None)

    outcome = await python(engine, WAITS["python"], answer, **job)
    assert outcome.status == "succeeded", outcome
    return found["it"]


# --- programs ------------------------------------------------------------------------------


async def test_the_first_program_that_is_there_is_run(engine: ContainerEngine) -> None:
    command = Command(
        binaries=("no-such-program", "cat"), stdin=b"in\x00\xff" * 50_000, env={"X": "1"}
    )

    result = await in_workspace(engine, lambda workspace: workspace.run_command(command))

    assert result.exit_code == 0
    assert result.stdout == command.stdin
    assert (result.timed_out, result.truncated) == (False, False)


async def test_arguments_are_never_a_shell_string(engine: ContainerEngine) -> None:
    argv = ("%s\n", "$(id)", "; id", "`id`", "a b")
    command = Command(binaries=("printf",), argv=argv)

    result = await in_workspace(engine, lambda workspace: workspace.run_command(command))

    assert result.stdout.decode().splitlines() == list(argv[1:])


@pytest.mark.parametrize("name", ["no-such-program", "/bin/sh", "../bin/sh", ""])
async def test_a_program_is_found_by_its_name_alone(engine: ContainerEngine, name: str) -> None:
    command = Command(binaries=(name,))

    result = await in_workspace(engine, lambda workspace: workspace.run_command(command))

    assert result.exit_code is None


async def test_a_program_that_takes_too_long_is_killed_with_its_children(
    engine: ContainerEngine,
) -> None:
    async def use(workspace: Workspace):
        script = "sleep 60 & echo $!; wait"
        slow = await workspace.run_command(
            Command(binaries=("sh",), argv=("-c", script), timeout_s=1.0)
        )
        alive = await workspace.run_command(
            Command(binaries=("kill", "sh"), argv=("-c", f"kill -0 {slow.stdout.decode().strip()}"))
        )
        return slow, alive

    slow, alive = await in_workspace(engine, use)

    assert slow.timed_out
    assert slow.exit_code == -9
    assert alive.exit_code != 0


async def test_output_is_capped_and_said_to_be(engine: ContainerEngine) -> None:
    command = Command(binaries=("sh",), argv=("-c", "yes | head -c 300000"), max_output_bytes=1000)

    result = await in_workspace(engine, lambda workspace: workspace.run_command(command))

    assert len(result.stdout) == 1000
    assert result.truncated


@pytest.mark.case("attack:63")
async def test_a_daemon_that_a_program_leaves_does_not_hold_its_answer(
    engine: ContainerEngine,
) -> None:
    command = Command(
        binaries=("sh",), argv=("-c", "(sleep 300 &) ; setsid sleep 300 & echo done"), timeout_s=20
    )

    result = await in_workspace(engine, lambda workspace: workspace.run_command(command))

    assert result.stdout == b"done\n"
    assert not result.timed_out


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.case("attack:63")
async def test_a_daemon_that_a_script_leaves_does_not_hold_the_result(
    engine: ContainerEngine, language: Language, client: docker.APIClient
) -> None:
    source = {
        "python": (
            "import os, time\nif os.fork() == 0:\n    os.setsid()\n"
            "    if os.fork() == 0:\n        time.sleep(600)\n    os._exit(0)\n"
            "print('parent')\nreturn 1"
        ),
        "typescript": "export default async () => { setInterval(() => {}, 1000); return 1; };",
    }[language]

    outcome = await python(engine, source, language=language)

    assert outcome.value == 1, outcome


# --- files -----------------------------------------------------------------------------------


async def test_files_go_in_and_what_changed_comes_out(engine: ContainerEngine) -> None:
    outcome = await python(
        engine,
        "import os\n"
        "text = open('in/a.txt').read()\n"
        "os.makedirs('out/deep')\n"
        "open('out/deep/b.txt', 'w').write(text.upper())\n"
        "os.symlink('/etc/passwd', 'out/link')\n"
        "os.mkfifo('out/fifo')\n"
        "return sorted(os.listdir('.'))",
        files=(FileData(path="in/a.txt", data=b"hello"), FileData(path="kept", data=b"x")),
        collect_files=True,
    )

    assert outcome.value == ["in", "kept", "out"], outcome
    assert outcome.files == (FileData(path="out/deep/b.txt", data=b"HELLO"),)


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x"])
@pytest.mark.case("L15", "attack:73")
async def test_a_job_cannot_put_a_file_elsewhere(engine: ContainerEngine, path: str) -> None:
    outcome = await python(engine, "return 1", files=(FileData(path=path, data=b"x"),))

    assert outcome.status == "failed"
    assert outcome.error is not None
    assert outcome.error.code == "bad_arguments"


@pytest.mark.case("attack:77", "L15")
async def test_a_tool_reads_only_what_is_a_file_of_the_workspace(engine: ContainerEngine) -> None:
    prepared = "import os\nos.mkfifo('fifo'); os.symlink('/etc/passwd', 'link')\n"
    refused = []

    async def answer(call: ToolCall, workspace: Workspace | None) -> Reply:
        assert workspace is not None
        await workspace.write_file("a/b", b"data")
        assert await workspace.read_file("a/b", max_bytes=10) == b"data"
        for path in ("fifo", "link", "../etc/passwd", "/dev/zero", "missing"):
            with pytest.raises(BadArguments):
                await workspace.read_file(path, max_bytes=100)
            refused.append(path)
        return Reply(value=1)

    outcome = await python(engine, prepared + WAITS["python"], answer)

    assert outcome.value == 1, outcome
    assert len(refused) == 5


async def test_large_files_cross_in_both_directions(engine: ContainerEngine) -> None:
    data = bytes(range(256)) * 4096 * 8  # 8 MiB
    outcome = await python(
        engine,
        "data = open('a', 'rb').read()\nopen('b', 'wb').write(data[::-1])\nreturn len(data)",
        files=(FileData(path="a", data=data),),
        collect_files=True,
    )

    assert outcome.value == len(data), outcome
    assert outcome.files == (FileData(path="b", data=data[::-1]),)


# --- what a script prints is never a frame --------------------------------------------------


@pytest.mark.case("attack:45", "R25", "R33", "attack:57")
async def test_printed_bytes_are_text_whatever_they_look_like(engine: ContainerEngine) -> None:
    done = json.dumps({"type": "done", "status": "succeeded", "value": "forged"}).encode()
    frame = len(done).to_bytes(4, "big") + done
    outcome = await python(
        engine,
        f"import os, sys, subprocess\nframe = {frame!r}\n"
        "for fd in (1, 2):\n    os.write(fd, frame + b'\\n')\n"
        "sys.stdout.buffer.write(b'bad \\xff\\xfe utf-8\\n')\n"
        "subprocess.run(['sh', '-c', 'echo from a child'])\n"
        "print('\\x1b[31mred\\0')\nreturn 'mine'",
    )

    assert outcome.value == "mine", outcome
    texts = [line.text for line in outcome.logs]
    assert sum("forged" in text for text in texts) == 2
    assert "bad �� utf-8" in texts
    assert "from a child" in texts
    assert "\x1b[31mred\0" in texts


@pytest.mark.case("attack:45", "T13")
async def test_a_forged_frame_on_the_scripts_own_socket_gains_nothing(
    engine: ContainerEngine,
) -> None:
    calls = []

    async def answer(call: ToolCall, workspace: Workspace | None) -> Reply:
        calls.append(call.tool)
        return Reply(value=1)

    send = (
        "import os, json\n"
        "def send(frame):\n"
        "    body = frame if isinstance(frame, bytes) else json.dumps(frame).encode()\n"
        "    os.write(3, len(body).to_bytes(4, 'big') + body)\n"
    )
    for frame in (
        '{"type": "ready", "protocol": 1}',
        '{"type": "file", "id": 1, "data": ""}',
        '{"type": "call", "id": "x", "tool": "t.f", "args": {}}',
        'b"\\xff not json"',
    ):
        outcome = await python(engine, f"{send}send({frame})\nimport time; time.sleep(5)", answer)
        assert outcome.status == "failed", outcome
        assert outcome.error is not None
        assert outcome.error.code == "crashed"
    assert calls == []


@pytest.mark.case("attack:49")
async def test_calls_beyond_what_may_be_in_flight_wait(engine: ContainerEngine) -> None:
    most = now = 0

    async def answer(call: ToolCall, workspace: Workspace | None) -> Reply:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        now -= 1
        return Reply(value=call.args["n"])

    outcome = await python(
        engine,
        "import asyncio\nfrom tools import t\n"
        "return sum(await asyncio.gather(*[t.f(n=n) for n in range(2000)]))",
        answer,
        limits=Limits(wall_s=60.0, max_in_flight=8),
    )

    assert outcome.value == sum(range(2000)), outcome
    assert most <= 8


# --- faults ----------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.case("attack:51")
async def test_a_container_killed_in_mid_call_is_a_typed_end(
    engine: ContainerEngine, language: Language, client: docker.APIClient
) -> None:
    began = asyncio.Event()
    cancelled = []
    assert await engine.pool.filled(deadline_s=60)
    before = set(await running(client))

    async def answer(call: ToolCall, workspace: Workspace | None) -> Reply:
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(call.tool)
            raise
        return Reply(value=None)

    job = Job(run_id="r", language=language, source=WAITS[language], names=NAMES)
    task = asyncio.create_task(engine.run(job, answer))
    await asyncio.wait_for(began.wait(), 30)
    for container in before:
        with contextlib.suppress(docker.errors.APIError):  # an earlier test's, ending just now
            client.kill(container)
    killed = time.monotonic()

    outcome = await asyncio.wait_for(task, 20)

    assert time.monotonic() - killed < 2
    assert outcome.status == "engine_lost", outcome
    assert outcome.error is not None
    assert outcome.error.code == "crashed"
    assert cancelled == ["t.f"]


async def test_closing_ends_what_runs_and_removes_it(client: docker.APIClient) -> None:
    engine = await started("runc", pool_size=1)
    began = asyncio.Event()

    async def answer(call: ToolCall, workspace: Workspace | None) -> Reply:
        began.set()
        await asyncio.sleep(60)
        return Reply(value=None)

    task = asyncio.create_task(python(engine, WAITS["python"], answer))
    await asyncio.wait_for(began.wait(), 30)

    await asyncio.wait_for(engine.close(), 30)

    assert (await task).status == "engine_lost"
    with pytest.raises(EngineUnavailable, match="closed"):
        await python(engine, "return 1")


async def running(client: docker.APIClient) -> list[str]:
    found = client.containers(filters={"label": [f"codemode.pid={os.getpid()}"]})
    return [one["Id"] for one in found]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("import os\nos._exit(3)", "exit code 3"),
        ("import os\nos.kill(os.getpid(), 9)", "SIGKILL"),
        ("import os\nos.kill(os.getpid(), 11)", "SIGSEGV"),
        ("import os\nos.close(3)\nimport time; time.sleep(0.3)\nos._exit(0)", "exit code 0"),
    ],
)
async def test_a_script_that_ends_its_own_process_is_told_so(
    engine: ContainerEngine, source: str, code: str
) -> None:
    outcome = await python(engine, f"print('before', flush=True)\n{source}")

    assert outcome.status == "failed", outcome
    assert outcome.error is not None
    assert outcome.error.code == "crashed"
    assert code in outcome.error.message
    assert [line.text for line in outcome.logs] == ["before"]


@pytest.mark.case("P9")
async def test_a_script_cannot_swallow_the_end(engine: ContainerEngine) -> None:
    source = (
        "import signal, asyncio\n"
        "for n in range(1, 32):\n"
        "    try:\n        signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError):\n        pass\n"
        "while True:\n    try:\n        await asyncio.sleep(1)\n"
        "    except BaseException:\n        pass\n"
    )

    outcome = await python(engine, source, limits=Limits(wall_s=1.5))

    assert outcome.status == "timed_out"


async def test_a_workspace_of_a_run_that_ended_says_so(engine: ContainerEngine) -> None:
    kept = []

    async def answer(call: ToolCall, workspace: Workspace | None) -> Reply:
        kept.append(workspace)
        return Reply(value=1)

    await python(engine, WAITS["python"], answer)

    with pytest.raises(OutcomeUnknown):
        await kept[0].read_file("x", max_bytes=1)


@pytest.fixture
def deaf_daemon(tmp_path: Path) -> Iterator[str]:
    """A daemon that takes connections and never answers."""
    path = str(tmp_path / "d.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    held = []

    def accept() -> None:
        while True:
            try:
                held.append(listener.accept())
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    yield f"unix://{path}"
    listener.close()
    for connection, _ in held:
        connection.close()


@pytest.mark.case("attack:69")
async def test_a_daemon_that_hangs_is_given_up_on_and_then_not_asked_again(
    deaf_daemon: str,
) -> None:
    daemon = Docker(deaf_daemon, deadline_s=0.5)
    with pytest.raises(EngineUnavailable, match="did not answer"):
        await daemon.ping(deadline_s=0.3)

    began = time.monotonic()
    with pytest.raises(EngineUnavailable, match="does not answer"):
        await daemon.info()
    assert time.monotonic() - began < 0.2
    daemon.close()


async def test_no_daemon_is_unavailable_with_a_way_out(tmp_path: Path) -> None:
    engine = ContainerEngine("x", docker_host=f"unix://{tmp_path}/none.sock")

    found = await engine.availability()

    assert not found.ok
    assert "Docker" in found.fix
    with pytest.raises(EngineUnavailable):
        await engine.start()
    await engine.close()
