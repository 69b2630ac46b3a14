"""
The sandbox's main process: frames on stdin and stdout, scripts in a child.

The control channel is this process's stdin and stdout, moved away at once to
descriptors that no child inherits. A script runs in a child process and talks
to the harness over a socket of its own; what it prints comes through pipes.
Script bytes are therefore never frames: the harness reads what a child claims,
checks it, and writes the frames itself, sealed with a key that the host's first
frame brought before there was a script. Standard library only.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import socket
import sys
import time
from collections import deque
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import sandbox
from channel import Channel
from files import Refused, Workspace
from processes import (
    Capped,
    Child,
    Reaper,
    cpu_s_of,
    find_program,
    kill_everything_else,
    limit_cpu,
    start,
)

PROTOCOL = 1
HERE = os.path.dirname(os.path.abspath(__file__))
WORKSPACE = os.environ.get("CODEMODE_WORKSPACE", "/workspace")
MAX_AGE_S = float(os.environ.get("CODEMODE_MAX_AGE_S", "7200"))
"""A backstop for a host that vanished without closing the channel."""
MAX_WAITING_CALLS = 10_000
WARM_S = 30.0
IDLE_S = 0.2

LANGUAGES = {
    "python": [sys.executable, "-I", "-X", "utf8", os.path.join(HERE, "python", "child.py")],
    "typescript": ["/usr/local/bin/node", "--no-warnings", os.path.join(HERE, "node.mjs")],
}


class Script:
    """The child that one language's scripts run in, warm until `assign`."""

    def __init__(self, harness: Harness, language: str) -> None:
        self._harness = harness
        self.language = language
        self.versions: asyncio.Future[str] = harness.loop.create_future()
        self.ended = False
        ours, theirs = socket.socketpair()
        try:
            self.child: Child = start(
                harness.reaper,
                LANGUAGES[language],
                on_stdout=lambda data: harness.print("stdout", data),
                on_stderr=lambda data: harness.print("stderr", data),
                channel_fd=theirs.fileno(),
                cwd=WORKSPACE,
                env=sandbox.child_environment(language),
            )
        finally:
            theirs.close()
        self._socket = ours
        self._channel = Channel(ours.fileno(), ours.fileno(), self._frame, lambda: None)
        self.child.exited.add_done_callback(self._exited)

    def send(self, frame: dict[str, Any]) -> None:
        self._channel.send(encode(frame))

    def stop(self) -> None:
        """Kill the child and forget it."""
        self.ended = True
        self._channel.close()
        self.child.kill()

    def _frame(self, body: bytes) -> None:
        if self.ended:
            return
        try:
            frame = json.loads(body, parse_constant=refuse_constant)
            if not self.versions.done():
                self.versions.set_result(str(frame["warm"]))
            else:
                self._harness.from_script(frame)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self._harness.crashed(f"The script broke its channel: {type(error).__name__}.")

    def _exited(self, exited: asyncio.Future[int]) -> None:
        if not self.versions.done():
            self.versions.set_result("")
        if self.ended:
            return
        self._channel.read()  # `done` may have arrived together with the end
        if not self.ended:
            self._harness.script_died(exited.result())


class Harness:
    """One sandbox from `hello` to `done`."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.reaper = Reaper()
        self.ended: asyncio.Future[None] = self.loop.create_future()
        self._host = Channel(read_fd, write_fd, self._from_host, self._end)
        self._workspace = Workspace(WORKSPACE)
        self._warm = {name: Script(self, name) for name in LANGUAGES if available(name)}
        self._tasks: set[asyncio.Task[None]] = set()
        self._job: dict[str, Any] = {}
        self._script: Script | None = None
        self._waiting: deque[dict[str, Any]] = deque()
        self._in_flight: set[int] = set()
        self._logs = sandbox.Logs(self._send)
        self._oom_kills = 0
        self._warm_cpu_s = 0.0
        self._assigned = time.monotonic()
        self._done = False

    # --- from the host -----------------------------------------------------------

    def _from_host(self, body: bytes) -> None:
        frame = json.loads(body)
        match frame["type"]:
            case "hello":
                self._host.key = bytes.fromhex(frame["key"])
                self._spawn(self._greet())
            case "run":
                self._run(frame["job"])
            case "reply":
                self._reply(frame)
            case "write_file":
                self._write_file(frame)
            case "read_file":
                self._read_file(frame)
            case "command":
                self._spawn(self._command(frame))
            case "cancel":
                self.fail("cancelled", "The run was cancelled.")

    async def _greet(self) -> None:
        versions: dict[str, str] = {}
        for name, script in self._warm.items():
            try:
                version = await asyncio.wait_for(asyncio.shield(script.versions), WARM_S)
            except TimeoutError:
                version = ""
            if version:
                versions[name] = version
        self._send({"type": "ready", "protocol": PROTOCOL, "versions": versions})

    def _run(self, job: dict[str, Any]) -> None:
        self._job, self._assigned = job, time.monotonic()
        limits = job["limits"]
        self._logs.max_bytes = limits["max_log_bytes"]
        self._oom_kills = sandbox.oom_kills()
        chosen = self._warm.pop(job["language"], None)
        for other in self._warm.values():
            self.reaper.uncounted.add(other.child.pid)
            # Its end costs time that the script's first line should not wait for.
            self.loop.call_later(IDLE_S, other.stop)
        if chosen is None or not chosen.versions.result():
            self.fail("crashed", f"This image cannot run {job['language']}.")
            return
        self._script = chosen
        if job["collect_files"]:
            self._workspace.remember()
        self._warm_cpu_s = cpu_s_of(chosen.child.pid)
        limit_cpu(chosen.child.pid, limits["cpu_s"] + self._warm_cpu_s)
        chosen.send({"type": "run", "job": job})

    def _reply(self, frame: dict[str, Any]) -> None:
        if self._script is None or frame["id"] not in self._in_flight:
            return
        self._in_flight.discard(frame["id"])
        self._script.send(frame)
        if self._waiting:
            self._call(self._waiting.popleft())

    def _write_file(self, frame: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"type": "done_file", "id": frame["id"]}
        try:
            self._workspace.write(frame["path"], base64.b64decode(frame["data"]))
        except Refused as error:
            answer["error"] = str(error)
        self._send(answer)

    def _read_file(self, frame: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"type": "file", "id": frame["id"]}
        try:
            data = self._workspace.read(frame["path"], frame["max_bytes"])
            answer["data"] = base64.b64encode(data).decode()
        except Refused as error:
            answer["error"] = str(error)
        self._send(answer)

    async def _command(self, frame: dict[str, Any]) -> None:
        out, err = Capped(frame["max_output_bytes"]), Capped(frame["max_output_bytes"])
        exit_code, timed_out = None, False
        program = find_program(frame["binaries"])
        if program is not None:
            stdin = os.memfd_create("stdin", os.MFD_CLOEXEC)
            try:
                sandbox.fill(stdin, base64.b64decode(frame["stdin"]))
                child = start(
                    self.reaper,
                    [program, *frame["argv"]],
                    on_stdout=out.take,
                    on_stderr=err.take,
                    stdin_fd=stdin,
                    cwd=self._workspace.folder(frame["cwd"]),
                    env=frame["env"],
                )
            except (OSError, Refused, ValueError) as error:
                err.take(str(error).encode("utf-8", "replace"))
                exit_code = 126
            else:
                done, _ = await asyncio.wait([child.exited], timeout=frame["timeout_s"])
                timed_out = not done
                child.kill()
                exit_code = await child.exited
                child.close()
            finally:
                os.close(stdin)
        self._send(
            {
                "type": "command_result",
                "id": frame["id"],
                "exit_code": exit_code,
                "stdout": base64.b64encode(out.data).decode(),
                "stderr": base64.b64encode(err.data).decode(),
                "timed_out": timed_out,
                "truncated": out.truncated or err.truncated,
            }
        )

    # --- from the script -----------------------------------------------------------

    def from_script(self, frame: dict[str, Any]) -> None:
        """
        One frame that the child sent. It may be forged: nothing in it is trusted.

        Raises:
            KeyError, TypeError, ValueError: It is not a frame that a child may send.
        """
        if self._script is None or self._done:
            return
        match frame["type"]:
            case "started":
                self._send({"type": "started"})
            case "log":
                self._logs.line(frame["stream"], str(frame["text"]))
            case "call":
                number = frame["id"]
                if not (isinstance(number, int) and 0 <= number < 1 << 53):
                    raise TypeError("call")
                if not isinstance(frame["args"], dict):
                    raise TypeError("call")
                self._waiting.append(
                    {
                        "type": "call",
                        "id": number,
                        "tool": sandbox.clean(frame["tool"])[:1000],
                        "args": frame["args"],
                    }
                )
                if len(self._waiting) > MAX_WAITING_CALLS:
                    raise ValueError("calls")
                if len(self._in_flight) < self._job["limits"]["max_in_flight"]:
                    self._call(self._waiting.popleft())
            case "done":
                self._finish(sandbox.read_done(frame, self._job["limits"]["max_result_bytes"]))
            case _:
                raise ValueError("type")

    def _call(self, call: dict[str, Any]) -> None:
        self._in_flight.add(call["id"])
        self._send(call)

    def print(self, stream: str, data: bytes) -> None:
        """Bytes that the script, or a program it started, wrote to *stream*."""
        if self._script is not None and not self._done:
            self._logs.raw(stream, data)

    def script_died(self, exit_code: int) -> None:
        """The child is gone and has not said `done`."""
        if sandbox.oom_kills() > self._oom_kills or self._logs.tells_out_of_memory():
            limit = self._job["limits"]["memory_mib"]
            self.fail("out_of_memory", f"The script used more than its {limit} MiB of memory.")
        elif exit_code == -signal.SIGXCPU:
            seconds = self._job["limits"]["cpu_s"]
            self.fail("timeout", f"The script used its {seconds:g} s of processor time.")
        elif exit_code < 0:
            self.crashed(f"The script's process was ended by {signal.Signals(-exit_code).name}.")
        else:
            self.crashed(f"The script's process ended with exit code {exit_code} and no result.")

    def crashed(self, message: str) -> None:
        self.fail("crashed", message)

    def fail(self, code: str, message: str) -> None:
        """End the run with an error that the script itself did not report."""
        error = {"code": code, "message": message, "line": 0, "column": 0, "hint": ""}
        self._finish({"status": "failed", "error": error, "truncated": []})

    # --- the end -------------------------------------------------------------------

    def _finish(self, done: dict[str, Any]) -> None:
        if self._done:
            return
        script = self._script
        if script is not None:
            script.child.close()  # printed before the end counts
            self._logs.flush()
        self._done = True
        self._spawn(self._report(done, script))

    async def _report(self, done: dict[str, Any], script: Script | None) -> None:
        used_s = self.reaper.cpu_s - self._warm_cpu_s
        if script is not None:
            if not script.child.exited.done():
                used_s += cpu_s_of(script.child.pid)
            script.stop()
        kill_everything_else()
        done["truncated"] = [*done["truncated"], *self._logs.truncated()]
        if self._job.get("collect_files"):
            if script is not None:
                await script.child.exited  # nothing may change while it is read
            found, left = self._workspace.collect(self._job["limits"]["max_file_bytes"])
            found.reverse()
            done["files"] = []
            while found:  # one at a time, so that no file is held twice
                path, data = found.pop()
                done["files"].append({"path": path, "data": base64.b64encode(data).decode()})
            done["truncated"] += left
        # gVisor counts a blocked thread as busy; nobody used more than there was.
        most_s = (time.monotonic() - self._assigned) * (os.cpu_count() or 1)
        done["usage"] = {
            "cpu_ms": min(max(0.0, used_s), most_s) * 1000,
            "peak_memory_mib": sandbox.peak_memory_mib(),
        }
        self._send({"type": "done", **done})
        await self._host.drain()

    def _send(self, frame: dict[str, Any]) -> None:
        self._host.send(encode(frame))

    def _spawn(self, coroutine: Any) -> None:
        task = self.loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


def encode(frame: dict[str, Any]) -> bytes:
    return json.dumps(frame, separators=(",", ":"), allow_nan=False).encode()


def refuse_constant(name: str) -> Any:
    raise ValueError(name)


def available(language: str) -> bool:
    return os.access(LANGUAGES[language][0], os.X_OK)


async def serve(read_fd: int, write_fd: int) -> None:
    """Serve one host until the channel ends or the sandbox is too old."""
    harness = Harness(read_fd, write_fd)
    await asyncio.wait([harness.ended], timeout=MAX_AGE_S)


def main() -> None:
    """Take the control channel away from everything a child could inherit, then serve."""
    sandbox.become_untouchable()
    sys.set_int_max_str_digits(0)
    read_fd = os.dup(0)
    write_fd = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(null, standard)
    try:
        asyncio.run(serve(read_fd, write_fd))
    finally:
        kill_everything_else()
        os._exit(0)  # nothing may delay the end of the sandbox


if __name__ == "__main__":
    main()
