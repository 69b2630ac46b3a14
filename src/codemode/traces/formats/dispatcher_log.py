"""
The pipe dispatcher's own log: a call a line, ``KEY|arg|arg``, a time before it allowed. It
holds no answers, so what discovery led to cannot be judged from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from codemode.core.measure.call import Problem, Record, TraceCall
from codemode.traces.formats._calls import seconds
from codemode.traces.source import Sample, Source

_LINE = re.compile(
    r"^(?:\[?(?P<at>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*?)\]?[\s|]+)?"
    r"(?P<key>[A-Z][A-Z0-9_]*)(?:\|(?P<body>.*))?$",
    re.DOTALL,
)


class DispatcherLog:
    name = "dispatcher_log"

    def detect(self, sample: Sample) -> int:
        lines = [line for line in sample.text.splitlines()[:20] if line.strip()]
        fit = sum(bool(_LINE.match(line.strip()) and "|" in line) for line in lines)
        return 2 if lines and fit * 2 > len(lines) else 0

    def read(self, source: Source) -> Iterator[Record]:
        for found in source.lines():
            if isinstance(found, Problem):
                yield found
                continue
            number, line = found
            try:
                match = _LINE.match(line.decode("utf-8"))
            except UnicodeDecodeError as error:
                reason = f"not UTF-8 at byte {error.start}"
                yield Problem(path=source.path, line=number, reason=reason)
                continue
            if match is None:
                yield Problem(path=source.path, line=number, reason="not KEY|arg|arg")
                continue
            body = match["body"] or ""
            yield TraceCall(
                id=str(number),
                name=match["key"],
                args={"key": match["key"], "args": body.split("|") if body else []},
                args_text=body,
                start_s=seconds(match["at"]),
                attributes={"wrapper": "dispatch"},
            )


FORMAT = DispatcherLog()
