"""
The JSON Schema organisation's test suite against the stubs, judged by the checkers.

A type cannot say everything. What it takes although the schema refuses it, and what
it refuses although the schema takes it, must be listed as a loss at the tool. One
rule needs no listing: a property that no schema declares is refused in a literal.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from codemode.core.tool import Directory, Tool
from codemode.targets import python, typescript

from .judge import check_python, check_typescript, python_literal, stubs, tool

SUITE = Path(__file__).resolve().parents[3] / "shared/conformance/json-schema-test-suite/tests"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SUITE.is_dir(), reason="../shared is not there"),
]


@dataclass(frozen=True, slots=True)
class Group:
    tool: Tool
    about: str
    schema: Any
    tests: list[dict[str, Any]]


def groups(draft: str) -> list[Group]:
    found = []
    for path in sorted((SUITE / draft).glob("*.json")):
        for index, group in enumerate(json.loads(path.read_text("utf-8"))):
            schema = rooted(group["schema"])
            definitions = {}
            if isinstance(schema, dict):
                for word in ("$defs", "definitions"):
                    if isinstance(schema.get(word), dict):
                        definitions |= schema[word]
            args = {
                "type": "object",
                "required": ["v"],
                "properties": {"v": {"$ref": "#/$defs/root"}},
                "$defs": {**definitions, "root": schema},
            }
            name = f"{path.stem.lower().replace('-', '_')}_{index}"
            found.append(Group(tool(name, args), group["description"], schema, group["tests"]))
    return found


def rooted(schema: Any) -> Any:
    """*schema* with ``#`` meaning ``#/$defs/root``, where it now stands."""
    if isinstance(schema, list):
        return [rooted(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {}
    for key, value in schema.items():
        if key in ("enum", "const", "default", "examples"):
            result[key] = value
        elif key == "$ref" and isinstance(value, str) and (value == "#" or value[:2] == "#/"):
            kept = value.startswith(("#/$defs/", "#/definitions/"))
            result[key] = value if kept else "#/$defs/root" + value[1:]
        else:
            result[key] = rooted(value)
    return result


def lines(group: Group, language: str) -> list[list[str]]:
    """For each test the calls that say its value; in Python an array is a list or a tuple."""
    made = []
    for test in group.tests:
        if language == "typescript":
            name = typescript.TARGET.tool_name(group.tool.name)
            made.append([f"await cases.{name}({typescript.literal({'v': test['data']})});"])
        else:
            name = python.TARGET.tool_name(group.tool.name)
            forms = (test["data"], tuples(test["data"]))
            made.append([f"await cases.{name}(v={python_literal(form)})" for form in forms])
    return made


def tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(tuples(item) for item in value)
    if isinstance(value, dict):
        return {key: tuples(item) for key, item in value.items()}
    return value


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("language", ["typescript", "python"])
@pytest.mark.parametrize("draft", ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"])
def test_the_type_says_it_or_the_loss_is_named(draft: str, language: str, tmp_path: Path) -> None:
    suite = groups(draft)
    generated = stubs(Directory(group.tool for group in suite), language)
    probes = [lines(group, language) for group in suite]
    flat = [line for group in probes for forms in group for line in forms]
    check = {"typescript": check_typescript, "python": check_python}[language]
    said = check(generated.files, flat, tmp_path)
    listed = {loss.tool for loss in generated.losses}

    n = {"taken": 0, "refused": 0, "tests": 0}
    unexplained = []
    number = 0
    for group, forms_of_tests in zip(suite, probes, strict=True):
        declared = json.dumps(group.schema)
        for test, forms in zip(group.tests, forms_of_tests, strict=True):
            taken = any(at not in said for at in range(number, number + len(forms)))
            number += len(forms)
            n["tests"] += 1
            if taken == test["valid"]:
                continue
            n["taken" if taken else "refused"] += 1
            undeclared = any(json.dumps(key) not in declared for key in keys(test["data"]))
            if group.tool.id not in listed and not (undeclared and not taken):
                unexplained.append((group.about, group.schema, test))

    assert not unexplained
    # The types must go on saying what they say: neither list may grow.
    assert n["taken"] / n["tests"] < 0.25
    assert n["refused"] / n["tests"] < 0.08
