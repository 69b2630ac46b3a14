"""
The gate's own rules: what neither compiler covers, or could be talked out of.

Comments never reach a checker, only ``tools`` and the engine's own modules can be
imported, what an engine lacks is said before it runs, and a forgotten ``await`` is
an error in both languages.
"""

from __future__ import annotations

import re
from dataclasses import replace

from codemode.core import awaits_python, awaits_typescript, gate_python, gate_typescript
from codemode.core.run import Diagnostic
from codemode.core.script import Script
from codemode.core.script_python import imported_types
from codemode.core.syntax import Source, blank, read
from codemode.core.usage import Finding, ToolNames, Usage

MAX_FINDINGS = 50
"""More of one kind help nobody, and each costs time."""

_SUPPRESSION = re.compile(
    r"@ts-(?=ignore|nocheck|expect-error)|#(?=\s*(?:type|ty|pyright|mypy)\s*:)", re.IGNORECASE
)


def neutralised(script: Script) -> str:
    """
    The runnable form as a checker may see it: no comment is left, nothing moves.

    A checker takes orders from comments, in more spellings than anyone lists. What
    still looks like one (a text that two parsers read differently) is defaced too.
    """
    source = read(script.typed or script.runnable, script.language)
    pieces: list[str] = []
    done = 0
    for node in source.walk():
        if node.type in ("comment", "hash_bang_line", "html_comment"):
            start, end = source.start(node), source.end(node)
            if start < done:
                continue
            pieces += (source.text[done:start], blank(source.text[start:end]))
            done = end
    text = "".join(pieces) + source.text[done:]
    return _SUPPRESSION.sub(lambda match: match[0][:-1] + "_", text)


def refusals(script: Script, names: ToolNames, usage: Usage, engine: str) -> list[Diagnostic]:
    """
    Broken rules, in submitted lines and columns. All are errors.

    Args:
        usage: Of *script*'s runnable form.
        engine: ``isolate`` or ``container`` (``fake`` has what the container has).
    """
    source = usage.source
    if script.language == "python":
        types = imported_types(read(script.typed or script.runnable, "python"))
        found = gate_python.refusals(source, names, types, in_monty=engine == "isolate")
        forgotten = awaits_python.find_forgotten(source, usage)
    else:
        found = gate_typescript.refusals(source, names)
        forgotten = awaits_typescript.find_forgotten(source, usage)
    placed = [_placed(script, source, one) for one in found[:MAX_FINDINGS]]
    for lost in forgotten[:MAX_FINDINGS]:
        diagnostic = _placed(script, source, Finding(lost.node, "no-await", lost.message))
        use = usage.at_call(source.start(lost.call))
        line, _ = script.locate(source.start(lost.call))
        if line != diagnostic.line:
            diagnostic = replace(diagnostic, message=f"{lost.message} The call is on line {line}.")
        placed.append(replace(diagnostic, tool=names.id_of(use.path) if use else None))
    return placed


def _placed(script: Script, source: Source, finding: Finding) -> Diagnostic:
    line, column = script.locate(source.start(finding.node))
    end_line, end_column = script.locate(source.end(finding.node))
    return Diagnostic(
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        severity="error",
        code=finding.code,
        message=finding.message,
    )
