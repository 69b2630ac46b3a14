"""A plan for the scripted model, and a folder for its results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ab.scripted import KEY, ScriptedModel
from codemode.ab.plan import Plan, parse_plan

KEY_ENV = "CODEMODE_TEST_MODEL_KEY"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(KEY_ENV, KEY)
    return KEY


@pytest.fixture
def scripted(key: str) -> Iterator[ScriptedModel]:
    model = ScriptedModel([1, 2])
    with model.upstream:
        yield model


def raw_plan(base_url: str, **over: Any) -> dict[str, Any]:
    """Three tasks, every surface, one seed."""
    model = {
        "api": "openai",
        "base_url": base_url,
        "name": "scripted",
        "api_key_env": KEY_ENV,
        "input_usd": 1.0,
        "output_usd": 10.0,
        **over.pop("model", {}),
    }
    caps = {"max_tokens": 10**9, "max_seconds": 3600, "max_turns": 60, **over.pop("caps", {})}
    return {
        "name": "of a test",
        "sample_size": 2,
        "seeds": [1],
        "tasks": ["announce_release", "tag_release"],
        "model": model,
        "caps": caps,
        **over,
    }


def make_plan(scripted: ScriptedModel, **over: Any) -> Plan:
    raw = raw_plan(f"{scripted.upstream.url}/v1", **over)
    return parse_plan(raw, origin="the test")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results"
