"""One session: a prompt, then model and tools in turn until the model has no more to ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from codemode.ab.conversation import (
    Answered,
    Asked,
    Entry,
    Model,
    ModelFault,
    Prompt,
    Said,
    Spent,
)
from codemode.ab.shown import Outcome, Surface

End: TypeAlias = Literal["answered", "cut_off", "max_turns", "timed_out", "model_error"]
"""
``cut_off``: the last message reached its own limit of tokens. ``model_error`` is the
service's failure, not the model's: such a session is not finished.
"""

CUT_OFF = frozenset({"length", "max_tokens"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatStep:
    """One message of the model. Times in nanoseconds since 1970."""

    start_ns: int
    end_ns: int
    said: Said


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStep:
    """One call of a tool."""

    start_ns: int
    end_ns: int
    asked: Asked
    outcome: Outcome


Step: TypeAlias = ChatStep | ToolStep


@dataclass(slots=True, kw_only=True)
class Session:
    """
    Everything that was said and done.

    Args:
        fault: Why the model's service broke off, if it did.
    """

    prompt: str
    end: End = "answered"
    fault: str = ""
    steps: list[Step] = field(default_factory=list)
    start_ns: int = 0
    end_ns: int = 0

    @property
    def spent(self) -> Spent:
        chats = [one.said.spent for one in self.steps if isinstance(one, ChatStep)]
        return Spent(
            input=sum(one.input for one in chats),
            cached=sum(one.cached for one in chats),
            output=sum(one.output for one in chats),
        )

    @property
    def n_turns(self) -> int:
        return sum(isinstance(one, ChatStep) for one in self.steps)

    @property
    def n_calls(self) -> int:
        """Calls that the model asked for; those of scripts are inside them."""
        return sum(isinstance(one, ToolStep) for one in self.steps)

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9


async def converse(
    model: Model,
    surface: Surface,
    prompt: str,
    *,
    seed: int,
    max_turns: int,
    timeout_s: float,
    on_spent: Callable[[Spent], None],
    clock_ns: Callable[[], int] = time.time_ns,
) -> Session:
    """
    Let *model* work on *prompt* with the tools of *surface*.

    Calls of one message run one after another, in its order: the world after them then does
    not depend on chance.

    Args:
        on_spent: Told after each message, so that nothing spent is forgotten.
    """
    session = Session(prompt=prompt, start_ns=clock_ns())
    history: list[Entry] = [Prompt(prompt)]

    async def talk() -> End:
        while session.n_turns < max_turns:
            start = clock_ns()
            said = await model.say(surface.system, surface.tools, history, seed=seed)
            on_spent(said.spent)
            session.steps.append(ChatStep(start_ns=start, end_ns=clock_ns(), said=said))
            history.append(said)
            if not said.calls:
                return "cut_off" if said.stop in CUT_OFF else "answered"
            answers = []
            for asked in said.calls:
                start = clock_ns()
                outcome = await surface.call(asked)
                session.steps.append(
                    ToolStep(start_ns=start, end_ns=clock_ns(), asked=asked, outcome=outcome)
                )
                answers.append(
                    Answered(
                        id=asked.id, name=asked.name, text=outcome.text, is_error=outcome.is_error
                    )
                )
            history.append(tuple(answers))
        return "max_turns"

    try:
        async with asyncio.timeout(timeout_s):
            session.end = await talk()
    except TimeoutError:
        session.end = "timed_out"
    except ModelFault as fault:
        session.end, session.fault = "model_error", str(fault)
    session.end_ns = clock_ns()
    return session
