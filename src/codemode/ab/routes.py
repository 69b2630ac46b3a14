"""Where the parts of the world say what they answer to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from codemode.ab.state import State
from codemode.testing import FakeReply, FakeRequest

Answer: TypeAlias = Callable[[State, FakeRequest], Any]
ROUTES: list[tuple[str, str, str, Answer]] = []
"""(toolset, method, path, answer); later ones win."""


def route(toolset: str, method: str, path: str) -> Callable[[Answer], Answer]:
    """Answer *method* on *path* of *toolset*."""

    def keep(answer: Answer) -> Answer:
        ROUTES.append((toolset, method, path, answer))
        return answer

    return keep


def gone(message: str = "Not Found") -> FakeReply:
    return FakeReply(status=404, json={"message": message})
