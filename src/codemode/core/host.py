"""The host's own functions, as tools: their stubs are made like any other's."""

from __future__ import annotations

from codemode.core.tool import RESERVED_TOOLSET, Binding, Tool, Toolset

HOST = Toolset(name=RESERVED_TOOLSET, description="Finding tools from inside a script.")

SEARCH = Tool(
    toolset=HOST,
    name="search",
    description="Find tools by what they do.",
    when_to_use="It is not clear which tool does the job.",
    args={
        "type": "object",
        "required": ["query"],
        "properties": {
            "query": {"type": "string", "description": "A few words that describe the job."},
            "limit": {"type": "integer", "default": 10, "minimum": 1, "maximum": 50},
        },
    },
    returns={
        "type": "object",
        "required": ["tools", "n_shown", "n_matching"],
        "properties": {
            "tools": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": [
                        "tool",
                        "path",
                        "signature",
                        "description",
                        "when_to_use",
                        "effect",
                    ],
                    "properties": {
                        "tool": {"type": "string", "description": "The tool's id."},
                        "path": {"type": "string", "description": "How a script calls it."},
                        "signature": {"type": "string"},
                        "description": {"type": "string"},
                        "when_to_use": {"type": "string"},
                        "effect": {"enum": ["read", "write", "destructive"]},
                    },
                },
            },
            "n_shown": {"type": "integer", "description": "How many are listed here."},
            "n_matching": {"type": "integer", "description": "How many fit the query."},
        },
    },
    effect="read",
    binding=Binding(via="host", spec=None),
    idempotent=True,
)

DESCRIBE = Tool(
    toolset=HOST,
    name="describe",
    description="Show the declarations of tools, with their types.",
    when_to_use="The exact arguments or the shape of a result are needed.",
    args={
        "type": "object",
        "required": ["names"],
        "properties": {
            "names": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Paths as search lists them, or tool ids.",
            }
        },
    },
    returns={
        "type": "object",
        "required": ["tools", "unknown"],
        "properties": {
            "tools": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["tool", "path", "declaration"],
                    "properties": {
                        "tool": {"type": "string"},
                        "path": {"type": "string"},
                        "declaration": {"type": "string"},
                    },
                },
            },
            "unknown": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name", "nearest"],
                    "properties": {
                        "name": {"type": "string"},
                        "nearest": {"type": "array", "items": {"type": "string"}},
                    },
                },
                "description": "Names that are no tool, with the nearest that are.",
            },
        },
    },
    effect="read",
    binding=Binding(via="host", spec=None),
    idempotent=True,
)

HOST_TOOLS = (DESCRIBE, SEARCH)
