"""
The main job, shown: both languages against a service on this machine.

The service is a stand-in for GitHub on a loopback port that refuses whoever lacks
the right bearer token. The token is made here, kept in a file that only its owner can
read, and attached on the host; the sandbox never sees it.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from codemode.core.render import result_json
from codemode.core.run import Language, RunResult
from codemode.edges import terminal
from codemode.service import Codemode
from codemode.store.config import parse_config
from codemode.testing import FakeRequest, FakeUpstream

SCRIPTS: dict[Language, str] = {
    "typescript": """\
import { github } from "tools";

const repos = ["hello", "tools", "docs"];
const lists = await Promise.all(
  repos.map((repo) => github.issuesListForRepo({ owner: "octo", repo, state: "open" })),
);
return repos.map((repo, i) => ({
  repo,
  open: lists[i].length,
  oldest: lists[i].map((issue) => issue.title).at(-1) ?? null,
}));
""",
    "python": """\
import asyncio
from tools import github

repos = ["hello", "tools", "docs"]
lists = await asyncio.gather(
    *[github.issues_list_for_repo(owner="octo", repo=repo, state="open") for repo in repos]
)
return [
    {"repo": repo, "open": len(issues), "oldest": issues[-1]["title"] if issues else None}
    for repo, issues in zip(repos, lists)
]
""",
}
TOOL = "github.issues_list_for_repo"

_TITLES = {"hello": ["It breaks", "Say hello in Welsh"], "tools": ["Sharpen the saw"], "docs": []}


def _issues(request: FakeRequest) -> list[dict[str, Any]]:
    repo = request.path_args["repo"]
    return [
        {
            "number": number,
            "id": 9000 + number,
            "title": title,
            "state": "open",
            "body": None,
            "user": {"login": "octo", "id": 1, "type": "User"},
            "labels": [],
            "assignees": [],
            "milestone": None,
            "comments": 0,
            "created_at": "2026-03-02T09:00:00Z",
            "updated_at": "2026-03-03T09:00:00Z",
            "closed_at": None,
            "html_url": f"https://github.com/octo/{repo}/issues/{number}",
        }
        for number, title in enumerate(_TITLES.get(repo, []), start=1)
    ]


@contextmanager
def _configured() -> Iterator[tuple[dict[str, Any], FakeUpstream]]:
    """Config tables for the demo and the service it talks to."""
    token = secrets.token_urlsafe(24)
    with (
        tempfile.TemporaryDirectory(prefix="codemode-demo-") as name,
        FakeUpstream(require_bearer=token) as upstream,
    ):
        upstream.route("GET", "/repos/{owner}/{repo}/issues", _issues)
        path = Path(name) / "token"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(token)
        tables = upstream.config("github", credentials=["github"])
        tables["credentials"]["github"] |= {"provider": "file", "path": str(path)}
        tables["state"] = str(Path(name) / "state")
        yield tables, upstream


async def run_demo(*, engine: str, as_json: bool) -> int:
    """
    Show, or with *as_json* report, one run per language.

    Returns the exit code: 0 if both runs succeeded and the service saw the credential.
    """
    results: dict[str, RunResult] = {}
    with _configured() as (tables, upstream):
        config = parse_config(tables, origin="demo", base=Path.cwd())
        async with Codemode.open(config) as codemode:
            for language, script in SCRIPTS.items():
                result = await codemode.run(script, language=language, engine=engine)
                results[language] = result
                if not as_json:
                    _show(codemode, language, script, result)
        n_authorised = sum(
            request.headers.get("authorization", "").startswith("Bearer ")
            for request in upstream.requests
        )
    ok = all(result.status == "succeeded" for result in results.values()) and n_authorised == 6
    if as_json:
        terminal.show_json({name: result_json(result) for name, result in results.items()})
    elif ok:
        terminal.show(f"\nThe service saw {n_authorised} calls, each with its bearer token.")
    return 0 if ok else 1


def _show(codemode: Codemode, language: Language, script: str, result: RunResult) -> None:
    terminal.show(f"\n== {language} " + "=" * (70 - len(language)), style="bold")
    terminal.show("\n-- the stub of the tool", style="bold")
    declared = codemode.describe([TOOL], language=language)
    terminal.show(declared["tools"][0]["declaration"].rstrip())
    terminal.show("\n-- the script", style="bold")
    terminal.show(script.rstrip())
    terminal.show("\n-- the preview: what it may call", style="bold")
    terminal.show_preview(result.preview)
    runtime = f" ({result.runtime})" if result.runtime else ""
    terminal.show(f"\n-- the result, from the {result.engine} engine{runtime}", style="bold")
    for note in result.notes:
        terminal.show(note, style="cyan")
    terminal.show_diagnostics(result.diagnostics)
    if result.error is not None:
        terminal.show(f"{result.status}: {result.error.message}", style="red")
        terminal.show(result.error.hint)
    terminal.show_value(result.value)
    terminal.show("\n-- the calls", style="bold")
    terminal.table(
        ["#", "tool", "effect", "state", "status", "ms", "bytes", "credential"],
        (
            [
                call.seq,
                call.tool,
                call.effect,
                call.state,
                call.status or "",
                round(call.duration_ms, 1),
                call.received_bytes,
                call.credential or "",
            ]
            for call in result.calls
        ),
    )
