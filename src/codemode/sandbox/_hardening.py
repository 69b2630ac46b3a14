"""
How a sandbox's container is made: everything that is not needed, denied.

`options` is a pure function, so that a test can hold it against what the daemon
reports; a probe run inside the container proves that the denials are real.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codemode.core.run import Limits

USER = "1000:1000"
MIB = 1024 * 1024
SHM_MIB = 16
GVISOR_PIDS = 128
"""Threads of gVisor itself, which count against the limit: 73 in an idle sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """
    The size of a sandbox.

    Args:
        cpus: Processors' worth of time.
        disk_mib: Workspace and temporary files; the former gets three quarters.
    """

    memory_mib: int = Limits().memory_mib
    disk_mib: int = Limits().disk_mib
    max_pids: int = Limits().max_pids
    cpus: float = 1.0

    @classmethod
    def of(cls, limits: Limits, *, cpus: float) -> Instance:
        return cls(
            memory_mib=limits.memory_mib,
            disk_mib=limits.disk_mib,
            max_pids=limits.max_pids,
            cpus=cpus,
        )


def profile_for(runtime: str, seccomp: str) -> str:
    """
    The seccomp profile as *runtime* must be given it.

    ``clone3`` hides its flags from a filter, so the profile answers ENOSYS and
    libc falls back to ``clone``. gVisor reads no ``errnoRet``: it would answer
    EPERM, and no process could be started. It gets ``clone3`` allowed; gVisor
    itself then says ENOSYS, or makes a namespace that the host never sees.
    """
    if runtime != "runsc":
        return seccomp
    profile = json.loads(seccomp)
    for rule in profile["syscalls"]:
        if rule["names"] == ["clone3"]:
            rule["action"] = "SCMP_ACT_ALLOW"
            del rule["errnoRet"]
    return json.dumps(profile)


def options(
    *,
    image_id: str,
    runtime: str,
    instance: Instance,
    seccomp: str,
    labels: Mapping[str, str],
    max_age_s: float,
) -> dict[str, Any]:
    """
    Arguments for the SDK: ``container``, ``host`` (its host config) and ``raw_host``
    (fields of the host config that the SDK has no name for).

    Args:
        image_id: ``sha256:...``; never a name, which someone could point elsewhere.
        seccomp: The profile itself, as JSON text.
    """
    workspace_mib = max(1, instance.disk_mib * 3 // 4)
    temporary_mib = max(1, instance.disk_mib - workspace_mib)
    owner = "uid=1000,gid=1000,mode=0700"
    return {
        "container": {
            "image": image_id,
            "user": USER,
            "working_dir": "/workspace",
            # Explicit and complete: nothing of the host's environment comes along.
            "environment": {
                "CODEMODE_MAX_AGE_S": f"{max_age_s:g}",
                "CODEMODE_MEMORY_MIB": str(instance.memory_mib),
            },
            "stdin_open": True,
            "tty": False,
            "network_disabled": True,
            "hostname": "sandbox",
            "labels": dict(labels),
        },
        "host": {
            "network_mode": "none",
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges:true", f"seccomp={profile_for(runtime, seccomp)}"],
            "privileged": False,
            "read_only": True,
            # Docker's init would be process 1 with the control channel as its stdio, and as the
            # script's own user: a script could open /proc/1/fd/1 and write frames. The harness is
            # process 1 instead: it is not dumpable, cannot be killed from inside, and reaps.
            "init": False,
            "ipc_mode": "private",
            "shm_size": SHM_MIB * MIB,
            "tmpfs": {
                "/workspace": f"rw,nosuid,nodev,size={workspace_mib}m,nr_inodes=20000,{owner}",
                "/tmp": f"rw,nosuid,nodev,noexec,size={temporary_mib}m,nr_inodes=20000,{owner}",  # noqa: S108
            },
            "mem_limit": instance.memory_mib * MIB,
            "memswap_limit": instance.memory_mib * MIB,  # equal: no swap
            "nano_cpus": int(instance.cpus * 1e9),
            "pids_limit": instance.max_pids + (GVISOR_PIDS if runtime == "runsc" else 0),
            "ulimits": [
                {"Name": "nofile", "Soft": 1024, "Hard": 1024},
                {"Name": "fsize", "Soft": instance.disk_mib * MIB, "Hard": instance.disk_mib * MIB},
                {"Name": "core", "Soft": 0, "Hard": 0},
            ],
            "log_config": {"Type": "none", "Config": {}},
            "runtime": runtime,
            "auto_remove": False,  # how it ended is asked for after it ended
        },
        "raw_host": {
            "CgroupnsMode": "private",
        },
    }
