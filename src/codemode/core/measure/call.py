"""One recorded tool call, whatever the format it was recorded in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from codemode.core.tool import JsonValue

CallClass: TypeAlias = Literal["discovery", "setup", "work", "repair", "unclassified"]
CLASSES: tuple[CallClass, ...] = get_args(CallClass)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCall:
    """
    A call as its trace tells it. What a trace does not tell is None or "", never guessed.

    Args:
        session: The conversation it belongs to; "" where a file holds one.
        name: The tool as the model named it.
        args: Parsed arguments; None where they are missing or cannot be read.
        args_text: The arguments as recorded.
        result: Text of the answer; None where none was recorded.
        is_error: The trace itself marks the answer as an error.
        message: Id of the model's message that asked; calls of one message ran side by side.
        start_s, end_s: Seconds since 1970.
        agent: Who asked: a sub-agent, a service name, a model.
        task: What the session was to do, where the trace has an id for it.
        from_script: Made by a script that another call ran.
        attributes: What else a rule may look at, such as ``mcp.method.name``.
    """

    session: str = ""
    id: str
    name: str | None
    args: JsonValue = None
    args_text: str = ""
    result: str | None = None
    is_error: bool = False
    message: str = ""
    start_s: float | None = None
    end_s: float | None = None
    agent: str = ""
    task: str = ""
    from_script: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def duration_s(self) -> float | None:
        """None where the trace lacks either end."""
        if self.start_s is None or self.end_s is None:
            return None
        return max(0.0, self.end_s - self.start_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """
    What the provider says one model message cost.

    A log may say it again on every line of the message: the last word counts, once.

    Args:
        message: As in the calls that it asked for; "" for a total over a whole session.
        input: Input tokens that were neither read from nor written to a cache.
        cached: Input tokens that were.
    """

    session: str = ""
    message: str = ""
    input: int = 0
    cached: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        return self.input + self.cached + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """
    Something in a trace that could not be read; the rest was.

    Args:
        line: From 1; 0 where the file as a whole is meant.
    """

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.reason}"


Record: TypeAlias = TraceCall | Tokens | Problem
"""What a reader yields, in the order of the trace."""
