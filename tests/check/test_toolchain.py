"""Where the compilers come from, and what is said when they are not there."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from codemode.check import toolchain
from codemode.check.typescript import TypeScriptChecker
from codemode.errors import CheckUnavailable

from .world import STUBS, made


def test_the_lock_file_pins_versions_by_hash_and_no_host():
    lock = json.loads((toolchain.NODE_FILES / "package-lock.json").read_text())
    wanted = json.loads((toolchain.NODE_FILES / "package.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}

    assert wanted["dependencies"] == {"typescript": "7.0.2"}
    assert packages["node_modules/typescript"]["version"] == "7.0.2"
    assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())
    assert "resolved" not in json.dumps(lock)


def test_the_cache_is_where_the_user_says(tmp_path: Path):
    assert toolchain.cache_folder({"CODEMODE_CACHE": str(tmp_path)}) == tmp_path
    if sys.platform.startswith("linux"):
        assert toolchain.cache_folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/codemode")


async def test_the_compiler_is_installed_once_and_then_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = await toolchain.typescript_program()
    monkeypatch.setattr(toolchain, "_install", lambda *_: pytest.fail("installed again"))

    assert await toolchain.typescript_program() == first


async def test_a_failed_install_is_one_clear_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CODEMODE_CACHE", str(tmp_path / "cache"))
    settings = tmp_path / "npmrc"
    settings.write_text(
        f"registry=http://127.0.0.1:9/\nfetch-retries=0\ncache={tmp_path / 'npm'}\n"
    )
    for name in ("NPM_CONFIG_REGISTRY", "npm_config_registry"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NPM_CONFIG_USERCONFIG", "npm_config_userconfig"):
        monkeypatch.setenv(name, str(settings))
    checker = TypeScriptChecker()
    with pytest.raises(CheckUnavailable, match="could not install TypeScript") as caught:
        await checker.check(
            made("1", "typescript"), STUBS["typescript"], engine="container", timeout_s=120
        )
    await checker.close()

    assert "NODE_EXTRA_CA_CERTS" in caught.value.hint
    left = [path.name for path in (tmp_path / "cache").iterdir()]
    assert [name for name in left if not name.endswith(".lock")] == []


async def test_a_cache_that_cannot_be_written_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CODEMODE_CACHE", str(tmp_path / "file"))

    with pytest.raises(CheckUnavailable, match="cannot be installed") as caught:
        await toolchain.typescript_program()
    assert "CODEMODE_CACHE" in caught.value.hint


async def test_the_install_gets_a_short_list_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GITHUB_TOKEN", "canary-hunter2")
    seen: list[dict[str, str]] = []

    def record(argv: list[str], env: dict[str, str], *rest: object) -> None:
        seen.append(env)
        (tmp_path / "env").mkdir(exist_ok=True)

    monkeypatch.setattr(toolchain, "_run", record)
    toolchain._make_environment(toolchain.node_program(), tmp_path / "env", 1)

    assert len(seen) == 2
    assert all("canary" not in str(env) for env in seen)
    assert all(set(env) <= {"PATH", *toolchain._INSTALL_ENV} for env in seen)


async def test_status_names_every_program():
    await toolchain.typescript_program()
    found = {status.name: status for status in await toolchain.toolchain_status()}

    assert set(found) == {"node", "typescript", "ty"}
    assert all(status.ok for status in found.values()), found
    assert found["typescript"].detail.startswith("7.0.2")


async def test_status_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CODEMODE_CACHE", str(tmp_path))
    found = {status.name: status for status in await toolchain.toolchain_status()}

    assert not found["typescript"].ok
    assert "not installed yet" in found["typescript"].detail
    assert found["typescript"].hint
