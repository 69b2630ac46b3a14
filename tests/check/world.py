"""A small directory and its stubs in both languages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from codemode import targets
from codemode.core.run import CheckReport, Language
from codemode.core.script import Script, normalise
from codemode.core.tool import Binding, Directory, Effect, Tool, Toolset
from codemode.core.usage import ToolNames
from codemode.generate import generate
from codemode.store.generated import read_templates

TEXT = {"type": "string"}
ISSUE = {
    "type": "object",
    "required": ["number", "title", "state", "labels", "closed_by", "created_at", "comments"],
    "properties": {
        "number": {"type": "integer"},
        "title": TEXT,
        "state": {"enum": ["open", "closed"]},
        "labels": {"type": "array", "items": TEXT},
        "closed_by": {"anyOf": [{"$ref": "#/$defs/User"}, {"type": "null"}]},
        "body": TEXT,
        "created_at": {"type": "string", "format": "date-time"},
        "comments": {"type": "integer"},
    },
}
USER = {"type": "object", "required": ["login"], "properties": {"login": TEXT}}
GITHUB = Toolset(name="github", description="Code.", defs={"Issue": ISSUE, "User": USER})
LETTER = {"type": "object", "required": ["id"], "properties": {"id": TEXT}}
PAGE = {
    "type": "object",
    "required": ["letters"],
    "properties": {
        "letters": {"type": "array", "items": {"$ref": "#/$defs/Letter"}},
        "next_cursor": {"type": ["string", "null"]},
    },
}
MAIL = Toolset(name="mail_box", description="Letters.", defs={"Letter": LETTER})
PDF = Toolset(name="pdf", description="Papers.")


def tool(
    toolset: Toolset,
    name: str,
    effect: Effect,
    required: dict[str, Any],
    optional: dict[str, Any] | None = None,
    returns: dict[str, Any] | None = None,
    **more: Any,
) -> Tool:
    return Tool(
        toolset=toolset,
        name=name,
        description=f"Does {name}.",
        when_to_use=f"Somebody asked for {name}.",
        args={
            "type": "object",
            "required": sorted(required),
            "properties": required | (optional or {}),
            "additionalProperties": False,
        },
        returns=returns,
        effect=effect,
        binding=Binding(via="http", spec=None),
        **more,
    )


REPO = {"owner": TEXT, "repo": TEXT}
ISSUES = {"type": "array", "items": {"$ref": "#/$defs/Issue"}}
FILE = {"type": "string", "format": "file"}
DIRECTORY = Directory(
    [
        tool(GITHUB, "issues_create", "write", REPO | {"title": TEXT}, {"body": TEXT},
             {"$ref": "#/$defs/Issue"}),
        tool(GITHUB, "issues_list", "read", REPO,
             {"state": {"enum": ["open", "closed", "all"]}, "per_page": {"type": "integer"}},
             ISSUES),
        tool(GITHUB, "issues_get", "read", REPO | {"number": {"type": "integer"}}, None,
             {"$ref": "#/$defs/Issue"}),
        tool(GITHUB, "repos_delete", "destructive", REPO, None, {"type": "null"}),
        tool(MAIL, "send", "write", {"to": {"type": "array", "items": TEXT}, "text": TEXT},
             {"from": TEXT}, {"$ref": "#/$defs/Letter"},
             python_names={"from": "sender"}),
        tool(MAIL, "page", "read", {}, {"cursor": TEXT, "limit": {"type": "integer"}}, PAGE),
        tool(PDF, "merge", "write", {"paths": {"type": "array", "items": FILE}, "out": FILE}, None,
             FILE),
        tool(PDF, "text", "read", {"path": FILE}, {"pages": {"type": "array", "items":
             {"type": "integer"}}}, {"type": "array", "items": TEXT}),
    ]
)  # fmt: skip

STUBS = {
    language: generate(DIRECTORY, targets.load(language), read_templates(language)).files
    for language in ("typescript", "python")
}
"""One object a language for all tests: checkers compare stubs by identity."""


def names_of(language: Language) -> ToolNames:
    target = targets.load(language)
    return ToolNames(DIRECTORY, target.toolset_name, target.tool_name)


def made(text: str, language: Language) -> Script:
    return normalise(text, language, toolsets=names_of(language).toolsets)


Check = Callable[..., Awaitable[CheckReport]]
