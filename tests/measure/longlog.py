"""
A long agent log, made as it is read: ``python tests/measure/longlog.py MIB | codemode measure -``.

Lines in the shape of Claude Code's log: sessions of 250 calls, answers of a few kilobytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

FILLER = "a line of output that a program printed, as programs do\n" * 60


def lines(n_bytes: int) -> Iterator[bytes]:
    """JSONL until *n_bytes* have been given."""
    given = number = 0
    while given < n_bytes:
        session = f"00000000-0000-4000-8000-{number // 250:012d}"
        search = number % 5 == 0
        name, value = ("ToolSearch", {"query": f"tool {number}"}) if search else (
            f"mcp__hub__act_{number % 40}",
            {"n": number},
        )  # fmt: skip
        asked = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": value}
        answer = f"mcp__hub__act_{(number + 1) % 40}" if search else FILLER
        told = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": answer}
        base = {"sessionId": session, "isSidechain": False, "uuid": f"u{number}"}
        at = f"2026-03-04T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z"
        for role, message in (
            (
                "assistant",
                {
                    "id": f"msg_{number}",
                    "content": [asked],
                    "usage": {"input_tokens": 10, "output_tokens": 5},
                },
            ),
            ("user", {"content": [told]}),
        ):
            event = base | {"type": role, "timestamp": at, "message": {"role": role} | message}
            line = json.dumps(event).encode() + b"\n"
            given += len(line)
            yield line
        number += 1


if __name__ == "__main__":
    for line in lines(int(float(sys.argv[1]) * 1024 * 1024)):
        sys.stdout.buffer.write(line)
