"""One check of one script: gate, compiler, preview, and the answer a model can act on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from codemode.check import Checker
from codemode.core import gate
from codemode.core.gate_python import NEEDS_CONTAINER, ONLY_TYPE
from codemode.core.gate_typescript import NO_PATH
from codemode.core.names import parameters
from codemode.core.nearest import nearest
from codemode.core.preview import find_uses, preview
from codemode.core.run import CheckReport, Diagnostic
from codemode.core.script import Script
from codemode.core.script_typescript import HOST_FUNCTIONS
from codemode.core.usage import HOST_CALLS, ToolNames, Usage
from codemode.targets import Target

_SYNTAX = re.compile(r"TS1\d{3}|TS17\d{3}|invalid-syntax")
_PROMISE = re.compile(r"Promise<|CoroutineType\[|unused-awaitable")
_MISSING_MODULE = {"TS2307", "TS2792", "TS2591", "TS2580", "import-not-found", "unresolved-import"}
_ATTRIBUTE = re.compile(r"type `(\w+)` has no attribute `(\w+)`")
_MODULE = re.compile(r"<module 'tools|typeof import\(\"tools\"\)")
_TOOLSET = re.compile(r"`tools\.(\w+)`")
_NOT_A_TOOL = {
    "not-subscriptable": 'Toolsets and tools are names, not keys: tools.github, not ["github"].',
    "not-callable": "A toolset is no tool: call one of its tools.",
    "TS2349": "A toolset is no tool: call one of its tools.",
}
_NETWORK = "scripts have no network. Call a tool instead."
_HOST = "scripts see nothing of the host. Use a tool, or the run's `input`."
_ABSENT = {
    **dict.fromkeys(("fetch", "XMLHttpRequest", "WebSocket", "axios"), _NETWORK),
    "process": "there is no process. To fail, `throw` an error; to end, `return` a value; "
    "settings come in `input`.",
    **dict.fromkeys(("Deno", "Bun", "window", "document", "localStorage"), _HOST),
    "Temporal": "use Date, or Intl.DateTimeFormat.",
    **dict.fromkeys(("setImmediate", "global"), "use setTimeout, or globalThis."),
    "Buffer": "use Uint8Array, TextEncoder, btoa and atob.",
    "require": 'import from "tools".',
    **dict.fromkeys(("module", "exports"), "end the script with the value it returns."),
}

_STUB = re.compile(r"^tools/(\w+)\.pyi$")
_NAMESPACE = re.compile(r"export namespace (\w+)")
_QUOTED = re.compile(r"['`\"]([^'`\"]+)['`\"]")
_NAME = re.compile(r"[^\W\d]\w*")

_UNREADABLE = Diagnostic(
    line=1, column=1, severity="error", code="syntax", message="The script cannot be read."
)
_UNKNOWN_NAME = {"TS2304", "TS2552", "TS2580", "TS2584", "TS2591", "unresolved-reference"}
_UNKNOWN_IMPORT = {"TS2305", "TS2724", "TS2614", "missing-module-member"}
_OF_TYPES = {
    "call-non-callable",
    "invalid-argument-type",
    "isinstance-against-typed-dict",
    "missing-typed-dict-key",
}
_CALLING = {
    "too-many-positional-arguments": ". Tools take keyword arguments only: name each one.",
    "TS2554": " Tools take one object: `tool({ name: value })`.",
    "TS2345": " Tools take one object: `tool({ name: value })`.",
}
_UNKNOWN_ARGUMENT = {"unknown-argument", "TS2353", "TS2561"}


async def check_script(
    script: Script,
    *,
    names: ToolNames,
    target: Target,
    stubs: Mapping[str, str],
    checker: Checker,
    engine: str,
    timeout_s: float,
) -> CheckReport:
    """
    Check *script* as it would run on *engine*.

    Args:
        names: Of the directory that *stubs* were made from, in *target*'s identifiers.
        stubs: The same object means unchanged stubs (`codemode.check.Checker.check`).

    Raises:
        CheckUnavailable: If the compiler is missing, died, or passed *timeout_s*.
    """
    usage = find_uses(script, names)
    found = [*script.problems]
    if not script.problems:
        found = await _errors(script, names, usage, stubs, checker, engine, timeout_s)
        found = [_explained(script, one, names, target, usage, stubs) for one in found]
    found += script.notes
    found.sort(key=lambda one: (one.line, one.column, one.severity != "error", one.code))
    return CheckReport(
        language=script.language,
        engine=engine,
        diagnostics=tuple(found),
        preview=preview(script, names, usage),
    )


async def _errors(
    script: Script,
    names: ToolNames,
    usage: Usage,
    stubs: Mapping[str, str],
    checker: Checker,
    engine: str,
    timeout_s: float,
) -> list[Diagnostic]:
    if script.syntax_error is not None or usage.source.root.has_error:
        told = await checker.check(script, stubs, engine=engine, timeout_s=timeout_s)
        # The gate cannot vouch for what did not parse, so nothing but its syntax is answered.
        told = [one for one in told if _SYNTAX.fullmatch(one.code)]
        return told[:5] or [script.syntax_error or _UNREADABLE]
    refused = gate.refusals(script, names, usage, engine)
    if any(one.code == NO_PATH for one in refused):
        return refused
    told = await checker.check(script, stubs, engine=engine, timeout_s=timeout_s)
    told = told[: gate.MAX_FINDINGS]
    return refused + [one for one in told if not _is_said(one, refused)]


def _is_said(one: Diagnostic, refused: list[Diagnostic]) -> bool:
    """Whether the gate said the same of that line in better words."""
    for other in refused:
        if not other.line <= one.line <= max(other.line, other.end_line):
            continue
        if other.code == "no-await" and (
            one.code in ("no-await", "no-matching-overload")
            or _PROMISE.search(one.message + one.code)
        ):
            return True
        if other.code == ONLY_TYPE and one.code in _OF_TYPES:
            return True
        if other.code in ("no-module", NEEDS_CONTAINER) and one.code in _MISSING_MODULE:
            return True
    return False


def _explained(
    script: Script,
    one: Diagnostic,
    names: ToolNames,
    target: Target,
    usage: Usage,
    stubs: Mapping[str, str],
) -> Diagnostic:
    """Nearest names, and the tool concerned with its signature."""
    if one.severity == "warning" or one.code == ONLY_TYPE:
        return one
    offset = script.runnable_offset(one.line, one.column)
    for path, node in usage.unknown:
        if usage.source.start(node) <= offset <= usage.source.end(node) and one.code != "no-await":
            return _unknown_tool(script, one, path, names)
    if one.code in _UNKNOWN_NAME | _UNKNOWN_IMPORT:
        return _unknown_name(script, one, offset, names, stubs)
    one = _dictionary(one, stubs)
    if _MODULE.search(one.message) and one.code in _NOT_A_TOOL:
        message = f"{one.message}. {_NOT_A_TOOL[one.code]}"
        return replace(one, message=message.replace("..", "."))
    if one.code in _MISSING_MODULE and (inside := _TOOLSET.search(one.message)):
        near = nearest(inside[1], names.toolsets)
        message = f"There is no toolset {inside[1]}." + _nearest(near) + f" {_search(script)}"
        return replace(one, message=message, suggestions=tuple(near))
    if one.code == "no-await" and one.tool is not None:
        path = next(use.path for use in usage.uses if names.id_of(use.path) == one.tool)
        found = names.find(path)
        return replace(one, signature=target.signature(found)) if found else one
    use = usage.at_call(offset)
    tool = names.find(use.path) if use else None
    if use is None or tool is None:
        if use is not None and use.path in HOST_CALLS:
            message = one.message + _calling(one)
            return replace(one, message=message, tool=HOST_CALLS[use.path])
        return one
    suggestions = one.suggestions
    if one.code in _UNKNOWN_ARGUMENT and not suggestions:
        quoted = _QUOTED.search(one.message)
        arguments = tuple(tool.args.get("properties", {}))
        if script.language == "python":
            arguments = tuple(parameters(tool, arguments).values())
        suggestions = tuple(nearest(quoted[1], arguments, cutoff=0.5)) if quoted else ()
    return replace(
        one,
        message=one.message + _calling(one),
        tool=tool.id,
        signature=target.signature(tool),
        suggestions=suggestions,
    )


def _calling(one: Diagnostic) -> str:
    """How tools are called, unless the call has that form already."""
    return "" if one.message.startswith("Argument of type '{") else _CALLING.get(one.code, "")


def _unknown_tool(script: Script, one: Diagnostic, path: str, names: ToolNames) -> Diagnostic:
    toolset, _, name = path.partition(".")
    inside = names.by_toolset.get(toolset, {})
    near = [f"{toolset}.{found}" for found in nearest(name, inside, cutoff=0.5)]
    near += [found for found in nearest(path, names.paths) if found not in near]
    message = f"There is no tool {path}."
    if toolset not in names.by_toolset:
        message = f"There is no toolset {toolset}."
        near = nearest(toolset, names.toolsets)
    message += _nearest(near[:3])
    return replace(one, message=f"{message} {_search(script)}", suggestions=tuple(near[:3]))


def _nearest(near: list[str]) -> str:
    return f" Nearest: {', '.join(near)}." if near else ""


def _search(script: Script) -> str:
    call = 'search(query="...")' if script.language == "python" else 'search({ query: "..." })'
    return f"Find tools with `await {call}`."


def _unknown_name(
    script: Script, one: Diagnostic, offset: int, names: ToolNames, stubs: Mapping[str, str]
) -> Diagnostic:
    """A name that nothing binds: a toolset spelled wrongly, a type, or nothing at all."""
    word = _NAME.match(script.typed, offset)
    name = word[0] if word else ""
    known = [*names.toolsets, *HOST_FUNCTIONS]
    inside = _TOOLSET.search(one.message)
    if inside is not None and inside[1] in names.by_toolset and not name[:1].isupper():
        return _unknown_tool(script, one, f"{inside[1]}.{name}", names)
    near = nearest(name, known, cutoff=0.65) if name else []
    message = one.message if one.message.endswith((".", "?")) else one.message + "."
    holders = _holders(script, name, stubs) if name[:1].isupper() else []
    if holders and not (inside and inside[1] in holders):
        return _type_of_toolset(script, one, name, holders)
    if inside is not None and name[:1].isupper():
        types = re.findall(
            r"^(?:class |type )?([A-Z]\w*) ?[(:=\[]", stubs.get(_stub(inside[1]), ""), re.M
        )
        near = nearest(name, sorted(set(types)), cutoff=0.6)
        message = f"{inside[1]} has no type {name}.{_nearest(near)}"
        return replace(one, message=message, suggestions=tuple(near))
    if name in _ABSENT:
        message = f"{name} is not available: {_ABSENT[name]}"
    elif near:
        message += f" Nearest in tools: {', '.join(near)}."
    elif word is not None and script.typed.startswith(".", word.end()):
        message += f" There is no toolset of that name. {_search(script)}"
    elif one.code in _UNKNOWN_IMPORT:
        shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
        message += f" It has {shown}. {_search(script)}"
    suggestions = tuple(dict.fromkeys([*near, *one.suggestions]))[:3]
    return replace(one, message=message, suggestions=suggestions)


def _stub(toolset: str) -> str:
    return f"tools/{toolset}.pyi"


def _holders(script: Script, name: str, stubs: Mapping[str, str]) -> list[str]:
    """Toolsets that have a type of that name."""
    if script.language == "python":
        declares, holds = re.compile(rf"^(?:class |type )?{name} ?[(:=\[]", re.M), _STUB
    else:
        declares, holds = re.compile(rf"export (?:type|interface) {name}\b"), _NAMESPACE
    found = []
    for path, text in sorted(stubs.items()):
        where = holds.search(path if script.language == "python" else text)
        if where is not None and where[1] != "__init__" and declares.search(text):
            found.append(where[1])
    return found


def _type_of_toolset(script: Script, one: Diagnostic, name: str, holders: list[str]) -> Diagnostic:
    """``Issue``, where ``github.Issue`` is meant."""
    near = [f"{toolset}.{name}" for toolset in holders[:3]]
    message = f"{name} is a type of {', '.join(holders[:3])}: write {' or '.join(near)}"
    if script.language == "python":
        message += f", or `from tools.{holders[0]} import {name}`"
    elif one.code in _UNKNOWN_IMPORT:
        message += f', with `import {{ {holders[0]} }} from "tools"`'
    return replace(one, message=f"{message}.", suggestions=tuple(near))


def _dictionary(one: Diagnostic, stubs: Mapping[str, str]) -> Diagnostic:
    """``issue.title`` on a TypedDict, which has keys."""
    found = _ATTRIBUTE.search(one.message)
    if found is None or not any(f"class {found[1]}(TypedDict" in text for text in stubs.values()):
        return one
    message = f'{one.message}. {found[1]} is a dictionary: write ["{found[2]}"].'
    return replace(one, message=message)
