"""TypeScript sandboxes of the isolate engine: one Deno process per run, no permissions."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Coroutine
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from codemode.core.frames import PROTOCOL, Channel, Frame, State
from codemode.core.run import Job, Limits, Outcome, Reply, ScriptError, ToolCall, Usage
from codemode.errors import EngineUnavailable, ProtocolError
from codemode.sandbox._calls import Calls, Logs
from codemode.sandbox._done import broken, read_done
from codemode.sandbox._ends import out_of_cpu, out_of_memory, too_long
from codemode.sandbox._folder import Folder

START_S = 20.0
REAP_S = 5.0
WATCH_S = 0.05
MAKING = "making"
EMITTED = "gen/blob"
RUNTIME_MIB = 96
"""What Deno itself needs beside the script's heap."""

FLAGS = (
    "run",
    "--quiet",
    "--no-prompt",
    "--no-remote",
    "--no-npm",
    "--cached-only",
    "--no-config",
    "--no-lock",
    "--no-check",
    "--node-modules-dir=none",
)
"""No ``--allow-*``: without these, ``import("npm:...")`` would still reach the network."""

MAX_CALL_BYTES = 40 * 1024 * 1024
"""Of one frame beside a result: the harness sends up to 8 Mi characters in a call."""

OUT_OF_MEMORY = b"out of memory"


def job_frame(job: Job) -> Frame:
    """The ``run`` frame of *job*."""
    names = {
        toolset: {
            name: {"tool": tool.tool, "renames": dict(tool.renames)} for name, tool in tools.items()
        }
        for toolset, tools in job.names.items()
    }
    return {
        "type": "run",
        "job": {
            "run_id": job.run_id,
            "language": job.language,
            "source": job.source,
            "names": names,
            "input": job.input,
            "limits": asdict(job.limits),
            "collect_files": job.collect_files,
        },
    }


def reply_frame(call_id: int, reply: Reply) -> Frame:
    """The ``reply`` frame for one call."""
    if reply.error is not None:
        return {"type": "reply", "id": call_id, "error": asdict(reply.error)}
    return {"type": "reply", "id": call_id, "value": reply.value}


class DenoProcess:
    """
    One process: started, given one job, killed.

    Args:
        heap_mib: V8's heap; what the process may use is `RUNTIME_MIB` more.
        folder: Working and cache folder; empty of anything of the host's.

    ``silent`` says that it has sent nothing since it was given its job.
    """

    def __init__(self, deno: str, harness: Path, folder: Path, *, heap_mib: int) -> None:
        self._deno = deno
        self._harness = harness
        self._folder = folder
        self.heap_mib = heap_mib
        self._process: Process | None = None
        self._channel = Channel()
        self._frames: deque[Frame] = deque()
        self._stderr = bytearray()
        self._errors: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._over_memory = False
        self.silent = True
        self._idle_cpu_s = 0.0
        self._usage = Usage()

    @property
    def usage(self) -> Usage:
        """What has been seen from outside (Linux); for runs that do not end by themselves."""
        return self._usage

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """
        Spawn and greet.

        Raises:
            EngineUnavailable: If it cannot be started or does not answer in `START_S`.
        """
        # Outgrowing the heap must end the process, not page the machine to death.
        heap = f"--v8-flags=--max-old-space-size={self.heap_mib}"
        environment = {"NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1", "DENO_DIR": str(self._folder)}
        if sys.platform == "win32":
            environment["SYSTEMROOT"] = os.environ.get("SYSTEMROOT", r"C:\Windows")
        try:
            self._process = await asyncio.create_subprocess_exec(
                self._deno,
                *FLAGS,
                heap,
                str(self._harness),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=self._folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineUnavailable(
                f"Deno cannot be started: {error}.", hint="Reinstall codemode; it brings Deno."
            ) from None
        self._errors = asyncio.create_task(self._read_stderr())
        try:
            async with asyncio.timeout(START_S):
                self._write({"type": "hello", "protocol": PROTOCOL})
                await self._next()
        except (TimeoutError, EOFError, ProtocolError) as error:
            await self.kill()
            detail = self._stderr[-300:].decode("utf-8", "replace").strip() or type(error).__name__
            raise EngineUnavailable(
                f"Deno did not get ready: {detail}", hint="Run codemode doctor."
            ) from None

    async def run(self, job: Job, calls: Calls, logs: Logs) -> Outcome:
        """Give it *job* and follow it to its end. Never raises for what a script can do."""
        self.silent = True
        self._limit_cpu(job.limits.cpu_s)
        self._channel.max_frame_bytes = MAX_CALL_BYTES + job.limits.max_result_bytes
        watch = asyncio.create_task(self._watch())
        try:
            self._write(job_frame(job))
            done = await self._follow(calls, logs)
            return await asyncio.to_thread(read_done, done, job.limits)
        except ProtocolError as error:
            return broken(error)
        except (EOFError, ConnectionError):
            return await self._lost(job.limits)
        finally:
            watch.cancel()

    async def kill(self) -> None:
        """End it and everything it started, and reap it. Idempotent."""
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), REAP_S)
        if self._errors is not None:
            self._errors.cancel()
        if process.stdin is not None:
            process.stdin.close()

    async def _follow(self, calls: Calls, logs: Logs) -> Frame:
        while True:
            frame = await self._next()
            kind = frame["type"]
            if kind == "done":
                return frame
            if kind == "log":
                logs.line(frame["stream"], frame["text"])
            elif kind == "call":
                call = ToolCall(id=frame["id"], tool=frame["tool"], args=frame["args"])
                await calls.start(call, partial(self._reply, call.id))

    async def _reply(self, call_id: int, reply: Reply) -> None:
        """
        Returns once the process has read most of it: whatever does not read has no more
        replies waiting here than calls in flight. The run's deadline ends the wait.
        """
        async with self._writing:
            if not self.alive or self._channel.state is not State.RUNNING:
                return
            try:
                frame = self._channel.send(reply_frame(call_id, reply))
            except ProtocolError as error:
                too_large = {"code": "response_too_large", "message": error.message, "hint": ""}
                frame = self._channel.send({"type": "reply", "id": call_id, "error": too_large})
            self._write_bytes(frame)
            assert self._process is not None
            assert self._process.stdin is not None
            with contextlib.suppress(ConnectionError):
                await self._process.stdin.drain()

    def _write(self, frame: Frame) -> None:
        self._write_bytes(self._channel.send(frame))

    def _write_bytes(self, data: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(data)

    async def _next(self) -> Frame:
        assert self._process is not None
        assert self._process.stdout is not None
        while not self._frames:
            if self._channel.state is State.BROKEN:
                self._channel.receive(b"")  # raises; what came before it has been handled
            data = await self._process.stdout.read(65536)
            if not data:
                raise EOFError
            self.silent = False
            if self._channel.is_large(data):
                self._frames.extend(await asyncio.to_thread(self._channel.receive, data))
            else:
                self._frames.extend(self._channel.receive(data))
        return self._frames.popleft()

    async def _read_stderr(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(4096):
            self._stderr += data
            del self._stderr[:-8192]

    async def _lost(self, limits: Limits) -> Outcome:
        """The process ended without ``done``: say why as well as can be known."""
        assert self._process is not None
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), REAP_S)
        if self._errors is not None:
            await asyncio.wait([self._errors], timeout=1.0)
        if self._over_memory or OUT_OF_MEMORY in bytes(self._stderr).lower():
            return out_of_memory(limits)
        if self._process.returncode == -getattr(signal, "SIGXCPU", 24):
            return out_of_cpu(limits)
        message = f"The sandbox ended by itself (exit {self._process.returncode})."
        return Outcome(status="engine_lost", error=ScriptError(code="crashed", message=message))

    def _limit_cpu(self, cpu_s: float) -> None:
        """A spinning script must end even if this host process dies first."""
        if sys.platform != "linux":
            return
        import resource

        self._idle_cpu_s = _cpu_used_s(self.pid)
        soft = int(self._idle_cpu_s + cpu_s) + 1
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(self.pid, resource.RLIMIT_CPU, (soft, soft + 1))

    async def _watch(self) -> None:
        """Kill it when it outgrows its memory: buffers live outside V8's heap."""
        if sys.platform != "linux":
            return
        most_mib = self.heap_mib + RUNTIME_MIB
        while (resident_mib := _resident_mib(self.pid)) is not None:
            self._usage = Usage(
                cpu_ms=max(0.0, _cpu_used_s(self.pid) - self._idle_cpu_s) * 1000,
                peak_memory_mib=max(self._usage.peak_memory_mib, resident_mib),
            )
            if resident_mib > most_mib:
                self._over_memory = True
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.pid, signal.SIGKILL)
                return
            await asyncio.sleep(WATCH_S)


class DenoPool:
    """
    Idle processes, each ready for one job.

    Args:
        deno: Path of the program.
        harness: The adapter module it runs.
        warm: How many to keep ready.
    """

    def __init__(self, deno: str, harness: Path, *, warm: int) -> None:
        self._deno = deno
        self._harness = harness
        self._warm = warm
        self._heap_mib = Limits().memory_mib
        self._folder: Folder | None = None
        self._ready: deque[DenoProcess] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._taken: set[DenoProcess] = set()

    async def start(self) -> None:
        """
        Make the first process, and the others beside the caller.

        Raises:
            EngineUnavailable: If Deno does not start here.
        """
        self._folder = Folder("codemode-deno-")
        self._ready.append(await self._make(self._heap_mib))
        self._refill()

    async def run(self, job: Job, calls: Calls, logs: Logs) -> Outcome:
        """
        Run *job* in a process of its own, then kill it.

        Raises:
            EngineUnavailable: If there is none and none can be started.
        """
        outcome, silent = await self._once(job, calls, logs)
        if silent:  # it had died while idle: nothing of the script has happened
            outcome, _ = await self._once(job, calls, logs)
        return outcome

    async def _once(self, job: Job, calls: Calls, logs: Logs) -> tuple[Outcome, bool]:
        """One process's outcome, and whether that process died without a word."""
        process = await self._take(job.limits.memory_mib)
        self._taken.add(process)
        try:
            async with asyncio.timeout(job.limits.wall_s):
                outcome = await process.run(job, calls, logs)
        except TimeoutError:
            outcome = too_long(job.limits)
        finally:
            self._taken.discard(process)
            # Killing is not worth the caller's time, but nobody else would do it.
            self._later(self._end(process))
            self._refill()
        if not outcome.usage.cpu_ms:
            outcome = replace(outcome, usage=process.usage)
        return outcome, outcome.status == "engine_lost" and process.silent

    async def close(self) -> None:
        """Kill every process. Idempotent."""
        self._warm = 0
        tasks = list(self._tasks)
        for task in tasks:
            if task.get_name() == MAKING:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for process in [*self._ready, *self._taken]:
            await process.kill()
        self._ready.clear()
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    async def _end(self, process: DenoProcess) -> None:
        await process.kill()
        if self._folder is not None:
            # Deno keeps what it made of each script; nobody will import that again.
            await asyncio.to_thread(shutil.rmtree, self._folder.path / EMITTED, ignore_errors=True)

    async def _take(self, heap_mib: int) -> DenoProcess:
        while heap_mib == self._heap_mib and self._ready:
            process = self._ready.popleft()
            if process.alive:
                return process
        return await self._make(heap_mib)

    async def _make(self, heap_mib: int) -> DenoProcess:
        if self._folder is None:
            raise EngineUnavailable("The isolate engine is closed.")
        process = DenoProcess(self._deno, self._harness, self._folder.path, heap_mib=heap_mib)
        try:
            await process.start()
        except asyncio.CancelledError:
            await process.kill()
            raise
        return process

    def _refill(self) -> None:
        making = sum(task.get_name() == MAKING for task in self._tasks)
        for _ in range(self._warm - len(self._ready) - making):
            self._later(self._add(), name=MAKING)

    async def _add(self) -> None:
        with contextlib.suppress(EngineUnavailable):  # the next run finds out and says so
            self._ready.append(await self._make(self._heap_mib))

    def _later(self, work: Coroutine[Any, Any, None], *, name: str = "killing") -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _resident_mib(pid: int) -> float | None:
    """Memory of a process (Linux), or None if there is no such process."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _cpu_used_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0
