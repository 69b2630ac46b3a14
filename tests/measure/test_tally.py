"""What is counted beside the classes, and that it stays bounded."""

from __future__ import annotations

import itertools

from codemode.core.measure import tally
from codemode.core.measure.call import Tokens, TraceCall
from codemode.core.measure.tally import SessionCounter
from codemode.traces import rule_table

ids = itertools.count()


def call(name: str, result: str | None = "ok", **more: object) -> TraceCall:
    return TraceCall(id=str(next(ids)), name=name, result=result, **more)  # type: ignore[arg-type]


def counted(*calls: TraceCall | Tokens, **more: object) -> tally.SessionTally:
    counter = SessionCounter(rule_table(), path="p", format="f", **more)  # type: ignore[arg-type]
    for one in calls:
        counter.spend(one) if isinstance(one, Tokens) else counter.add(one)
    return counter.close()


def test_discovery_that_led_nowhere() -> None:
    used, unused = '{"tools": ["kv_put", "kv_get"]}', '{"tools": ["mail_send"]}'
    found = counted(
        call("tool_search", used), call("tool_search", unused), call("kv_put"), call("kv_put")
    ).discovery
    assert (found.judged, found.nowhere, found.nothing_new) == (2, 1, 0)


def test_a_tool_called_before_it_was_found_does_not_count() -> None:
    assert counted(call("kv_put"), call("tool_search", '["kv_put"]')).discovery.nowhere == 1


def test_a_script_uses_what_it_calls() -> None:
    found = counted(
        call("codemode.search", '{"name": "github.issuesList"}'),
        call("mcp__codemode__run", args={"script": "return await github.issuesList({})"}),
    ).discovery
    assert found.nowhere == 0


def test_help_leads_to_the_program_it_is_about() -> None:
    def bash(command: str) -> TraceCall:
        return call("Bash", "Usage: x", args={"command": command}, args_text=command)

    found = counted(bash("jq --help"), bash("yq --help"), bash("cat a | jq .b")).discovery
    assert (found.judged, found.nowhere) == (2, 1)


def test_discovery_that_told_nothing_new() -> None:
    found = counted(
        call("tool_search", '["a_b", "c_d"]'),
        call("tool_search", '["c_d"]'),
        call("tool_search", '["c_d", "e_f"]'),
        call("describe_tool", '{"name": "c_d"}'),  # another question about the same tool
        call("tool_search", ""),
        call("tool_search", "no such thing", is_error=True),
    ).discovery
    assert (found.judged, found.nothing_new) == (6, 3)


def test_without_an_answer_nothing_is_judged() -> None:
    found = counted(call("tool_search", None), call("act"))
    assert found.discovery == tally.Discovery()
    assert found.counts["discovery"] == 1


def test_tokens_are_shared_among_the_calls_of_a_message_and_none_is_lost() -> None:
    found = counted(
        Tokens(message="m1", input=10, output=1),
        call("tool_search", message="m1"),
        call("act", message="m1"),
        call("act", message="m1"),
        Tokens(message="m1", input=10, cached=5, output=2),  # the last word on m1
        Tokens(message="m2", input=3),
        Tokens(input=100),
    ).tokens
    assert found == {"discovery": 5, "work": 12, "answer": 3, "total": 100}


def test_phases_turn_with_the_first_work_call() -> None:
    found = counted(
        call("tool_search"), call("connect"), call("act"), call("tool_search"), call("act")
    )
    assert dict(found.phases) == {
        ("before", "discovery"): 1,
        ("before", "setup"): 1,
        ("after", "work"): 2,
        ("after", "discovery"): 1,
    }


def test_time_is_counted_only_where_both_ends_are_known() -> None:
    found = counted(
        call("act", start_s=10.0, end_s=12.5), call("act", start_s=11.0), call("act", end_s=9.0)
    ).classes["work"]
    assert (found.n, found.n_timed, found.seconds) == (3, 1, 2.5)


def test_a_long_session_is_followed_in_bounded_memory() -> None:
    counter = SessionCounter(rule_table(), path="p", format="f")
    for n in range(tally.MAX_UNDECIDED + 50):
        counter.add(call("tool_search", f'["tool_number_{n}"]'))
        counter.spend(Tokens(message=f"m{n}", output=1))
    assert len(counter._undecided) == tally.MAX_UNDECIDED
    found = counter.close()
    assert found.discovery.undecided == 50
    assert found.discovery.nowhere == tally.MAX_UNDECIDED
    assert len(found.timeline) == tally.MAX_TIMELINE


def test_text_is_counted_with_a_tokenizer_if_there_is_one() -> None:
    found = counted(call("act", "one two", args_text="three"), count_tokens=lambda text: len(text))
    assert found.classes["work"].text_tokens == found.classes["work"].text_chars == 12
