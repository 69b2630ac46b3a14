"""What a model may submit as TypeScript: normalised, then really run by Node."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from codemode.check.toolchain import node_program

from .world import made

NOTHING = object()
"""The script returns undefined."""

FENCED = "```{label}\nconst x = 20;\nx + 22\n```"

RUNS: dict[str, tuple[str, Any]] = {
    # id: (submitted, value)
    **{
        f"C1-{label or 'none'}": (FENCED.format(label=label), 42)
        for label in (
            "js",
            "javascript",
            "ts",
            "typescript",
            "tsx",
            "jsx",
            "",
            "ts   ",
            "TypeScript",
        )
    },
    "C3-before": ("Here's what I'd do:\n\n```ts\n1 + 1\n```", 2),
    "C3-after": ("```ts\n1 + 1\n```\nThis adds one and one; it's quick.", 2),
    "C3-around": ("Sure!\n\n```ts\n1 + 1\n```\n\nDone. Anything else?", 2),
    "C3-two-blocks": (
        "```sh\nnpm i\n```\nthen\n```ts\nconst a = 3;\na * 2\n```\nprints\n```json\n6\n```",
        6,
    ),
    "C3-indented": ("1. Do this:\n\n   ```ts\n   const s = 4;\n   s\n   ```\n", 4),
    "C3-unclosed": ("```ts\nconst a = 5;\na", 5),
    "C5-string": ('const doc = "```ts";\ndoc + "```"', "```ts```"),
    "C5-template": ("const doc = `a\n~~~ts\ninside\n~~~\nb`;\ndoc", "a\n~~~ts\ninside\n~~~\nb"),
    "C5-comment": ("/*\n```ts\n1\n```\n*/\nconst a = 7;\na", 7),
    "C5-inside": (
        "````md\n```ts\nconst no = 1;\n```\n````\n```ts\nconst yes = 123456789;\nyes\n```",
        123456789,
    ),
    "C7-tilde": ("~~~ts\n8\n~~~", 8),
    "C7-shebang": ("#!/usr/bin/env node\n9", 9),
    "C7-bom": ("\ufeff10", 10),
    "C7-bom-shebang": ("\ufeff#!/usr/bin/env node\n11", 11),
    "C7-shebang-bom": ("#!/usr/bin/env node\n\ufeff12", 12),
    "C9": ("async () => 1; // comment", 1),
    "C9-block": ("async () => {\n  return 13;\n}", 13),
    "C9-sync": ("() => 14", 14),
    "C9-typed": ("async (): Promise<number> => 16", 16),
    "C11-arrow": ("export default async () => 17;", 17),
    "C11-parens": ("export default (async () => 18);", 18),
    "C11-anonymous": ("export default async function () {\n  return 19;\n}", 19),
    "C11-named": ("export default async function main() {\n  return 20;\n}", 20),
    "C11-expression": ("export default 3 * 7;", 21),
    "C11-identifier": ("const run = async () => 22;\nexport default run;", 22),
    "C11-as-default": ("const run = async () => 23;\nexport { run as default };", 23),
    "C11-value": ("const answer = { n: 24 };\nexport default answer;", {"n": 24}),
    "C11-exports": ("export const a = 25;\nexport function f() { return a; }\nf()", 25),
    "C13-alone": ("const main = async () => {\n  return 26;\n};", 26),
    "C13-bare": ("const main = async () => 27;\nmain", 27),
    "C13-called": ("const main = async () => 28;\nmain();", 28),
    "C13-awaited": ("async function main() { return 29; }\nawait main();", 29),
    "C13-with-helpers": ("const two = () => 2;\nasync function main() { return two() * 15; }", 30),
    "C13-run": ("async function run(): Promise<number> { return 31; }", 31),
    "C15": ("(async () => 32)();", 32),
    "C15-block": ("(async () => {\n  const a = 33;\n  return a;\n})()", 33),
    "C15-function": ("(async function () { return 34; })();", 34),
    "C17-last": ("const a = 35;\na;", 35),
    "C17-awaited": ("const f = async () => 36;\nawait f()", 36),
    "C17-promise": ("Promise.resolve(37)", 37),
    "C17-template": ("const a = 38;\n`n=${a}`", "n=38"),
    "C17-object": ("const a = 39;\n({ a })", {"a": 39}),
    "C17-bare-object": ("const a = 40;\n{ number: a, twice: a * 2 }", {"number": 40, "twice": 80}),
    "C17-array": ("[1, 2].map((n) => n * 2)", [2, 4]),
    "C17-comment-after": ("const a = 41;\na // the answer", 41),
    "C17-return": ("if (1 > 0) { return 42; }\nreturn 0;", 42),
    "C17-asi": ("const a = 43\na\n", 43),
    "C19-loop": ("for (const x of [1]) { x; }", NOTHING),
    "C19-if": ("if (true) { 1; }", NOTHING),
    "C19-declaration": ("const a = Math.max(1, 2);", NOTHING),
    "C21-annotations": ("const a: number = 44;\na", 44),
    "C21-as": ("const a = { n: 45 } as const;\na.n", 45),
    "C21-generics": ("const same = <T,>(x: T): T => x;\nsame<number>(46)", 46),
    "C21-interface": ("interface A { n: number }\nconst a: A = { n: 47 };\na.n", 47),
    "C21-type": ("type A = { n: number };\nconst a = { n: 48 } satisfies A;\na.n", 48),
    "C21-type-last": ("const a = 49;\ninterface B { n: number }", NOTHING),
    "C27": ("const a = `\n    four\n\ttab\n  ${1 + 1}`;\na", "\n    four\n\ttab\n  2"),
    "C29-crlf": ("const a = `x\r\ny`;\r\na\r\n", "x\ny"),
    "regex": ("const re = /`{3}/;\nre.test('```')", True),
    "use-strict": ('"use strict";\nconst a = 50;\na', 50),
    "class": ("class A { n = 51; }\nnew A().n", 51),
    "unicode": ("const s = '😀é';\n[...s].length", 2),
}

RUNNER = """
const [folder, ...names] = process.argv.slice(2);
const results = {};
for (const name of names) {
  try {
    const value = await (await import(`${folder}/${name}.mts`)).default();
    results[name] = value === undefined ? {} : { value };
  } catch (error) {
    results[name] = { error: String(error) };
  }
}
console.log(JSON.stringify(results));
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Every case run by one Node process."""
    folder = tmp_path_factory.mktemp("scripts")
    numbers = {name: f"case{number}" for number, name in enumerate(RUNS)}
    for name, number in numbers.items():
        script = made(RUNS[name][0], "typescript")
        assert not script.problems, (name, script.problems)
        (folder / f"{number}.mts").write_text(script.runnable, encoding="utf-8")
    (folder / "runner.mjs").write_text(RUNNER)
    done = subprocess.run(
        [node_program(), folder / "runner.mjs", folder, *numbers.values()],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answers = json.loads(done.stdout)
    return {name: answers[number] for name, number in numbers.items()}


@pytest.mark.case("C1", "C3", "C5", "C7", "C9", "C11", "C13", "C15", "C17", "C19", "C21", "C27")
@pytest.mark.parametrize("name", RUNS)
def test_it_runs_and_gives_its_value(name: str, results: dict[str, Any]):
    expected = RUNS[name][1]

    assert results[name] == ({} if expected is NOTHING else {"value": expected})


@pytest.mark.case("C19")
@pytest.mark.parametrize("name", [name for name, case in RUNS.items() if case[1] is NOTHING])
def test_no_result_is_said(name: str):
    script = made(RUNS[name][0], "typescript")

    assert [note.code for note in script.notes] == ["nothing-returned"]


@pytest.mark.case("C11", "C13")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n\n",
        "// only a comment",
        'import { github } from "tools";',
        "interface A { n: number }",
        "export default class A {}",
        "export default class {}",
        "class B {}\nexport default B;",
        "function a() {}\nfunction b() {}",
        "const a = async () => 1;\nconst b = async () => 2;",
    ],
)
def test_nothing_to_run_is_a_problem(text: str):
    script = made(text, "typescript")

    assert [problem.code for problem in script.problems] == ["nothing-to-run"]
    assert "Nothing would be run" in script.problems[0].message


@pytest.mark.parametrize(
    ("text", "toolsets", "added"),
    [
        ("github.issuesList({})", ("github",), ["github"]),
        ('import { github } from "tools";\ngithub.issuesList({})', ("github",), []),
        ('import { github as gh } from "tools";\ngh.issuesList({})', ("github",), []),
        ("const pdf = 1;\npdf", (), []),
        ("const f = (pdf) => pdf.text;\nf({})", (), []),
        ("({ pdf: 1 }).pdf", (), []),
        ("const o = { pdf };\no", ("pdf",), ["pdf"]),
        ("await search({ query: 'x' }); await pdf.text({path:''})", ("pdf",), ["search", "pdf"]),
        ("tools.pdf.text({})", ("github", "mailBox", "pdf"), ["tools"]),
        ('import * as t from "tools";\nt.pdf', ("github", "mailBox", "pdf"), []),
        ("'github.issuesList'", (), []),
        ("// github\n1", (), []),
    ],
)
def test_a_forgotten_import_is_added_with_a_note(text: str, toolsets: Any, added: list[str]):
    script = made(text, "typescript")
    notes = [note.message for note in script.notes if note.code == "import-added"]

    assert script.toolsets == toolsets
    assert len(notes) == len(added)
    assert all(name in note for name, note in zip(added, notes, strict=True))


@pytest.mark.case("C25")
def test_every_kept_character_keeps_its_place():
    text = (
        "Look:\n```ts\r\n#!/usr/bin/env node\r\nimport {\r\n  github, // a\r\n} from 'tools';\r\n"
        "const s = '😀'; s.boom\r\n```\r\n"
    )
    script = made(text, "typescript")

    for here, there, length in script.spans:
        kept = script.runnable[here : here + length]
        meant = script.submitted[there : there + length]
        assert len(kept) == len(meant)
        assert all(a in (b, " ") for a, b in zip(kept, meant, strict=True))
    offset = script.runnable.index("boom")
    assert script.locate(offset) == (7, 18)
    assert script.runnable_offset(7, 18) == offset


def test_line_numbers_stay_in_the_runnable_form():
    script = made('import { pdf } from "tools";\n\nconst a = 1;\nnull.x', "typescript")

    assert script.runnable.split("\n")[2] == "const a = 1;"
