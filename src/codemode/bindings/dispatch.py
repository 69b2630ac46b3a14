"""
An older dispatcher that takes one text: a key and arguments between pipes.

``template`` says how the text is built: ``$1`` is the row's first argument (in
the order of ``required``, then of ``properties``), ``$2`` the second, ``$$`` a
dollar sign. The text is posted to ``endpoint`` as ``{"key": ..., "input": ...}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codemode.core import http_answer
from codemode.core.address import Destination
from codemode.core.call import HttpRequest, Request, Response, Sender
from codemode.core.tool import JsonValue, Schema, Tool
from codemode.errors import (
    AddressRefused,
    BadArguments,
    ConfigError,
    InvalidRow,
    UpstreamError,
)

if TYPE_CHECKING:
    from codemode.bindings import SenderSettings

FIELDS = ("endpoint", "key", "template", "credential")
_SLOT = re.compile(r"\$(\$|[0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchSpec:
    """
    Args:
        endpoint: Absolute URL; the operator's ``base_url`` takes its place.
        order: Argument names; ``$1`` is the first.
    """

    endpoint: str
    key: str
    template: str
    order: tuple[str, ...]
    credential: str | None = None


class DispatchBinding:
    via = "dispatch"
    needs_workspace = False

    def parse(self, fields: Mapping[str, Any], *, args: Schema) -> DispatchSpec:
        for name in fields:
            if name not in FIELDS:
                raise InvalidRow(
                    f"{name!r} is no field of a dispatch binding.",
                    field=f"binding.{name}",
                    hint=f"Fields: {', '.join(FIELDS)}.",
                )
        endpoint, key, template = (_text(fields, name) for name in FIELDS[:3])
        try:
            Destination.of(endpoint)
        except AddressRefused as error:
            raise InvalidRow(error.message, field="binding.endpoint") from None
        required = [name for name in args.get("required", ()) if isinstance(name, str)]
        order = tuple(dict.fromkeys([*required, *args.get("properties", {})]))
        for slot in _SLOT.findall(template):
            if slot != "$" and not 1 <= int(slot[:4]) <= len(order):
                raise InvalidRow(
                    f"has ${slot}, but args has {len(order)} arguments.", field="binding.template"
                )
        credential = fields.get("credential")
        if credential is not None and not isinstance(credential, str):
            raise InvalidRow("is the name of a credential.", field="binding.credential")
        return DispatchSpec(
            endpoint=endpoint, key=key, template=template, order=order, credential=credential
        )

    def prepare(
        self, tool: Tool, args: Mapping[str, JsonValue], variables: Mapping[str, str]
    ) -> Request:
        spec: DispatchSpec = tool.binding.spec
        endpoint = variables.get("base_url") or spec.endpoint
        try:
            Destination.of(endpoint)
        except AddressRefused as error:
            raise ConfigError(f"base_url: {error.message}") from None

        def fill(match: re.Match[str]) -> str:
            if match[1] == "$":
                return "$"
            name = spec.order[int(match[1]) - 1]
            return _piece(name, args.get(name))

        # One pass: a value that holds "$2" is a value, not a place.
        text = _SLOT.sub(fill, spec.template)
        body = json.dumps({"key": spec.key, "input": text}, ensure_ascii=False).encode()
        return HttpRequest(
            method="POST",
            url=endpoint,
            headers=(("Content-Type", "application/json"), ("Accept", "application/json")),
            body=body,
            credential=spec.credential,
        )

    def read(self, tool: Tool, request: Request, response: Response) -> JsonValue:
        status = response.status or 0
        value = http_answer.content(response)
        if status >= 400:
            raise UpstreamError(
                f"{tool.id}: the dispatcher answered {status}: {str(value)[:300]}",
                status=status,
                retryable=status in http_answer.RETRYABLE_ALWAYS,
            )
        return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidRow("is required, a text.", field=f"binding.{name}")
    return value


def _piece(name: str, value: JsonValue) -> str:
    """
    Raises:
        BadArguments: For a value that would be read as more than one.
    """
    if value is None:
        return ""
    if isinstance(value, list | dict):
        raise BadArguments(f"{name!r} is not one plain value, which is all this tool takes.")
    text = value if isinstance(value, str) else json.dumps(value)
    if any(mark in text for mark in "|\r\n\0"):
        raise BadArguments(
            f"{name!r} has a pipe, line break or NUL; the dispatcher would split it there."
        )
    return text


BINDING = DispatchBinding()


def make_sender(settings: SenderSettings) -> Sender:
    from codemode.bindings.http import make_sender as make_http_sender

    return make_http_sender(settings)
