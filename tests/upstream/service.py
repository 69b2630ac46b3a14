"""Real operations on loopback: checked against facts, answered by the test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from hmac import compare_digest
from typing import Any

from codemode.testing import FakeReply, FakeRequest, FakeUpstream
from upstream.facts import Operation, Refused, Service, load


class FactUpstream(FakeUpstream):
    """
    Several services under one address, each at ``/NAME``.

    A request that is not exactly one of the service's operations is answered with
    a 400 that says why (401 without the right token), and listed in `refused`.

    Args:
        tokens: Service -> the bearer token it asks for.
    """

    def __init__(self, tokens: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.tokens = dict(tokens or {})
        self.refused: list[tuple[FakeRequest, str]] = []
        self._services: dict[str, Service] = {}
        self._answers: dict[tuple[str, str, str], Any] = {}

    def serve(self, service: str, method: str, path: str, answer: Any) -> None:
        """
        Answer one operation.

        Args:
            path: As in the facts, such as ``/repos/{owner}/{repo}``.
            answer: As for `FakeUpstream.route`.

        Raises:
            LookupError: If the facts know no such operation.
        """
        known = self._service(service).operations
        if not any((found.method, found.path) == (method, path) for found in known):
            raise LookupError(f"{service} has no {method} {path}")
        self._answers[service, method, path] = answer

    def forget(self) -> None:
        """As if just started: nothing served, nothing seen."""
        self._answers.clear()
        self.requests.clear()
        self.refused.clear()

    def _service(self, name: str) -> Service:
        if name not in self._services:
            self._services[name] = load(name)
        return self._services[name]

    def respond(self, request: FakeRequest) -> FakeReply:
        self.requests.append(request)
        name, _, rest = request.path.removeprefix("/").partition("/")
        try:
            service = self._service(name)
        except FileNotFoundError:
            return self._refuse(request, 404, f"no service {name!r}")
        inner = replace(request, path=f"/{rest}")
        given = request.headers.get("authorization", "")
        if service.bearer:
            wanted = f"Bearer {self.tokens[name]}" if name in self.tokens else None
            if wanted is None or not compare_digest(given.encode(), wanted.encode()):
                return self._refuse(request, 401, "Bad credentials")
        elif given:
            return self._refuse(request, 400, "a credential was sent that nobody asked for")
        try:
            operation = service.find(inner)
        except Refused as refused:
            return self._refuse(request, 400, str(refused))
        return self._answer(name, operation, inner)

    def _answer(self, name: str, operation: Operation, request: FakeRequest) -> FakeReply:
        key = (name, operation.method, operation.path)
        if key not in self._answers:
            return self._refuse(request, 404, f"nothing is served for {' '.join(key)}")
        answer = self._answers[key]
        if callable(answer):
            answer = answer(replace(request, path_args=operation.match(request.path) or {}))
        if isinstance(answer, FakeReply):
            return answer
        if answer is None and operation.status in (200, 202, 204):
            return FakeReply(status=204)
        return FakeReply(status=operation.status, json=answer)

    def _refuse(self, request: FakeRequest, status: int, reason: str) -> FakeReply:
        self.refused.append((request, reason))
        return FakeReply(status=status, json={"message": reason})

    def config(self, *toolsets: str, credentials: Iterable[str] = ()) -> dict[str, Any]:
        tables = super().config(*toolsets, credentials=credentials)
        tables["toolsets"] = {name: {"base_url": f"{self.url}/{name}"} for name in toolsets}
        return tables


def paged(request: FakeRequest, items: list[Any], *, url: str, default: int = 30) -> FakeReply:
    """One page of *items* by ``page`` and ``per_page``, with a ``Link`` header as GitHub sends."""
    page = int(request.first("page", "1"))
    size = int(request.first("per_page", str(default)))
    last = max(1, -(-len(items) // size))
    links = [
        f'<{url}{request.path}?page={number}&per_page={size}>; rel="{rel}"'
        for rel, number, wanted in (("next", page + 1, page < last), ("last", last, page < last))
        if wanted
    ]
    headers = {"Link": ", ".join(links)} if links else {}
    return FakeReply(json=items[(page - 1) * size : page * size], headers=headers)
