"""OpenAI's chat completions and Anthropic's messages: requests and answers as values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from codemode.ab.conversation import Answered, Asked, Entry, ModelFault, Prompt, Said, Spent
from codemode.ab.conversation import ToolDefinition as Definition
from codemode.ab.plan import ModelSection


class Wire(Protocol):
    """One provider's form. Pure."""

    path: str

    def headers(self, key: str | None) -> dict[str, str]: ...

    def request(
        self,
        model: ModelSection,
        system: str,
        tools: Sequence[Definition],
        history: Sequence[Entry],
        *,
        seed: int,
    ) -> dict[str, Any]: ...

    def read(self, answer: Any) -> Said:
        """
        Raises:
            ModelFault: If it is no answer of this form.
        """
        ...


def _count(value: Any, name: str) -> int:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, int) and found >= 0 else 0


def _args(text: str) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text) if text.strip() else {}
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


class OpenAIWire:
    path = "/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def request(
        self,
        model: ModelSection,
        system: str,
        tools: Sequence[Definition],
        history: Sequence[Entry],
        *,
        seed: int,
    ) -> dict[str, Any]:
        messages: list[Any] = [{"role": "system", "content": system}]
        for entry in history:
            if isinstance(entry, Prompt):
                messages.append({"role": "user", "content": entry.text})
            elif isinstance(entry, Said):
                messages.append(entry.raw)
            else:
                messages += [
                    {"role": "tool", "tool_call_id": one.id, "content": one.text} for one in entry
                ]
        body: dict[str, Any] = {
            "model": model.name,
            "messages": messages,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.schema,
                    },
                }
                for tool in tools
            ],
            model.output_limit_name: model.max_output_tokens,
        }
        if model.temperature is not None:
            body["temperature"] = model.temperature
        if model.send_seed:
            body["seed"] = seed
        return body

    def read(self, answer: Any) -> Said:
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            calls = tuple(
                Asked(
                    id=str(call["id"]),
                    name=str(call["function"]["name"]),
                    args=_args(call["function"].get("arguments") or ""),
                    args_text=call["function"].get("arguments") or "",
                )
                for call in message.get("tool_calls") or ()
            )
        except (KeyError, IndexError, TypeError, AttributeError):
            raise ModelFault("The answer is no chat completion.") from None
        usage = answer.get("usage") or {}
        cached = _count(usage.get("prompt_tokens_details") or {}, "cached_tokens")
        text = message.get("content")
        return Said(
            text=text if isinstance(text, str) else "",
            calls=calls,
            spent=Spent(
                input=max(0, _count(usage, "prompt_tokens") - cached),
                cached=cached,
                output=_count(usage, "completion_tokens"),
            ),
            raw={
                key: message[key]
                for key in ("role", "content", "tool_calls", "reasoning_content")
                if message.get(key) is not None or key == "content"
            },
            model=str(answer.get("model") or ""),
            stop=str(choice.get("finish_reason") or ""),
        )


class AnthropicWire:
    path = "/v1/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}

    def request(
        self,
        model: ModelSection,
        system: str,
        tools: Sequence[Definition],
        history: Sequence[Entry],
        *,
        seed: int,
    ) -> dict[str, Any]:
        messages: list[Any] = []
        for entry in history:
            if isinstance(entry, Prompt):
                messages.append({"role": "user", "content": entry.text})
            elif isinstance(entry, Said):
                messages.append(entry.raw)
            else:
                messages.append({"role": "user", "content": [_tool_result(one) for one in entry]})
        body: dict[str, Any] = {
            "model": model.name,
            "max_tokens": model.max_output_tokens,
            "system": system,
            "messages": messages,
            "tools": [
                {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
                for tool in tools
            ],
        }
        if model.temperature is not None:
            body["temperature"] = model.temperature
        return body

    def read(self, answer: Any) -> Said:
        try:
            blocks = answer["content"]
            calls = tuple(
                Asked(
                    id=str(block["id"]),
                    name=str(block["name"]),
                    args=block["input"] if isinstance(block["input"], dict) else None,
                    args_text=json.dumps(block["input"], ensure_ascii=False),
                )
                for block in blocks
                if block["type"] == "tool_use"
            )
            text = "".join(str(block["text"]) for block in blocks if block["type"] == "text")
        except (KeyError, TypeError):
            raise ModelFault("The answer is no message.") from None
        usage = answer.get("usage") or {}
        return Said(
            text=text,
            calls=calls,
            spent=Spent(
                input=_count(usage, "input_tokens"),
                cached=_count(usage, "cache_read_input_tokens")
                + _count(usage, "cache_creation_input_tokens"),
                output=_count(usage, "output_tokens"),
            ),
            raw={"role": "assistant", "content": blocks},
            model=str(answer.get("model") or ""),
            stop=str(answer.get("stop_reason") or ""),
        )


def _tool_result(one: Answered) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": one.id, "content": one.text}
    return {**block, "is_error": True} if one.is_error else block


WIRES: Mapping[str, Wire] = {"openai": OpenAIWire(), "anthropic": AnthropicWire()}
