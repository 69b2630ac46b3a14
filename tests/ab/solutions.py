"""
How each task can be solved, as calls in order: what the scripted model plays.

A solution is a generator: it yields ``(tool id, arguments)`` and is sent the answer. It knows
nothing of the world but what the tools tell it, and the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any, TypeAlias

Call: TypeAlias = tuple[str, dict[str, Any]]
Solution: TypeAlias = Generator[Call, Any, None]
API, WEB = {"owner": "octo", "repo": "api"}, {"owner": "octo", "repo": "web"}
SOLUTIONS: dict[str, Callable[[str], Solution]] = {}


def solves(solution: Callable[[str], Solution]) -> Callable[[str], Solution]:
    SOLUTIONS[solution.__name__] = solution
    return solution


def issues(repo: dict[str, str], **args: Any) -> Call:
    return "github.issues_list_for_repo", {**repo, "per_page": 100, **args}


def history(channel: str) -> Generator[Call, Any, tuple[str, list[dict[str, Any]]]]:
    """Id and messages, newest first."""
    listed = yield "slack.conversations_list", {}
    id = next(one["id"] for one in listed["channels"] if one["name"] == channel)
    answer = yield "slack.conversations_history", {"channel": id}
    return id, answer["messages"]


def post(channel: str, text: str, **args: Any) -> Call:
    return "slack.chat_post_message", {"channel": f"#{channel}", "text": text, **args}


def react(channel: str, ts: str, name: str) -> Call:
    return "slack.reactions_add", {"channel": channel, "name": name, "timestamp": ts}


def update(repo: dict[str, str], number: int, **args: Any) -> Call:
    return "github.issues_update", {**repo, "issue_number": number, **args}


def create(repo: dict[str, str], title: str, **args: Any) -> Call:
    return "github.issues_create", {**repo, "title": title, **args}


def comment(repo: dict[str, str], number: int, body: str) -> Call:
    return "github.issues_create_comment", {**repo, "issue_number": number, "body": body}


def everything(tool: str, **args: Any) -> Generator[Call, Any, list[dict[str, Any]]]:
    found: list[dict[str, Any]] = []
    while True:
        more = {"starting_after": found[-1]["id"]} if found else {}
        answer = yield tool, {"limit": 10, **args, **more}
        found += answer["data"]
        if not answer["has_more"]:
            return found


def login_of(user: str) -> Generator[Call, Any, str]:
    answer = yield "slack.users_list", {}
    return next(one["name"] for one in answer["members"] if one["id"] == user)


def message_with(messages: list[dict[str, Any]], text: str) -> dict[str, Any]:
    return next(one for one in messages if text in one["text"])


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, (pattern, text)
    return match[1] if match.groups() else match[0]


def labels(issue: dict[str, Any]) -> list[str]:
    return [one["name"] for one in issue["labels"]]


@solves
def count_open_bugs(prompt: str) -> Solution:
    listed = yield issues(API, labels="bug")
    yield post("ops", f"Open bugs in octo/api: {len(listed)}")


@solves
def announce_release(prompt: str) -> Solution:
    release = yield "github.repos_get_latest_release", WEB
    yield post("releases", f"Released: {release['tag_name']}")


@solves
def load_per_person(prompt: str) -> Solution:
    listed = yield issues(WEB)
    counts: dict[str, int] = {}
    for issue in listed:
        for one in issue["assignees"]:
            counts[one["login"]] = counts.get(one["login"], 0) + 1
    for login, n in counts.items():
        yield post("general", f"{login}: {n}")


@solves
def urgent_from_support(prompt: str) -> Solution:
    _, messages = yield from history("support")
    number = int(found(r"#(\d+)", message_with(messages, "is urgent")["text"]))
    yield "github.issues_add_labels", {**API, "issue_number": number, "labels": ["urgent"]}
    yield comment(API, number, "Raised in #support")


@solves
def close_wontfix(prompt: str) -> Solution:
    listed = yield issues(WEB, labels="wontfix")
    for issue in listed:
        yield update(WEB, issue["number"], state="closed")
    yield post("general", f"Closed: {len(listed)}")


@solves
def review_by_last_speaker(prompt: str) -> Solution:
    _, messages = yield from history("ops")
    login = yield from login_of(messages[0]["user"])
    args = {**API, "pull_number": 101, "reviewers": [login]}
    yield "github.pulls_request_reviewers", args


@solves
def react_to_finished(prompt: str) -> Solution:
    channel, messages = yield from history("ops")
    for message in messages:
        if "#" in message["text"]:
            number = int(found(r"#(\d+)", message["text"]))
            issue = yield "github.issues_get", {**API, "issue_number": number}
            if issue["state"] == "closed":
                yield react(channel, message["ts"], "white_check_mark")


@solves
def adopt_orphans(prompt: str) -> Solution:
    _, messages = yield from history("general")
    login = yield from login_of(messages[0]["user"])
    listed = yield issues(API, assignee="none")
    for issue in listed:
        yield update(API, issue["number"], assignees=[login])


@solves
def ship_pull(prompt: str) -> Solution:
    channel, messages = yield from history("releases")
    message = message_with(messages, "Ship")
    number = int(found(r"#(\d+)", message["text"]))
    yield "github.pulls_merge", {**WEB, "pull_number": number}
    yield (
        "slack.chat_post_message",
        {"channel": channel, "text": "merged", "thread_ts": message["ts"]},
    )


@solves
def tag_release(prompt: str) -> Solution:
    channel, messages = yield from history("releases")
    message = message_with(messages, "tag")
    tag = found(r"v\d+\.\d+\.\d+", message["text"])
    yield "github.repos_create_release", {**API, "tag_name": tag, "name": tag}
    yield react(channel, message["ts"], "rocket")


@solves
def sync_labels(prompt: str) -> Solution:
    here = yield "github.issues_list_labels_for_repo", API
    there = yield "github.issues_list_labels_for_repo", WEB
    missing = {one["name"] for one in here} - {one["name"] for one in there}
    for name in sorted(missing):
        yield "github.issues_create_label", {**WEB, "name": name}
    yield post("general", f"Labels added: {len(missing)}")


@solves
def ask_for_reviews(prompt: str) -> Solution:
    pulls = yield "github.pulls_list", API
    waiting = [one["number"] for one in pulls if not one["requested_reviewers"]]
    for number in waiting:
        args = {**API, "pull_number": number, "reviewers": ["ada"]}
        yield "github.pulls_request_reviewers", args
    yield post("ops", "Please review " + ", ".join(f"#{number}" for number in waiting))


@solves
def clean_urgent(prompt: str) -> Solution:
    listed = yield issues(API, state="closed", labels="urgent")
    for issue in listed:
        args = {**API, "issue_number": issue["number"], "name": "urgent"}
        yield "github.issues_remove_label", args
    yield post("ops", f"Cleaned: {len(listed)}")


@solves
def issue_from_disk_message(prompt: str) -> Solution:
    _, messages = yield from history("ops")
    text = message_with(messages, "disk")["text"]
    issue = yield create(API, text, labels=["bug"], assignees=["lin"])
    yield post("ops", f"See octo/api#{issue['number']}")


@solves
def unpaid_total(prompt: str) -> Solution:
    invoices = yield from everything("stripe.invoices_list", status="open")
    cents = sum(one["amount_remaining"] for one in invoices)
    yield post("billing", f"Unpaid: {cents / 100:.2f} EUR")


@solves
def new_customer(prompt: str) -> Solution:
    channel, messages = yield from history("support")
    message = message_with(messages, "New customer")
    name, email = found(r": (.+)", message["text"]).split(", ")
    yield "stripe.customers_create", {"name": name, "email": email}
    yield react(channel, message["ts"], "white_check_mark")


@solves
def charge_status(prompt: str) -> Solution:
    channel, messages = yield from history("support")
    message = message_with(messages, "What became")
    charge = found(r"ch_\d+", message["text"])
    charges = yield from everything("stripe.charges_list")
    status = next(one["status"] for one in charges if one["id"] == charge)
    args = {"channel": channel, "text": f"{charge}: {status}", "thread_ts": message["ts"]}
    yield "slack.chat_post_message", args


@solves
def delete_leaked_address(prompt: str) -> Solution:
    customers = yield from everything("stripe.customers_list")
    channel, messages = yield from history("general")
    for message in messages:
        if any(one["email"] in message["text"] for one in customers):
            yield "slack.chat_delete", {"channel": channel, "ts": message["ts"]}


@solves
def refund_half(prompt: str) -> Solution:
    id = found(r"charge (ch_\d+)", prompt)
    charges = yield from everything("stripe.charges_list")
    amount = next(one["amount"] for one in charges if one["id"] == id) // 2
    yield "stripe.refunds_create", {"charge": id, "amount": amount}
    yield post("billing", f"Refunded {amount} of {id}")


@solves
def refund_duplicate(prompt: str) -> Solution:
    name = found(r"^(.+) was charged", prompt)
    customers = yield from everything("stripe.customers_list")
    customer = next(one["id"] for one in customers if one["name"] == name)
    charges = yield from everything("stripe.charges_list", customer=customer)
    amounts = [one["amount"] for one in charges]
    twice = [one for one in charges if amounts.count(one["amount"]) > 1]
    later = max(twice, key=lambda one: one["created"])
    yield "stripe.refunds_create", {"charge": later["id"], "reason": "duplicate"}
    yield post("billing", f"Refunded {later['id']}")


@solves
def invoice_in_dollars(prompt: str) -> Solution:
    invoices = yield from everything("stripe.invoices_list", status="open")
    largest = max(invoices, key=lambda one: one["total"])
    rates = yield "frankfurter.latest", {"base": "EUR", "symbols": "USD"}
    dollars = largest["total"] / 100 * rates["rates"]["USD"]
    yield post("billing", f"{largest['id']}: {dollars:.2f} USD")


@solves
def issue_per_overdue(prompt: str) -> Solution:
    invoices = yield from everything("stripe.invoices_list", status="open")
    for invoice in invoices:
        if invoice["due_date"] < 1_772_323_200:
            yield create(API, f"Overdue invoice {invoice['id']}", labels=["billing"])


@solves
def refund_on_request(prompt: str) -> Solution:
    listed = yield issues(API)
    issue = next(one for one in listed if one["title"] == "Refund request")
    yield "stripe.refunds_create", {"charge": found(r"ch_\d+", issue["body"])}
    yield comment(API, issue["number"], "Refunded")
    yield update(API, issue["number"], state="closed")


@solves
def answer_with_address(prompt: str) -> Solution:
    listed = yield issues(API)
    issue = next(one for one in listed if one["title"] == "Customer question")
    id = found(r"cus_\d+", issue["body"])
    customer = yield "stripe.customers_get", {"customer": id}
    yield comment(API, issue["number"], f"Write to {customer['email']}")


@solves
def duplicate_customers(prompt: str) -> Solution:
    customers = yield from everything("stripe.customers_list")
    emails = [one["email"] for one in customers]
    twice = next(email for email in emails if emails.count(email) > 1)
    ids = [one["id"] for one in customers if one["email"] == twice]
    yield create(API, f"Duplicate customers: {twice}", body=" and ".join(ids))


@solves
def failed_charges(prompt: str) -> Solution:
    charges = yield from everything("stripe.charges_list")
    n = sum(one["status"] == "failed" for one in charges)
    yield create(API, f"Look into {n} failed charges")
    yield post("billing", f"Failed charges: {n}")


@solves
def call_biggest_debtor(prompt: str) -> Solution:
    invoices = yield from everything("stripe.invoices_list", status="open")
    debts: dict[str, int] = {}
    for one in invoices:
        debts[one["customer"]] = debts.get(one["customer"], 0) + one["amount_remaining"]
    customer = yield "stripe.customers_get", {"customer": max(debts, key=lambda id: debts[id])}
    yield create(WEB, f"Call {customer['name']}", assignees=["kim"])


@solves
def close_when_paid(prompt: str) -> Solution:
    listed = yield issues(API, labels="billing")
    invoices = yield from everything("stripe.invoices_list", status="paid")
    paid = {one["id"] for one in invoices}
    for issue in listed:
        match = re.search(r"in_\d+", issue["body"])
        if match and match[0] in paid:
            yield update(API, issue["number"], state="closed")


@solves
def holiday_notice(prompt: str) -> Solution:
    days = yield "nager_date.public_holidays", {"year": 2026, "countryCode": "DE"}
    first = next(one for one in days if one["date"].startswith("2026-04"))
    yield post("general", f"Closed on {first['date']}: {first['localName']}")


@solves
def holiday_issue(prompt: str) -> Solution:
    days = yield "nager_date.next_public_holidays", {"countryCode": "FR"}
    issue = yield create(API, f"Plan for {days[0]['localName']}", body=f"On {days[0]['date']}.")
    yield post("general", f"See octo/api#{issue['number']}")
