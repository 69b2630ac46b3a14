"""A service on loopback behind the shipped directory, and the command line as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codemode.store.config import Config, parse_config
from codemode.testing import FakeRequest, FakeUpstream

TOKEN = "canary-7f3a-edge-token-0c1d"  # never real; tests grep for it


@pytest.fixture
def upstream() -> Iterator[FakeUpstream]:
    with FakeUpstream(require_bearer=TOKEN) as service:
        service.route("GET", "/repos/{owner}/{repo}", _repo)
        service.route("GET", "/repos/{owner}/{repo}/issues", [])
        service.route("POST", "/repos/{owner}/{repo}/issues", lambda request: request.json)
        yield service


def _repo(request: FakeRequest) -> dict[str, Any]:
    return {"name": request.path_args["repo"], "stargazers_count": 7}


@pytest.fixture
def tables(upstream: FakeUpstream, tmp_path: Path) -> dict[str, Any]:
    """Tables of a codemode.toml that points GitHub at the service."""
    secret = tmp_path / "token"
    secret.write_text(TOKEN, encoding="utf-8")
    secret.chmod(0o600)
    tables = upstream.config("github", credentials=["github"])
    tables["credentials"]["github"] |= {"provider": "file", "path": str(secret)}
    tables["state"] = str(tmp_path / "state")
    tables["engine"] = {"name": "isolate"}
    return tables


@pytest.fixture
def config(tables: dict[str, Any], tmp_path: Path) -> Config:
    return parse_config(tables, origin="test", base=tmp_path)


@pytest.fixture
def config_file(tables: dict[str, Any], tmp_path: Path) -> Path:
    path = tmp_path / "codemode.toml"
    path.write_text(_toml(tables), encoding="utf-8")
    return path


def _toml(tables: dict[str, Any], prefix: str = "") -> str:
    plain = [
        f"{key} = {json.dumps(value)}"
        for key, value in tables.items()
        if not isinstance(value, dict)
    ]
    text = "\n".join(plain) + "\n"
    for key, value in tables.items():
        if isinstance(value, dict):
            text += f"[{prefix}{key}]\n{_toml(value, f'{prefix}{key}.')}"
    return text


Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def cli(config_file: Path, tmp_path: Path) -> Cli:
    """Run ``codemode`` in a process of its own, with the test's configuration here."""

    def call(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "codemode", *args],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=110,
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1"},
            check=False,
        )

    return call
