"""The state, answering over HTTP on loopback as GitHub, Slack, Stripe and two more would."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from codemode.ab import facts, github, slack, stripe
from codemode.ab.routes import ROUTES, Answer
from codemode.ab.state import State
from codemode.testing import FakeReply, FakeRequest, FakeUpstream

PARTS = (github, slack, stripe, facts)
"""Importing them is what fills `ROUTES`."""
TOKEN = "loopback-only"  # noqa: S105 -- opens nothing but this world
KEYED = ("github", "slack", "stripe")
KEYLESS = ("frankfurter", "nager_date")
TOOLSETS = (*KEYED, *KEYLESS)


class World:
    """
    One upstream for a whole experiment; each session gets a state of its own.

    Attributes:
        state: What calls read and change now.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.upstream = FakeUpstream()
        self._lock = threading.Lock()
        for toolset, method, path, answer in ROUTES:
            self.upstream.route(method, f"/{toolset}{path}", self._guarded(toolset, answer))

    def reset(self, state: State) -> None:
        """Begin a session in *state*, which is changed from then on."""
        with self._lock:
            self.state = state
            self.upstream.requests.clear()

    def _guarded(self, toolset: str, answer: Answer) -> Callable[[FakeRequest], Any]:
        def respond(request: FakeRequest) -> Any:
            given = request.headers.get("authorization", "")
            if toolset in KEYED and given != f"Bearer {TOKEN}":
                return FakeReply(status=401, json={"message": "Bad credentials"})
            with self._lock:
                return answer(self.state, request)

        return respond
