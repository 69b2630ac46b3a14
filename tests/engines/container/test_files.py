"""The harness's file rules, tried on a folder of this machine; no Docker needed."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from pathlib import Path

import pytest

from codemode.sandbox.image import folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the harness runs on Linux")


def load(name: str):
    path = folder() / "harness" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"harness_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


files = load("files")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    found = tmp_path / "outside"
    found.mkdir()
    (found / "secret").write_text("hunter2")
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "workspace"
    found.mkdir()
    return found


BAD_PATHS = (
    "", ".", "..", "/", "/etc/passwd", "../secret", "a/../../secret", "a/..", "..\\secret", "a\0b",
    "/proc/self/root/etc/passwd", "a/" * 40 + "b", "x" * 300, 7, None,
)  # fmt: skip


@pytest.mark.parametrize("path", BAD_PATHS, ids=repr)
@pytest.mark.case("L15", "attack:73")
def test_a_path_that_leaves_the_workspace_is_refused_before_any_io(root: Path, path) -> None:
    workspace = files.Workspace(str(root))

    with pytest.raises(files.Refused):
        workspace.write(path, b"x")
    with pytest.raises(files.Refused):
        workspace.read(path, 100)
    assert list(root.iterdir()) == []


def test_files_are_written_into_folders_and_read_back(root: Path) -> None:
    workspace = files.Workspace(str(root))

    workspace.write("a/b/c.txt", b"first, and long")
    workspace.write("./a//b/c.txt", b"second")

    assert workspace.read("a/b/c.txt", 100) == b"second"
    with pytest.raises(files.Refused, match="6 bytes"):
        workspace.read("a/b/c.txt", 5)


@pytest.mark.parametrize("path", ["link", "folder/secret"])
@pytest.mark.case("L15", "attack:75")
def test_a_link_is_never_followed(root: Path, outside: Path, path: str) -> None:
    (root / "link").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    workspace = files.Workspace(str(root))
    workspace.remember()

    with pytest.raises(files.Refused):
        workspace.read(path, 100)
    with pytest.raises(files.Refused):
        workspace.write(path, b"x")

    assert (outside / "secret").read_text() == "hunter2"


@pytest.mark.case("L15")
def test_links_are_not_collected(root: Path, outside: Path) -> None:
    workspace = files.Workspace(str(root))
    workspace.remember()
    (root / "link").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    (root / "real").write_text("mine")

    assert workspace.collect(1000) == ([("real", b"mine")], [])


@pytest.mark.case("attack:77")
def test_only_regular_files_are_read_and_written(root: Path) -> None:
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(root)  # a UNIX socket's path may be too long otherwise
        listener.bind("socket")
        os.chdir(here)
        workspace = files.Workspace(str(root))
        for name in ("fifo", "socket"):
            with pytest.raises(files.Refused):
                workspace.read(name, 100)
            with pytest.raises(files.Refused):
                workspace.write(name, b"x")

    assert workspace.collect(1000) == ([], [])


def test_only_what_was_made_or_changed_is_collected(root: Path) -> None:
    workspace = files.Workspace(str(root))
    workspace.write("in/kept", b"1")
    workspace.write("in/changed", b"1")
    workspace.remember()
    workspace.write("in/changed", b"22")
    workspace.write("out/made", b"3")

    assert workspace.collect(1000) == ([("in/changed", b"22"), ("out/made", b"3")], [])


@pytest.mark.case("attack:61")
def test_what_is_too_much_is_named_and_left(root: Path) -> None:
    workspace = files.Workspace(str(root))
    (root / "small").write_bytes(b"x" * 10)
    with (root / "sparse").open("wb") as sparse:
        sparse.truncate(1 << 40)

    found, left = workspace.collect(100)

    assert found == [("small", b"x" * 10)]
    assert "sparse" in left[0]
    assert "100 bytes" in left[0]


@pytest.mark.case("attack:61")
def test_a_tree_that_is_too_deep_ends_the_walk(root: Path) -> None:
    deep = root
    for _ in range(60):
        deep = deep / "d"
        deep.mkdir()
    (deep / "lost").write_text("x")
    (root / "found").write_text("x")

    found, _ = files.Workspace(str(root)).collect(1000)

    assert [path for path, _ in found] == ["found"]


@pytest.mark.case("attack:57")
def test_names_that_are_not_utf_8_are_left(root: Path) -> None:
    (root / os.fsdecode(b"bad\xff")).write_text("x")
    (root / "back\\slash").write_text("x")
    (root / "géod").write_text("x")

    found, _ = files.Workspace(str(root)).collect(1000)

    assert [path for path, _ in found] == ["géod"]
