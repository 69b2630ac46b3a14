"""
Thirty tasks that cross toolsets. Each says what the world must look like afterwards.

A task is a function of a copy of the world: it returns the words for the model and changes
the copy into what is wanted. To add one, write one more function.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from codemode.ab.seeded import MARCH_S, debt_by_customer
from codemode.ab.state import Anything, Issue, Mentions, State

Goal: TypeAlias = Callable[[State], str]

MANNER = (
    "Do it with the tools; nobody will answer questions. Change only what is asked for. "
    "Names in the chat are the logins on GitHub. Amounts in Stripe are cents of euro."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """
    Args:
        toolsets: That it cannot be done without.
        goal: Turns a copy of the world into the wanted one; returns the prompt.
    """

    name: str
    toolsets: tuple[str, ...]
    goal: Goal

    def posed(self, state: State) -> tuple[str, State]:
        """The prompt, and the world as it must be afterwards. *state* stays as it is."""
        wanted = state.copy()
        return self.goal(wanted), wanted


TASKS: dict[str, Task] = {}


def task(*toolsets: str) -> Callable[[Goal], Goal]:
    def keep(goal: Goal) -> Goal:
        name = goal.__name__
        TASKS[name] = Task(name=name, toolsets=toolsets, goal=goal)
        return goal

    return keep


def day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def open_issues(state: State, repo: str, label: str | None = None) -> list[Issue]:
    return [
        one
        for one in state.repos[repo].issues.values()
        if one.is_open and (label is None or label in one.labels)
    ]


def euros(cents: int) -> str:
    return f"{cents / 100:.2f}"


def number_in(text: object) -> int:
    found = re.search(r"#(\d+)", str(text))
    assert found is not None
    return int(found[1])


# -- GitHub and the chat -------------------------------------------------------------------------


@task("github", "slack")
def count_open_bugs(state: State) -> str:
    n = len(open_issues(state, "octo/api", "bug"))
    state.post("ops", f"Open bugs in octo/api: {n}")
    return (
        "Count the open issues labelled bug in octo/api and post to #ops exactly: "
        "Open bugs in octo/api: N"
    )


@task("github", "slack")
def announce_release(state: State) -> str:
    tag = list(state.repos["octo/web"].releases)[-1]
    state.post("releases", f"Released: {tag}")
    return "Post to #releases exactly: Released: TAG -- with the tag of octo/web's latest release."


@task("github", "slack")
def load_per_person(state: State) -> str:
    for login in state.people:
        n = sum(login in one.assignees for one in open_issues(state, "octo/web"))
        if n:
            state.post("general", f"{login}: {n}")
    return (
        "For each person who has open issues of octo/web assigned, post one message to #general, "
        "exactly: LOGIN: N -- N is how many."
    )


@task("slack", "github")
def urgent_from_support(state: State) -> str:
    number = next(
        number_in(m.text) for m in state.in_channel("support") if "is urgent" in str(m.text)
    )
    state.repos["octo/api"].issues[number].labels.add("urgent")
    state.comment("octo/api", number, "Raised in #support")
    return (
        "A message in #support says that an issue is urgent. Add the label urgent to that issue "
        "and comment on it exactly: Raised in #support"
    )


@task("github", "slack")
def close_wontfix(state: State) -> str:
    found = open_issues(state, "octo/web", "wontfix")
    for issue in found:
        issue.is_open = False
    state.post("general", f"Closed: {len(found)}")
    return (
        "Close every open issue of octo/web that has the label wontfix, then post to #general "
        "exactly: Closed: N -- N is how many you closed."
    )


@task("slack", "github")
def review_by_last_speaker(state: State) -> str:
    last = state.in_channel("ops")[-1]
    login = next(one.login for one in state.people.values() if one.id == last.user)
    state.repos["octo/api"].pulls[101].reviewers.add(login)
    return (
        "Request a review of pull request 101 of octo/api from whoever wrote the latest message "
        "in #ops."
    )


@task("slack", "github")
def react_to_finished(state: State) -> str:
    for message in state.in_channel("ops"):
        if "#" in str(message.text):
            issue = state.repos["octo/api"].issues[number_in(message.text)]
            if not issue.is_open:
                message.reactions.add("white_check_mark")
    return (
        "Messages in #ops name issues of octo/api. To each message whose issue is closed add the "
        "reaction white_check_mark."
    )


@task("slack", "github")
def adopt_orphans(state: State) -> str:
    last = state.in_channel("general")[-1]
    login = next(one.login for one in state.people.values() if one.id == last.user)
    for issue in open_issues(state, "octo/api"):
        if not issue.assignees:
            issue.assignees.add(login)
    return (
        "Assign every open issue of octo/api that nobody is assigned to, to whoever wrote the "
        "latest message in #general."
    )


@task("slack", "github")
def ship_pull(state: State) -> str:
    message = next(m for m in state.in_channel("releases") if "Ship" in str(m.text))
    state.repos["octo/web"].pulls[number_in(message.text)].is_merged = True
    state.post("releases", "merged", thread=message.ts)
    return (
        "A message in #releases asks to ship a pull request of octo/web. Merge it and answer in "
        "that message's thread exactly: merged"
    )


@task("slack", "github")
def tag_release(state: State) -> str:
    message = next(m for m in state.in_channel("releases") if "tag" in str(m.text))
    found = re.search(r"v\d+\.\d+\.\d+", str(message.text))
    assert found is not None
    state.repos["octo/api"].releases[found[0]] = found[0]
    message.reactions.add("rocket")
    return (
        "A message in #releases asks for a tag. Create that release in octo/api, its name the same "
        "as the tag, and add the reaction rocket to the message."
    )


@task("github", "slack")
def sync_labels(state: State) -> str:
    missing = state.repos["octo/api"].labels - state.repos["octo/web"].labels
    state.repos["octo/web"].labels |= missing
    state.post("general", f"Labels added: {len(missing)}")
    return (
        "Create in octo/web the labels that octo/api has and octo/web lacks, then post to #general "
        "exactly: Labels added: N"
    )


@task("github", "slack")
def ask_for_reviews(state: State) -> str:
    waiting = [one for one in state.repos["octo/api"].pulls.values() if not one.reviewers]
    for pull in waiting:
        pull.reviewers.add("ada")
    state.post("ops", Mentions(tuple(f"#{one.number}" for one in waiting)))
    return (
        "Ask ada to review every open pull request of octo/api that has no requested reviewer. "
        "Then post one message to #ops that lists them, each as #NUMBER."
    )


@task("github", "slack")
def clean_urgent(state: State) -> str:
    found = [
        one
        for one in state.repos["octo/api"].issues.values()
        if not one.is_open and "urgent" in one.labels
    ]
    for issue in found:
        issue.labels.discard("urgent")
    state.post("ops", f"Cleaned: {len(found)}")
    return (
        "Remove the label urgent from every closed issue of octo/api, then post to #ops exactly: "
        "Cleaned: N -- N is how many issues had it."
    )


@task("slack", "github")
def issue_from_disk_message(state: State) -> str:
    text = next(str(m.text) for m in state.in_channel("ops") if "disk" in str(m.text))
    issue = state.repos["octo/api"].open_issue(text, Anything(), labels=["bug"], assignees=["lin"])
    state.post("ops", f"See octo/api#{issue.number}")
    return (
        "A message in #ops is about a disk. Open an issue in octo/api with that message's text as "
        "title, label bug, assigned to lin; then post to #ops exactly: See octo/api#NUMBER"
    )


# -- payments and the chat -----------------------------------------------------------------------


@task("stripe", "slack")
def unpaid_total(state: State) -> str:
    cents = sum(one.remaining for one in state.invoices.values() if one.status == "open")
    state.post("billing", f"Unpaid: {euros(cents)} EUR")
    return (
        "Add up what remains to be paid on all open invoices and post to #billing exactly: "
        "Unpaid: X EUR -- X in euros with two decimals."
    )


@task("slack", "stripe")
def new_customer(state: State) -> str:
    message = next(m for m in state.in_channel("support") if "New customer" in str(m.text))
    found = re.search(r"New customer: (.+), (\S+)", str(message.text))
    assert found is not None
    state.add_customer(found[1], found[2])
    message.reactions.add("white_check_mark")
    return (
        "A message in #support names a new customer. Create the customer in Stripe with that name "
        "and e-mail address and add the reaction white_check_mark to the message."
    )


@task("slack", "stripe")
def charge_status(state: State) -> str:
    message = next(m for m in state.in_channel("support") if "What became" in str(m.text))
    found = re.search(r"ch_\d+", str(message.text))
    assert found is not None
    state.post("support", f"{found[0]}: {state.charges[found[0]].status}", thread=message.ts)
    return (
        "Somebody asks in #support what became of a charge. Answer in that message's thread "
        "exactly: CHARGE: STATUS -- the charge's id and its status in Stripe."
    )


@task("stripe", "slack")
def delete_leaked_address(state: State) -> str:
    emails = {one.email for one in state.customers.values()}
    messages = state.in_channel("general")
    messages[:] = [m for m in messages if not any(email in str(m.text) for email in emails)]
    return "Delete every message in #general that has the e-mail address of a Stripe customer."


@task("stripe", "slack")
def refund_half(state: State) -> str:
    charge = next(c for c in state.charges.values() if c.status == "succeeded")
    amount = charge.amount // 2
    state.refund(charge.id, amount)
    state.post("billing", f"Refunded {amount} of {charge.id}")
    email = state.customers[charge.customer].email
    return (
        f"Refund half of the amount of charge {charge.id}, of the customer {email}, and post to "
        f"#billing exactly: Refunded AMOUNT of {charge.id} -- AMOUNT in cents."
    )


@task("stripe", "slack")
def refund_duplicate(state: State) -> str:
    first, second = state.charges["ch_015"], state.charges["ch_016"]
    state.refund(second.id, reason="duplicate")
    state.post("billing", f"Refunded {second.id}")
    customer = state.customers[first.customer]
    return (
        f"{customer.name} was charged the same amount twice. Refund the later charge in full with "
        "the reason duplicate and post to #billing exactly: Refunded CHARGE"
    )


@task("stripe", "frankfurter", "slack")
def invoice_in_dollars(state: State) -> str:
    invoice = max(
        (one for one in state.invoices.values() if one.status == "open"),
        key=lambda one: one.total,
    )
    dollars = round(invoice.total / 100 * state.rates["USD"], 2)
    state.post("billing", f"{invoice.id}: {dollars:.2f} USD")
    return (
        "Convert the total of the largest open invoice from euros to US dollars at the latest "
        "reference rate and post to #billing exactly: INVOICE: X USD -- with two decimals."
    )


# -- payments and GitHub -------------------------------------------------------------------------


@task("stripe", "github")
def issue_per_overdue(state: State) -> str:
    for invoice in state.invoices.values():
        if invoice.status == "open" and invoice.due < MARCH_S:
            state.repos["octo/api"].open_issue(
                f"Overdue invoice {invoice.id}", Anything(), labels=["billing"]
            )
    return (
        f"For each open invoice that was due before {day(MARCH_S)} open an issue in octo/api "
        "titled exactly: Overdue invoice ID -- with the label billing."
    )


@task("github", "stripe")
def refund_on_request(state: State) -> str:
    issue = next(i for i in open_issues(state, "octo/api") if i.title == "Refund request")
    found = re.search(r"ch_\d+", str(issue.body))
    assert found is not None
    state.refund(found[0])
    state.comment("octo/api", issue.number, "Refunded")
    issue.is_open = False
    return (
        'An open issue of octo/api is titled "Refund request". Refund the charge it names in full, '
        "comment on the issue exactly: Refunded -- and close it."
    )


@task("github", "stripe")
def answer_with_address(state: State) -> str:
    issue = next(i for i in open_issues(state, "octo/api") if i.title == "Customer question")
    found = re.search(r"cus_\d+", str(issue.body))
    assert found is not None
    state.comment("octo/api", issue.number, f"Write to {state.customers[found[0]].email}")
    return (
        'An open issue of octo/api is titled "Customer question" and names a customer. Comment on '
        "it exactly: Write to EMAIL -- the customer's e-mail address in Stripe."
    )


@task("stripe", "github")
def duplicate_customers(state: State) -> str:
    emails = [one.email for one in state.customers.values()]
    twice = next(email for email in emails if emails.count(email) > 1)
    ids = tuple(one.id for one in state.customers.values() if one.email == twice)
    state.repos["octo/api"].open_issue(f"Duplicate customers: {twice}", Mentions(ids))
    return (
        "Two Stripe customers have the same e-mail address. Open an issue in octo/api titled "
        "exactly: Duplicate customers: EMAIL -- and name the ids of both in its body."
    )


@task("stripe", "github", "slack")
def failed_charges(state: State) -> str:
    n = sum(one.status == "failed" for one in state.charges.values())
    state.repos["octo/api"].open_issue(f"Look into {n} failed charges", Anything())
    state.post("billing", f"Failed charges: {n}")
    return (
        "Count the failed charges in Stripe. Open an issue in octo/api titled exactly: Look into N "
        "failed charges -- and post to #billing exactly: Failed charges: N"
    )


@task("stripe", "github")
def call_biggest_debtor(state: State) -> str:
    debts = debt_by_customer(state)
    name = state.customers[max(debts, key=lambda id: debts[id])].name
    state.repos["octo/web"].open_issue(f"Call {name}", Anything(), assignees=["kim"])
    return (
        "Find the customer who owes most on open invoices. Open an issue in octo/web titled "
        "exactly: Call NAME -- assigned to kim."
    )


@task("github", "stripe")
def close_when_paid(state: State) -> str:
    for issue in open_issues(state, "octo/api", "billing"):
        found = re.search(r"in_\d+", str(issue.body))
        if found and state.invoices[found[0]].status == "paid":
            issue.is_open = False
    return (
        "Open issues of octo/api with the label billing name an invoice they wait for. Close those "
        "whose invoice is paid."
    )


# -- holidays ------------------------------------------------------------------------------------


@task("nager_date", "slack")
def holiday_notice(state: State) -> str:
    when, name = next(one for one in state.holidays["DE"] if one[0].startswith("2026-04"))
    state.post("general", f"Closed on {when}: {name}")
    return (
        "Post to #general exactly: Closed on DATE: NAME -- for the first public holiday of Germany "
        "in April 2026, the date as YYYY-MM-DD and its local name."
    )


@task("nager_date", "github", "slack")
def holiday_issue(state: State) -> str:
    when, name = state.holidays["FR"][0]
    issue = state.repos["octo/api"].open_issue(f"Plan for {name}", Mentions((when,)))
    state.post("general", f"See octo/api#{issue.number}")
    return (
        "Open an issue in octo/api titled exactly: Plan for NAME -- for the next public holiday of "
        "France by its local name, its date as YYYY-MM-DD in the body. Then post to #general "
        "exactly: See octo/api#NUMBER"
    )
