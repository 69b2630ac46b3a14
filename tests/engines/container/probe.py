# ruff: noqa
"""
Runs inside a sandbox and tries what is denied. The test appends ``return main()``.

Each attempt is a function; its answer is ``refused: ERRNO``, ``absent`` (there is
nothing to try it on) or ``open: what happened``. Only the last is a hole.
"""

import contextlib
import ctypes
import errno
import glob
import os
import platform
import signal
import socket
import stat
import struct
import subprocess
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
NUMBERS = {
    # name: (x86_64, aarch64)
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "io_uring_setup": (425, 425),
    "clone": (56, 220),
    "clone3": (435, 435),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "add_key": (248, 217),
    "keyctl": (250, 219),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "open_by_handle_at": (304, 265),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "syslog": (103, 116),
    "sethostname": (170, 161),
    "personality": (135, 92),
}
NEW_NAMESPACES = {
    "user": 0x10000000,
    "mount": 0x00020000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
    "cgroup": 0x02000000,
}


def call(name, *args):
    number = NUMBERS[name][0 if X86 else 1]
    if number is None:
        return "absent"
    ctypes.set_errno(0)
    result = LIBC.syscall(number, *args)
    if result < 0:
        return f"refused: {errno.errorcode.get(ctypes.get_errno(), ctypes.get_errno())}"
    return f"open: {name} gave {result}"


def attempt(function, *args):
    try:
        found = function(*args)
    except OSError as error:
        return f"refused: {errno.errorcode.get(error.errno, error)}"
    return f"open: {found!r}"[:300]


def harness_pid():
    """The process that holds the control channel."""
    for folder in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError), open(f"{folder}/cmdline", "rb") as line:
            if b"harness.py" in line.read():
                return int(folder.rpartition("/")[2])
    return 1


# --- escape ----------------------------------------------------------------------------


def system_calls():
    found = {}
    for name in NUMBERS:
        if name in ("clone", "clone3", "unshare", "personality", "pidfd_open", "pidfd_getfd"):
            continue
        arguments = {
            "ptrace": (16, harness_pid(), 0, 0),  # PTRACE_ATTACH
            "mount": (b"none", b"/tmp", b"tmpfs", 0, None),
            "umount2": (b"/tmp", 0),
            "chroot": (b"/tmp",),
            "fsopen": (b"tmpfs", 0),
            "open_tree": (-100, b"/", 1),
            "keyctl": (0, -3, 1),
            "add_key": (b"user", b"x", b"y", 1, -3),
            "io_uring_setup": (1, ctypes.create_string_buffer(120)),
            "syslog": (3, ctypes.create_string_buffer(100), 100),
            "sethostname": (b"x", 1),
            "kcmp": (os.getpid(), harness_pid(), 0, 0, 0),
            "userfaultfd": (0,),
        }.get(name, (0, 0, 0, 0, 0))
        found[name] = call(name, *arguments)
    found["personality"] = call("personality", 0x0040000)  # ADDR_NO_RANDOMIZE
    return found


def memory_of_the_harness():
    pid = harness_pid()
    found = {"read": attempt(lambda: open(f"/proc/{pid}/mem", "rb").read(1))}
    local = ctypes.create_string_buffer(8)
    vector = struct.pack("QQ", ctypes.addressof(local), 8)
    remote = struct.pack("QQ", 0x400000, 8)
    found["process_vm_readv"] = call("process_vm_readv", pid, vector, 1, remote, 1, 0)
    opened = LIBC.syscall(NUMBERS["pidfd_open"][0 if X86 else 1], pid, 0)
    for fd in range(3, 12):
        found[f"pidfd_getfd {fd}"] = call("pidfd_getfd", opened, fd, 0) if opened >= 0 else "absent"
    return found


def descriptors_of_the_harness():
    """Attack: write frames into the control channel through /proc."""
    found = {}
    for pid in sorted({1, harness_pid()}):
        found[f"list {pid}"] = attempt(lambda pid=pid: os.listdir(f"/proc/{pid}/fd"))
        for fd in range(12):
            path = f"/proc/{pid}/fd/{fd}"
            flags = os.O_WRONLY | os.O_NONBLOCK
            found[path] = attempt(lambda path=path, flags=flags: os.open(path, flags))
    return found


def own_descriptors():
    """What was inherited: stdio, the script's own socket, and nothing else."""
    kinds = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            kinds[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return kinds


def kill_the_harness():
    """As process 1 of its namespace it does not hear a SIGKILL from inside."""
    os.kill(harness_pid(), signal.SIGKILL)
    time.sleep(0.5)
    return "still here"


def forge(frame):
    """Write *frame* (bytes) wherever the control channel can be reached."""
    written = 0
    for pid in sorted({1, harness_pid()}):
        for fd in range(16):
            with contextlib.suppress(OSError):
                found = os.open(f"/proc/{pid}/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
                written += os.write(found, frame)
    return written


def namespaces():
    found = {}
    for name, flag in NEW_NAMESPACES.items():
        found[f"unshare {name}"] = call("unshare", flag)
        found[f"clone {name}"] = _in_child(lambda flag=flag: call("clone", flag | 17, 0, 0, 0, 0))
        arguments = struct.pack("11Q", flag, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
        found[f"clone3 {name}"] = _in_child(lambda a=arguments: call("clone3", a, len(a)))
    found["setns"] = call("setns", os.open("/proc/self/ns/net", os.O_RDONLY), 0)
    return found


def _in_child(function):
    """*function* in a forked child, so that a clone that succeeds forks only that."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, function().encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(write)
    with os.fdopen(read) as answer:
        said = answer.read()
    return said.replace("open:", "open: namespace,", 1) if said else "absent"


def kernel_files():
    paths = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sysrq-trigger",
        "/proc/sys/kernel/hostname",
        "/sys/kernel/uevent_helper",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        *glob.glob("/sys/fs/cgroup/**/release_agent", recursive=True),
        *glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)[:3],
        "/proc/1/oom_score_adj",
        "/dev/mem",
        "/dev/kmsg",
        "/proc/kcore",
    ]
    found = {}
    for path in paths:
        if not os.path.exists(path):
            found[path] = "absent"
        else:
            found[path] = attempt(lambda path=path: os.open(path, os.O_WRONLY))
    return found


def sockets_of_the_host():
    """Any UNIX socket that is reachable, and the names of all that exist here."""
    found = {}
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"):
        if not os.path.exists(path):
            found[path] = "absent"
            continue
        connection = socket.socket(socket.AF_UNIX)
        found[path] = attempt(connection.connect, path)
    with contextlib.suppress(OSError), open("/proc/net/unix") as lines:
        named = [line.split()[7] for line in list(lines)[1:] if len(line.split()) > 7]
        found["/proc/net/unix"] = f"open: {named}" if named else "absent"
    for folder, _, names in os.walk("/"):
        if folder.startswith("/proc"):
            continue
        for name in names:
            with contextlib.suppress(OSError):
                path = os.path.join(folder, name)
                if stat.S_ISSOCK(os.lstat(path).st_mode):
                    found[path] = "open: a socket"
    return found


def socket_families():
    wanted = {
        "AF_VSOCK": (40, socket.SOCK_STREAM, 0),
        "AF_PACKET": (17, socket.SOCK_RAW, 3),
        "AF_ALG": (38, socket.SOCK_SEQPACKET, 0),
        "AF_NETLINK audit": (16, socket.SOCK_RAW, 9),
        "AF_NETLINK route": (16, socket.SOCK_RAW, 0),
        "AF_KEY": (15, socket.SOCK_RAW, 2),
        "AF_BLUETOOTH": (31, socket.SOCK_RAW, 1),
        "AF_TIPC": (30, socket.SOCK_STREAM, 0),
        "raw IPv4": (2, socket.SOCK_RAW, 1),
        "raw IPv6": (10, socket.SOCK_RAW, 58),
    }
    return {name: attempt(lambda a=args: socket.socket(*a)) for name, args in wanted.items()}


def privileges():
    found = {}
    with open("/proc/self/status") as lines:
        status = dict(line.rstrip().split(":\t", 1) for line in lines if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"):
        value = int(status.get(name, "0"), 16)
        found[name] = f"open: {value:x}" if value else "absent"
    found["user"] = "absent" if 0 not in (*os.getresuid(), *os.getresgid()) else "open: root"
    found["no_new_privs"] = (
        "absent" if LIBC.prctl(39, 0, 0, 0, 0) == 1 else "open: new privileges possible"
    )
    marked = []
    for folder, _, names in os.walk("/"):
        if folder.startswith(("/proc", "/sys")):
            continue
        for name in names:
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                info = os.lstat(path)
                if stat.S_ISREG(info.st_mode) and info.st_mode & 0o6000:
                    marked.append(path)
                if "security.capability" in os.listxattr(path, follow_symlinks=False):
                    marked.append(path)
    found["setuid, setgid or capable files"] = f"open: {marked}" if marked else "absent"
    for uid in (0, 1001):
        found[f"setuid {uid}"] = attempt(os.setuid, uid)
    return found


def devices():
    found = {"mknod": attempt(os.mknod, "/tmp/sda", stat.S_IFBLK | 0o600, os.makedev(8, 0))}
    allowed = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"}
    for name in os.listdir("/dev"):
        info = os.lstat(f"/dev/{name}")
        if (stat.S_ISBLK(info.st_mode) or stat.S_ISCHR(info.st_mode)) and name not in allowed:
            found[f"/dev/{name}"] = attempt(os.open, f"/dev/{name}", os.O_RDWR)
    return found


# --- the network ---------------------------------------------------------------------------


def network():
    found = {}
    for host, port in (
        ("1.1.1.1", 443),
        ("8.8.8.8", 53),
        ("169.254.169.254", 80),
        ("100.100.100.200", 80),
        ("168.63.129.16", 80),
        ("172.17.0.1", 2375),
        ("10.0.0.1", 80),
    ):
        found[f"tcp {host}:{port}"] = attempt(lambda a=(host, port): socket.create_connection(a, 2))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        found["udp 8.8.8.8:53"] = attempt(udp.sendto, b"x", ("8.8.8.8", 53))
    found["tcp IPv6"] = attempt(lambda: socket.create_connection(("2606:4700::1111", 443), 2))
    try:
        found["dns"] = f"open: {socket.getaddrinfo('example.com', 80)}"
    except OSError:
        found["dns"] = "refused: no answer"
    with contextlib.suppress(OSError), open("/proc/net/dev") as lines:
        names = [line.split(":")[0].strip() for line in list(lines)[2:]]
        # gVisor and Linux both list tunnels that are down in some builds; only a usable one counts.
        others = [
            n for n in names if n not in ("lo", "tunl0", "sit0", "ip6tnl0", "gre0", "gretap0")
        ]
        found["interfaces"] = f"open: {others}" if others else "absent"
    return found


# --- what can be read ----------------------------------------------------------------------


def everything_readable():
    """Text that a secret could stand in: environments, command lines, usual files."""
    parts = [repr(dict(os.environ))]
    for pattern in ("/proc/*/environ", "/proc/*/cmdline", "/run/secrets/*", "/etc/*", "/etc/*/*"):
        for path in glob.glob(pattern):
            with contextlib.suppress(OSError), open(path, "rb") as file:
                parts.append(file.read(200_000).decode("latin-1"))
    return "\n".join(parts)


def readable_words(*backwards):
    """Which words can be read somewhere; given backwards, so that the script itself is no hit."""
    text = everything_readable()
    return [word for word in backwards if word[::-1] in text]


# --- resources -----------------------------------------------------------------------------


def fork_bomb():
    """Children that stay, until the kernel says no."""
    children = []
    answer = "open: 2000 processes"
    try:
        for _ in range(2000):
            pid = os.fork()
            if pid == 0:
                time.sleep(30)
                os._exit(0)
            children.append(pid)
    except OSError as error:
        answer = f"refused: {errno.errorcode[error.errno]}"
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return {"fork": answer, "children": len(children)}


def threads():
    held = threading.Event()
    started = []
    try:
        for _ in range(2000):
            thread = threading.Thread(target=held.wait, daemon=True)
            thread.start()
            started.append(thread)
        return "open: 2000 threads"
    except RuntimeError:
        return "refused: no more threads"
    finally:
        held.set()


def disk(folder):
    """Fill *folder*; how much went in, and what then happened."""
    written = 0
    block = b"x" * (1 << 20)
    names = []
    answer = "open: 4 GiB written"
    try:
        for n in range(64):
            names.append(f"{folder}/fill{n}")
            with open(names[-1], "wb", buffering=0) as file:
                for _ in range(64):
                    written += file.write(block)
    except OSError as error:
        answer = f"refused: {errno.errorcode[error.errno]}"
    for name in names:
        with contextlib.suppress(OSError):
            os.unlink(name)
    return {"answer": answer, "mib": written >> 20}


def inodes(folder):
    made = 0
    try:
        for n in range(60_000):
            open(f"{folder}/i{n}", "w").close()
            made += 1
        answer = "open: 60000 files"
    except OSError as error:
        answer = f"refused: {errno.errorcode[error.errno]}"
    for n in range(made):
        os.unlink(f"{folder}/i{n}")
    return answer


def read_only_root():
    found = {}
    for path in ("/x", "/etc/x", "/opt/codemode/harness/x", "/usr/local/bin/x", "/var/x", "/run/x"):
        found[path] = attempt(lambda path=path: open(path, "w"))
    found["harness"] = attempt(lambda: open("/opt/codemode/harness/harness.py", "a"))
    return found


def big_file():
    """More than the file size limit; the signal would end the script, so a child tries."""
    code = "f=open('/workspace/big','wb',0);f.seek(1<<40);f.write(b'x')"
    done = subprocess.run(["python3", "-c", code], capture_output=True, text=True)
    with contextlib.suppress(OSError):
        os.unlink("/workspace/big")
    return "refused: fsize" if done.returncode else "open: 1 TiB sparse file"


def open_files():
    held = []
    try:
        for _ in range(5000):
            held.append(os.open("/dev/null", os.O_RDONLY))
        return "open: 5000 descriptors"
    except OSError as error:
        return f"refused: {errno.errorcode[error.errno]}"
    finally:
        for fd in held:
            os.close(fd)


def main():
    return {
        "system_calls": system_calls(),
        "memory_of_the_harness": memory_of_the_harness(),
        "descriptors_of_the_harness": descriptors_of_the_harness(),
        "own_descriptors": own_descriptors_as_text(),
        "namespaces": namespaces(),
        "kernel_files": kernel_files(),
        "sockets_of_the_host": sockets_of_the_host(),
        "socket_families": socket_families(),
        "privileges": privileges(),
        "devices": devices(),
        "network": network(),
        "read_only_root": read_only_root(),
        "limits": {
            "open files": open_files(),
            "big file": big_file(),
        },
    }


def own_descriptors_as_text():
    return {str(fd): target for fd, target in own_descriptors().items()}
