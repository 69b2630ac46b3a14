"""Is the world as the task asked, and is everything else as it was?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from codemode.ab.state import Issue, Message, Refund, Repo, State, fits

T = TypeVar("T")


def differences(expected: State, actual: State) -> list[str]:
    """
    What is not as it should be, one short sentence each; empty if the task is done.

    Order of new things and their ids do not matter. Anything that the task did not ask
    for counts: a second message, a label on another issue.
    """
    return list(_differences(expected, actual))


def _differences(expected: State, actual: State) -> Iterator[str]:
    for name, repo in expected.repos.items():
        yield from _repo(name, repo, actual.repos[name])
    for channel, id in expected.channels.items():
        yield from _channel(channel, expected.messages[id], actual.messages[id])
    yield from _matched(
        list(expected.customers.values()),
        list(actual.customers.values()),
        lambda one, other: (one.name, one.email) == (other.name, other.email),
        lambda one: f"customer {one.name} {one.email}",
    )

    def same_refund(one: Refund, other: Refund) -> bool:
        return (one.charge, one.amount) == (other.charge, other.amount) and (
            one.reason is None or one.reason == other.reason
        )

    yield from _matched(
        expected.refunds,
        actual.refunds,
        same_refund,
        lambda one: f"refund of {one.amount} of {one.charge} {one.reason or ''}",
    )


def _channel(name: str, expected: Sequence[Message], actual: Sequence[Message]) -> Iterator[str]:
    roots = {message.ts: message.text for message in [*expected, *actual]}

    def same(one: Message, other: Message) -> bool:
        if (one.thread is None) != (other.thread is None):
            return False
        if one.thread is not None and roots.get(one.thread) != roots.get(other.thread or ""):
            return False
        return fits(one.text, other.text) and one.reactions == other.reactions

    yield from _matched(
        expected, actual, same, lambda one: f"#{name}: {one.text!r} {sorted(one.reactions)}"
    )


def _repo(name: str, expected: Repo, actual: Repo) -> Iterator[str]:
    for number, issue in expected.issues.items():
        if number <= expected.last_issue:
            other = actual.issues.get(number)
            if other is None or not _same_issue(issue, other):
                yield f"{name}#{number} should be {_shown(issue)}, is {_shown(other)}"
    yield from _matched(
        [one for one in expected.issues.values() if one.number > expected.last_issue],
        [one for one in actual.issues.values() if one.number > expected.last_issue],
        _same_issue,
        lambda one: f"{name}: new issue {_shown(one)}",
    )
    for number, pull in expected.pulls.items():
        now = actual.pulls[number]
        if (pull.reviewers, pull.is_merged) != (now.reviewers, now.is_merged):
            yield f"{name}#{number}: reviewers {sorted(now.reviewers)}, merged {now.is_merged}"
    for what in ("labels", "releases"):
        wanted, got = set(getattr(expected, what)), set(getattr(actual, what))
        if wanted != got:
            yield f"{name}: {what} missing {sorted(wanted - got)}, too many {sorted(got - wanted)}"


def _same_issue(one: Issue, other: Issue) -> bool:
    return (
        fits(one.title, other.title)
        and fits(one.body, other.body)
        and (one.is_open, one.labels, one.assignees)
        == (other.is_open, other.labels, other.assignees)
        and not list(
            _matched(one.comments, other.comments, lambda a, b: fits(a[2], b[2]), lambda _: "x")
        )
    )


def _shown(issue: Issue | None) -> str:
    if issue is None:
        return "gone"
    state = "open" if issue.is_open else "closed"
    comments = [text for _, _, text in issue.comments]
    return f"{issue.title!r} {state} {sorted(issue.labels)} {sorted(issue.assignees)} {comments}"


def _matched(
    wanted: Sequence[T],
    got: Sequence[T],
    same: Callable[[T, T], bool],
    shown: Callable[[T], str],
) -> Iterator[str]:
    """Every wanted one has a partner of its own, and nothing is left over."""
    left = list(got)
    for one in wanted:
        partner = next((other for other in left if same(one, other)), None)
        if partner is None:
            yield f"missing: {shown(one)}"
        else:
            left.remove(partner)
    for other in left:
        yield f"not asked for: {shown(other)}"
