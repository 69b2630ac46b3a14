"""Who owns a container, and which containers nobody owns any more."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

PREFIX = "codemode."
Fate: TypeAlias = Literal["keep", "remove"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """
    One process that owns containers.

    Args:
        name: Random, one an engine.
        host: Which machine, hashed.
        space: Boot and pid namespace; a pid means something only there.
        started: The process's own start, as the kernel says it.
    """

    name: str
    host: str
    space: str
    pid: int
    started: str

    def labels(self, *, deadline_s: float) -> dict[str, str]:
        """Labels of a container that must be gone *deadline_s* (wall clock) from now."""
        return {
            f"{PREFIX}sandbox": "1",
            f"{PREFIX}owner": self.name,
            f"{PREFIX}host": self.host,
            f"{PREFIX}space": self.space,
            f"{PREFIX}pid": str(self.pid),
            f"{PREFIX}started": self.started,
            f"{PREFIX}deadline": str(int(time.time() + deadline_s)),
        }


def this_process(name: str) -> Owner:
    """This process as an owner."""
    pid = os.getpid()
    return Owner(name=name, host=_host(), space=_space(), pid=pid, started=start_of(pid) or "")


def fate(labels: Mapping[str, str], here: Owner, *, running: bool) -> Fate:
    """
    What a sweep by *here* does with a container.

    Only what is proven dead is removed: first match decides.

    ==  =======================================================  ======
    1   made on another host                                     keep
    2   made in another boot or pid namespace, and running       keep
    3   made in another boot or pid namespace, and stopped       remove
    4   its process is gone, or another one has its pid now      remove
    5   anything else, in doubt too                              keep
    ==  =======================================================  ======
    """
    if labels.get(f"{PREFIX}host") != here.host:
        return "keep"
    if labels.get(f"{PREFIX}space") != here.space:
        return "keep" if running else "remove"
    try:
        now = start_of(int(labels.get(f"{PREFIX}pid", "")))
    except ValueError:
        return "keep"
    started = labels.get(f"{PREFIX}started")
    if now is None or (started and now and now != started):
        return "remove"
    return "keep"


def start_of(pid: int) -> str | None:
    """When *pid* started, in the kernel's own words; None if there is no such process."""
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return None
        except OSError:
            return ""
        fields = stat.rpartition(")")[2].split()
        # A zombie has ended; its parent has only not asked yet.
        return None if fields[0] in "ZX" else fields[19]
    if sys.platform == "win32":
        return ""
    shown = subprocess.run(
        ["/bin/ps", "-o", "lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        timeout=5,
        env={"LC_ALL": "C"},
        check=False,
    )
    return re.sub(r"\s+", " ", shown.stdout).strip() or None


def _host() -> str:
    return _hashed(platform.node(), _read("/etc/machine-id"))


def _space() -> str:
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return _hashed(_read("/proc/sys/kernel/random/boot_id"), namespace)


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
