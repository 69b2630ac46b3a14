"""A conversation with a model, in no provider's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from codemode.core.tool import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """*schema* is of the arguments, always an object's."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    A tool call that the model asks for.

    Args:
        args: None where *args_text* is no JSON object.
    """

    id: str
    name: str
    args: Mapping[str, JsonValue] | None
    args_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Tokens of one message, by the provider's count. *input* leaves *cached* out."""

    input: int = 0
    cached: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        return self.input + self.cached + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """
    One message of the model.

    Args:
        raw: The provider's own message, sent back as it came: it may hold more than this.
        model: The name that the service answers under.
        stop: Why it ended, in the provider's word.
    """

    text: str
    calls: tuple[Asked, ...]
    spent: Spent
    raw: Any
    model: str = ""
    stop: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a tool call came to."""

    id: str
    name: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user says. There is one in a session, at its start."""

    text: str


Entry: TypeAlias = "Prompt | Said | tuple[Answered, ...]"


class ModelFault(Exception):
    """The model's service did not give a usable answer. The text has no key in it."""


class Model(Protocol):
    """Something to talk to."""

    async def say(
        self, system: str, tools: tuple[ToolDefinition, ...], history: list[Entry], *, seed: int
    ) -> Said:
        """
        The next message.

        Raises:
            ModelFault: If there is none.
        """
        ...

    async def close(self) -> None: ...
