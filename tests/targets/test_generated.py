"""``generated/`` is what the shipped directory gives, file for file, in both directions."""

from __future__ import annotations

import pytest

from codemode import bindings, targets
from codemode.generate import generate
from codemode.store.generated import compare, read_templates
from codemode.store.rows import load_directory
from codemode.store.shipped import shipped


@pytest.mark.parametrize("name", targets.names())
def test_the_committed_stubs_are_those_of_the_directory(name: str) -> None:
    directory = load_directory(shipped("directory"), bindings.load_all())
    assert directory.quarantined == ()
    made = generate(directory, targets.load(name), read_templates(name))
    difference = compare(shipped("generated") / name, made.files)
    assert not difference, f"run codemode generate: {difference}"
