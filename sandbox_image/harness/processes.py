"""Children of the harness: started in a group of their own, watched, capped and killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/workspace",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
}
"""All that a child inherits. Nothing of the harness's own environment."""

KEPT_READING_BYTES = 64 * 1024


class Reaper:
    """
    Turns SIGCHLD into one future a child.

    As process 1 the harness inherits orphans too; their ends are taken and forgotten.
    """

    def __init__(self) -> None:
        self.cpu_s = 0.0  # of every child that ended and counts
        self.uncounted: set[int] = set()
        self._exits: dict[int, asyncio.Future[int]] = {}
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._reap)

    def watch(self, pid: int) -> asyncio.Future[int]:
        """A future of *pid*'s exit code; negative for a signal."""
        exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._exits[pid] = exited
        return exited

    def _reap(self) -> None:
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            if pid not in self.uncounted:
                self.cpu_s += used.ru_utime + used.ru_stime
            exited = self._exits.pop(pid, None)
            if exited is not None and not exited.done():
                exited.set_result(code)


class Pipe:
    """The read end of a child's output, passed on as it comes."""

    def __init__(self, fd: int, take: Callable[[bytes], None]) -> None:
        self._fd, self._take = fd, take
        os.set_blocking(fd, False)
        asyncio.get_running_loop().add_reader(fd, self._read_once)

    def _read_once(self) -> bool:
        try:
            data = os.read(self._fd, KEPT_READING_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self._take(data)
            return True
        self.close()
        return False

    def close(self) -> None:
        """
        Take what is there now and let go.

        It does not wait for the other end: a daemon that a child left behind may
        hold it open for ever.
        """
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        asyncio.get_running_loop().remove_reader(fd)
        for _ in range(64):  # a pipe holds 64 KiB to 1 MiB; more than that is a flood
            try:
                data = os.read(fd, KEPT_READING_BYTES)
            except OSError:
                break
            if not data:
                break
            self._take(data)
        os.close(fd)


@dataclass
class Child:
    """A started program. *exited* gives its exit code."""

    pid: int
    exited: asyncio.Future[int]
    pipes: list[Pipe] = field(default_factory=list)

    def kill(self) -> None:
        """End the whole group. The group outlives its leader, so this works after it too."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.close()


def start(
    reaper: Reaper,
    argv: Sequence[str],
    *,
    on_stdout: Callable[[bytes], None],
    on_stderr: Callable[[bytes], None],
    stdin_fd: int | None = None,
    channel_fd: int | None = None,
    cwd: str = "/workspace",
    env: Mapping[str, str] | None = None,
) -> Child:
    """
    Start *argv* (an absolute program first), never through a shell.

    Args:
        channel_fd: Becomes descriptor 3 of the child; nothing else is inherited.

    Raises:
        OSError: If it cannot be started.
    """

    def prepare() -> None:
        # The kernel should end the script's process, never the harness, when memory is short.
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")
        if channel_fd is not None:
            os.dup2(channel_fd, 3)

    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL if stdin_fd is None else stdin_fd,
            stdout=out_write,
            stderr=err_write,
            cwd=cwd,
            env={**ENVIRONMENT, **(env or {})},
            start_new_session=True,
            preexec_fn=prepare,
            pass_fds=() if channel_fd is None else (3,),
        )
    except BaseException:
        os.close(out_read)
        os.close(err_read)
        raise
    finally:
        os.close(out_write)
        os.close(err_write)
    process.returncode = 0  # the reaper waits for it; Popen must not
    child = Child(process.pid, reaper.watch(process.pid))
    child.pipes = [Pipe(out_read, on_stdout), Pipe(err_read, on_stderr)]
    return child


class Capped:
    """Collects output up to a bound and counts the rest."""

    def __init__(self, max_bytes: int) -> None:
        self.data = bytearray()
        self.truncated = False
        self._max_bytes = max_bytes

    def take(self, data: bytes) -> None:
        room = self._max_bytes - len(self.data)
        self.data += data[: max(room, 0)]
        self.truncated = self.truncated or len(data) > room


def find_program(names: Sequence[str]) -> str | None:
    """Absolute path of the first of *names* that the image has; names hold no slash."""
    for name in names:
        if "/" in name or not name:
            continue
        found = shutil.which(name, path=ENVIRONMENT["PATH"])
        if found:
            return found
    return None


def cpu_s_of(pid: int) -> float:
    """Processor time that a running process has used, its threads included."""
    with contextlib.suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)  # the process's own clock, as libc names it
    with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def limit_cpu(pid: int, seconds: float) -> None:
    """
    Bound *pid*'s processor time, what it used so far included.

    Where the kernel refuses, the wall deadline still ends it.
    """
    whole = max(1, int(seconds + 0.999))
    with contextlib.suppress(OSError, ValueError):
        resource.prlimit(pid, resource.RLIMIT_CPU, (whole, whole + 1))


def kill_everything_else() -> None:
    """
    End every process but this one: daemons, groups, grandchildren.

    Only as process 1 of the sandbox's own pid namespace; elsewhere (a harness under
    test on a host) it does nothing.
    """
    if os.getpid() != 1:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(-1, signal.SIGKILL)
