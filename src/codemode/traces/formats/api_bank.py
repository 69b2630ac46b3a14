"""API-Bank dialogues: lines with ``role`` User, AI or API; a dialogue a file."""

from __future__ import annotations

from collections.abc import Iterator

from codemode.core.measure.call import Problem, Record, TraceCall
from codemode.traces.formats._calls import as_text, mapping, parsed
from codemode.traces.formats._calls import text_or_none as text
from codemode.traces.source import Sample, Source

_ROLES = frozenset({"User", "AI", "API"})


class ApiBank:
    name = "api_bank"

    def detect(self, sample: Sample) -> int:
        roles = sample.values.get("role", frozenset())
        if not roles or not roles <= _ROLES:
            return 0
        return 2 + sample.has("text") + sample.has("api_name")

    def read(self, source: Source) -> Iterator[Record]:
        n = 0
        for part in source.parts(""):
            if isinstance(part, Problem):
                yield part
                continue
            line = mapping(part.value)
            if line.get("role") != "API":
                continue
            n += 1
            args, args_text = parsed(line.get("param_dict"))
            answer = mapping(line.get("result"))
            exception = answer.get("exception")
            yield TraceCall(
                id=f"{part.line}" if part.line else f"#{n}",
                name=text(line.get("api_name")),
                args=args,
                args_text=args_text,
                result=as_text(exception or answer.get("output")) if answer else None,
                is_error=bool(exception),
            )


FORMAT = ApiBank()
