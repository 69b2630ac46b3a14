"""
A policy file: TOML, read strictly, in the order in which it decides.

    max_calls = 50                       # optional

    [[deny]]                             # deny rules come first, wherever they stand
    tools = ["*.delete_*"]

    [[rule]]                             # then the first match decides
    tools = ["github.*"]
    effects = ["read"]
    action = "allow"                     # allow, ask or deny

What nothing matches is denied.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codemode.core.policy import EFFECTS, Policy, Rule
from codemode.core.tool import Effect
from codemode.errors import ConfigError

_PATTERN = r"^[a-z0-9_*?\[\]!-]+(\.[a-z0-9_*?\[\]!-]+)?$"


class _Deny(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    tools: list[str] = Field(min_length=1)
    effects: list[Effect] = Field(default_factory=lambda: sorted(EFFECTS), min_length=1)


class _Rule(_Deny):
    tools: list[str] = Field(default_factory=lambda: ["*"], min_length=1)
    action: Literal["allow", "ask", "deny"]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    max_calls: int | None = Field(default=None, ge=0)
    deny: list[_Deny] = Field(default_factory=list)
    rule: list[_Rule] = Field(default_factory=list)


def read_policy(path: Path) -> Policy:
    """
    Read a policy file.

    Raises:
        ConfigError: Naming file and line, and what is allowed there.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"The policy file {path} cannot be read: {why}.") from None
    return parse_policy(text, origin=str(path))


def parse_policy(text: str, *, origin: str) -> Policy:
    """
    A policy from its text; *origin* names it in messages and audit events.

    Raises:
        ConfigError: As `read_policy`.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{origin}: not TOML: {error}") from None
    try:
        file = _File.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        raise _wrong(text, origin, first["loc"], first["type"], first["msg"]) from None
    name = Path(origin).name
    rules: list[Rule] = []
    for index, deny in enumerate(file.deny):
        line = _line(text, ("deny", index))
        rules.append(_made("deny", deny, f"{name}:{line}", origin, line))
    for index, rule in enumerate(file.rule):
        line = _line(text, ("rule", index))
        rules.append(_made(rule.action, rule, f"{name}:{line}", origin, line))
    return Policy(rules=tuple(rules), max_calls=file.max_calls)


def _made(
    action: Literal["allow", "ask", "deny"], given: _Deny, label: str, origin: str, line: int
) -> Rule:
    for pattern in given.tools:
        if not re.fullmatch(_PATTERN, pattern):
            raise ConfigError(
                f"{origin}, line {line}: {pattern!r} is no pattern over tool ids.",
                hint='Such as "github.*", "github.issues_create" or "*.delete_*".',
            )
    return Rule(
        action=action, tools=tuple(given.tools), effects=frozenset(given.effects), label=label
    )


def _wrong(text: str, origin: str, loc: tuple[int | str, ...], kind: str, why: str) -> ConfigError:
    where = ".".join(str(part) for part in loc)
    line = _line(text, loc)
    if kind == "extra_forbidden":
        model: type[BaseModel] = _File
        if len(loc) > 1:
            model = _Deny if loc[0] == "deny" else _Rule
        return ConfigError(
            f"{origin}, line {line}: unknown key {str(loc[-1])!r}.",
            hint=f"Known here: {', '.join(model.model_fields)}.",
        )
    return ConfigError(f"{origin}, line {line}: {where}: {why}.")


def _line(text: str, loc: tuple[int | str, ...]) -> int:
    """Where ``(table, index, key)`` stands, from 1. tomllib keeps no positions, so it is sought."""
    lines = text.splitlines()
    start, end = 0, len(lines)
    if len(loc) > 1 and isinstance(loc[1], int):
        header = re.compile(rf"\s*\[\[\s*{re.escape(str(loc[0]))}\s*\]\]")
        heads = [number for number, line in enumerate(lines) if header.match(line)]
        if loc[1] >= len(heads):
            return 1
        start = heads[loc[1]]
        later = [n for n in range(start + 1, len(lines)) if re.match(r"\s*\[", lines[n])]
        end = min(later, default=len(lines))
    keys = [str(part) for part in loc if isinstance(part, str)]
    key = re.compile(rf"\s*(\[+\s*)?[\"']?{re.escape(keys[-1])}[\"']?\s*[=\]]")
    if len(loc) > 2 or len(loc) == 1:
        for number in range(start, end):
            if key.match(lines[number]):
                return number + 1
    return start + 1
