"""
Counting while calls stream past. What is kept is bounded by tools and sessions, not calls.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from codemode.core.measure.call import CLASSES, CallClass, Tokens, TraceCall
from codemode.core.measure.rules import Classifier, Rule, RuleTable, Seen, at
from codemode.core.measure.words import asked_about, names_in_script, names_of, programs, tools_in

Phase: TypeAlias = Literal["before", "after"]
"""Before the first work call of the session, or after it."""

MAX_UNDECIDED = 500
MAX_MESSAGES = 1_000
MAX_TOLD = 5_000
MAX_TIMELINE = 400


@dataclass(slots=True)
class Sums:
    """
    What calls of one kind add up to.

    Args:
        n_timed: Calls for which the trace has both ends; *seconds* is their sum.
        text_chars: Characters of arguments and answers.
        text_tokens: The same counted by a tokenizer, if one was given.
    """

    n: int = 0
    n_timed: int = 0
    seconds: float = 0.0
    text_chars: int = 0
    text_tokens: int = 0

    def add(self, other: Sums) -> None:
        self.n += other.n
        self.n_timed += other.n_timed
        self.seconds += other.seconds
        self.text_chars += other.text_chars
        self.text_tokens += other.text_tokens


@dataclass(slots=True)
class Discovery:
    """
    What came of discovery calls.

    Args:
        judged: Calls whose answer is in the trace; only these can be judged.
        nowhere: No tool that the answer named was called later in the session.
        nothing_new: The answer was empty or an error, or the session had been told before.
        undecided: Given up on because the session grew too long.
    """

    judged: int = 0
    nowhere: int = 0
    nothing_new: int = 0
    undecided: int = 0

    def add(self, other: Discovery) -> None:
        self.judged += other.judged
        self.nowhere += other.nowhere
        self.nothing_new += other.nothing_new
        self.undecided += other.undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One call of the timeline. Times are seconds from the session's first; None: unknown."""

    name: str
    cls: CallClass
    start_s: float | None
    end_s: float | None
    rule: str


@dataclass(slots=True, kw_only=True)
class SessionTally:
    """
    What one session adds up to.

    Args:
        tokens: Provider tokens by class of the calls that a message asked for, shared
            equally among them; ``answer`` for messages without calls, ``total`` for what
            the trace states only for the session as a whole.
        repairs: Refused tool -> how often the model had to mend a call to it.
    """

    path: str
    format: str
    session: str = ""
    task: str = ""
    classes: dict[CallClass, Sums] = field(default_factory=lambda: {c: Sums() for c in CLASSES})
    phases: Counter[tuple[Phase, CallClass]] = field(default_factory=Counter)
    tools: Counter[tuple[str, CallClass]] = field(default_factory=Counter)
    agents: Counter[tuple[str, CallClass]] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    repairs: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    discovery: Discovery = field(default_factory=Discovery)
    from_script: int = 0
    timeline: list[Tick] = field(default_factory=list)

    @property
    def n_calls(self) -> int:
        return sum(sums.n for sums in self.classes.values())

    @property
    def counts(self) -> dict[str, int]:
        """Calls by class, every class present."""
        return {cls: self.classes[cls].n for cls in CLASSES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Classed:
    """A call with its class and the rule that gave it."""

    call: TraceCall
    cls: CallClass
    rule: Rule
    seen: Seen


class SessionCounter:
    """Takes the records of one session in their order; `close` gives the tally."""

    def __init__(
        self,
        table: RuleTable,
        *,
        path: str,
        format: str,
        session: str = "",
        count_tokens: Callable[[str], int] | None = None,
    ) -> None:
        self._table = table
        self._classifier = Classifier(table)
        self._count = count_tokens
        self._tally = SessionTally(path=path, format=format, session=session)
        self._phase: Phase = "before"
        self._origin_s: float | None = None
        self._spent: OrderedDict[str, Tokens | None] = OrderedDict()
        self._asked: dict[str, Counter[CallClass]] = {}
        self._undecided: OrderedDict[int, frozenset[str]] = OrderedDict()
        self._naming: dict[str, set[int]] = {}  # tool name -> undecided calls that named it
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()

    def spend(self, tokens: Tokens) -> None:
        """The provider's count for a message; the last one said of a message stands."""
        if not tokens.message:
            self._tally.tokens["total"] += tokens.total
            return
        self._touch(tokens.message)
        self._spent[tokens.message] = tokens

    def add(self, call: TraceCall) -> Classed:
        """Class and count one call."""
        cls, rule, seen = self._classifier.classify(call)
        tally = self._tally
        tally.task = tally.task or call.task
        sums = tally.classes[cls]
        sums.n += 1
        if (duration := call.duration_s) is not None:
            sums.n_timed += 1
            sums.seconds += duration
        text = call.args_text + (call.result or "")
        sums.text_chars += len(text)
        if self._count is not None:
            sums.text_tokens += self._count(text)
        tool = seen.inner or call.name or "(no name)"
        tally.tools[tool, cls] += 1
        tally.agents[call.agent, cls] += 1
        tally.rules[rule.name] += 1
        tally.from_script += call.from_script
        if cls == "repair":
            tally.repairs[tool] += 1
        if cls == "work":
            self._phase = "after"
        tally.phases[self._phase, cls] += 1
        if call.message:
            self._touch(call.message)
            self._asked.setdefault(call.message, Counter())[cls] += 1
        if cls == "discovery":
            self._judge(call, seen)
        elif seen.call.name:
            self._use(call, seen)
        self._tick(call, cls, rule, tool)
        return Classed(call=call, cls=cls, rule=rule, seen=seen)

    def close(self) -> SessionTally:
        """No more records."""
        while self._spent:
            self._settle()
        self._tally.discovery.nowhere += len(self._undecided)
        self._undecided.clear()
        return self._tally

    def _judge(self, call: TraceCall, seen: Seen) -> None:
        """Whether a discovery answer told something new; what would make it useful."""
        if call.result is None:
            return
        found = self._tally.discovery
        found.judged += 1
        key = seen.inner or call.name or ""
        command = self._table.command(call)
        # a help run tells of its program; a description tells of the tool it was asked about
        names = tools_in(call.result) if command is None else frozenset()
        about = asked_about(call.args) if command is None else programs(command)
        told = [(key, name) for name in sorted(names)] or [(key, call.result.strip())]
        new = [one for one in told if one not in self._told]
        if not new or call.is_error or not call.result.strip():
            found.nothing_new += 1
        for one in new:
            self._told[one] = None
        while len(self._told) > MAX_TOLD:
            self._told.popitem(last=False)
        named = names | frozenset(name.lower() for name in about)
        self._undecided[found.judged] = named
        for name in named:
            self._naming.setdefault(name, set()).add(found.judged)
        if len(self._undecided) > MAX_UNDECIDED:
            self._decide(next(iter(self._undecided)))
            found.undecided += 1

    def _use(self, call: TraceCall, seen: Seen) -> None:
        """Discovery that named this tool led somewhere."""
        used = names_of(call.name or "", seen.inner)
        used |= {call.attributes.get("namespace", "").lower()}  # a search may name only that
        command = self._table.command(call)
        if command is not None:
            used |= frozenset(name.lower() for name in programs(command))
        for path in self._table.scripts:
            for script in at(call.args, path):
                used |= names_in_script(script)
        for number in {number for name in used for number in self._naming.get(name, ())}:
            self._decide(number)

    def _decide(self, number: int) -> None:
        for name in self._undecided.pop(number):
            numbers = self._naming[name]
            numbers.discard(number)
            if not numbers:
                del self._naming[name]

    def _touch(self, message: str) -> None:
        self._spent.setdefault(message, None)
        self._spent.move_to_end(message)
        if len(self._spent) > MAX_MESSAGES:
            self._settle()

    def _settle(self) -> None:
        """Share the oldest message's tokens among the calls that it asked for."""
        message, tokens = self._spent.popitem(last=False)
        classes = self._asked.pop(message, Counter())
        if tokens is None:
            return
        if not classes:
            self._tally.tokens["answer"] += tokens.total
            return
        left, n = tokens.total, classes.total()
        for cls, count in sorted(classes.items()):
            part = left * count // n
            self._tally.tokens[cls] += part
            left, n = left - part, n - count

    def _tick(self, call: TraceCall, cls: CallClass, rule: Rule, tool: str) -> None:
        if len(self._tally.timeline) >= MAX_TIMELINE:
            return
        if self._origin_s is None:
            self._origin_s = call.start_s
        origin = self._origin_s
        start = None if call.start_s is None or origin is None else call.start_s - origin
        end = None if call.end_s is None or origin is None else call.end_s - origin
        self._tally.timeline.append(
            Tick(name=tool, cls=cls, start_s=start, end_s=end, rule=rule.name)
        )
