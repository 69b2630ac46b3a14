"""Names and texts that try to break out of a stub, judged by the checkers."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from codemode import targets
from codemode.core.spelling import modern
from codemode.core.tool import Directory, Toolset
from codemode.store.generated import write

from .judge import Case, check_python, check_typescript, judge, stubs, tool
from .test_schemas import CASES

HOSTILE = (
    "Ends */ here. /** opens again */ ${x} `tick` \\",
    '""" ends a docstring """ and \\""" too\\',
    "line\nbreak\r\nand \u2028 separators\u2029 and \x00 nul \x1b[31m red \u202e reversed",
    "@deprecated @ts-ignore // @ts-nocheck # type: ignore",
    "*/ export const injected: any; /*",
    '"""\nimport os\n"""',
    "{{ template }} {% raw %}",
    "\ud800 half a character",
    "   ",
)

NOWHERE = ("prototype_pointer", "alias_circle", "recursive_into_itself")

NAMES = (
    *("搜索", "检索", "2fa", "+", "-", "😀", "get-item", "a.b/c", "ﬁle", "e\u0301te", "_hidden"),
    *("delete", "import", "list", "str", "class", "new", "await", "async", "None", "type"),
    *("default", "function", "arguments", "eval", "var", "yield", "enum", "match", "print"),
    *("any", "overload", "typed_dict", "promise", "dict", "object", "get", "set", "static"),
)


@pytest.mark.case("S43", "D11")
@pytest.mark.parametrize("language", ["typescript", "python"])
def test_texts_stay_texts(language: str, tmp_path: Path) -> None:
    tools = []
    for index, text in enumerate(HOSTILE):
        args = {
            "type": "object",
            "required": ["v"],
            "properties": {
                "v": {"type": "string", "description": text, "default": text},
                "w": {"type": "object", "properties": {"x": {"enum": [1], "description": text}}},
            },
        }
        returns = {"type": "object", "properties": {text: {"const": text, "description": text}}}
        made = replace(
            tool(f"t{index}", args, returns=returns),
            description=text,
            when_to_use=text,
            example={"args": {"v": text}},
            inverse=text,
        )
        toolset = Toolset(name="cases", description="\n".join(HOSTILE))
        tools.append(replace(made, toolset=toolset))
    generated = stubs(Directory(tools), language)
    call = {
        "typescript": "await cases.t{}({{ v: {} }});",
        "python": "await cases.t{}(v={})",
    }[language]
    lines = [call.format(n, value) for n in range(len(HOSTILE)) for value in ('"a"', "1")]
    check = {"typescript": check_typescript, "python": check_python}[language]

    said = check(generated.files, lines, tmp_path)

    assert sorted(said) == list(range(1, len(lines), 2))
    assert "injected" not in " ".join(said.values())
    for text in generated.files.values():
        assert not set(text) & set("\x00\x1b\r\u2028\u2029\u202e")


@pytest.mark.case("N3", "N9")
@pytest.mark.parametrize("language", ["typescript", "python"])
def test_every_name_can_be_called(language: str, tmp_path: Path) -> None:
    args = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    tools = [tool(name, args, returns={"type": "array", "items": args}) for name in NAMES]
    target = targets.load(language)
    directory = Directory(tools)
    call = {
        "typescript": "(await cases.{}({{ n: {} }}))[0].n.toFixed();",
        "python": "(await cases.{}(n={}))[0]['n'].bit_length()",
    }[language]
    lines = [
        call.format(target.tool_name(one.name), value) for one in tools for value in ("1", '"x"')
    ]
    check = {"typescript": check_typescript, "python": check_python}[language]

    said = check(stubs(directory, language).files, lines, tmp_path)

    assert len(target.names(directory, ("cases",))["cases"]) == len(NAMES)
    assert sorted(said) == list(range(1, len(lines), 2))


@pytest.mark.case("S39")
@pytest.mark.parametrize("language", ["typescript", "python"])
def test_a_huge_enum_reaches_neither_stub_nor_prompt(language: str) -> None:
    enum = {"enum": [f"value number {n}" for n in range(5000)]}
    made = tool("huge", {"type": "object", "properties": {"v": enum}}, returns=enum)
    generated = stubs(Directory([made]), language)
    target = targets.load(language)

    assert all(len(text) < 10_000 for text in generated.files.values())
    assert len(target.signature(made)) < 500
    assert len(target.declaration(made)) < 2_000
    assert {loss.path for loss in generated.losses} == {"/args/properties/v", "/returns"}


@pytest.mark.parametrize("language", ["typescript", "python"])
def test_a_signature_stays_short(language: str) -> None:
    wide = {f"property_number_{n}": {"type": "string"} for n in range(300)}
    made = tool(
        "wide",
        {"type": "object", "required": ["property_number_7"], "properties": wide},
        returns={"type": "object", "properties": wide},
    )
    signature = targets.load(language).signature(made)

    assert len(signature) < 1_000
    assert "property_number_7: str" in signature
    assert "more" in signature


@pytest.mark.case("P3")
def test_python_stubs_are_python() -> None:
    for case in CASES.values():
        for path, text in stubs(
            Directory([tool(case["name"], case["schema"])]), "python"
        ).files.items():
            # Python 3.11 may run this test; it does not know the statement yet.
            ast.parse(re.sub(r"(?m)^type (?=\w+ = )", "", text), filename=path)


@pytest.mark.parametrize("name", CASES)
def test_the_cases_agree_with_the_validator(name: str) -> None:
    """An independent judge of the cases themselves: what they call valid is valid."""
    case = CASES[name]
    if "https:" in json.dumps(case["schema"]) or name in NOWHERE:
        pytest.skip("the validator cannot judge references that lead nowhere")
    validator = jsonschema_rs.Draft202012Validator(modern(case["schema"]))
    assert [value for value in case["valid"] if not validator.is_valid(value)] == []
    declared = json.dumps(case["schema"])
    wrong = [
        value
        for value in case["invalid"]
        if validator.is_valid(value) and all(json.dumps(key) in declared for key in keys(value))
    ]
    assert wrong == []


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_a_second_checker_agrees_on_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyright reads the same stubs and judges every value as ty does."""
    program = Path(sysconfig.get_path("scripts")) / "pyright"
    if not program.exists():
        pytest.skip("pyright is not installed beside this Python")

    def pyright(files: Any, lines: list[str], folder: Path) -> dict[int, str]:
        write(folder / "stubs", files)
        body = ["from tools import cases", "async def main():", "  ...", *("  " + x for x in lines)]
        (folder / "script.py").write_text("\n".join(body), encoding="utf-8")
        config = {
            "pythonVersion": "3.13",
            "extraPaths": ["stubs"],
            "include": ["script.py", "stubs"],
        }
        config |= {"enableExperimentalFeatures": True}  # extra_items and closed of TypedDict
        (folder / "pyrightconfig.json").write_text(json.dumps(config))
        done = subprocess.run(
            [sys.executable, str(program), "--outputjson", "-p", str(folder)],
            capture_output=True,
            text=True,
            timeout=110,
        )
        found: dict[int, str] = {}
        for one in json.loads(done.stdout)["generalDiagnostics"]:
            assert Path(one["file"]).name == "script.py", one
            found.setdefault(one["range"]["start"]["line"] - 3, one["message"])
        return found

    monkeypatch.setattr("targets.judge.check_python", pyright)
    cases = [
        Case(name=name, schema=case["schema"], valid=case["valid"], invalid=case["invalid"])
        for name, case in CASES.items()
    ]
    verdicts = judge(cases, "python", tmp_path)
    assert {n: v.valid for n, v in verdicts.items() if any(v.valid)} == {}
    assert {n: v.invalid for n, v in verdicts.items() if not all(v.invalid)} == {}
