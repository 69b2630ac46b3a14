"""Exact counts for the public traces and the expected class of every synthetic call."""

from __future__ import annotations

import json

import pytest

from codemode.core.measure.stats import wilson

from .reading import SHARED, read

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/traces is not here"),
]

SIDECARS = sorted(SHARED.glob("formats/*/*.expected.json"))
COUNTS = json.loads((SHARED / "counts.json").read_text()) if SHARED.is_dir() else {}
FOLDERS = {"livemcpbench": "livemcpbench", "api_bank": "api-bank"}
FILES = [
    pytest.param(kind, one, id=one["file"])
    for kind in FOLDERS
    for one in COUNTS.get(kind, {}).get("files", ())
]


@pytest.mark.parametrize("sidecar", SIDECARS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_synthetic_call_is_in_its_class(sidecar) -> None:
    want = json.loads(sidecar.read_text())
    got = read(sidecar.parent / want["trace"])
    assert got.format == want["format"]
    assert got.problems == []
    assert got.classes == [(c["id"], c["name"], c["class"]) for c in want["calls"]]
    for call, classed in zip(want["calls"], got.calls, strict=True):
        assert call.get("from_script", False) == classed.call.from_script
        if "inner_tool" in call:
            assert classed.seen.inner == call["inner_tool"]
    usage = want.get("usage") or want.get("usage_counted_once_per_message_id")
    if usage:
        assert got.totals.tokens.total() == sum(usage.values())


@pytest.mark.parametrize(("kind", "one"), FILES)
def test_calls_and_discovery_of_every_public_file(kind: str, one: dict) -> None:
    got = read(SHARED / FOLDERS[kind] / one["file"])
    counts = got.totals.counts
    assert got.format == kind
    assert got.problems == []
    assert len(got.calls) == one["calls"]
    assert counts["discovery"] == one["discovery"]
    # these sources do not mark setup and repair: their work is all three
    assert counts["work"] + counts["repair"] + counts["setup"] == one["work"]
    if kind == "livemcpbench":
        assert got.totals.phases["before", "discovery"] == one["discovery_before_first_work"]
        assert got.totals.phases["after", "discovery"] == one["discovery_after_first_work"]


@pytest.mark.parametrize("kind", FOLDERS)
def test_the_interval_is_the_stated_one(kind: str) -> None:
    total = COUNTS[kind]["total"]
    found = wilson(total["discovery"], total["calls"])
    assert [round(found.low, 4), round(found.high, 4)] == total["discovery_share_wilson95"]


def test_nothing_else_in_the_folder_is_taken_for_a_trace() -> None:
    for path in [*SIDECARS, SHARED / "counts.json", SHARED / "livemcpbench_tools.json"]:
        assert read(path).format is None, path
