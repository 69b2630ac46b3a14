"""How importers write a toolset file: JSON that people read and compare line by line."""

from __future__ import annotations

import json
from typing import Any

WIDTH = 100
INDENT = 2


def lay_out(document: dict[str, Any]) -> str:
    """
    *document* as text: what fits on a line stands on one, the top and each row do not.

    >>> print(lay_out({"rows": [{"name": "a"}]}), end="")
    {
      "rows": [
        {
          "name": "a"
        }
      ]
    }
    """
    return _laid(document, indent=0, lead=0, open_levels=3) + "\n"


def _laid(value: Any, *, indent: int, lead: int, open_levels: int) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value:
        return flat
    if open_levels <= 0 and indent + lead + len(flat) <= WIDTH:
        return flat
    pad = " " * (indent + INDENT)
    lines = []
    for key, item in value.items() if isinstance(value, dict) else ((None, i) for i in value):
        label = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
        # Only the way down to a row stays open: the file, its rows, each row.
        levels = open_levels - 1 if key in (None, "rows") else 0
        laid = _laid(item, indent=indent + INDENT, lead=len(label) + 1, open_levels=levels)
        lines.append(f"{pad}{label}{laid}")
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(lines) + f"\n{' ' * indent}{closing}"
