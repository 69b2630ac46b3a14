"""Which containers a sweep may remove; no Docker needed."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from codemode.sandbox._owner import fate, start_of, this_process

HERE = this_process("me")


def labels(**changes: object) -> dict[str, str]:
    return replace(HERE, name="other", **changes).labels(deadline_s=10)


def ended_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_live_owner_keeps_its_containers() -> None:
    assert fate(labels(), HERE, running=True) == "keep"
    assert (
        fate(labels(pid=os.getppid(), started=start_of(os.getppid()) or ""), HERE, running=True)
        == "keep"
    )


@pytest.mark.case("attack:67")
def test_a_dead_owners_containers_go() -> None:
    assert fate(labels(pid=ended_pid()), HERE, running=True) == "remove"


@pytest.mark.case("attack:67")
def test_a_pid_that_another_process_has_now_is_no_owner() -> None:
    assert fate(labels(started="1"), HERE, running=True) == "remove"


@pytest.mark.case("attack:67")
def test_a_process_that_ended_but_was_not_waited_for_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read()  # it has ended, or is about to
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert fate(labels(pid=process.pid), HERE, running=True) == "remove"
    process.wait()


@pytest.mark.parametrize("running", [True, False])
def test_another_hosts_containers_are_untouched(running: bool) -> None:
    assert fate(labels(host="elsewhere", pid=ended_pid()), HERE, running=running) == "keep"


def test_another_boots_containers_go_only_once_they_stopped() -> None:
    assert fate(labels(space="earlier"), HERE, running=True) == "keep"
    assert fate(labels(space="earlier"), HERE, running=False) == "remove"


def test_labels_that_cannot_be_read_prove_nothing() -> None:
    assert fate({}, HERE, running=True) == "keep"
    assert fate({**labels(), "codemode.pid": "x"}, HERE, running=True) == "keep"
