"""Rules about the code, checked by reading it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import codemode
from codemode import errors

SRC = Path(codemode.__file__).parent


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(SRC.rglob("*.py")):
        yield path.relative_to(SRC), ast.parse(path.read_text(encoding="utf-8"))


def test_public_names_are_exactly_all() -> None:
    assert sorted(codemode.__all__) == codemode.__all__
    for name in codemode.__all__:
        assert getattr(codemode, name) is not None


def test_every_error_is_reported_and_drawn() -> None:
    for name, cls in vars(errors).items():
        if isinstance(cls, type) and issubclass(cls, errors.CodemodeError):
            assert name in (errors.__doc__ or ""), name
            assert name in errors.__all__, name
            if cls is not errors.CodemodeError:
                assert errors.report(cls("x"))


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [
        cls.code
        for cls in vars(errors).values()
        if isinstance(cls, type) and issubclass(cls, errors.CodemodeError)
    ]
    assert len(codes) == len(set(codes))


def test_secrets_are_revealed_in_one_place() -> None:
    calls = [
        str(path)
        for path, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "reveal"
    ]
    assert calls == ["core/credential.py"]


def test_rim_packages_do_not_import_each_other() -> None:
    rim = {"sandbox", "bindings", "check", "store", "importers", "traces"}
    for path, tree in sources():
        home = path.parts[0].removesuffix(".py")
        if home not in rim:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("codemode."):
                other = (node.module or "").split(".")[1]
                assert other == home or other not in rim | {"outbound"}, f"{path}: {node.module}"


def test_no_host_environment_reaches_a_child() -> None:
    """Every process that is started says which environment it gets."""
    starters = {"Popen", "run", "create_subprocess_exec", "check_output", "check_call"}
    for path, tree in sources():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = node.func.value
            named = isinstance(owner, ast.Name) and owner.id in ("subprocess", "asyncio")
            if named and node.func.attr in starters - ({"run"} if owner.id == "asyncio" else set()):
                keywords = {keyword.arg for keyword in node.keywords}
                assert "env" in keywords, f"{path}:{node.lineno} starts a process without env"


def test_no_module_is_a_junk_drawer() -> None:
    for path, _ in sources():
        assert not set(path.stem.split("_")) & {"util", "utils", "helper", "helpers", "common"}, (
            path
        )
