"""Installing the Node servers: once, whole, and with nothing of the host's secrets."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from codemode.bindings import _npm
from codemode.errors import UpstreamError


def test_npm_sees_the_way_to_its_registry_and_nothing_else(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "seeded-4711")
    monkeypatch.setenv("https_proxy", "x:1")
    monkeypatch.setenv("npm_config_strict_ssl", "true")
    environment = _npm._environment()
    assert "seeded-4711" not in environment.values()
    assert environment["https_proxy"] == "x:1"
    assert environment["npm_config_strict_ssl"] == "true"
    assert environment["PATH"].split(os.pathsep)[0] == str(_npm.node().parent)


async def test_the_node_of_the_wheel_runs():
    process = await asyncio.create_subprocess_exec(
        str(_npm.node()), "--version", stdout=asyncio.subprocess.PIPE, env={}
    )
    output, _ = await process.communicate()
    assert output.startswith(b"v24.")


def test_the_lock_file_pins_every_package_and_names_no_host():
    lock = json.loads((_npm.PACKAGES / "package-lock.json").read_bytes())
    wanted = json.loads((_npm.PACKAGES / "package.json").read_bytes())["dependencies"]
    assert lock["packages"][""]["dependencies"] == wanted
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages
    assert all(entry.get("integrity", "").startswith("sha512-") for entry in packages.values())
    assert not any("resolved" in entry for entry in packages.values())


async def test_a_failed_installation_leaves_nothing_and_says_why(tmp_path, monkeypatch):
    broken = tmp_path / "packages"
    broken.mkdir()
    (broken / "package.json").write_text('{"dependencies": {"a": "1.0.0"}}')
    (broken / "package-lock.json").write_text("{}")
    monkeypatch.setattr(_npm, "PACKAGES", broken)
    cache = tmp_path / "cache"
    with pytest.raises(UpstreamError, match="npm could not install") as caught:
        await _npm.installed(cache)
    assert caught.value.retryable
    assert list(cache.iterdir()) == []


async def test_two_at_once_end_in_one_folder(tmp_path, monkeypatch):
    n_installed = 0

    async def npm_ci(folder):
        nonlocal n_installed
        n_installed += 1
        await asyncio.sleep(0.05)
        (folder / "node_modules").mkdir()

    monkeypatch.setattr(_npm, "_npm_ci", npm_ci)
    first, second = await asyncio.gather(_npm.installed(tmp_path), _npm.installed(tmp_path))
    assert first == second == await _npm.installed(tmp_path)
    assert n_installed == 2
    assert list(tmp_path.iterdir()) == [first]
