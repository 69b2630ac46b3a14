"""
The world's state as plain values: repositories, a chat team, a payment account.

`facts` is what tasks are judged by; ids and times that only the order of calls decides
are not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TypeAlias

TODAY = "2026-03-02"


@dataclass(frozen=True, slots=True)
class Mentions:
    """Expected of a text whose wording is free: these words are all in it, in any order."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Anything:
    """Expected of a text that may say anything, or be missing."""


Text: TypeAlias = "str | Mentions | Anything | None"
"""In a real state a string or None; in an expected one a matcher too."""


def fits(expected: Text, actual: Text) -> bool:
    """Whether a text is as expected. Runs of white space count as one space."""
    if isinstance(expected, Anything):
        return True
    said = " ".join(str(actual or "").split())
    if isinstance(expected, Mentions):
        return all(word in said for word in expected.words)
    return said == " ".join((expected or "").split())


@dataclass(slots=True, kw_only=True)
class Issue:
    number: int
    title: str
    body: Text
    author: str
    is_open: bool = True
    labels: set[str] = field(default_factory=set)
    assignees: set[str] = field(default_factory=set)
    comments: list[tuple[int, str, Text]] = field(default_factory=list)
    """(id, author, text)"""
    day: str = "2026-02-01"


@dataclass(slots=True, kw_only=True)
class Pull:
    number: int
    title: str
    author: str
    reviewers: set[str] = field(default_factory=set)
    is_merged: bool = False


@dataclass(slots=True, kw_only=True)
class Repo:
    issues: dict[int, Issue]
    pulls: dict[int, Pull]
    labels: set[str]
    releases: dict[str, str]
    """tag -> name; the last is the latest"""
    last_issue: int = 0
    """Highest number at the start; later ones are new."""

    def open_issue(
        self,
        title: str,
        body: Text = None,
        *,
        author: str = "robot",
        labels: Sequence[str] = (),
        assignees: Sequence[str] = (),
    ) -> Issue:
        number = max([*self.issues, *self.pulls, 0]) + 1
        issue = Issue(number=number, title=title, body=body, author=author, day=TODAY)
        issue.labels, issue.assignees = set(labels), set(assignees)
        self.labels |= issue.labels
        self.issues[number] = issue
        return issue


@dataclass(slots=True, kw_only=True)
class Message:
    ts: str
    user: str
    text: Text
    thread: str | None = None
    """ts of the message it answers"""
    reactions: set[str] = field(default_factory=set)


@dataclass(slots=True, kw_only=True)
class Person:
    """*id* is the chat's; *login* is the name there and on the code host."""

    id: str
    login: str
    name: str
    email: str


@dataclass(slots=True, kw_only=True)
class Customer:
    id: str
    name: str
    email: str


@dataclass(slots=True, kw_only=True)
class Charge:
    """*amount* in cents; *created* in seconds since 1970."""

    id: str
    customer: str
    amount: int
    status: str
    created: int
    refunded: int = 0


@dataclass(slots=True, kw_only=True)
class Invoice:
    """*remaining* in cents; *due* in seconds since 1970."""

    id: str
    customer: str
    status: str
    total: int
    remaining: int
    due: int


@dataclass(slots=True, kw_only=True)
class Refund:
    id: str
    charge: str
    amount: int
    reason: str | None = None


@dataclass(slots=True, kw_only=True)
class State:
    """Everything that calls can read or change."""

    repos: dict[str, Repo]
    people: dict[str, Person]
    channels: dict[str, str]
    """name -> id"""
    messages: dict[str, list[Message]]
    """channel id -> oldest first"""
    customers: dict[str, Customer]
    charges: dict[str, Charge]
    invoices: dict[str, Invoice]
    refunds: list[Refund] = field(default_factory=list)
    rates: dict[str, float] = field(default_factory=dict)
    """euro reference rates"""
    holidays: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """country -> (day, name)"""
    n_made: int = 0

    def copy(self) -> State:
        return deepcopy(self)

    def next_number(self) -> int:
        """For ids of what is made from now on."""
        self.n_made += 1
        return self.n_made

    # -- what tasks do ------------------------------------------------------------------------

    def in_channel(self, name: str) -> list[Message]:
        return self.messages[self.channels[name]]

    def post(self, channel: str, text: Text, *, thread: str | None = None) -> Message:
        """*channel* by name."""
        ts = f"1772445{600 + self.next_number()}.000100"
        message = Message(ts=ts, user="robot", text=text, thread=thread)
        self.in_channel(channel).append(message)
        return message

    def comment(self, repo: str, number: int, text: Text) -> int:
        """Id of the comment."""
        id = 9000 + self.next_number()
        self.repos[repo].issues[number].comments.append((id, "robot", text))
        return id

    def refund(self, charge: str, amount: int | None = None, reason: str | None = None) -> Refund:
        """All that is left of *charge* unless *amount* says less."""
        found = self.charges[charge]
        amount = found.amount - found.refunded if amount is None else amount
        found.refunded += amount
        id = f"re_{self.next_number():03}"
        made = Refund(id=id, charge=charge, amount=amount, reason=reason)
        self.refunds.append(made)
        return made

    def add_customer(self, name: str, email: str) -> Customer:
        id = f"cus_new{self.next_number()}"
        self.customers[id] = Customer(id=id, name=name, email=email)
        return self.customers[id]
