"""
The four ways of showing the tools. Each has words for the prompt, definitions, and an answer
to each call; what is behind them is the same service, policy and world.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from codemode import targets
from codemode.ab.conversation import Asked, ToolDefinition
from codemode.ab.plan import Plan, SurfaceName
from codemode.ab.tasks import MANNER
from codemode.core.index import tool_path
from codemode.core.run import Language, RunResult
from codemode.core.surfaces import mcp_definition
from codemode.core.tool import JsonValue, Tool
from codemode.generate import generate
from codemode.service import Codemode
from codemode.store.generated import read_templates

PREFIX = "mcp__codemode__"
"""How clients name the tools of an MCP server called codemode."""
MAX_ANSWER_CHARS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """A tool call that a script made."""

    tool: str
    state: str
    duration_ms: float
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    What a call came to, as the model is told it.

    Args:
        is_error: The model is told so beside the text.
        failed: Code of the failure for the trace; "" for none. A run that was refused or
            failed is told to the model in the answer's text, and is a failure all the same.
    """

    text: str
    is_error: bool = False
    failed: str = ""
    inner: tuple[Inner, ...] = ()


class AgentTools(Protocol):
    """
    search, describe, check and run, exactly as an agent's client would get them.

    Args:
        definitions: ``{name, description, inputSchema}`` each.
    """

    definitions: Sequence[Mapping[str, Any]]
    instructions: str

    async def call(self, name: str, args: Mapping[str, JsonValue]) -> tuple[str, bool]:
        """The answer's text, and whether it is an error."""
        ...


class Surface(Protocol):
    name: SurfaceName
    system: str
    tools: tuple[ToolDefinition, ...]

    async def call(self, asked: Asked) -> Outcome:
        """Answers whatever the model asks for; never raises for what it wrote."""
        ...


def shown(
    text: str, *, is_error: bool = False, failed: str = "", inner: tuple[Inner, ...] = ()
) -> Outcome:
    """An answer, cut where it is too long, and saying so."""
    if len(text) > MAX_ANSWER_CHARS:
        text = f"{text[:MAX_ANSWER_CHARS]}\n[{len(text) - MAX_ANSWER_CHARS} more characters]"
    failed = failed or ("tool_error" if is_error else "")
    return Outcome(text=text, is_error=is_error, failed=failed, inner=inner)


async def called(codemode: Codemode, tool: Tool, args: Mapping[str, JsonValue]) -> RunResult:
    """One tool call, the same way from sandbox to world as any other."""
    given = "input" if tool.args.get("properties") or args else ""
    script = f"return await {tool_path(tool, 'typescript')}({given});"
    return await codemode.run(script, language="typescript", input=dict(args))


def error_text(result: RunResult) -> str:
    error = result.error
    if error is None:
        return result.status
    message = error.message.removeprefix("ToolError: ")
    return f"{message} {error.hint}".strip()


# -- plain MCP tools -----------------------------------------------------------------------------


class McpSurface:
    """Every tool of the directory as a definition of its own."""

    name: SurfaceName = "mcp"
    system = f"Use the tools to do what the user asks. {MANNER}"

    def __init__(self, codemode: Codemode) -> None:
        self._codemode = codemode
        self._tools: dict[str, Tool] = {}
        definitions = []
        for tool in codemode.directory:
            said = mcp_definition(tool)
            self._tools[said["name"]] = tool
            definitions.append(
                ToolDefinition(
                    name=said["name"], description=said["description"], schema=said["inputSchema"]
                )
            )
        self.tools = tuple(definitions)

    async def call(self, asked: Asked) -> Outcome:
        tool = self._tools.get(asked.name)
        if tool is None:
            return shown(f"There is no tool {asked.name!r}.", is_error=True)
        if asked.args is None:
            return shown("The arguments are no JSON object.", is_error=True)
        result = await called(self._codemode, tool, asked.args)
        if result.status != "succeeded":
            return shown(error_text(result), is_error=True)
        return shown(json.dumps(result.value, ensure_ascii=False))


# -- the legacy dispatcher -----------------------------------------------------------------------


class BadBody(Exception):
    """The text between the pipes does not fit the tool."""


class DispatchSurface:
    """One tool that takes a key and a text with pipes; discovery goes through keys too."""

    name: SurfaceName = "dispatch"
    system = (
        "Use the dispatch tool to do what the user asks. It takes a key and a body; the parts of "
        "the body stand between pipes. The key MANIFEST lists the keys that help you find others. "
        + MANNER
    )
    tools: tuple[ToolDefinition, ...] = (
        ToolDefinition(
            name="dispatch",
            description="Runs KEY with a body of arguments between pipes: a|b|c. "
            "Start with the key MANIFEST.",
            schema={
                "type": "object",
                "required": ["key"],
                "properties": {
                    "key": {"type": "string", "description": "What to run, such as MANIFEST."},
                    "body": {"type": "string", "description": "Arguments: first|second|third."},
                },
                "additionalProperties": False,
            },
        ),
    )

    def __init__(self, codemode: Codemode) -> None:
        self._codemode = codemode
        self._by_key = {key_of(tool): tool for tool in codemode.directory}
        self._discovery: dict[str, Callable[[str], str]] = {
            "MANIFEST": lambda _: (
                "CATEGORIES | TOOLS_IN (category) | TOOLS_SEARCH (words) | DIRECTORY_GET (key)"
            ),
            "CATEGORIES": lambda _: " | ".join(
                name.upper() for name in codemode.directory.toolsets
            ),
            "TOOLS_IN": self._tools_in,
            "TOOLS_SEARCH": self._search,
            "DIRECTORY_GET": self._describe,
        }

    async def call(self, asked: Asked) -> Outcome:
        if asked.name != "dispatch":
            return shown(f"There is no tool {asked.name!r}.", is_error=True)
        args = asked.args or {}
        key, body = args.get("key"), args.get("body", "")
        if not isinstance(key, str) or not isinstance(body, str):
            return shown("ERR|invalid arguments: key and body are texts", is_error=True)
        if key in self._discovery:
            text = self._discovery[key](body.strip())
            return shown(text, is_error=text.startswith("ERR|"))
        tool = self._by_key.get(key)
        if tool is None:
            return shown(f"ERR|no key {key}; TOOLS_SEARCH finds keys", is_error=True)
        try:
            given = arguments(tool, body)
        except BadBody as error:
            return shown(f"ERR|invalid argument: {error}", is_error=True)
        result = await called(self._codemode, tool, given)
        if result.status != "succeeded":
            return shown(f"ERR|{error_text(result)}", is_error=True)
        return shown(json.dumps(result.value, ensure_ascii=False))

    def _tools_in(self, category: str) -> str:
        tools = self._codemode.directory.toolsets.get(category.lower())
        if tools is None:
            return f"ERR|no category {category}"
        return " | ".join(key_of(tool) for tool in tools)

    def _search(self, query: str) -> str:
        found = self._codemode.search(query, limit=10)["tools"]
        directory = self._codemode.directory
        return " | ".join(key_of(directory.get(one["tool"])) for one in found) or "nothing found"

    def _describe(self, key: str) -> str:
        tool = self._by_key.get(key)
        if tool is None:
            return f"ERR|no key {key}"
        parts = (f"${at} = {name}" for at, name in enumerate(order_of(tool), 1))
        return f"# {tool.description}\n# ARGS: {', '.join(parts) or 'none'}"


def key_of(tool: Tool) -> str:
    """``GITHUB_ISSUES_CREATE``."""
    return f"{tool.toolset.name}_{tool.name}".upper()


def order_of(tool: Tool) -> tuple[str, ...]:
    """Argument names as the pipes separate them: the required ones first."""
    required = [name for name in tool.args.get("required", ()) if isinstance(name, str)]
    return tuple(dict.fromkeys([*required, *tool.args.get("properties", {})]))


def arguments(tool: Tool, body: str) -> dict[str, JsonValue]:
    """
    The parts of *body* as arguments; an empty part is an argument left out.

    Raises:
        BadBody: If there are too many, or one is not what its place takes.
    """
    names = order_of(tool)
    parts = body.split("|") if body else []
    if len(parts) > len(names):
        raise BadBody(f"{len(parts)} parts where at most {len(names)} are taken")
    properties = tool.args.get("properties", {})
    return {
        name: _value(name, part.strip(), properties[name])
        for name, part in zip(names, parts, strict=False)
        if part.strip()
    }


def _value(name: str, text: str, schema: Any) -> JsonValue:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = {kind} if isinstance(kind, str) else set(kind or ())
    if "string" in kinds:
        return text
    if "array" in kinds and not text.startswith("["):
        return [part.strip() for part in text.split(",")]
    try:
        return json.loads(text)
    except ValueError:
        if kinds & {"integer", "number", "boolean", "array", "object"}:
            raise BadBody(f"{name} is not {' or '.join(sorted(kinds))}") from None
        return text


# -- search, describe, run; and stubs ------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class ScriptSurface:
    """
    The tools of codemode's own MCP server, or some of them.

    Args:
        only: Which of them; all if empty.
    """

    name: SurfaceName
    system: str
    agent_tools: AgentTools
    only: frozenset[str] = frozenset()
    tools: tuple[ToolDefinition, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.tools = tuple(
            ToolDefinition(
                name=PREFIX + str(one["name"]),
                description=str(one["description"]),
                schema=one["inputSchema"],
            )
            for one in self.agent_tools.definitions
            if not self.only or one["name"] in self.only
        )

    async def call(self, asked: Asked) -> Outcome:
        known = {tool.name for tool in self.tools}
        if asked.name not in known:
            return shown(f"There is no tool {asked.name!r}.", is_error=True)
        if asked.args is None:
            return shown("The arguments are no JSON object.", is_error=True)
        name = asked.name.removeprefix(PREFIX)
        text, is_error = await self.agent_tools.call(name, asked.args)
        if name != "run" or is_error:
            return shown(text, is_error=is_error)
        return shown(text, failed=failure_in(text), inner=calls_in(text))


def calls_in(text: str) -> tuple[Inner, ...]:
    """The calls that a run's answer lists."""
    try:
        calls = json.loads(text)["calls"]
        return tuple(
            Inner(
                tool=str(one["tool"]),
                state=str(one["state"]),
                duration_ms=float(one["duration_ms"]),
                error=one["error"],
            )
            for one in calls
        )
    except (ValueError, KeyError, TypeError):
        return ()


def failure_in(text: str) -> str:
    """Code of the error in a run's answer, or ""."""
    try:
        error = json.loads(text)["error"]
        return "" if error is None else str(error["code"])
    except (ValueError, KeyError, TypeError):
        return ""


def search_surface(agent_tools: AgentTools, plan: Plan) -> Surface:
    system = f"{agent_tools.instructions}\nWrite scripts in {_spelled(plan.language)}. {MANNER}"
    return ScriptSurface(name="search", system=system, agent_tools=agent_tools)


def stubs_surface(codemode: Codemode, agent_tools: AgentTools, plan: Plan) -> Surface:
    """All declarations stand in the prompt; the one tool is run."""
    target = targets.load(plan.language)
    files = generate(codemode.directory, target, read_templates(plan.language)).files
    mark = "#" if plan.language == "python" else "//"
    text = "\n".join(f"{mark} {path}\n{content}" for path, content in files.items())
    system = (
        f"Write one {_spelled(plan.language)} script against the declarations below and run it; "
        "it is type-checked first. Top-level await and return work; what it returns is the "
        f"answer. {MANNER}\n\n{text}"
    )
    return ScriptSurface(
        name="stubs", system=system, agent_tools=agent_tools, only=frozenset({"run"})
    )


def _spelled(language: Language) -> str:
    return "Python" if language == "python" else "TypeScript"


def surfaces(codemode: Codemode, agent_tools: AgentTools, plan: Plan) -> dict[str, Surface]:
    """The plan's surfaces, by name."""
    made: dict[str, Callable[[], Surface]] = {
        "dispatch": lambda: DispatchSurface(codemode),
        "mcp": lambda: McpSurface(codemode),
        "search": lambda: search_surface(agent_tools, plan),
        "stubs": lambda: stubs_surface(codemode, agent_tools, plan),
    }
    return {name: made[name]() for name in plan.surfaces}
