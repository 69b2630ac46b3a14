"""Every format reads its own traces and no other's; broken parts are named, never fatal."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from codemode.core.measure.call import Problem
from codemode.core.render import result_json
from codemode.core.run import CallRecord, RunResult
from codemode.traces import formats
from codemode.traces.open import find, opened, recognise

from .reading import CASES, read

TRACES = sorted(
    path for path in CASES.rglob("*") if path.is_file() and not path.name.endswith(".expected.json")
)


def expected(trace: Path) -> dict:
    return json.loads((trace.parent / f"{trace.name.split('.')[0]}.expected.json").read_text())


def test_every_format_has_a_case() -> None:
    assert {path.parent.name for path in TRACES} == set(formats.names())


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_calls_classes_rules_and_broken_lines(trace: Path) -> None:
    want, got = expected(trace), read(trace)
    assert got.format == trace.parent.name
    found = [(one.call.id, one.call.name, one.cls, one.rule.name) for one in got.calls]
    assert found == [(c["id"], c["name"], c["class"], c["rule"]) for c in want["calls"]]
    assert [problem.line for problem in got.problems] == want.get("problem_lines", [])
    assert all(problem.path == str(trace) for problem in got.problems)
    assert got.totals.n_sessions == want.get("sessions", 1)


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_compressed_reads_the_same(trace: Path, tmp_path: Path) -> None:
    packed = tmp_path / (trace.name + ".gz")
    packed.write_bytes(gzip.compress(trace.read_bytes()))
    assert read(packed).classes == read(trace).classes


def test_a_format_is_told_from_every_other_by_one_winner() -> None:
    for trace in TRACES:
        with opened(find([str(trace)])[0]) as source:
            sample = source.sample()
        signs = {name: formats.load(name).detect(sample) for name in formats.names()}
        best = max(signs.values())
        assert [name for name, n in signs.items() if n == best] == [trace.parent.name], signs


@pytest.mark.parametrize(
    "text", ["", "\n\n", "hello\nworld\n", '{"a": 1}\n', "[1, 2]", "[]", "{", "\x00\xff" * 50]
)
def test_what_is_no_trace_is_nobodys(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text.encode("latin-1"))
    assert read(path).format is None


def test_a_document_that_breaks_off_keeps_what_came_before_and_names_the_line(
    tmp_path: Path,
) -> None:
    whole = (CASES / "openai_chat" / "side_by_side.json").read_text()
    cut = whole[: whole.rindex('"id": "c4"')]
    path = tmp_path / "cut.json"
    path.write_text(cut)
    got = read(path)
    assert [id for id, _, _ in got.classes] == ["c1", "c2", "c3"]
    (problem,) = got.problems
    assert problem.line == cut.count("\n") + 1


def test_a_compressed_file_that_breaks_off_is_a_problem(tmp_path: Path) -> None:
    lines = (CASES / "claude_code_jsonl" / "broken_line.jsonl").read_bytes() * 2000
    packed = gzip.compress(lines)
    path = tmp_path / "torn.jsonl.gz"
    path.write_bytes(packed[: len(packed) // 2])
    got = read(path)
    assert got.calls
    assert "breaks off" in got.problems[-1].reason


def test_not_utf_8_names_the_line_and_goes_on(tmp_path: Path) -> None:
    lines = (CASES / "api_bank" / "search_then_call.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "dialogue.jsonl"
    path.write_bytes(b"".join([*lines[:3], b'{"role": "\xff"}\n', *lines[3:]]))
    got = read(path)
    assert [problem.line for problem in got.problems] == [4]
    assert len(got.calls) == 4


def test_calls_that_are_never_answered_do_not_hold_back_the_rest(tmp_path: Path) -> None:
    asked = [
        {"type": "tool_use", "id": f"t{n}", "name": "act", "input": {"n": n}} for n in range(1200)
    ]
    log = [
        {"type": "assistant", "sessionId": "s", "uuid": f"u{n}", "message": {"content": [block]}}
        for n, block in enumerate(asked)
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in log))
    assert [id for id, _, _ in read(path).classes] == [f"t{n}" for n in range(1200)]


def test_what_the_run_store_keeps_can_be_measured(tmp_path: Path) -> None:
    calls = (
        CallRecord(seq=1, tool="codemode.search", effect="read", state="applied"),
        CallRecord(seq=2, tool="github.issues_list", effect="read", state="applied"),
    )
    result = RunResult(run_id="run-1", status="succeeded", engine="isolate", calls=calls)
    path = tmp_path / "run-1.json"
    path.write_text(json.dumps({"at": "2026-05-01T10:00:00.000+00:00", **result_json(result)}))
    got = read(path)
    assert got.format == "codemode_runs"
    assert got.totals.counts["discovery"] == 1
    assert [one.call.from_script for one in got.calls] == [False, True, True]


def test_usage_that_every_line_of_a_message_repeats_counts_once() -> None:
    got = read(CASES / "claude_code_jsonl" / "broken_line.jsonl")
    assert got.totals.tokens.total() == 4 * 112
    assert got.totals.tokens["discovery"] == 2 * 112


def test_one_line_says_where_and_why() -> None:
    assert str(Problem(path="a.jsonl", line=3, reason="not JSON")) == "a.jsonl:3: not JSON"


def test_a_format_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "odd.txt"
    path.write_text("KV_GET\n")
    with opened(find([str(path)])[0]) as source:
        assert recognise(source) is None
        found = recognise(source, "dispatcher_log")
    assert found is not None
    assert found.name == "dispatcher_log"
