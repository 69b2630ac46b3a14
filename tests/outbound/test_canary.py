"""
One seeded secret, and a service that does its worst with it.

Everything this program writes or says afterwards is searched, in every form the
secret could take: replies, records, the run's answer, ledger, audit, log,
exceptions with their locals, child processes.
"""

from __future__ import annotations

import base64
import codecs
import gzip
import json
import logging
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from codemode.core.call import HttpRequest, SendContext
from codemode.core.credential import Lookup, Secret, inject
from codemode.core.policy import Policy, Rule
from codemode.core.run import LogLine, RunResult, ScriptError, ToolCall
from codemode.errors import CodemodeError
from codemode.store.audit import AuditFile
from codemode.store.ledger import SqliteLedger
from codemode.store.secrets import SecretStore
from codemode.testing import FakeReply, FakeRequest, FakeUpstream
from outbound.flows import credential, http_tool, outbound_of, real_sender, run_of

CANARY = "canary-7f3a/Zq+pL0=vX9"
OPEN = Policy(rules=(Rule(action="allow", label="test"),))


def echoes(header: str) -> dict[str, str]:
    """Every way the service gives back what it was sent."""
    raw = CANARY.encode()
    packed = base64.b64encode(gzip.compress(b"x" + raw)).decode()
    return {
        "raw": CANARY,
        "header": header,
        "base64": base64.b64encode(raw).decode(),
        "base64 shifted": base64.b64encode(b"a" + raw + b"zz").decode(),
        "base64url": base64.urlsafe_b64encode(b"ab" + raw).decode(),
        "hex": raw.hex(),
        "HEX": raw.hex().upper(),
        "percent": quote(CANARY, safe=""),
        "percent lower": quote(CANARY, safe="").lower().replace("canary-7f3a", "canary-7f3a"),
        "json": json.dumps(json.dumps(CANARY)),
        "reversed": CANARY[::-1],
        "utf-16": base64.b64encode(CANARY.encode("utf-16-le")).decode(),
        "gzip": packed,
        "in a sentence": f"token {CANARY}, thanks",
    }


def forms() -> list[bytes]:
    """What is searched for; made here, not by the scrubber."""
    raw = CANARY.encode()
    texts = [CANARY, CANARY[::-1], quote(CANARY, safe=""), raw.hex(), raw.hex().upper()]
    texts += [base64.b64encode(b"\0" * n + raw).decode()[n + 1 : -4] for n in range(3)]
    texts += [json.dumps(CANARY)[1:-1], codecs.encode(CANARY, "rot13")]
    found = [text.encode() for text in texts]
    return [*found, CANARY.encode("utf-16-le"), CANARY.encode("utf-16-be")]


def assert_clean(where: str, data: bytes | str) -> None:
    data = data.encode("utf-8", "replace") if isinstance(data, str) else data
    for form in forms():
        assert form not in data, f"{where} shows the secret as {form[:60]!r}"


def upstream_that_echoes(upstream: FakeUpstream) -> None:
    def worst(request: FakeRequest) -> Any:
        header = request.headers.get("authorization", "")
        echo = echoes(header)
        match request.path_args["id"]:
            case "json":
                return {**echo, **{value: name for name, value in echo.items()}, "n": [echo]}
            case "text":
                body = "\n".join(echo.values()).encode()
                return FakeReply(body=body, headers={"Content-Type": "text/plain"})
            case "utf-16":
                body = json.dumps(CANARY).encode("utf-16")
                return FakeReply(body=body, headers={"Content-Type": "application/json"})
            case "error":
                return FakeReply(status=400, json={"message": " ".join(echo.values())})
            case "gone":
                return FakeReply(status=302, headers={"Location": f"http://x:1/{CANARY}"})
            case "headers":
                return FakeReply(json={}, headers={"Retry-After": CANARY, "X-Echo": header})
            case _:
                return FakeReply(status=503, json={}, headers={"Retry-After": CANARY})

    upstream.route("GET", "/items/{id}", worst)
    upstream.route("POST", "/items/{id}", worst)


@pytest.mark.case("E8", "attack:15", "attack:17", "attack:19", "attack:21", "attack:29")
@pytest.mark.parametrize("scheme", ["bearer", "basic", "header", "query"])
async def test_nothing_shows_the_seeded_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, scheme: str
) -> None:
    caplog.set_level(logging.DEBUG)
    ledger_path, audit_path = tmp_path / "ledger.sqlite", tmp_path / "audit.jsonl"
    said: dict[str, Any] = {}
    with FakeUpstream() as upstream:
        upstream_that_echoes(upstream)
        sender = real_sender(upstream.address)
        run = run_of(
            http_tool("get", returns={"type": "integer"}),  # every answer is a mismatch, quoted
            http_tool("pay", effect="write"),
            policy=OPEN,
            include_args=True,
            keep_reads=True,
            variables={"shop": {"base_url": upstream.url}},
            credentials={
                "shop": credential(
                    upstream.url,
                    scheme=scheme,
                    key="X-Key" if scheme in ("header", "query") else "Authorization",
                    username="user" if scheme == "basic" else "",
                    lookup=Lookup(env="CANARY"),
                )
            },
        )
        ledger, audit = SqliteLedger(ledger_path), AuditFile(audit_path)
        outbound = outbound_of(
            run, sender, ledger=ledger, audit=audit, secrets=SecretStore({"CANARY": CANARY})
        )
        for tool in ("get", "pay"):
            for kind in ("json", "text", "utf-16", "error", "gone", "headers", "wait", CANARY):
                call = ToolCall(id=1, tool=f"shop.{tool}", args={"id": kind})
                said[f"{tool} {kind}"] = await outbound.answer(call, None)
        unknown = ToolCall(id=1, tool=CANARY, args={CANARY: CANARY})
        said["unknown"] = await outbound.answer(unknown, None)
        assert any(CANARY in str(request.headers.values()) or CANARY in str(request.query)
                   or base64.b64encode(f"user:{CANARY}".encode()).decode()
                   in str(request.headers.values()) for request in upstream.requests)  # fmt: skip
        await sender.close()
        result = outbound.scrubbed(
            RunResult(
                run_id="r",
                status="failed",
                value=echoes("x"),
                error=ScriptError(code="exception", message=CANARY),
                logs=tuple(LogLine(stream="stdout", text=text) for text in echoes("x").values()),
                calls=tuple(outbound.records),
            )
        )
    ledger.close()
    audit.close()
    for name, reply in said.items():
        assert_clean(f"reply to {name}", repr(reply))
    assert_clean("records", repr(outbound.records))
    assert_clean("the run's answer", repr(result))
    assert_clean("log", caplog.text)
    assert "fault" not in caplog.text
    for path in (ledger_path, audit_path):
        assert_clean(path.name, path.read_bytes())
    assert len(audit_path.read_text().splitlines()) == 17
    for name, thing in (("run", run), ("outbound", outbound), ("sender", sender)):
        assert_clean(name, repr(thing))
    assert_clean("credentials", repr(run.credentials))
    assert_clean("scrubber", repr(run.scrubber))


@pytest.mark.case("attack:21", "attack:29")
async def test_no_exception_of_a_send_quotes_the_secret() -> None:
    """Neither its text, nor what it was raised from, nor our own frames' requests."""
    sender = real_sender()  # loopback is refused: the failure comes from deep inside
    request, _ = inject(
        HttpRequest(method="GET", url="http://127.0.0.1:1/x"),
        credential("http://127.0.0.1:1"),
        Secret(CANARY),
    )
    assert CANARY in dict(request.headers)["Authorization"]
    context = SendContext(workspace=None, timeout_s=5, max_response_bytes=9, run_id="r")
    for target in (request, replace(request, url="http://no-such-host.invalid/")):
        with pytest.raises(CodemodeError) as caught:
            await sender.send(target, context)
        error = caught.value
        assert_clean("text", f"{error!r} {error.message} {error.hint}")
        assert error.__cause__ is None
        shown = traceback.TracebackException.from_exception(error, capture_locals=True)
        for frame in shown.stack:
            if "/codemode/" in frame.filename and frame.locals:
                assert_clean(frame.name, str(frame.locals.get("request")))
    await sender.close()


@pytest.mark.case("attack:15")
async def test_a_child_process_does_not_get_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", CANARY)
    code = "import os; print('yes' if 'SHOP_TOKEN' in os.environ else 'no')"
    lookup = Lookup(provider="command", argv=(sys.executable, "-c", code))
    assert await SecretStore().get(credential(lookup=lookup)) == Secret("no")
