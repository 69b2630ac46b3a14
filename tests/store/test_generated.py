"""What generation does to a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemode.errors import ConfigError
from codemode.store.generated import Difference, compare, read_templates, write

FILES = {"a.txt": "A\n", "deep/b.txt": "é\n"}


def test_what_is_written_is_what_was_made(tmp_path: Path) -> None:
    assert write(tmp_path / "out", FILES) == ["a.txt", "deep/b.txt"]
    assert (tmp_path / "out/deep/b.txt").read_bytes() == "é\n".encode()
    assert not compare(tmp_path / "out", FILES)


def test_only_what_differs_is_touched(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    before = (tmp_path / "a.txt").stat()

    assert write(tmp_path, FILES | {"deep/b.txt": "new\n"}) == ["deep/b.txt"]
    after = (tmp_path / "a.txt").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert write(tmp_path, FILES | {"deep/b.txt": "new\n"}) == []


def test_stale_files_and_their_folders_go(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    (tmp_path / ".keep").touch()

    assert write(tmp_path, {"a.txt": "A\n"}) == ["deep/b.txt"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".keep", "a.txt"]


def test_a_comparison_sees_both_directions(tmp_path: Path) -> None:
    write(tmp_path, FILES | {"old.txt": ""})
    wanted = {"a.txt": "other\n", "deep/b.txt": "é\n", "new.txt": ""}

    assert compare(tmp_path, wanted) == Difference(
        stale=("a.txt",), missing=("new.txt",), extra=("old.txt",)
    )
    assert (tmp_path / "a.txt").read_text() == "A\n"
    assert compare(tmp_path / "nowhere", {"a": ""}) == Difference(missing=("a",))


def test_a_line_ending_is_a_difference(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"A\r\n")
    assert compare(tmp_path, {"a.txt": "A\n"}).stale == ("a.txt",)


def test_half_a_file_is_never_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, FILES)

    def broken(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        write(tmp_path, {"a.txt": "much longer\n", "deep/b.txt": "é\n"})
    assert (tmp_path / "a.txt").read_text() == "A\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "deep"]


def test_a_target_without_templates_is_named() -> None:
    assert "toolset.d.ts.j2" in read_templates("typescript")
    with pytest.raises(ConfigError, match="cobol"):
        read_templates("cobol")
