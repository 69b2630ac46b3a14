"""The flow, driven by values: order, decisions, states. No I/O."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from codemode.core.call import CommandRequest, Response
from codemode.core.ledger import Entry, call_key
from codemode.core.policy import DEFAULT, Policy, Rule
from codemode.core.run import CallError, Command, Preview, PreviewCall
from codemode.core.tool import Binding, Directory
from codemode.errors import (
    AddressRefused,
    HostFault,
    OutcomeUnknown,
    ResponseTooLarge,
    UpstreamError,
    UpstreamTimeout,
)
from outbound.flows import (
    SECRET,
    Supplier,
    credential,
    http_tool,
    json_response,
    run_of,
)

OPEN = Policy(rules=(Rule(action="allow", label="test"),))
ITEM = json_response('{"id": "a"}')


def test_the_order_is_the_designs(supplier: Supplier) -> None:
    run = run_of(http_tool("pay", effect="write"))
    supplier.responses, supplier.approves = [ITEM], True
    reply = supplier(run, "shop.pay", id="a")
    assert reply.value == {"id": "a"}
    assert supplier.asked == [
        "approval",
        "reserve",
        "secret",
        "send",
        "executed",
        "finalise",
        "record",
    ]
    [event] = supplier.events
    assert event.rule == "default:write (approved)"
    assert (event.state, event.credential, event.status) == ("applied", "shop", 200)
    assert event.destinations == ("https://shop.example",)
    assert event.args is None


def test_the_credential_is_attached_on_the_host(supplier: Supplier) -> None:
    supplier.responses = [ITEM]
    supplier(run_of(http_tool()), "shop.get", id="a")
    assert dict(supplier.sent[0].headers)["Authorization"] == f"Bearer {SECRET}"
    assert SECRET not in repr(supplier.needs)


@pytest.mark.case("R27")
def test_unknown_tools_name_the_nearest(supplier: Supplier) -> None:
    reply = supplier(run_of(http_tool("get_item")), "shop.getitem", id="a")
    assert reply.error is not None
    assert reply.error.code == "unknown_tool"
    assert "shop.get_item" in reply.error.hint
    assert supplier.asked == ["record"]
    assert supplier.records[0].state == "refused"


@pytest.mark.parametrize("effect", ["write", "destructive"])
def test_writes_need_a_yes(supplier: Supplier, effect: str) -> None:
    run = run_of(http_tool("pay", effect=effect))
    supplier.approves = False
    reply = supplier(run, "shop.pay", id="a")
    assert reply.error is not None
    assert reply.error.code == "not_allowed"
    assert "--allow shop.pay" in reply.error.hint
    assert supplier.asked == ["approval", "record"]


def test_deny_wins_and_bad_arguments_are_not_even_asked_about(supplier: Supplier) -> None:
    run = run_of(http_tool("pay", effect="write"), policy=DEFAULT.denying(["shop.*"]))
    run.policy = run.policy.allowing(["shop.pay"])
    reply = supplier(run, "shop.pay", id="a")
    assert reply.error is not None
    assert reply.error.code == "not_allowed"
    run.policy = DEFAULT
    reply = supplier(run, "shop.pay", idd="a")
    assert reply.error is not None
    assert reply.error.code == "bad_arguments"
    assert "did you mean id?" in reply.error.message
    assert reply.error.hint == "Parameters: id: string."
    assert supplier.asked == ["record", "record"]


def test_the_preview_is_a_cap(supplier: Supplier) -> None:
    named = PreviewCall(tool="shop.get", effect="read", line=1, column=1)
    run = run_of(http_tool(), http_tool("list"), preview=Preview(calls=(named,)))
    supplier.responses = [ITEM, ITEM]
    assert supplier(run, "shop.get", id="a").error is None
    refused = supplier(run, "shop.list", id="a")
    assert refused.error is not None
    assert refused.error.code == "not_allowed"
    run.preview = Preview(calls=(named,), open_reasons=("tools[name]",))
    assert supplier(run, "shop.list", id="b").error is None


@pytest.mark.case("T7", "E14", "T21")
def test_the_budget_is_exact_and_failed_calls_count(supplier: Supplier) -> None:
    run = run_of(http_tool(), max_calls=3)
    supplier.responses = [ITEM, UpstreamError("down", status=500), ITEM]
    codes = [
        (reply := supplier(run, "shop.get", seq, id="a")).error and reply.error.code
        for seq in (1, 2, 3, 4, 5)
    ]
    assert codes == [None, "upstream_error", None, "too_many_calls", "too_many_calls"]
    assert len(supplier.sent) == 3
    assert [record.state for record in supplier.records[3:]] == ["refused", "refused"]


def test_a_policys_max_calls_only_lowers(supplier: Supplier) -> None:
    run = run_of(http_tool(), max_calls=2, policy=replace(OPEN, max_calls=99))
    supplier.responses = [ITEM] * 3
    assert supplier(run, "shop.get", 3, id="a").error.code == "too_many_calls"  # type: ignore[union-attr]
    run = run_of(http_tool(), max_calls=2, policy=replace(OPEN, max_calls=1))
    assert supplier(run, "shop.get", 2, id="a").error.code == "too_many_calls"  # type: ignore[union-attr]


@pytest.mark.case("T19")
def test_a_policy_replaced_in_mid_run_is_obeyed_by_the_next_call(supplier: Supplier) -> None:
    run = run_of(http_tool())
    supplier.responses = [ITEM]
    assert supplier(run, "shop.get", id="a").error is None
    run.policy = DEFAULT.denying(["shop.get"])
    assert supplier(run, "shop.get", id="a").error.code == "not_allowed"  # type: ignore[union-attr]
    run.directory = Directory([])
    assert supplier(run, "shop.get", id="a").error.code == "unknown_tool"  # type: ignore[union-attr]


# -- credentials ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "destination",
    [
        "http://shop.example",
        "https://shop.example:8443",
        "https://www.shop.example",
        "https://shop.example.evil.test",
    ],
)
@pytest.mark.case("attack:37", "attack:41")
def test_scheme_host_and_port_must_be_the_credentials(supplier: Supplier, destination: str) -> None:
    run = run_of(http_tool(), variables={"shop": {"base_url": destination}})
    reply = supplier(run, "shop.get", id="a")
    assert reply.error is not None
    assert reply.error.code == "credential_out_of_scope"
    assert not supplier.sent
    assert supplier.records[0].state == "refused"


def test_a_missing_secret_says_so_and_sends_nothing(supplier: Supplier) -> None:
    supplier.secrets = []
    reply = supplier(run_of(http_tool()), "shop.get", id="a")
    assert reply.error is not None
    assert reply.error.code == "missing_secret"
    assert not supplier.sent


@pytest.mark.case("E12")
def test_an_expired_credential_is_refreshed_once(supplier: Supplier) -> None:
    run = run_of(http_tool("pay", effect="write"), policy=OPEN)
    expired = json_response('{"message": "token expired"}', 401)
    supplier.responses, supplier.secrets = [expired, ITEM], ["old-secret", "new-secret"]
    assert supplier(run, "shop.pay", id="a").value == {"id": "a"}
    assert [dict(r.headers)["Authorization"] for r in supplier.sent] == [
        "Bearer old-secret",
        "Bearer new-secret",
    ]
    supplier.responses, supplier.secrets = [expired], ["same-secret"]
    reply = supplier(run, "shop.pay", id="b")
    assert reply.error is not None
    assert (reply.error.status, reply.error.retryable) == (401, False)
    assert "credentials test" in reply.error.hint
    assert supplier.records[-1].state == "failed"


@pytest.mark.case("E8", "attack:17")
def test_an_echoed_secret_is_removed_from_values_keys_and_errors(supplier: Supplier) -> None:
    run = run_of(http_tool())
    supplier.responses = [json_response(json.dumps({SECRET: [f"x {SECRET} y"]}))]
    reply = supplier(run, "shop.get", id="a")
    assert SECRET not in str(reply)
    supplier.responses = [json_response(json.dumps({"message": f"bad token {SECRET}"}), 400)]
    reply = supplier(run, "shop.get", id="b")
    assert reply.error is not None
    assert "bad token" in reply.error.message
    assert SECRET not in str(reply)
    # Once used in a run, it is removed from every later answer too, credentialed or not.
    run.directory = Directory([http_tool("plain", credential=None)])
    supplier.responses = [json_response(f'"{SECRET}"')]
    assert SECRET not in str(supplier(run, "shop.plain", id="c"))
    assert SECRET not in str(supplier.events)


# -- redirects --------------------------------------------------------------------------------


def moved(to: str, status: int = 302) -> object:
    return json_response("", status, location=to)


@pytest.mark.case("attack:23")
def test_a_redirect_within_scope_keeps_the_credential_and_is_audited(supplier: Supplier) -> None:
    supplier.responses = [moved("/v2/items/a"), ITEM]
    assert supplier(run_of(http_tool()), "shop.get", id="a").value == {"id": "a"}
    assert [request.url for request in supplier.sent] == [
        "https://shop.example/items/a",
        "https://shop.example/v2/items/a",
    ]
    assert all("Authorization" in dict(request.headers) for request in supplier.sent)
    assert supplier.events[0].destinations == ("https://shop.example", "https://shop.example")


@pytest.mark.case("attack:23")
def test_a_credential_never_comes_back_after_leaving_its_scope(supplier: Supplier) -> None:
    supplier.responses = [
        moved("https://other.example/x"),
        moved("https://shop.example/items/b"),
        ITEM,
    ]
    assert supplier(run_of(http_tool()), "shop.get", id="a").error is None
    attached = ["Authorization" in dict(request.headers) for request in supplier.sent]
    assert attached == [True, False, False]


@pytest.mark.parametrize(
    "target",
    [
        "http://shop.example/items/a",
        "https://shop.example:8443/items/a",
        "https://user@shop.example/",
        "//evil.example/x",
        "\\evil.example",
        "/\\evil.example",
        "https:\\\\evil.example",
        "ftp://shop.example/x",
        "https://shop.example/\nx",
    ],
)
@pytest.mark.case("attack:23")
def test_redirects_that_are_refused(supplier: Supplier, target: str) -> None:
    supplier.responses = [moved(target)]
    reply = supplier(run_of(http_tool()), "shop.get", id="a")
    assert reply.error is not None
    assert "redirect was not followed" in reply.error.message
    assert len(supplier.sent) == 1
    assert supplier.records[0].state == "failed"


@pytest.mark.case("attack:23")
def test_a_loop_ends_after_five_hops(supplier: Supplier) -> None:
    supplier.responses = [moved("/items/a")] * 20
    reply = supplier(run_of(http_tool()), "shop.get", id="a")
    assert reply.error is not None
    assert "more than 5" in reply.error.message
    assert len(supplier.sent) == 6
    assert len(supplier.events[0].destinations) == 6


def test_a_write_redirected_elsewhere_is_not_sent_there(supplier: Supplier) -> None:
    run = run_of(http_tool("pay", effect="write"), policy=OPEN)
    supplier.responses = [moved("https://other.example/x", 307)]
    reply = supplier(run, "shop.pay", id="a")
    assert reply.error is not None
    assert reply.error.code == "outcome_unknown"
    assert len(supplier.sent) == 1
    assert supplier.records[0].state == "unknown"


# -- what may have happened -------------------------------------------------------------------

OUTCOMES = [
    # what the send ends in, effect, idempotent -> code, state, retryable
    (UpstreamError("down", retryable=True), "read", False, "upstream_error", "failed", True),
    (UpstreamError("down", retryable=True), "write", False, "upstream_error", "failed", True),
    (UpstreamTimeout("late", retryable=True), "read", False, "timeout", "failed", True),
    (UpstreamTimeout("late", retryable=True), "write", False, "outcome_unknown", "unknown", False),
    (UpstreamTimeout("late", retryable=True), "write", True, "outcome_unknown", "unknown", True),
    (OutcomeUnknown("broken"), "read", False, "upstream_error", "failed", True),
    (OutcomeUnknown("broken"), "write", False, "outcome_unknown", "unknown", False),
    (OutcomeUnknown("broken"), "destructive", False, "outcome_unknown", "unknown", False),
    (HostFault("fault 1"), "write", False, "host_fault", "unknown", False),
    (HostFault("fault 1"), "read", False, "host_fault", "failed", False),
    (ResponseTooLarge("huge", status=200), "write", False, "response_too_large", "applied", False),
    (AddressRefused("private"), "write", False, "address_refused", "refused", False),
    (json_response("{}", 502), "write", False, "outcome_unknown", "unknown", False),
    (json_response("{}", 504), "write", True, "outcome_unknown", "unknown", True),
    (json_response("{}", 502), "read", False, "upstream_error", "failed", True),
    (json_response("{}", 500), "write", False, "upstream_error", "failed", False),
    (json_response("{}", 503), "write", False, "upstream_error", "failed", True),
    (json_response("{}", 429, retry_after="7"), "write", False, "upstream_error", "failed", True),
    (json_response("{}", 404), "read", False, "upstream_error", "failed", False),
    (json_response("1e999"), "write", False, "bad_answer", "applied", False),
]  # fmt: skip


@pytest.mark.parametrize(("ending", "effect", "idempotent", "code", "state", "retryable"), OUTCOMES)
def test_what_a_failure_means_depends_on_the_effect(
    supplier: Supplier,
    ending: object,
    effect: str,
    idempotent: bool,
    code: str,
    state: str,
    retryable: bool,
) -> None:
    run = run_of(http_tool("do", effect=effect, idempotent=idempotent), policy=OPEN)
    supplier.responses = [ending]
    reply = supplier(run, "shop.do", id="a")
    assert reply.error is not None
    assert (reply.error.code, reply.error.retryable) == (code, retryable)
    [record] = supplier.records
    assert (record.state, record.error) == (state, code)
    entry = next(iter(supplier.entries.values()))
    assert (entry.state, entry.outcome) == ("finalised", state)


def test_retry_after_is_in_the_hint(supplier: Supplier) -> None:
    supplier.responses = [json_response("{}", 429, retry_after="7")]
    reply = supplier(run_of(http_tool()), "shop.get", id="a")
    assert reply.error is not None
    assert reply.error.hint == "Retry after 7 s."


# -- at most once -----------------------------------------------------------------------------


@pytest.mark.case("A11", "attack:93")
def test_the_same_run_again_gets_the_recorded_result(supplier: Supplier) -> None:
    pay = http_tool("pay", effect="write")
    supplier.responses = [ITEM]
    first = supplier(run_of(pay, policy=OPEN), "shop.pay", id="a")
    again = supplier(run_of(pay, policy=OPEN, run_id="run-2"), "shop.pay", id="a")
    assert first == again
    assert len(supplier.sent) == 1
    assert supplier.events[1].replayed
    other = run_of(pay, policy=OPEN, run_key="key-2")
    supplier.responses = [ITEM]
    supplier(other, "shop.pay", id="a")
    assert len(supplier.sent) == 2


@pytest.mark.case("A11")
def test_two_identical_calls_are_two_effects_and_are_replayed_as_two(supplier: Supplier) -> None:
    pay = http_tool("pay", effect="write")
    for run_id in ("run-1", "run-2"):
        run = run_of(pay, policy=OPEN, run_id=run_id)
        supplier.responses = [ITEM, ITEM]
        supplier(run, "shop.pay", 1, id="a")
        supplier(run, "shop.pay", 2, id="a")
    assert len(supplier.sent) == 2
    assert len(supplier.entries) == 2


@pytest.mark.case("A11")
def test_a_failed_call_is_tried_again_under_the_same_key(supplier: Supplier) -> None:
    pay = http_tool("pay", effect="write", idempotency_header="Idempotency-Key")
    run = run_of(pay, policy=OPEN)
    supplier.responses = [json_response("{}", 503), ITEM]
    assert supplier(run, "shop.pay", 1, id="a").error is not None
    assert supplier(run, "shop.pay", 2, id="a").error is None
    keys = {dict(request.headers)["Idempotency-Key"] for request in supplier.sent}
    assert len(keys) == 1
    assert len(supplier.entries) == 1
    # Submitted again, the one effect is replayed, however often it took.
    supplier.responses = []
    assert supplier(run_of(pay, policy=OPEN), "shop.pay", id="a").value == {"id": "a"}


@pytest.mark.case("attack:93", "attack:95")
def test_an_unknown_outcome_is_never_repeated(supplier: Supplier) -> None:
    pay = http_tool("pay", effect="write")
    run = run_of(pay, policy=OPEN)
    supplier.responses = [OutcomeUnknown("broken"), ITEM]
    for seq in (1, 2, 3):  # the script's own retry loop
        reply = supplier(run, "shop.pay", seq, id="a")
        assert reply.error is not None
        assert reply.error.code == "outcome_unknown"
    again = supplier(run_of(pay, policy=OPEN), "shop.pay", id="a")  # and the model's
    assert again.error is not None
    assert again.error.code == "outcome_unknown"
    assert len(supplier.sent) == 1


@pytest.mark.case("attack:95")
@pytest.mark.parametrize("state", ["reserved", "executed"])
def test_reserved_without_finalised_is_unknown_after_a_restart(
    supplier: Supplier, state: str
) -> None:
    key = call_key("key-1", "shop.pay", {"id": "a"}, 0)
    supplier.entries[key] = Entry(
        key=key,
        run_id="run-0",
        run_key="key-1",
        tool="shop.pay",
        state=state,  # type: ignore[arg-type]
    )
    reply = supplier(run_of(http_tool("pay", effect="write"), policy=OPEN), "shop.pay", id="a")
    assert reply.error is not None
    assert reply.error.code == "outcome_unknown"
    assert not supplier.sent
    assert supplier.records[0].state == "unknown"


@pytest.mark.parametrize(
    ("tool", "age_s", "sent"),
    [
        (http_tool("do", effect="read"), 0, True),
        (http_tool("do", effect="write", idempotent=True), 0, True),
        (http_tool("do", effect="write", idempotency_header="Idempotency-Key"), 0, True),
        (http_tool("do", effect="write", idempotency_header="Idempotency-Key"), 1e6, False),
        (http_tool("do", effect="write"), 0, False),
    ],
)
def test_an_unknown_outcome_is_repeated_only_where_that_is_harmless(
    supplier: Supplier, tool: object, age_s: float, sent: bool
) -> None:
    key = call_key("key-1", "shop.do", {"id": "a"}, 0)
    supplier.entries[key] = Entry(
        key=key, run_id="r", run_key="key-1", tool="shop.do", outcome="unknown", age_s=age_s
    )
    supplier.responses = [ITEM]
    reply = supplier(run_of(tool, policy=OPEN), "shop.do", id="a")  # type: ignore[arg-type]
    assert bool(supplier.sent) is sent
    assert (reply.error is None) is sent


def test_an_applied_call_whose_answer_was_not_kept_is_not_repeated(supplier: Supplier) -> None:
    key = call_key("key-1", "shop.pay", {"id": "a"}, 0)
    supplier.entries[key] = Entry(
        key=key, run_id="r", run_key="key-1", tool="shop.pay", state="finalised", outcome="applied"
    )
    reply = supplier(run_of(http_tool("pay", effect="write"), policy=OPEN), "shop.pay", id="a")
    assert reply.error is not None
    assert "was applied before" in reply.error.message
    assert supplier.records[0].state == "applied"
    assert not supplier.sent


def test_an_error_after_an_applied_call_is_replayed_as_that_error(supplier: Supplier) -> None:
    key = call_key("key-1", "shop.pay", {"id": "a"}, 0)
    supplier.entries[key] = Entry(
        key=key,
        run_id="r",
        run_key="key-1",
        tool="shop.pay",
        state="finalised",
        outcome="applied",
        error=CallError(code="response_too_large", message="huge", status=200),
    )
    reply = supplier(run_of(http_tool("pay", effect="write"), policy=OPEN), "shop.pay", id="a")
    assert reply.error is not None
    assert (reply.error.message, reply.error.status) == ("huge", 200)


# -- answers and files ------------------------------------------------------------------------


def test_an_answer_that_does_not_fit_is_reported_and_given(supplier: Supplier) -> None:
    returns = {"type": "object", "properties": {"id": {"type": "integer"}}}
    supplier.responses = [ITEM]
    reply = supplier(run_of(http_tool(returns=returns)), "shop.get", id="a")
    assert reply.value == {"id": "a"}
    assert supplier.events[0].mismatch == 'id: "a" is not of type "integer"'


FILE = {"type": "string", "format": "file"}


def test_a_file_answer_is_written_into_the_workspace(supplier: Supplier) -> None:
    run = run_of(http_tool(returns=FILE))
    supplier.responses = [json_response(b"%PDF " + SECRET.encode(), content_disposition="")]
    reply = supplier(run, "shop.get", id="a", has_workspace=True)
    assert isinstance(reply.value, str)
    assert supplier.written[reply.value] == b"%PDF [secret removed]"
    refused = supplier(run, "shop.get", id="b", has_workspace=False)
    assert refused.error is not None
    assert refused.error.code == "needs_container"
    assert len(supplier.sent) == 1


def test_a_file_argument_is_read_from_the_workspace(supplier: Supplier) -> None:
    args = {"type": "object", "properties": {"doc": FILE, "name": {"type": "string"}}}
    tool = http_tool("up", args=args, effect="write", body="multipart")
    supplier.responses, supplier.files = [ITEM], {"in/a.txt": b"\x00data"}
    reply = supplier(
        run_of(tool, policy=OPEN), "shop.up", args={"doc": "in/a.txt", "name": "N"},
        has_workspace=True,
    )  # fmt: skip
    assert reply.error is None
    body = supplier.sent[0].body
    assert b'name="doc"; filename="a.txt"' in body
    assert b"\x00data" in body
    assert not supplier.sent[0].parts


def test_arguments_stand_in_audit_events_only_if_asked_for_and_scrubbed(
    supplier: Supplier,
) -> None:
    run = run_of(http_tool(), include_args=True)
    supplier.responses = [ITEM, ITEM]
    supplier(run, "shop.get", id="first")
    supplier(run, "shop.get", id=SECRET)
    assert supplier.events[0].args == {"id": "first"}
    assert SECRET not in str(supplier.events)


@pytest.mark.case("attack:47")
@pytest.mark.parametrize("bad", ["\ud800", float("nan"), float("inf")])
def test_arguments_that_are_not_json_are_refused(supplier: Supplier, bad: object) -> None:
    reply = supplier(run_of(http_tool()), "shop.get", args={"id": bad})
    assert reply.error is not None
    assert reply.error.code == "bad_arguments"
    assert not supplier.sent


def test_a_credential_nobody_declared_is_a_clear_error(supplier: Supplier) -> None:
    reply = supplier(run_of(http_tool(), credentials={}), "shop.get", id="a")
    assert reply.error is not None
    assert reply.error.code == "bad_config"
    assert "credentials list" in reply.error.hint


def test_a_second_process_that_was_quicker_is_respected(supplier: Supplier) -> None:
    """Both saw a failed entry; the one that reserves second sends nothing."""
    pay = http_tool("pay", effect="write")
    key = call_key("key-1", "shop.pay", {"id": "a"}, 0)
    failed = Entry(key=key, run_id="r", run_key="key-1", tool="shop.pay", outcome="failed")
    supplier.entries[key] = failed
    run = run_of(pay, policy=OPEN)
    from codemode.core.run import ToolCall

    flow = run.call(ToolCall(id=1, tool="shop.pay", args={"id": "a"}), 1, has_workspace=False)
    next(flow)
    flow.send(failed)
    need = flow.send(replace(failed, attempt=2, outcome=None, state="reserved"))
    assert type(need).__name__ == "NeedRecord"
    with pytest.raises(StopIteration) as done:
        flow.send(None)
    assert done.value.value.error.code == "outcome_unknown"


def test_basic_query_and_header_schemes(supplier: Supplier) -> None:
    for scheme, key in (("basic", "Authorization"), ("header", "X-Api-Key"), ("query", "token")):
        run = run_of(
            http_tool(), credentials={"shop": credential(scheme=scheme, key=key, username="me")}
        )
        supplier.responses = [ITEM]
        assert supplier(run, "shop.get", id="a").error is None
    basic, header, query = supplier.sent
    assert dict(basic.headers)["Authorization"].startswith("Basic bWU6")
    assert dict(header.headers)["X-Api-Key"] == SECRET
    assert query.url.endswith("?token=s3cr3t%2FValue%2BFor%3DTests")
    assert "token" not in repr(query)


@pytest.mark.case("attack:23")
@pytest.mark.parametrize("scheme", ["bearer", "query"])
@pytest.mark.parametrize(
    "shown", [SECRET, quote(SECRET, safe=""), b64encode(SECRET.encode()).decode(), SECRET.upper()]
)
def test_a_redirect_whose_address_carries_the_secret_elsewhere_is_refused(
    supplier: Supplier, scheme: str, shown: str
) -> None:
    for effect, code in (("read", "credential_out_of_scope"), ("write", "outcome_unknown")):
        used = credential(scheme=scheme, key="Authorization" if scheme == "bearer" else "api_key")
        tool = http_tool("do", effect=effect, method="GET")
        for target, is_sent in (("https://other.example", False), ("https://shop.example", True)):
            run = run_of(tool, policy=OPEN, credentials={"shop": used}, run_key=effect + target)
            supplier.sent.clear()
            supplier.responses = [moved(f"{target}/cdn?sig={shown}"), ITEM]
            reply = supplier(run, "shop.do", id="a")
            assert len(supplier.sent) == 1 + is_sent
            event = supplier.events[-1]
            if is_sent:
                assert reply.error is None
            else:
                assert reply.error is not None
                assert reply.error.code == event.error == code
                assert "carries a secret out of scope" in event.rule
            assert SECRET not in str(reply) + str(event)


@pytest.mark.case("A11")
@pytest.mark.parametrize("effect", ["read", "write", "destructive"])
def test_a_command_is_run_again_in_the_sandbox_of_the_same_run_again(
    supplier: Supplier, effect: str
) -> None:
    class Commands:
        via = "cli"
        needs_workspace = True

        def prepare(self, tool: Any, args: Any, variables: Any) -> CommandRequest:
            return CommandRequest(command=Command(argv=("make", "x"), binaries=("make",)))

        def read(self, tool: Any, request: Any, response: Response) -> Any:
            return response.body.decode()

    made = http_tool("make", effect=effect)
    tool = replace(made, binding=Binding(via="cli", spec=None))
    for run_id in ("run-1", "run-2"):
        run = run_of(tool, policy=OPEN, run_id=run_id, bindings={"cli": Commands()})
        supplier.responses = [Response(status=0, body=run_id.encode())]
        reply = supplier(run, "shop.make", id="a", has_workspace=True)
        assert reply.value == run_id
    assert len(supplier.sent) == 2
    assert supplier.entries == {}
    assert [event.state for event in supplier.events] == ["applied", "applied"]
