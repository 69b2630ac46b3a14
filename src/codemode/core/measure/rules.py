"""
Which class a call is, by an ordered table of rules. The first that matches decides.

The table is data (`codemode.traces` ships it; an operator's ``[measure]`` comes before it):

* ``tool``: glob, or list of globs, over the tool's name or the name inside a wrapper;
* ``words``: lists of words; the name must hold one of each (``search_tools``, ``ToolSearch``);
* ``attribute`` with ``matches``: a regular expression over an argument (``a.b``), something
  that the trace says of the call, or ``wrapper``, the tool that this one was called through;
* ``when``: a predicate, one of `PREDICATES`.

All that a rule gives must hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, TypeAlias

from codemode.core.measure.call import CLASSES, CallClass, TraceCall
from codemode.core.measure.words import own_name, programs, words
from codemode.core.tool import JsonValue
from codemode.errors import ConfigError

_MAX_NAMED = 4_096
_HEAD = 4_000
"""Characters of an answer in which an error is looked for."""
_BEGINS_WITH_ERROR = re.compile(
    r"\W*(?:errors?\b|exception|traceback|tool_use_error|\w{1,60}error\b|invalid|usage:)"
    r"|\s*\{\s*\"(?:error|errors|exception)\"\s*:\s*[^n]",
    re.IGNORECASE,
)
_FLAG = re.compile(r"\"(?:isError|is_error)\"\s*:\s*true|\"(?:success|ok)\"\s*:\s*false")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """A tool that calls others by name. *inner*: argument paths, joined by ``/``."""

    tool: str
    inner: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One line of the table; see the module. *name* is what ``--explain`` shows."""

    name: str
    cls: CallClass
    tool: tuple[str, ...] = ()
    words: tuple[frozenset[str], ...] = ()
    attribute: str = ""
    matches: re.Pattern[str] | None = None
    when: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """
    A call as the rules see it.

    Args:
        inner: The tool inside a wrapper; None if *call* is no wrapper or it is unreadable.
        key: What "the same tool" means for repair: name, inner tool, program of a shell.
    """

    call: TraceCall
    is_wrapper: bool
    inner: str | None
    key: str | None
    repairs: bool

    @property
    def subject(self) -> str:
        return self.inner if self.inner is not None else own_name(self.call.name or "")


PREDICATES: Mapping[str, Callable[[Seen], bool]] = {
    "no_name": lambda seen: not seen.call.name,
    "inner_unreadable": lambda seen: seen.is_wrapper and seen.inner is None,
    "repairs": lambda seen: seen.repairs,
    "from_script": lambda seen: seen.call.from_script,
    "always": lambda seen: True,
}
"""``repairs``: the same tool's last answer was an argument, schema or type error."""

_FIELDS = {"name", "class", "tool", "words", "attribute", "matches", "when"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTable:
    """
    Args:
        argument_errors, other_errors: Patterns over an answer that reports an error. The
            one that matches first in the text decides whether the arguments were at fault.
        shells: Tools whose ``command`` argument is a shell command.
        scripts: Arguments that hold a script which calls further tools.
    """

    rules: tuple[Rule, ...]
    wrappers: tuple[Wrapper, ...] = ()
    argument_errors: re.Pattern[str] | None = None
    other_errors: re.Pattern[str] | None = None
    shells: frozenset[str] = field(default_factory=frozenset)
    scripts: tuple[str, ...] = ()
    _named: dict[tuple[str, str | None], tuple[Rule, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def rule(self, seen: Seen) -> Rule:
        """The first rule that applies."""
        return next(rule for rule in self._fitting(seen) if rest_applies(rule, seen))

    def _fitting(self, seen: Seen) -> tuple[Rule, ...]:
        """Rules whose name part fits; traces call few tools often, so that is remembered."""
        key = (seen.call.name or "", seen.inner)
        found = self._named.get(key)
        if found is None:
            if len(self._named) >= _MAX_NAMED:
                self._named.clear()
            found = tuple(rule for rule in self.rules if name_applies(rule, seen))
            self._named[key] = found
        return found

    def wrapper(self, name: str) -> Wrapper | None:
        folded = name.lower()
        for wrapper in self.wrappers:
            if fnmatchcase(folded, wrapper.tool):
                return wrapper
        return None

    def is_argument_error(self, call: TraceCall) -> bool:
        """The answer says that arguments, schema or types were wrong."""
        if call.result is None or self.argument_errors is None:
            return False
        text = call.result[:_HEAD]
        says = call.is_error or _BEGINS_WITH_ERROR.match(text) or _FLAG.search(text)
        if not says:
            return False
        argument = self.argument_errors.search(text)
        if argument is None:
            return False
        other = self.other_errors.search(text) if self.other_errors is not None else None
        return other is None or argument.start() <= other.start()

    def command(self, call: TraceCall) -> str | None:
        """The shell command of a call to a shell, else None."""
        if call.name is None or call.name.lower() not in self.shells:
            return None
        command = at(call.args, "command")
        return command[0] if command else None


class Classifier:
    """
    Classes calls one by one, in the order of their trace. Remembers, for one session, which
    tools still owe a repair.
    """

    MAX_OWED = 10_000

    def __init__(self, table: RuleTable) -> None:
        self._table = table
        self._owed: dict[str, str] = {}  # tool -> message of the call that was refused

    def classify(self, call: TraceCall) -> tuple[CallClass, Rule, Seen]:
        """Class, the rule that gave it, and how the rules saw the call."""
        seen = self._see(call)
        if seen.repairs and seen.key is not None:
            del self._owed[seen.key]  # only the next call after an error repairs it
        rule = self._table.rule(seen)
        if seen.key is not None and self._table.is_argument_error(call):
            if len(self._owed) >= self.MAX_OWED:
                del self._owed[next(iter(self._owed))]
            self._owed[seen.key] = call.message
        return rule.cls, rule, seen

    def _see(self, call: TraceCall) -> Seen:
        name = call.name or ""
        wrapper = self._table.wrapper(name) if name else None
        inner = None if wrapper is None else _inner(call.args, wrapper)
        key: str | None = name or None
        if wrapper is not None:
            key = None if inner is None else f"{name}:{inner}"
        elif (command := self._table.command(call)) is not None:
            key = f"{name}:{(programs(command) or ('',))[0]}"
        owed = self._owed.get(key) if key is not None else None
        # calls of one message ran side by side: none can mend what another was told
        repairs = owed is not None and (not owed or owed != call.message)
        return Seen(
            call=call, is_wrapper=wrapper is not None, inner=inner, key=key, repairs=repairs
        )


def name_applies(rule: Rule, seen: Seen) -> bool:
    """Whether what *rule* says of the name holds."""
    if rule.tool:
        names = [name.lower() for name in (seen.call.name, seen.inner) if name]
        if not any(fnmatchcase(name, pattern) for name in names for pattern in rule.tool):
            return False
    if rule.words:
        found = words(seen.subject)
        joined = {*found, *(a + b for a, b in pairwise(found))}
        return all(joined & group for group in rule.words)
    return True


def rest_applies(rule: Rule, seen: Seen) -> bool:
    """Whether everything else that *rule* gives holds."""
    if rule.when and not PREDICATES[rule.when](seen):
        return False
    if rule.matches is not None:
        return any(rule.matches.search(value) for value in _values(seen, rule.attribute))
    return True


def _values(seen: Seen, attribute: str) -> list[str]:
    values = at(seen.call.args, attribute)
    if attribute in seen.call.attributes:
        values.append(seen.call.attributes[attribute])
    if attribute == "wrapper" and seen.is_wrapper:
        values.append(seen.call.name or "")
    return values


def at(args: JsonValue, path: str) -> list[str]:
    """Texts at ``a.b`` or ``list[].name`` inside *args*; numbers are shown as texts."""
    found: list[Any] = [args]
    for part in path.split("."):
        name = part.removesuffix("[]")
        found = [each[name] for each in found if isinstance(each, dict) and name in each]
        if part.endswith("[]"):
            found = [one for each in found if isinstance(each, list) for one in each]
    return [str(each) for each in found if isinstance(each, str | int | float)]


def _inner(args: JsonValue, wrapper: Wrapper) -> str | None:
    parts = []
    for path in wrapper.inner:
        values = at(args, path)
        if not values or not values[0]:
            return None
        parts.append("+".join(dict.fromkeys(values)))
    return "/".join(parts)


Raw: TypeAlias = Mapping[str, Any]


def read_table(raw: Raw, *, extra: Raw | None = None, origin: str = "rules") -> RuleTable:
    """
    The table of *raw*, with the operator's *extra* before it.

    Both hold ``rules``, ``wrappers``, ``argument_errors``, ``other_errors``, ``shells`` and
    ``scripts``.

    Raises:
        ConfigError: Naming the rule and the key.
    """
    own: Raw = extra or {}
    rules = [*_rules(own.get("rules", ()), "[measure]"), *_rules(raw.get("rules", ()), origin)]
    return RuleTable(
        rules=(*rules, Rule(name="nothing-matches", cls="unclassified")),
        wrappers=tuple(
            wrapper
            for where, part in (("[measure]", own), (origin, raw))
            for wrapper in _wrappers(part.get("wrappers", ()), where)
        ),
        argument_errors=_any_of(own, raw, "argument_errors", origin),
        other_errors=_any_of(own, raw, "other_errors", origin),
        shells=frozenset(
            str(name).lower() for part in (own, raw) for name in part.get("shells", ())
        ),
        scripts=tuple(str(name) for part in (own, raw) for name in part.get("scripts", ())),
    )


def _rules(raw: Iterable[Raw], origin: str) -> Iterable[Rule]:
    for number, one in enumerate(raw, 1):
        name = str(one.get("name") or f"rule {number}")
        where = f"{origin}: {name}"
        if unknown := sorted(set(one) - _FIELDS):
            raise ConfigError(
                f"{where}: unknown key {unknown[0]!r}",
                hint=f"Known here: {', '.join(sorted(_FIELDS))}.",
            )
        cls = one.get("class")
        if cls not in CLASSES:
            raise ConfigError(f"{where}: class must be one of {', '.join(CLASSES)}")
        when = str(one.get("when", ""))
        if when and when not in PREDICATES:
            raise ConfigError(f"{where}: when must be one of {', '.join(PREDICATES)}")
        if bool(one.get("attribute")) != ("matches" in one):
            raise ConfigError(f"{where}: attribute and matches belong together")
        tool = one.get("tool", ())
        patterns = (tool,) if isinstance(tool, str) else tuple(tool)
        groups = tuple(frozenset(str(w).lower() for w in group) for group in one.get("words", ()))
        if not (when or patterns or groups or "matches" in one):
            raise ConfigError(f"{where}: needs tool, words, attribute with matches, or when")
        yield Rule(
            name=name,
            cls=cls,
            tool=tuple(str(pattern).lower() for pattern in patterns),
            words=groups,
            attribute=str(one.get("attribute", "")),
            matches=_pattern(str(one["matches"]), where) if "matches" in one else None,
            when=when,
        )


def _wrappers(raw: Iterable[Raw], origin: str) -> Iterable[Wrapper]:
    for one in raw:
        inner = one.get("inner")
        if set(one) != {"tool", "inner"} or not isinstance(inner, list | tuple) or not inner:
            raise ConfigError(f"{origin}: a wrapper has tool and inner, a list of argument paths")
        yield Wrapper(tool=str(one["tool"]).lower(), inner=tuple(str(path) for path in inner))


def _any_of(own: Raw, raw: Raw, key: str, origin: str) -> re.Pattern[str] | None:
    patterns = [str(pattern) for part in (own, raw) for pattern in part.get(key, ())]
    for pattern in patterns:
        _pattern(pattern, f"{origin}: {key}")
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None


def _pattern(text: str, where: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise ConfigError(f"{where}: not a regular expression: {error}") from None
