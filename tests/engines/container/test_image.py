"""The image: its name says what is in it, and its build leaves nothing of this machine behind."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import docker
import pytest

from codemode.core.frames import PROTOCOL
from codemode.errors import ConfigError, EngineUnavailable
from codemode.sandbox import image

from .conftest import available_image, started


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of `sandbox_image/` that the module takes for the real one."""
    ignore = shutil.ignore_patterns("__pycache__")
    made = Path(shutil.copytree(image.folder(), tmp_path / "sandbox_image", ignore=ignore))
    monkeypatch.setattr(image, "folder", lambda: made)
    return made


def test_a_change_of_anything_in_it_changes_the_name(copied: Path) -> None:
    before = image.default_name()
    packages = copied / "packages.txt"
    packages.write_text(packages.read_text() + "cowsay\n")

    assert image.default_name() != before
    assert image.default_name().startswith("codemode-sandbox:full-")
    assert image.default_name("base").startswith("codemode-sandbox:base-")


def test_caches_do_not_change_the_name(copied: Path) -> None:
    before = image.default_name()
    (copied / "harness" / "__pycache__").mkdir()
    (copied / "harness" / "__pycache__" / "x.pyc").write_bytes(b"x")

    assert image.default_name() == before


def test_the_context_holds_the_folder_and_the_bundle_and_no_dates() -> None:
    with tarfile.open(fileobj=image._context(b"PEM"), mode="r:gz") as tar:
        entries = {entry.name: entry for entry in tar}
        bundle = tar.extractfile("ca-bundle.pem")
        assert bundle is not None
        assert bundle.read() == b"PEM"

    assert {"Dockerfile", "seccomp.json", "harness/harness.py", "packages.txt"} <= set(entries)
    assert {(entry.mtime, entry.uid, entry.uname) for entry in entries.values()} == {(0, 0, "")}


def test_the_bundle_is_what_the_machine_already_names(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("x")

    assert image.default_ca_bundle({"SSL_CERT_FILE": str(bundle)}) == bundle
    assert image.default_ca_bundle({"REQUESTS_CA_BUNDLE": str(bundle)}) == bundle
    assert image.default_ca_bundle({"SSL_CERT_FILE": str(tmp_path / "none")}) is None
    assert image.default_ca_bundle({}) is None


def test_a_bundle_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.pem"):
        image.build_image(tmp_path / "none.pem")


class NoRegistry:
    """A daemon that has no image and reaches no registry."""

    timeout = 0

    def __init__(self) -> None:
        self.imported: dict[str, Any] = {}

    def inspect_image(self, name: str) -> None:
        raise docker.errors.ImageNotFound(name)

    def pull(self, repository: str, tag: str, **_: object) -> list[dict[str, str]]:
        return [{"status": "trying"}, {"error": f"cannot reach the registry of {repository}:{tag}"}]

    def import_image_from_file(self, path: str, **named: str) -> None:
        self.imported = {"data": Path(path).read_bytes(), **named}


def test_without_a_registry_the_base_is_made_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "mmdebstrap"
    program.write_text(
        '#!/bin/sh\necho "I: working" >&2\nfor last; do :; done\nprintf "%s " "$@" >"$last"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    client, said = NoRegistry(), []

    origin = image._have_base(client, "debian:trixie-slim", said.append)

    assert origin == "made"
    assert client.imported["repository"] == "debian"
    assert client.imported["tag"] == "trixie-slim"
    assert b"--variant=minbase" in client.imported["data"]
    assert b" trixie " in client.imported["data"]
    assert any("cannot be pulled" in line and "mmdebstrap" in line for line in said)
    assert "mmdebstrap: working" in said
    assert said[-1] == "debian:trixie-slim was made with mmdebstrap, not pulled"


def test_without_a_registry_and_mmdebstrap_the_way_out_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(EngineUnavailable, match="mmdebstrap is not installed") as caught:
        image._have_base(NoRegistry(), "debian:trixie-slim", lambda line: None)
    assert "apt-get install mmdebstrap" in caught.value.hint


def test_every_step_of_the_seccomp_profile_says_what_it_is_for() -> None:
    profile = json.loads(image.seccomp_profile())

    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert all(rule["comment"] for rule in profile["syscalls"])


@pytest.mark.docker
@pytest.mark.case("attack:15")
async def test_the_image_keeps_nothing_of_the_build(client: docker.APIClient) -> None:
    await (await started("runc", pool_size=0)).close()
    name = available_image()
    found, history = client.inspect_image(name), json.dumps(client.history(name))

    assert found["Config"]["Labels"][image.PROTOCOL_LABEL] == str(PROTOCOL)
    assert found["Config"]["User"] == "1000:1000"
    assert {one.partition("=")[0] for one in found["Config"]["Env"]} == {"PATH", "LANG", "HOME"}
    assert len(found["RootFS"]["Layers"]) == 1
    assert "ca-bundle" not in history
    assert "proxy" not in history.lower()

    made = client.create_container(name)["Id"]
    try:
        for path in ("/tmp/ca-bundle.pem", "/root/.config", "/root/.cache", "/node"):
            with pytest.raises(docker.errors.NotFound):
                client.get_archive(made, path)
        stream, _ = client.get_archive(made, "/opt/codemode/harness")
        with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as tar:
            assert any(entry.name == "harness/harness.py" for entry in tar)
            assert all(not entry.mode & 0o022 for entry in tar if entry.isfile())
    finally:
        client.remove_container(made)
