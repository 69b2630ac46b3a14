"""The command line as users and CI meet it: names, exit codes, JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codemode.testing import FakeUpstream

from .conftest import TOKEN, Cli

STARS = {
    "py": 'from tools import github\nrepo = await github.repos_get(owner="o", repo="r")\n'
    'return repo["stargazers_count"]\n',
    "ts": 'import { github } from "tools";\n'
    'const repo = await github.reposGet({ owner: "o", repo: "r" });\n'
    "return repo.stargazers_count;\n",
}
OPENS = (
    'from tools import github\nreturn await github.issues_create(owner="o", repo="r", title="t")\n'
)


@pytest.mark.parametrize("language", ["py", "ts"])
def test_run_answers_json_with_every_field_of_the_contract(cli: Cli, language: str) -> None:
    done = cli("run", "-", "--language", language, "--json", stdin=STARS[language])
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["status"] == "succeeded"
    assert answer["value"] == 7
    assert answer["engine"] == "isolate"
    (call,) = answer["calls"]
    assert call["tool"] == "github.repos_get"
    assert (call["state"], call["status"], call["credential"]) == ("applied", 200, "github")
    assert answer["usage"]["n_calls"] == 1
    assert answer["usage"]["wall_ms"] > 0
    assert set(answer) >= {
        "run_id", "status", "engine", "runtime", "value", "error", "diagnostics", "preview",
        "calls", "logs", "files", "usage", "truncated",
    }  # fmt: skip
    assert TOKEN not in done.stdout + done.stderr


def test_text_on_a_pipe_is_plain_and_the_value_stands_alone(cli: Cli) -> None:
    done = cli("run", "-", "--language", "py", stdin="print('\\x1b[31mred')\nreturn [1, 2]\n")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [1, 2]
    assert "\x1b" not in done.stderr
    assert "\\x1b[31mred" in done.stderr


def test_a_script_that_fails_is_exit_1_with_its_line(cli: Cli) -> None:
    done = cli("run", "-", "--language", "py", "--json", stdin="x = 1\nraise ValueError('no')\n")
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert error["line"] == 2
    assert "no" in error["message"]


def test_a_wrong_script_is_refused_before_a_sandbox(cli: Cli, upstream: FakeUpstream) -> None:
    text = 'import { github } from "tools";\nreturn await github.reposGet({ owner: 1 });\n'
    done = cli("run", "-", "--language", "ts", "--json", stdin=text)
    assert done.returncode == 2
    answer = json.loads(done.stdout)
    assert answer["status"] == "refused"
    assert any(
        found["tool"] == "github.repos_get" for found in answer["diagnostics"] if "tool" in found
    )
    assert upstream.requests == []


def test_a_write_needs_allow(cli: Cli, upstream: FakeUpstream) -> None:
    refused = cli("run", "-", "--language", "py", "--json", stdin=OPENS)
    assert refused.returncode == 2
    answer = json.loads(refused.stdout)
    assert answer["error"]["code"] == "approval_required"
    assert "--allow github.issues_create" in answer["error"]["hint"]
    assert answer["preview"]["write"] == ["github.issues_create"]
    assert upstream.requests == []

    allowed = cli(
        "run", "-", "--language", "py", "--json", "--allow", "github.issues_create", stdin=OPENS
    )
    assert allowed.returncode == 0, allowed.stdout
    assert json.loads(allowed.stdout)["value"]["title"] == "t"
    assert len(upstream.requests) == 1


def test_dry_run_sends_nothing(cli: Cli, upstream: FakeUpstream) -> None:
    done = cli("run", "-", "--language", "py", "--json", "--dry-run", stdin=OPENS)
    assert done.returncode == 0, done.stdout
    answer = json.loads(done.stdout)
    assert answer["value"]["number"] == 1
    assert upstream.requests == []
    assert [call["error"] for call in answer["calls"]] == ["dry_run"]


def test_a_run_that_takes_too_long_is_exit_4(cli: Cli) -> None:
    done = cli("run", "-", "--language", "ts", "--json", "--timeout", "2", stdin="while (true) {}")
    assert done.returncode == 4, done.stdout + done.stderr
    assert json.loads(done.stdout)["status"] == "timed_out"


def test_input_is_seen_by_the_script(cli: Cli) -> None:
    done = cli(
        "run", "-", "--language", "py", "--input", '{"n": 41}', stdin="return input['n'] + 1\n"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == 42


def test_check_has_its_own_exit_codes(cli: Cli, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(STARS["py"], encoding="utf-8")
    bad.write_text("from tools import github\nreturn await github.repo_get()\n", encoding="utf-8")
    assert cli("check", str(good)).returncode == 0
    done = cli("check", str(bad), "--json")
    assert done.returncode == 1
    first = json.loads(done.stdout)["diagnostics"][0]
    assert (first["line"], first["severity"]) == (2, "error")
    assert "repos_get" in json.dumps(first)
    missing = cli("check", str(tmp_path / "none.py"))
    assert missing.returncode == 2
    assert "none.py" in missing.stderr


def test_search_and_describe(cli: Cli) -> None:
    found = json.loads(cli("search", "open an issue", "--limit", "3", "--json").stdout)
    assert found["tools"][0]["tool"] == "github.issues_create"
    assert found["n_shown"] == 3 < found["n_matching"]
    path = found["tools"][0]["path"]
    described = cli("describe", path, "github.isues_create", "--json")
    assert described.returncode == 1
    answer = json.loads(described.stdout)
    assert answer["tools"][0]["tool"] == "github.issues_create"
    assert "github.issues_create" in answer["unknown"][0]["nearest"]


def test_past_runs_are_kept(cli: Cli) -> None:
    done = cli("run", "-", "--language", "py", "--json", stdin="print('kept')\nreturn 1\n")
    run_id = json.loads(done.stdout)["run_id"]
    listed = json.loads(cli("runs", "list", "--json").stdout)
    assert listed[0]["run_id"] == run_id
    assert json.loads(cli("runs", "show", run_id, "--json").stdout)["value"] == 1
    assert "kept" in cli("runs", "logs", run_id).stdout
    assert cli("runs", "show", "../../etc/passwd").returncode == 2


def test_generate_check_tells_stale_from_fresh(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "stubs"
    assert cli("generate", "--out", str(out)).returncode == 0
    assert cli("generate", "--out", str(out), "--check").returncode == 0
    stub = next(out.rglob("github.pyi"))
    stub.write_text(stub.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")
    stale = cli("generate", "--out", str(out), "--check")
    assert stale.returncode == 1
    assert "github.pyi" in stale.stderr


def test_a_bad_row_is_named_and_the_rest_generated(cli: Cli, tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    rows.mkdir()
    good = {
        "name": "good", "description": "A good row.", "when_to_use": "Always.", "effect": "read",
        "args": {"type": "object", "properties": {}}, "binding": {"method": "GET", "path": "/"},
    }  # fmt: skip
    toolset = {
        "toolset": "mine", "description": "Mine.",
        "binding": {"via": "http", "base_url": "https://mine.example"},
        "rows": [good, {**good, "name": "bad", "efect": "read"}],
    }  # fmt: skip
    (rows / "mine.json").write_text(json.dumps(toolset), encoding="utf-8")
    out = tmp_path / "stubs"
    done = cli("generate", "--directory", str(rows), "--out", str(out), "--json")
    assert done.returncode == 0
    (bad,) = json.loads(done.stdout)["quarantined"]
    assert (bad["toolset"], bad["row"], bad["field"]) == ("mine", "bad", "efect")
    assert "good" in next(out.rglob("mine.pyi")).read_text(encoding="utf-8")
    strict = cli("generate", "--directory", str(rows), "--out", str(out), "--strict")
    assert strict.returncode == 1


ROW = {
    "name": "get", "description": "Reads one.", "when_to_use": "Its number is known.",
    "effect": "read", "args": {"type": "object", "properties": {}}, "binding": {"path": "/x"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"binding": {"path": "/items/{item}"}}, "shop.get, binding.path: has {item}"),
        (
            {"binding": {"path": "/x", "credential": "shopp"}},
            "binding.credential: there is no credential 'shopp'. Did you mean 'shop'?",
        ),
        (
            {"returns": {"type": "integer"}, "example": {"returns": "3"}},
            "example.returns: this does not fit the row",
        ),
        ({"args": {"properties": {"n": {"type": "integer"}}}}, "undescribed: shop.get.n:"),
        ({"when_to_use": "Not written yet: the server does not say."}, "unwritten: shop.get:"),
        ({"inverse": "undo"}, "shop.get, inverse: shop.json has no row 'undo'"),
        ({"pages": {"by": "leaf", "arg": "n"}}, "shop.get, pages.by: must be 'page', 'offset'"),
        ({"name": "getItem"}, "shop.getItem, name: a row's name is snake_case; write 'get_item'"),
        ({"name": None}, "shop, row 1, name: must be a text"),
        ({"idempotent": "yes"}, "shop.get, idempotent: must be true or false"),
    ],
)  # fmt: skip
def test_a_row_that_is_not_complete_fails_when_strict(
    cli: Cli, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    rows = tmp_path / "rows"
    rows.mkdir()
    document = {
        "toolset": "shop", "description": "A shop.", "rows": [ROW | change],
        "binding": {
            "via": "http", "base_url": "https://shop.example", "method": "GET",
            "credential": "shop",
        },
    }  # fmt: skip
    (rows / "shop.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    credential = {"scheme": "bearer", "env": "SHOP", "destinations": ["https://shop.example:443"]}
    (rows / "credentials.json").write_text(json.dumps({"credentials": {"shop": credential}}))
    words = ("generate", "--directory", str(rows), "--out", str(tmp_path / "stubs"))
    assert cli(*words).returncode == 0
    strict = cli(*words, "--strict")
    assert strict.returncode == 1
    assert said in " ".join(strict.stderr.split())


def test_init_writes_a_file_that_is_read(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "fresh.toml"
    assert cli("init", str(path)).returncode == 0
    assert cli("init", str(path)).returncode == 2
    assert cli("--help").returncode == 0
    assert cli("runs", "list", "--config", str(path)).returncode == 0


def test_credentials_say_whether_a_secret_is_found_and_never_show_it(cli: Cli) -> None:
    done = cli("credentials", "list", "--json")
    by_name = {row["name"]: row for row in json.loads(done.stdout)}
    assert by_name["github"]["found"] is True
    assert by_name["stripe"]["found"] is False
    assert TOKEN not in done.stdout
    assert cli("credentials", "test", "github").returncode == 0
    assert cli("credentials", "test", "stripe").returncode == 1
    assert cli("credentials", "test", "nobody").returncode == 2


def test_doctor_names_what_is_missing_and_what_to_do(cli: Cli) -> None:
    done = cli("doctor", "--json")
    findings = {found["name"]: found for found in json.loads(done.stdout)}
    assert findings["typescript checker"]["ok"]
    assert findings["python checker"]["ok"]
    assert findings["isolate engine"]["ok"]
    assert done.returncode == 0
    for found in findings.values():
        assert found["ok"] or found["fix"]


def test_an_engine_that_is_asked_for_and_missing_is_refused(cli: Cli) -> None:
    done = cli(
        "run",
        "-",
        "--language",
        "py",
        "--engine",
        "container",
        "--runtime",
        "runsc",
        "--json",
        "--config",
        "nowhere.toml",
        stdin="return 1",
    )
    assert done.returncode == 3
    assert "nowhere.toml" in json.loads(done.stdout)["error"]["message"]


def test_import_mcp_from_a_saved_answer(cli: Cli, tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    tools = [
        {
            "name": "add-note",
            "description": "Adds a note. Use it when something should be remembered.",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        }
    ]
    saved.write_text(json.dumps({"server": "notes", "tools": tools}), encoding="utf-8")
    out = tmp_path / "rows"
    done = cli("import", "mcp", str(saved), "--toolset", "notes", "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_rows"] == 1
    rows = json.loads((out / "notes.json").read_text(encoding="utf-8"))["rows"]
    assert rows[0]["binding"]["tool"] == "add-note"


def test_demo_does_the_main_job(cli: Cli) -> None:
    done = cli("demo", "--engine", "isolate")
    assert done.returncode == 0, done.stdout + done.stderr
    for shown in ("issuesListForRepo", "issues_list_for_repo", "Sharpen the saw", "applied"):
        assert shown in done.stdout


@pytest.mark.parametrize("timeout", ["0", "-5", "nan", "inf"])
def test_a_timeout_that_is_none_is_refused(cli: Cli, timeout: str) -> None:
    done = cli("run", "-", "--language", "py", f"--timeout={timeout}", "--json", stdin="return 1")
    assert done.returncode == 2
    assert "timeout_s" in json.loads(done.stdout)["error"]["message"]


def test_a_pattern_that_fits_nothing_is_said(cli: Cli) -> None:
    script = "return 1"
    done = cli(
        "run", "-", "--language", "py", "--json", "--allow", "github.issuesCreate", stdin=script
    )
    notes = " ".join(json.loads(done.stdout)["notes"])
    assert "github.issuesCreate" in notes
    assert "Did you mean github.issues_create?" in notes


def test_a_fault_of_ours_is_one_line_and_exit_3(tmp_path: Path) -> None:
    code = (
        "import sys; from codemode.edges import cli, upkeep\n"
        "def broken(*a, **k): raise RuntimeError('secret text')\n"
        "upkeep.RunStore = broken\n"
        "sys.argv = ['codemode', 'runs', 'list', '--json']\n"
        "cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path,
        env={"PATH": "", "HOME": str(tmp_path)}, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert "RuntimeError" in json.loads(done.stdout)["error"]["message"]
    assert "secret text" not in done.stdout + done.stderr


def test_json_and_text_carry_nothing_that_steers_a_terminal(cli: Cli) -> None:
    script = "print('\\x9b31m \\u202e \\u2028 \\x7f \\u061c')\nraise ValueError('a\\nfake: ok')\n"
    for flags in (["--json"], []):
        done = cli("run", "-", "--language", "py", *flags, stdin=script)
        shown = done.stdout + done.stderr
        assert not {"\x9b", "\u202e", "\u2028", "\x7f", "\u061c"} & set(shown)
        assert not any(line.startswith("fake") for line in shown.splitlines())
        if flags:
            assert "\u202e" in json.dumps(json.loads(done.stdout), ensure_ascii=False)
