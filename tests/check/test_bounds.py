"""Scripts made to be slow to read are read in bounded time, or refused."""

from __future__ import annotations

import pytest

from codemode.core.gate import MAX_FINDINGS, neutralised, refusals
from codemode.core.preview import find_uses, preview
from codemode.core.run import Language

from .world import made, names_of

SLOW: dict[str, tuple[Language, str]] = {
    "aliases-forwards": (
        "typescript",
        "const a0 = pdf;\n" + "".join(f"const a{n + 1} = a{n};\n" for n in range(500)),
    ),
    "aliases-backwards": (
        "typescript",
        "".join(f"function f{n}() {{ a{n + 1} = a{n}; }}\n" for n in reversed(range(500)))
        + "a0 = pdf; a500.text({})",
    ),
    "promises": (
        "typescript",
        "const a0 = pdf.text({});\n"
        + "".join(f"const a{n + 1} = a{n} ?? a{n};\n" for n in range(200))
        + "await a200",
    ),
    "promises-python": (
        "python",
        "a0 = pdf.text()\n"
        + "".join(f"a{n + 1} = a{n} or a{n}\n" for n in range(200))
        + "await a200",
    ),
    "deep-literal": ("typescript", "pdf.text({ a: " + "[" * 470 + "]" * 470 + " })"),
    "deep-pattern": ("python", "(" * 470 + "a" + ",)" * 470 + " = 1\na"),
    "too-deep": ("python", "(" * 5000 + "1" + ")" * 5000),
    "too-long": ("typescript", "1;" * 200_000),
    "many-lost": ("typescript", "pdf.text({});\n" * 1000),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", SLOW)
def test_it_is_answered(name: str):
    language, text = SLOW[name]
    script = made(text, language)
    usage = find_uses(script, names_of(language))
    preview(script, names_of(language), usage)

    assert len(refusals(script, names_of(language), usage, "isolate")) <= 2 * MAX_FINDINGS
    assert len(neutralised(script)) == len(script.runnable)


def test_what_cannot_be_followed_to_its_end_is_open():
    language, text = SLOW["aliases-backwards"]

    assert preview(made(text, language), names_of(language)).is_open
