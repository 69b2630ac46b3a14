"""Things only a person's own machine can do. No bridge to one exists yet: a clear refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codemode.core.call import LocalRequest, Request, Response, SendContext, Sender
from codemode.core.tool import JsonValue, Schema, Tool
from codemode.errors import InvalidRow, LocalUnavailable

if TYPE_CHECKING:
    from codemode.bindings import SenderSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSpec:
    """*capability*: what the machine would do, such as ``clipboard.read``."""

    capability: str


class LocalBinding:
    via = "local"
    needs_workspace = False

    def parse(self, fields: Mapping[str, Any], *, args: Schema) -> LocalSpec:
        for name in fields:
            if name != "capability":
                raise InvalidRow(
                    f"{name!r} is no field of a local binding.",
                    field=f"binding.{name}",
                    hint="It has one: capability.",
                )
        capability = fields.get("capability")
        if not isinstance(capability, str) or not capability.strip():
            raise InvalidRow("is required, a text.", field="binding.capability")
        return LocalSpec(capability=capability)

    def prepare(
        self, tool: Tool, args: Mapping[str, JsonValue], variables: Mapping[str, str]
    ) -> Request:
        return LocalRequest(capability=tool.binding.spec.capability, arguments=args)

    def read(self, tool: Tool, request: Request, response: Response) -> JsonValue:
        return response.value


BINDING = LocalBinding()


class LocalSender:
    """Refuses. A bridge to a person's machine takes its place once there is one."""

    async def send(self, request: LocalRequest, context: SendContext) -> Response:
        raise LocalUnavailable(
            f"{request.capability!r} can only be done on a person's own machine,"
            " and none is connected.",
            hint="Ask the person to do it, or use a tool that runs here; search finds them.",
        )

    async def close(self) -> None:
        return None


def make_sender(settings: SenderSettings) -> Sender:
    return LocalSender()
