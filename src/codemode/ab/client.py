"""Talks to the model that the plan names. The key is read once and shown to nobody."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

import httpx

from codemode.ab.conversation import Entry, ModelFault, Said, Spent, ToolDefinition
from codemode.ab.plan import ModelSection
from codemode.ab.wires import WIRES
from codemode.errors import ConfigError, MissingSecret

REFUSED_FOR_NOW = frozenset({429, 503, 529})
"""The service did nothing and says so; asking again repeats nothing."""
MAX_TRIES = 6
MAX_WAIT_S = 60.0
CHARS_PER_TOKEN = 3
"""For services that do not say what a message cost: a rough count, so that caps still hold."""


class HttpModel:
    """
    A model behind an address (`codemode.ab.conversation.Model`).

    Raises:
        MissingSecret: If the variable that should hold the key is not set.
    """

    def __init__(self, section: ModelSection, *, first_wait_s: float = 2.0) -> None:
        key = None
        if section.api_key_env is not None:
            key = os.environ.get(section.api_key_env)
            if not key:
                raise MissingSecret(
                    f"The environment variable {section.api_key_env} is not set.",
                    hint="Set it to the model's key, or leave out api_key_env.",
                )
            if not key.isascii() or any(mark in key for mark in "\r\n\0"):
                raise ConfigError(f"What {section.api_key_env} holds cannot be sent as a key.")
        self._section = section
        self._wire = WIRES[section.api]
        self._key = key
        self._first_wait_s = first_wait_s
        self._client = httpx.AsyncClient(
            headers=self._wire.headers(key),
            timeout=httpx.Timeout(section.timeout_s, connect=min(10.0, section.timeout_s)),
            follow_redirects=False,
        )

    def __repr__(self) -> str:
        return f"HttpModel({self._section.api} {self._section.name!r})"

    async def say(
        self, system: str, tools: tuple[ToolDefinition, ...], history: list[Entry], *, seed: int
    ) -> Said:
        """See `Model`. Only what the service refused for now is asked again."""
        body = self._wire.request(self._section, system, tools, history, seed=seed)
        url = self._section.base_url.rstrip("/") + self._wire.path
        wait_s = self._first_wait_s
        for attempt in range(1, MAX_TRIES + 1):
            try:
                answer = await self._client.post(url, json=body)
            except httpx.HTTPError as error:
                raise ModelFault(f"{type(error).__name__} at the model's address") from None
            if answer.status_code not in REFUSED_FOR_NOW or attempt == MAX_TRIES:
                break
            await asyncio.sleep(min(MAX_WAIT_S, _retry_after(answer) or wait_s))
            wait_s *= 2
        if answer.status_code != 200:
            raise ModelFault(f"HTTP {answer.status_code}: {self._harmless(answer.text)}")
        try:
            said = self._wire.read(answer.json())
        except ValueError:
            raise ModelFault(f"The answer is not JSON: {self._harmless(answer.text)}") from None
        if said.spent.total:
            return said
        guess = Spent(
            input=len(answer.request.content) // CHARS_PER_TOKEN,
            output=len(answer.content) // CHARS_PER_TOKEN,
        )
        return replace(said, spent=guess)

    def _harmless(self, text: str) -> str:
        """The start of an answer, without the key if it says it again."""
        text = text.replace(self._key, "***") if self._key else text
        return " ".join(text[:300].split())

    async def close(self) -> None:
        await self._client.aclose()


def _retry_after(answer: httpx.Response) -> float | None:
    try:
        return max(0.0, float(answer.headers.get("retry-after", "")))
    except ValueError:
        return None
