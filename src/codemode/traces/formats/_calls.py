"""What formats share: calls that are asked for in one place and answered in another."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from codemode.core.measure.call import TraceCall

WINDOW = 500
"""A call that is still unanswered after so many later ones is passed on without an answer."""
MAX_KNOWN = 20_000


class Calls:
    """
    Puts answers to the calls that asked for them, and passes calls on in the order they were
    asked. A call that a history repeats is known by its opening, id, name and arguments and
    passed on once; a document that begins with known calls continues their session.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[int, TraceCall | None] = OrderedDict()
        self._answered: set[int] = set()
        self._by_id: dict[str, int] = {}
        self._known: OrderedDict[tuple[int, str, str, int], str] = OrderedDict()
        self._next = 0
        self._document = -1
        self._session = ""
        self._opening = 0

    def begin(self, document: int) -> str:
        """The session of a document: its own until it turns out to continue another."""
        if document != self._document:
            self._document = document
            self._session = "" if document == 0 else f"#{document + 1}"
            self._opening = 0
        return self._session

    def opens_with(self, question: str) -> None:
        """What the document's user said first: only what opens alike can be one history."""
        self._opening = self._opening or hash(question)

    @property
    def session(self) -> str:
        return self._session

    def ask(self, call: TraceCall, *, by_document: bool = False) -> Iterator[TraceCall]:
        """Take a call; give those that are ready. *by_document*: `begin` names the session."""
        key = (self._opening, call.id, call.name or "", hash(call.args_text))
        if call.id and key in self._known:
            if by_document:
                self._session = self._known[key]
            return
        if by_document:
            call = replace(call, session=self._session)
        if call.id:
            self._known[key] = call.session
            if len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
            self._by_id[call.id] = self._next
        self._open[self._next] = call
        if call.result is not None:
            self._answered.add(self._next)
        self._next += 1
        yield from self._ready()

    def answer(
        self, id: str, text: str, *, is_error: bool = False, end_s: float | None = None
    ) -> Iterator[TraceCall]:
        """Take an answer; give the calls that are ready now. Unknown ids are ignored."""
        number = self._by_id.get(id)
        call = self._open.get(number) if number is not None else None
        if number is not None and call is not None and number not in self._answered:
            self._open[number] = replace(
                call, result=text, is_error=is_error, end_s=end_s if end_s is not None else None
            )
            self._answered.add(number)
        yield from self._ready()

    def finish(self) -> Iterator[TraceCall]:
        """The trace has ended: pass on what is left."""
        while self._open:
            yield from self._pop()

    def _ready(self) -> Iterator[TraceCall]:
        while self._open and (next(iter(self._open)) in self._answered or len(self._open) > WINDOW):
            yield from self._pop()

    def _pop(self) -> Iterator[TraceCall]:
        number, call = self._open.popitem(last=False)
        self._answered.discard(number)
        if call is not None:
            if self._by_id.get(call.id) == number:
                del self._by_id[call.id]
            yield call


def parsed(arguments: Any) -> tuple[Any, str]:
    """Arguments as a value and as text; the value is None where the text is not JSON."""
    if arguments is None:
        return None, ""
    if not isinstance(arguments, str):
        return arguments, as_text(arguments)
    try:
        return json.loads(arguments), arguments
    except (ValueError, RecursionError):
        return None, arguments


def as_text(value: Any) -> str:
    """Text of an answer: text blocks joined, anything else as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if (
        isinstance(value, list)
        and value
        and all(isinstance(block, dict) and isinstance(block.get("text"), str) for block in value)
    ):
        return "\n".join(block["text"] for block in value)
    return json.dumps(value, ensure_ascii=False, default=str)


def seconds(moment: Any) -> float | None:
    """ISO 8601 (UTC if it names no zone) or a number of seconds, as seconds since 1970."""
    if isinstance(moment, int | float) and not isinstance(moment, bool):
        return float(moment)
    if not isinstance(moment, str) or not moment:
        return None
    try:
        found = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def mapping(value: Any) -> dict[str, Any]:
    """*value* if it is an object, else an empty one: traces hold what they like."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def count(value: Any) -> int:
    """A token count; 0 where there is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
