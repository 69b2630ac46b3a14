"""
Reading recorded traces: files, folders, gzip and standard input, in whatever format.

A new format is one file in `codemode.traces.formats`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from codemode.core.measure.rules import RuleTable, read_table


def rule_table(extra: Mapping[str, Any] | None = None) -> RuleTable:
    """
    The shipped rules, with the operator's *extra* (``[measure]``) before them.

    Raises:
        ConfigError: Naming the rule and key of *extra* that cannot be used.
    """
    raw = tomllib.loads(files(__name__).joinpath("rules.toml").read_text(encoding="utf-8"))
    return read_table(raw, extra=extra, origin="rules.toml")
