"""HTTP APIs. Decisions are in `codemode.core.http_spec`, ``http_message`` and ``http_answer``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from codemode.core import http_answer, http_message, http_spec
from codemode.core.call import FileValue, Request, Response, Sender
from codemode.core.http_spec import HttpSpec
from codemode.core.tool import JsonValue, Schema, Tool

if TYPE_CHECKING:
    from codemode.bindings import SenderSettings


class HttpBinding:
    via = "http"
    needs_workspace = False

    def parse(self, fields: Mapping[str, Any], *, args: Schema) -> HttpSpec:
        return http_spec.parse(fields, args)

    def prepare(
        self, tool: Tool, args: Mapping[str, JsonValue], variables: Mapping[str, str]
    ) -> Request:
        return http_message.build(tool.binding.spec, args, variables)

    def read(self, tool: Tool, request: Request, response: Response) -> JsonValue | FileValue:
        return http_answer.read(tool, tool.binding.spec, response)


BINDING = HttpBinding()


def make_sender(settings: SenderSettings) -> Sender:
    # Loading rows needs `parse` alone; the HTTP client is imported once something is sent.
    from codemode.bindings._http_sender import HttpSender

    return HttpSender(
        allow_addresses=settings.allow_addresses,
        ca_bundle=settings.ca_bundle,
        max_connections=settings.max_connections,
    )
