"""OTLP as JSON: ``resourceSpans``, in one document or one request a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from codemode.core.measure.call import Problem
from codemode.traces.formats._calls import items, mapping
from codemode.traces.source import Sample, Source

_RESOURCE = "resourceSpans.item.resource"
_SPANS = "resourceSpans.item.scopeSpans.item.spans.item"
_ATTRIBUTE_KEY = _SPANS + ".attributes.item.key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span with its attributes as plain values; its resource's and its events' too."""

    trace: str
    span: str
    parent: str
    name: str
    start_s: float
    end_s: float | None
    is_error: bool
    status: str
    attributes: dict[str, Any]


def is_otlp(sample: Sample, *, with_attribute: str = "") -> bool:
    """Whether *sample* is OTLP, with an attribute whose name begins like this."""
    keys = sample.values.get(_ATTRIBUTE_KEY, frozenset())
    if not any(path.startswith("resourceSpans") for path in sample.values):
        return False
    return not with_attribute or any(key.startswith(with_attribute) for key in keys)


def spans(source: Source) -> Iterator[Span | Problem]:
    """Every span, in the order of the file."""
    resource: dict[str, Any] = {}
    for part in source.parts(_RESOURCE, _SPANS):
        if isinstance(part, Problem):
            yield part
        elif part.path == _RESOURCE:
            resource = _attributes(mapping(part.value).get("attributes"))
        else:
            raw = mapping(part.value)
            attributes = dict(resource)
            for event in items(raw.get("events")):
                attributes |= _attributes(event.get("attributes"))
            attributes |= _attributes(raw.get("attributes"))
            status = mapping(raw.get("status"))
            yield Span(
                trace=str(raw.get("traceId") or ""),
                span=str(raw.get("spanId") or ""),
                parent=str(raw.get("parentSpanId") or ""),
                name=str(raw.get("name") or ""),
                start_s=_seconds(raw.get("startTimeUnixNano")) or 0.0,
                end_s=_seconds(raw.get("endTimeUnixNano")),
                is_error=status.get("code") in (2, "STATUS_CODE_ERROR"),
                status=str(status.get("message") or ""),
                attributes=attributes,
            )


def _attributes(raw: Any) -> dict[str, Any]:
    return {str(one.get("key")): _value(one.get("value")) for one in items(raw)}


def _value(raw: Any) -> Any:
    found = mapping(raw)
    if "intValue" in found:
        try:
            return int(found["intValue"])
        except (TypeError, ValueError):
            return None
    if "arrayValue" in found:
        return [_value(one) for one in items(mapping(found["arrayValue"]).get("values"))]
    if "kvlistValue" in found:
        return _attributes(mapping(found["kvlistValue"]).get("values"))
    return next(iter(found.values()), None)


def _seconds(nanoseconds: Any) -> float | None:
    try:
        return int(nanoseconds) / 1e9
    except (TypeError, ValueError):
        return None
