"""Examples in docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "core.constant",
        "core.merge",
        "core.names",
        "core.note",
        "core.schema",
        "core.spelling",
        "core.types",
        "errors",
        "store.format",
        "store.locate",
    ],
)
def test_examples(name: str) -> None:
    assert doctest.testmod(import_module(f"codemode.{name}")).failed == 0
