"""``codemode measure`` as people and scripts meet it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from codemode.edges import measure as edge
from codemode.store.config import Config
from codemode.traces import rule_table

from . import longlog
from .reading import CASES

CHAT = CASES / "openai_chat" / "side_by_side.json"
BROKEN = CASES / "claude_code_jsonl" / "broken_line.jsonl"
COUNTS = {"discovery", "setup", "work", "repair", "unclassified"}
Measure = Callable[..., Result]


def build_app() -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    edge.register(app)
    return app


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    monkeypatch.chdir(tmp_path)
    app = build_app()

    def call(*args: object, stdin: bytes = b"") -> Result:
        return CliRunner().invoke(app, ["measure", *map(str, args)], input=stdin)

    return call


def test_json_has_exactly_the_stated_shape(measure: Measure) -> None:
    done = measure(CHAT, BROKEN, "--json")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert set(answer) >= {"traces", "total"}
    first, second = answer["traces"]
    for trace, path in ((first, CHAT), (second, BROKEN)):
        assert set(trace) == {"path", "format", "calls", "counts"}
        assert trace["path"] == str(path)
        assert set(trace["counts"]) == COUNTS
        assert sum(trace["counts"].values()) == len(trace["calls"])
        assert all(set(call) == {"id", "name", "class", "rule"} for call in trace["calls"])
    assert answer["total"] == {
        key: first["counts"][key] + second["counts"][key] for key in first["counts"]
    }
    assert answer["problems"] == [
        {"path": str(BROKEN), "line": 5, "reason": answer["problems"][0]["reason"]}
    ]


def test_a_broken_line_names_file_and_line_and_stops_nothing(measure: Measure) -> None:
    done = measure(BROKEN)
    assert done.exit_code == 0
    assert f"{BROKEN}:5: not JSON" in done.stderr
    assert "2 of 4 calls (50.0%" in done.stdout


def test_explain_says_which_rule_classed_each_call(measure: Measure) -> None:
    lines = [line.split("\t") for line in measure(CHAT, "--explain").stdout.splitlines()]
    told = [line[1:] for line in lines if line[0] == str(CHAT) and len(line) == 5]
    assert told[0] == ["c1", "findTools", "discovery", "tool-and-search-words"]
    assert told[3] == ["c4", "meetings_move", "repair", "same-tool-after-argument-error"]


def test_a_folder_a_pattern_standard_input_and_gzip(measure: Measure, tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "deep"
    folder.mkdir(parents=True)
    (folder / "a.json").write_bytes(CHAT.read_bytes())
    (folder / "b.json.gz").write_bytes(gzip.compress(CHAT.read_bytes()))
    (folder / "notes.txt").write_text("nothing here\n")
    (folder / ".hidden.json").write_bytes(CHAT.read_bytes())

    def n(*args: object, stdin: bytes = b"") -> int:
        done = measure(*args, "--json", stdin=stdin)
        assert done.exit_code == 0, done.stderr
        return sum(json.loads(done.stdout)["total"].values())

    assert n("logs") == 10
    assert n("logs/**/*.json") == 5
    assert n("logs", "logs/deep/a.json") == 10  # a file named twice is read once
    assert n("-", stdin=CHAT.read_bytes()) == 5
    assert n("-", stdin=gzip.compress(BROKEN.read_bytes())) == 4


def test_what_is_not_there_or_no_trace_is_said(measure: Measure, tmp_path: Path) -> None:
    done = measure("missing.json")
    assert done.exit_code == 2
    assert "missing.json: no such trace" in done.stderr
    (tmp_path / "notes.txt").write_text("nothing here\n")
    done = measure("notes.txt", "--json")
    assert done.exit_code == 2
    assert "no known format" in done.stderr
    answer = json.loads(done.stdout)
    assert answer["traces"] == []
    assert [problem["path"] for problem in answer["problems"]] == ["notes.txt"]
    error = json.loads(measure("missing.json", "--json").stdout)["error"]
    assert error["code"] == "bad_trace"
    assert measure().exit_code == 2
    assert "There is no format 'x'" in measure(CHAT, "--format", "x").stderr


def test_csv_is_one_line_a_session(measure: Measure) -> None:
    done = measure(CASES / "livemcpbench", "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["task"] for row in rows] == ["task-a", "task-b"]
    assert [row["calls"] for row in rows] == ["4", "2"]
    assert rows[0]["discovery_share"] == "0.25"


def test_terminal_report_names_phases_tools_repairs_and_outcomes(measure: Measure) -> None:
    out = measure(CHAT).stdout
    for text in (
        "Per trace", "tool\tcalls\tdiscovery", "before the first work call",
        "meetings_move", "Most repaired",
        "1 of 5 calls (20.0%; 95% interval 3.6% to 62.4%) in 1 sessions",
        "0 of 1 answers named no tool that was called later; 0 of 1 told nothing new",
    ):  # fmt: skip
        assert text in out, out


def test_tokens_can_be_counted_where_the_trace_does_not_say(measure: Measure) -> None:
    pytest.importorskip("bpe_openai")
    by_class = json.loads(measure(CHAT, "--count-tokens", "--json").stdout)["report"]["by_class"]
    assert 0 < by_class["work"]["text_tokens"] < by_class["work"]["text_chars"]
    assert by_class["setup"]["text_tokens"] is None


def test_control_characters_of_a_trace_do_not_reach_the_terminal(
    measure: Measure, tmp_path: Path
) -> None:
    (tmp_path / "x.log").write_text("")
    text = CHAT.read_text().replace("meetings_list", "a\\u001b[31mb")
    (tmp_path / "x.json").write_text(text)
    done = measure("x.json", "--explain")
    assert "\x1b" not in done.stdout
    assert "\\x1b[31mb" in done.stdout


def chat(path: Path, n_search: int, n_work: int) -> None:
    names = ["search_tools"] * n_search + ["act"] * n_work
    calls = [
        {"id": f"{path}{n}", "function": {"name": name, "arguments": "{}"}}
        for n, name in enumerate(names)
    ]
    messages = [{"role": "assistant", "content": None, "tool_calls": calls}]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"messages": messages}))


def test_before_and_after_paired_by_task(measure: Measure, tmp_path: Path) -> None:
    for n in range(8):
        chat(tmp_path / "a" / f"task{n}.json", 4, 4)
        chat(tmp_path / "b" / f"task{n}.json", 1, 7 + n % 2)
    chat(tmp_path / "b" / "other.json", 9, 0)
    done = measure("--before", "a", "--after", "b", "--pair-by", "task", "--json")
    answer = json.loads(done.stdout)
    assert (answer["pairs"], answer["left_out"], answer["method"]) == (8, 1, "paired bootstrap")
    assert answer["before"] == {"discovery": 32, "calls": 64, "sessions": 8, "share": 0.5}
    assert answer["after"]["discovery"] == 8
    low, high = answer["interval95"]
    assert low <= answer["change"] <= high < 0
    assert "fewer of the calls are discovery" in answer["conclusion"]
    assert "1 tasks that only one side has were left out." in answer["conclusion"]
    again = measure("--before", "a", "--after", "b", "--pair-by", "task", "--json")
    assert json.loads(again.stdout) == answer


def test_before_and_after_unpaired_says_what_it_cannot(measure: Measure, tmp_path: Path) -> None:
    chat(tmp_path / "a" / "one.json", 3, 5)
    chat(tmp_path / "b" / "two.json", 2, 6)
    answer = json.loads(measure("--before", "a", "--after", "b", "--json").stdout)
    assert answer["method"] == "unpaired score"
    assert answer["interval95"][0] < 0 < answer["interval95"][1]
    for text in ("do not show a change", "true interval is wider", "may differ in tasks"):
        assert text in answer["conclusion"]
    nothing = measure("--before", "a", "--after", "b", "--pair-by", "task")
    assert "Nothing can be concluded" in nothing.stdout
    assert measure("--before", "a").exit_code == 2
    assert measure("--before", "a", "--after", "b", "a").exit_code == 2


@pytest.mark.skipif("measure" not in Config.model_fields, reason="no [measure] in this build")
def test_rules_of_the_configuration_come_first(measure: Measure, tmp_path: Path) -> None:
    rule = '[[measure.rules]]\nname = "ours"\nclass = "setup"\ntool = "meetings_*"\n'
    (tmp_path / "codemode.toml").write_text(rule)
    assert json.loads(measure(CHAT, "--json").stdout)["total"]["setup"] == 4
    (tmp_path / "codemode.toml").write_text(rule.replace("setup", "setpu"))
    done = measure(CHAT)
    assert done.exit_code == 3
    assert "[measure]: ours: class must be one of" in done.stderr


def test_the_documented_configuration_works() -> None:
    text = (Path(__file__).parents[2] / "docs" / "measuring.md").read_text()
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    table = rule_table(tomllib.loads(block)["measure"])
    assert [rule.name for rule in table.rules[:2]] == ["parts-catalogue", "vpn"]
    assert table.wrappers[0].inner == ("service", "operation")
    assert "run_shell" in table.shells
    assert table.scripts[0] == "source"


class Page(HTMLParser):
    """What a page refers to, its tags, and whether they close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone_and_is_well_formed(measure: Measure, tmp_path: Path) -> None:
    done = measure(CASES, "--html", "report.html")
    assert done.exit_code == 0
    text = (tmp_path / "report.html").read_text()
    page = Page(text)
    assert page.open == []
    assert page.links == []
    assert "script" not in page.tags
    assert not re.search(r"https?://|@import|url\(", text)
    assert page.tags.count("svg") == 3
    assert "prefers-color-scheme: dark" in text
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        assert 'role="img"' in svg
        (label,) = re.findall(r'aria-labelledby="([^"]+)"', svg)
        assert f'<title id="{label}">' in svg


def test_the_page_shows_names_of_a_trace_as_text(measure: Measure, tmp_path: Path) -> None:
    text = CHAT.read_text().replace("meetings_list", "<img src=x onerror=alert(1)>")
    (tmp_path / "x.json").write_text(text)
    measure("x.json", "--html", "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<img" not in page
    assert "&lt;img" in page


def test_the_page_compares(measure: Measure, tmp_path: Path) -> None:
    chat(tmp_path / "a" / "one.json", 3, 5)
    chat(tmp_path / "b" / "one.json", 0, 6)
    done = measure("--before", "a", "--after", "b", "--html", "report.html")
    assert done.exit_code == 0
    text = (tmp_path / "report.html").read_text()
    assert Page(text).tags.count("svg") == 4
    assert "Discovery went from 3 of 8 calls (37.5%) to 0 of 6 (0.0%)" in text
    assert measure(CHAT, "--html", "no/folder.html").exit_code == 2


READS = """
import json, resource, sys
import typer
from codemode.edges import measure
app = typer.Typer()
app.callback()(lambda: None)
measure.register(app)
try:
    app(["measure", "-", "--json"])
except SystemExit as end:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"exit": end.code, "peak_mib": peak}), file=sys.stderr)
"""


def peak_mib(n_mib: int) -> tuple[int, int]:
    """(peak memory, calls) of measuring a log of that size through a pipe."""
    process = subprocess.Popen(
        [sys.executable, "-c", READS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None

    def feed(pipe: io.BufferedWriter) -> None:
        with pipe:
            for line in longlog.lines(n_mib * 1024 * 1024):
                pipe.write(line)

    feeding = threading.Thread(target=feed, args=(process.stdin,))
    feeding.start()
    out = process.stdout.read()
    end = json.loads(process.stderr.read().splitlines()[-1])
    feeding.join()
    process.wait()
    assert end["exit"] == 0
    return end["peak_mib"], sum(json.loads(out)["total"].values())


def test_a_log_larger_than_memory_may_be_is_streamed() -> None:
    """Holding the log's text alone would break the bound; docs/measuring.md has 1 GiB."""
    small, n_small = peak_mib(2)
    large, n_large = peak_mib(28)
    assert n_large > 10 * n_small
    assert large < small + 26
