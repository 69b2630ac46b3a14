# ruff: noqa: E501, ASYNC110  programs on one line; /proc is looked at, not waited for
"""What is the isolate engine's own: its processes, its protocol, its ways to die."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from codemode.core.run import Job, Limits, NamedTool, Outcome, Reply, ToolCall
from codemode.errors import EngineUnavailable
from codemode.sandbox._calls import Calls, Logs
from codemode.sandbox._deno import DenoPool, DenoProcess
from codemode.sandbox._folder import Folder
from codemode.sandbox.isolate import IsolateEngine

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
NAMES = {"desk": {"wait": NamedTool(tool="desk.wait"), "echo": NamedTool(tool="desk.echo")}}
WAIT = 'import { desk } from "tools"; export default async () => await desk.wait({});'
ECHO = 'import { desk } from "tools"; export default async () => await desk.echo({ n: 1 });'


class Answers:
    """Answers ``echo`` at once and ``wait`` never."""

    def __init__(self) -> None:
        self.waiting = asyncio.Event()

    async def __call__(self, call: ToolCall, workspace: object) -> Reply:
        if call.tool == "desk.wait":
            self.waiting.set()
            await asyncio.sleep(3600)
        return Reply(value=dict(call.args))


def job(source: str, **more: object) -> Job:
    settings = {"language": "typescript", "names": NAMES, "limits": Limits(wall_s=30.0), **more}
    return Job(run_id="r", source=source, **settings)  # type: ignore[arg-type]


@pytest.fixture
async def engine(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[IsolateEngine]:
    monkeypatch.setenv("CODEMODE_SEEDED", "seeded-secret-0815")
    made = IsolateEngine(warm=1)
    await made.start()
    yield made
    await made.close()


def children() -> dict[int, str]:
    """Pid -> command line of this process's children."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
            command = (stat.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, ValueError):
            continue
        if parent == os.getpid() and command:
            found[int(stat.parent.name)] = command
    return found


async def running(engine: IsolateEngine, answers: Answers) -> tuple[asyncio.Task[Outcome], int]:
    """A run that waits in a call, and the process it is in."""
    assert engine._deno is not None
    task = asyncio.create_task(engine.run(job(WAIT), answers))
    async with asyncio.timeout(30):
        await answers.waiting.wait()
    (process,) = engine._deno._taken
    return task, process.pid


@linux
@pytest.mark.case("attack:15", "attack:29")
async def test_no_child_inherits_the_environment(engine: IsolateEngine) -> None:
    answers = Answers()
    task, pid = await running(engine, answers)

    found = {pid: (Path(f"/proc/{pid}/environ")).read_bytes() for pid in children()}

    assert pid in found
    assert len(found) >= 2  # Monty's worker too
    for environ in found.values():
        assert b"seeded-secret" not in environ
        names = {entry.partition(b"=")[0] for entry in environ.split(b"\0") if entry}
        assert names <= {b"NO_COLOR", b"DENO_NO_UPDATE_CHECK", b"DENO_DIR"}
    task.cancel()


@linux
async def test_no_permission_is_ever_given(engine: IsolateEngine) -> None:
    commands = [command for command in children().values() if " run " in command]

    assert commands
    for command in commands:
        assert "--allow" not in command
        for flag in ("--no-remote", "--no-npm", "--cached-only", "--no-config", "--no-prompt"):
            assert flag in command.split()


@linux
@pytest.mark.case("attack:51")
async def test_killing_the_process_in_mid_call_is_engine_lost(engine: IsolateEngine) -> None:
    answers = Answers()
    task, pid = await running(engine, answers)

    os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(2):
        outcome = await task

    assert outcome.status == "engine_lost"
    assert outcome.error is not None
    assert outcome.error.code == "crashed"
    assert (await engine.run(job(ECHO), Answers())).value == {"n": 1}


@linux
@pytest.mark.case("attack:87")
async def test_a_process_that_died_while_idle_serves_nobody(engine: IsolateEngine) -> None:
    assert engine._deno is not None
    idle = engine._deno._ready[0]
    os.kill(idle.pid, signal.SIGKILL)  # nobody here has noticed yet
    assert idle.alive

    outcome = await engine.run(job(ECHO), Answers())

    assert outcome.value == {"n": 1}


def monty_workers() -> list[int]:
    return [pid for pid, command in children().items() if "monty subprocess" in command]


SPIN = "from tools import desk\nawait desk.echo()\nwhile True:\n    pass"


@linux
@pytest.mark.case("attack:51")
async def test_killing_monty_is_engine_lost_and_the_next_run_works(engine: IsolateEngine) -> None:
    called = asyncio.Event()

    async def answer(call: ToolCall, workspace: object) -> Reply:
        called.set()
        return Reply(value=1)

    task = asyncio.create_task(engine.run(job(SPIN, language="python"), answer))
    async with asyncio.timeout(30):
        await called.wait()

    for pid in monty_workers():  # the idle ones too
        os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(10):
        outcome = await task

    assert outcome.status == "engine_lost", outcome
    fine = await engine.run(job("return 1", language="python"), Answers())
    assert fine.value == 1


@linux
@pytest.mark.case("attack:85")
async def test_runs_at_once_never_share_a_process(engine: IsolateEngine) -> None:
    assert engine._deno is not None
    everyone = [Answers() for _ in range(3)]
    tasks = [asyncio.create_task(engine.run(job(WAIT), answers)) for answers in everyone]
    async with asyncio.timeout(60):
        for answers in everyone:
            await answers.waiting.wait()

    assert len({process.pid for process in engine._deno._taken}) == 3
    for task in tasks:
        task.cancel()


@linux
@pytest.mark.case("L17")
async def test_a_wedged_process_is_ended_at_the_deadline(engine: IsolateEngine) -> None:
    answers = Answers()
    source = WAIT.replace("await desk.wait({})", "{ await desk.wait({}); for (;;); }")
    task = asyncio.create_task(engine.run(job(source, limits=Limits(wall_s=3.0)), answers))
    async with asyncio.timeout(30):
        await answers.waiting.wait()
    assert engine._deno is not None
    (process,) = engine._deno._taken
    os.kill(process.pid, signal.SIGSTOP)

    async with asyncio.timeout(20):
        outcome = await task

    assert outcome.status == "timed_out"


@linux
@pytest.mark.case("attack:67")
async def test_a_process_ends_when_its_host_is_gone(engine: IsolateEngine) -> None:
    _task, pid = await running(engine, Answers())
    assert engine._deno is not None
    (process,) = engine._deno._taken
    assert process._process is not None
    assert process._process.stdin is not None

    process._process.stdin.close()  # what the kernel does when the host process dies

    async with asyncio.timeout(10):
        while pid in children():
            await asyncio.sleep(0.02)


@linux
async def test_nothing_is_left_after_close() -> None:
    before = set(children())
    engine = IsolateEngine(warm=2)
    await engine.start()
    await engine.run(job(ECHO), Answers())
    assert engine._deno is not None
    assert engine._deno._folder is not None
    folder = engine._deno._folder.path

    await engine.close()

    assert set(children()) <= before
    assert not folder.exists()


@linux
async def test_no_script_stays_on_disk(engine: IsolateEngine) -> None:
    source = 'export default async () => "a-word-to-look-for";'
    assert (await engine.run(job(source), Answers())).value == "a-word-to-look-for"
    assert engine._deno is not None
    assert engine._deno._folder is not None
    async with asyncio.timeout(10):
        while any(task.get_name() == "killing" for task in engine._deno._tasks):
            await asyncio.sleep(0.02)

    files = [path for path in engine._deno._folder.path.rglob("*") if path.is_file()]

    assert not any(b"a-word-to-look-for" in path.read_bytes() for path in files)


@linux
async def test_the_folder_of_a_dead_owner_is_removed_and_a_live_one_kept() -> None:
    live = Folder("codemode-test-")
    dead = Path(tempfile.mkdtemp(prefix="codemode-test-"))
    (dead / "lock").touch()
    foreign = Path(tempfile.mkdtemp(prefix="codemode-test-"))  # no lock: not ours to judge

    next_one = Folder("codemode-test-")

    assert live.path.exists()
    assert not dead.exists()
    assert foreign.exists()
    foreign.rmdir()
    live.remove()
    next_one.remove()
    assert not live.path.exists()


async def test_files_need_the_container_engine(engine: IsolateEngine) -> None:
    outcome = await engine.run(job(ECHO, collect_files=True), Answers())

    assert outcome.error is not None
    assert outcome.error.code == "needs_container"
    assert "container" in outcome.error.hint


async def test_a_deno_that_is_not_there() -> None:
    engine = IsolateEngine(deno="/nowhere/deno")

    with pytest.raises(EngineUnavailable, match="Deno cannot be started"):
        await engine.start()


HARNESS = """\
import sys, struct, json
def send(body): sys.stdout.buffer.write(struct.pack(">I", len(body)) + body); sys.stdout.flush()
def read():
    size = struct.unpack(">I", sys.stdin.buffer.read(4))[0]; return json.loads(sys.stdin.buffer.read(size))
read(); send(b'{"type":"ready","protocol":1}'); read()
send(b'{"type":"log","stream":"stdout","text":"before"}')
%s
sys.stdin.read()
"""

BROKEN = {
    "not json": "send(b'{]')",
    "not utf-8": "send(b'\\xff\\xfe')",
    "oversized": "sys.stdout.buffer.write(b'\\xff\\xff\\xff\\xff'); sys.stdout.flush()",
    "too deep": "send(b'[' * 100000 + b']' * 100000)",
    "infinite": """send(b'{"type":"call","id":1,"tool":"a.b","args":{"n":1e999}}')""",
    "twice the key": """send(b'{"type":"call","id":1,"tool":"a.b","args":{"n":1,"n":2}}')""",
    "unknown type": """send(b'{"type":"open_sesame"}')""",
    "no id": """send(b'{"type":"call","tool":"a.b","args":{}}')""",
    "half a surrogate pair": """send(b'{"type":"done","status":"succeeded","value":"\\\\ud800"}')""",
    "a line beyond any": """send(b'{"type":"done","status":"failed","error":{"code":"x","message":"m","line":1' + b'0' * 400 + b'}}')""",
    "an error that is none": """send(b'{"type":"done","status":"failed","error":[1]}')""",
    "a stream that is none": """send(b'{"type":"log","stream":"stdin","text":""}')""",
    "a second ready": """send(b'{"type":"ready","protocol":1}')""",
}


@pytest.fixture
def pretend(tmp_path: Path):
    """A program that greets like Deno and then sends what it is told."""

    def make(body: str) -> DenoPool:
        program = tmp_path / "pretend"
        program.write_text(f"#!{sys.executable}\n" + HARNESS % body)
        program.chmod(0o755)
        return DenoPool(str(program), Path("unused"), warm=1)

    return make


async def outcome_of(pool: DenoPool, **limits: float) -> Outcome:
    await pool.start()
    try:
        settings = job("", limits=Limits(**{"wall_s": 20.0, **limits}))  # type: ignore[arg-type]
        outcome = await pool.run(settings, Calls(Answers(), max_in_flight=4), Logs(1000))
    finally:
        await pool.close()
    return outcome


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a #! line")
@pytest.mark.case("T13", "attack:47")
@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN.keys())
async def test_a_broken_frame_ends_that_run_alone(pretend, body: str) -> None:
    outcome = await outcome_of(pretend(body))

    assert outcome.status == "engine_lost"
    assert outcome.error is not None
    assert outcome.error.code == "protocol_error"


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a #! line")
@pytest.mark.case("T13")
async def test_what_came_before_a_broken_frame_is_kept(pretend) -> None:
    one_write = """
def frame(body): return struct.pack(">I", len(body)) + body
log = frame(b'{"type":"log","stream":"stdout","text":"last words"}')
sys.stdout.buffer.write(log + frame(b'{]')); sys.stdout.flush()"""
    pool, logs = pretend(one_write), Logs(1000)
    await pool.start()
    try:
        outcome = await pool.run(job(""), Calls(Answers(), max_in_flight=4), logs)
    finally:
        await pool.close()

    assert outcome.status == "engine_lost"
    assert [line.text for line in logs.close()] == ["before", "last words"]


NEVER_READS = """
for n in range(200):
    send(b'{"type":"call","id":%d,"tool":"desk.big","args":{}}' % n)
time.sleep(60)"""


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a #! line")
@pytest.mark.case("attack:49")
async def test_one_that_never_reads_gets_no_more_answers_than_are_in_flight(pretend) -> None:
    asked = 0

    async def answer(call: ToolCall, workspace: object) -> Reply:
        nonlocal asked
        asked += 1
        return Reply(value="x" * 1_000_000)

    pool, calls = pretend(f"import time{NEVER_READS}"), Calls(answer, max_in_flight=4)
    await pool.start()
    try:
        outcome = await pool.run(job("", limits=Limits(wall_s=1.0)), calls, Logs(1000))
    finally:
        await calls.close()
        await pool.close()

    assert outcome.status == "timed_out"
    assert asked == 4


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a #! line")
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("sys.exit(3)", "engine_lost", "crashed"),
        ("sys.stderr.write('Fatal JavaScript out of memory'); sys.exit(134)", "failed", "out_of_memory"),
        ("sys.stdout.buffer.write(b'\\0\\0\\0\\x09{'); sys.stdout.flush(); sys.exit(0)", "engine_lost", "crashed"),
        ("""send(b'{"type":"done","status":"failed"}')""", "failed", "exception"),
        ("""send(b'{"type":"done","status":"failed","error":{"code":"cancelled","message":""}}')""", "cancelled", "cancelled"),
    ],
)  # fmt: skip
async def test_ways_to_end(pretend, body: str, status: str, code: str) -> None:
    outcome = await outcome_of(pretend(body))

    assert outcome.status == status
    assert outcome.error is not None
    assert outcome.error.code == code


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a #! line")
async def test_a_program_that_never_greets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemode.sandbox._deno.START_S", 0.3)
    program = tmp_path / "mute"
    program.write_text("#!/bin/sh\nsleep 60\n")
    program.chmod(0o755)
    process = DenoProcess(str(program), Path("unused"), tmp_path, heap_mib=64)

    with pytest.raises(EngineUnavailable, match="did not get ready"):
        await process.start()

    assert not process.alive
