"""The state, answering over HTTP on loopback as GitHub, Slack, Stripe and two more would."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from codemode.ab.state import TODAY, Charge, Customer, Invoice, Issue, Message, Pull, State
from codemode.testing import FakeReply, FakeRequest, FakeUpstream

TOKEN = "loopback-only"  # noqa: S105 -- opens nothing but this world
KEYED = ("github", "slack", "stripe")
KEYLESS = ("frankfurter", "nager_date")
TOOLSETS = (*KEYED, *KEYLESS)
REPO = "/repos/{owner}/{repo}"

Answer: TypeAlias = Callable[[State, FakeRequest], Any]
_ROUTES: list[tuple[str, str, str, Answer]] = []
"""(toolset, method, path, answer)"""


class World:
    """
    One upstream for a whole experiment; each session gets a state of its own.

    Attributes:
        state: What calls read and change now.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.upstream = FakeUpstream()
        self._lock = threading.Lock()
        for toolset, method, path, answer in _ROUTES:
            self.upstream.route(method, f"/{toolset}{path}", self._guarded(toolset, answer))

    def reset(self, state: State) -> None:
        """Begin a session in *state*, which is changed from then on."""
        with self._lock:
            self.state = state
            self.upstream.requests.clear()

    def _guarded(self, toolset: str, answer: Answer) -> Callable[[FakeRequest], Any]:
        def respond(request: FakeRequest) -> Any:
            given = request.headers.get("authorization", "")
            if toolset in KEYED and given != f"Bearer {TOKEN}":
                return FakeReply(status=401, json={"message": "Bad credentials"})
            with self._lock:
                return answer(self.state, request)

        return respond


def route(toolset: str, method: str, path: str) -> Callable[[Answer], Answer]:
    def keep(answer: Answer) -> Answer:
        _ROUTES.append((toolset, method, path, answer))
        return answer

    return keep


def gone(message: str = "Not Found") -> FakeReply:
    return FakeReply(status=404, json={"message": message})


# -- GitHub --------------------------------------------------------------------------------------


def _user(login: str) -> dict[str, Any]:
    url = f"https://github.com/{login}"
    return {"login": login, "id": sum(map(ord, login)), "type": "User", "html_url": url}


def _label(name: str) -> dict[str, Any]:
    return {"id": sum(map(ord, name)), "name": name, "color": "ededed", "description": None}


def _issue(issue: Issue, repo: str) -> dict[str, Any]:
    stamp = f"{issue.day}T08:00:00Z"
    return {
        "number": issue.number,
        "id": 5000 + issue.number,
        "title": issue.title,
        "state": "open" if issue.is_open else "closed",
        "body": issue.body,
        "user": _user(issue.author),
        "labels": [_label(name) for name in sorted(issue.labels)],
        "assignees": [_user(login) for login in sorted(issue.assignees)],
        "milestone": None,
        "comments": len(issue.comments),
        "created_at": stamp,
        "updated_at": stamp,
        "closed_at": None if issue.is_open else stamp,
        "html_url": f"https://github.com/{repo}/issues/{issue.number}",
    }


def _pull(pull: Pull, repo: str) -> dict[str, Any]:
    stamp = "2026-02-20T09:00:00Z"
    done = f"{TODAY}T09:00:00Z" if pull.is_merged else None
    return {
        "number": pull.number,
        "id": 7000 + pull.number,
        "title": pull.title,
        "state": "closed" if pull.is_merged else "open",
        "draft": False,
        "body": None,
        "user": _user(pull.author),
        "labels": [],
        "assignees": [],
        "requested_reviewers": [_user(login) for login in sorted(pull.reviewers)],
        "head": {"label": f"octo:work-{pull.number}", "ref": "work", "sha": "1" * 40},
        "base": {"label": "octo:main", "ref": "main", "sha": "2" * 40},
        "merged": pull.is_merged,
        "created_at": stamp,
        "updated_at": stamp,
        "closed_at": done,
        "merged_at": done,
        "html_url": f"https://github.com/{repo}/pull/{pull.number}",
    }


def _name(request: FakeRequest) -> str:
    return f"{request.path_args['owner']}/{request.path_args['repo']}"


def _page(request: FakeRequest, items: list[Any]) -> list[Any]:
    size = min(100, max(1, int(request.first("per_page", "30"))))
    start = (max(1, int(request.first("page", "1"))) - 1) * size
    return items[start : start + size]


def _in_repo(answer: Callable[[State, FakeRequest, str], Any]) -> Answer:
    def checked(state: State, request: FakeRequest) -> Any:
        name = _name(request)
        return answer(state, request, name) if name in state.repos else gone()

    return checked


def _on_issue(answer: Callable[[State, FakeRequest, str, Issue], Any]) -> Answer:
    def checked(state: State, request: FakeRequest, name: str) -> Any:
        number = request.path_args["issue_number"]
        issues = state.repos[name].issues
        issue = issues.get(int(number)) if number.isdecimal() else None
        return gone() if issue is None else answer(state, request, name, issue)

    return _in_repo(checked)


@route("github", "GET", f"{REPO}/issues")
@_in_repo
def issues_list(state: State, request: FakeRequest, name: str) -> Any:
    wanted = request.first("state", "open")
    labels = {one for one in request.first("labels").split(",") if one}
    assignee, creator = request.first("assignee"), request.first("creator")
    found = [
        issue
        for issue in state.repos[name].issues.values()
        if wanted in ("all", "open" if issue.is_open else "closed")
        and labels <= issue.labels
        and (
            not assignee
            or (assignee == "*" and issue.assignees)
            or (assignee == "none" and not issue.assignees)
            or assignee in issue.assignees
        )
        and creator in ("", issue.author)
    ]
    newest_first = sorted(found, key=lambda issue: -issue.number)
    if request.first("direction", "desc") == "asc":
        newest_first.reverse()
    return _page(request, [_issue(one, name) for one in newest_first])


@route("github", "POST", f"{REPO}/issues")
@_in_repo
def issues_create(state: State, request: FakeRequest, name: str) -> Any:
    given = request.json
    labels = [one if isinstance(one, str) else one["name"] for one in given.get("labels") or []]
    issue = state.repos[name].open_issue(
        given["title"], given.get("body"), labels=labels, assignees=given.get("assignees") or []
    )
    return FakeReply(status=201, json=_issue(issue, name))


@route("github", "GET", f"{REPO}/issues/{{issue_number}}")
@_on_issue
def issues_get(state: State, request: FakeRequest, name: str, issue: Issue) -> Any:
    return _issue(issue, name)


@route("github", "PATCH", f"{REPO}/issues/{{issue_number}}")
@_on_issue
def issues_update(state: State, request: FakeRequest, name: str, issue: Issue) -> Any:
    given = request.json or {}
    if given.get("title"):
        issue.title = given["title"]
    if "body" in given:
        issue.body = given["body"]
    if "state" in given:
        issue.is_open = given["state"] == "open"
    if "labels" in given:
        issue.labels = {one if isinstance(one, str) else one["name"] for one in given["labels"]}
        state.repos[name].labels |= issue.labels
    if "assignees" in given:
        issue.assignees = set(given["assignees"])
    return _issue(issue, name)


@route("github", "POST", f"{REPO}/issues/{{issue_number}}/labels")
@_on_issue
def issues_add_labels(state: State, request: FakeRequest, name: str, issue: Issue) -> Any:
    given = request.json
    added = given["labels"] if isinstance(given, dict) else given
    issue.labels |= {one if isinstance(one, str) else one["name"] for one in added}
    state.repos[name].labels |= issue.labels
    return [_label(one) for one in sorted(issue.labels)]


@route("github", "DELETE", f"{REPO}/issues/{{issue_number}}/labels/{{name}}")
@_on_issue
def issues_remove_label(state: State, request: FakeRequest, name: str, issue: Issue) -> Any:
    if request.path_args["name"] not in issue.labels:
        return gone("Label does not exist")
    issue.labels.discard(request.path_args["name"])
    return [_label(one) for one in sorted(issue.labels)]


def _comment(id: int, author: str, text: Any) -> dict[str, Any]:
    stamp = f"{TODAY}T10:00:00Z"
    return {
        "id": id,
        "body": text,
        "user": _user(author),
        "created_at": stamp,
        "updated_at": stamp,
        "html_url": f"https://github.com/comment/{id}",
    }


@route("github", "GET", f"{REPO}/issues/{{issue_number}}/comments")
@_on_issue
def issues_list_comments(state: State, request: FakeRequest, name: str, issue: Issue) -> Any:
    return _page(request, [_comment(*one) for one in issue.comments])


@route("github", "POST", f"{REPO}/issues/{{issue_number}}/comments")
@_on_issue
def issues_create_comment(state: State, request: FakeRequest, name: str, issue: Issue) -> Any:
    id = state.comment(name, issue.number, request.json["body"])
    return FakeReply(status=201, json=_comment(id, "robot", request.json["body"]))


@route("github", "DELETE", f"{REPO}/issues/comments/{{comment_id}}")
@_in_repo
def issues_delete_comment(state: State, request: FakeRequest, name: str) -> Any:
    for issue in state.repos[name].issues.values():
        for one in issue.comments:
            if str(one[0]) == request.path_args["comment_id"]:
                issue.comments.remove(one)
                return FakeReply(status=204)
    return gone()


@route("github", "GET", f"{REPO}/labels")
@_in_repo
def labels_list(state: State, request: FakeRequest, name: str) -> Any:
    return _page(request, [_label(one) for one in sorted(state.repos[name].labels)])


@route("github", "POST", f"{REPO}/labels")
@_in_repo
def labels_create(state: State, request: FakeRequest, name: str) -> Any:
    label = request.json["name"]
    if label in state.repos[name].labels:
        errors = [{"resource": "Label", "code": "already_exists", "field": "name"}]
        return FakeReply(status=422, json={"message": "Validation Failed", "errors": errors})
    state.repos[name].labels.add(label)
    return FakeReply(status=201, json=_label(label))


@route("github", "GET", f"{REPO}/pulls")
@_in_repo
def pulls_list(state: State, request: FakeRequest, name: str) -> Any:
    wanted = request.first("state", "open")
    found = [
        pull
        for pull in state.repos[name].pulls.values()
        if wanted in ("all", "closed" if pull.is_merged else "open")
    ]
    return _page(request, [_pull(one, name) for one in found])


def _on_pull(answer: Callable[[FakeRequest, str, Pull], Any]) -> Answer:
    def checked(state: State, request: FakeRequest, name: str) -> Any:
        number = request.path_args["pull_number"]
        pulls = state.repos[name].pulls
        pull = pulls.get(int(number)) if number.isdecimal() else None
        return gone() if pull is None else answer(request, name, pull)

    return _in_repo(checked)


@route("github", "GET", f"{REPO}/pulls/{{pull_number}}")
@_on_pull
def pulls_get(request: FakeRequest, name: str, pull: Pull) -> Any:
    return _pull(pull, name)


@route("github", "POST", f"{REPO}/pulls/{{pull_number}}/requested_reviewers")
@_on_pull
def pulls_request_reviewers(request: FakeRequest, name: str, pull: Pull) -> Any:
    pull.reviewers |= set(request.json.get("reviewers") or [])
    return FakeReply(status=201, json=_pull(pull, name))


@route("github", "PUT", f"{REPO}/pulls/{{pull_number}}/merge")
@_on_pull
def pulls_merge(request: FakeRequest, name: str, pull: Pull) -> Any:
    if pull.is_merged:
        return FakeReply(status=405, json={"message": "Pull Request is not mergeable"})
    pull.is_merged = True
    return {"sha": "3" * 40, "merged": True, "message": "Pull Request successfully merged"}


def _release(repo: str, tag: str, name: str) -> dict[str, Any]:
    return {
        "id": sum(map(ord, tag)),
        "tag_name": tag,
        "target_commitish": "main",
        "name": name,
        "body": None,
        "draft": False,
        "prerelease": False,
        "created_at": f"{TODAY}T11:00:00Z",
        "published_at": f"{TODAY}T11:00:00Z",
        "html_url": f"https://github.com/{repo}/releases/{tag}",
        "assets": [],
    }


@route("github", "GET", f"{REPO}/releases")
@_in_repo
def releases_list(state: State, request: FakeRequest, name: str) -> Any:
    releases = reversed(state.repos[name].releases.items())
    return _page(request, [_release(name, *one) for one in releases])


@route("github", "GET", f"{REPO}/releases/latest")
@_in_repo
def releases_latest(state: State, request: FakeRequest, name: str) -> Any:
    return _release(name, *list(state.repos[name].releases.items())[-1])


@route("github", "POST", f"{REPO}/releases")
@_in_repo
def releases_create(state: State, request: FakeRequest, name: str) -> Any:
    tag = request.json["tag_name"]
    if tag in state.repos[name].releases:
        errors = [{"resource": "Release", "code": "already_exists", "field": "tag_name"}]
        return FakeReply(status=422, json={"message": "Validation Failed", "errors": errors})
    state.repos[name].releases[tag] = request.json.get("name") or ""
    return FakeReply(status=201, json=_release(name, tag, state.repos[name].releases[tag]))


@route("github", "GET", "/users/{username}")
def users_get(state: State, request: FakeRequest) -> Any:
    person = state.people.get(request.path_args["username"])
    if person is None:
        return gone()
    return {**_user(person.login), "name": person.name, "email": person.email}


# -- Slack ---------------------------------------------------------------------------------------


def _message(message: Message, state: State) -> dict[str, Any]:
    shown: dict[str, Any] = {"type": "message", "ts": message.ts, "user": message.user}
    shown["text"] = message.text
    if message.thread is not None:
        shown["thread_ts"] = message.thread
    if message.reactions:
        shown["reactions"] = [
            {"name": name, "count": 1, "users": ["UROBOT"]} for name in sorted(message.reactions)
        ]
    return shown


def _channel_id(state: State, given: str) -> str | None:
    """Slack takes an id, and for posting a name too."""
    given = state.channels.get(given.removeprefix("#"), given)
    return given if given in state.messages else None


def _find(state: State, channel: str, ts: str) -> Message | None:
    id = _channel_id(state, channel)
    return next((one for one in state.messages[id] if one.ts == ts), None) if id else None


def no(error: str) -> dict[str, Any]:
    return {"ok": False, "error": error}


@route("slack", "GET", "/auth.test")
def auth_test(state: State, request: FakeRequest) -> Any:
    who = {"user": "robot", "user_id": "UROBOT", "team": "octo", "team_id": "T01"}
    return {"ok": True, "url": "https://octo.slack.com/", **who}


@route("slack", "GET", "/conversations.list")
def conversations_list(state: State, request: FakeRequest) -> Any:
    channels = [
        {"id": id, "name": name, "is_private": False, "is_archived": False, "is_member": True}
        for name, id in state.channels.items()
    ]
    return {"ok": True, "channels": channels, "response_metadata": {"next_cursor": ""}}


@route("slack", "GET", "/conversations.history")
def conversations_history(state: State, request: FakeRequest) -> Any:
    id = _channel_id(state, request.first("channel"))
    if id is None or request.first("channel") != id:
        return no("channel_not_found")
    roots = [one for one in reversed(state.messages[id]) if one.thread is None]
    size = int(request.first("limit", "100"))
    shown = [_message(one, state) for one in roots[:size]]
    return {"ok": True, "messages": shown, "has_more": len(roots) > size}


@route("slack", "GET", "/conversations.replies")
def conversations_replies(state: State, request: FakeRequest) -> Any:
    id, ts = _channel_id(state, request.first("channel")), request.first("ts")
    if id is None:
        return no("channel_not_found")
    thread = [one for one in state.messages[id] if ts in (one.ts, one.thread)]
    if not thread:
        return no("thread_not_found")
    return {"ok": True, "messages": [_message(one, state) for one in thread], "has_more": False}


@route("slack", "POST", "/chat.postMessage")
def chat_post(state: State, request: FakeRequest) -> Any:
    form = dict(request.form)
    id = _channel_id(state, form.get("channel", ""))
    if id is None:
        return no("channel_not_found")
    if not form.get("text"):
        return no("no_text")
    name = next(name for name, known in state.channels.items() if known == id)
    message = state.post(name, form["text"], thread=form.get("thread_ts") or None)
    return {"ok": True, "channel": id, "ts": message.ts, "message": _message(message, state)}


@route("slack", "POST", "/chat.delete")
def chat_delete(state: State, request: FakeRequest) -> Any:
    form = dict(request.form)
    message = _find(state, form.get("channel", ""), form.get("ts", ""))
    if message is None:
        return no("message_not_found")
    id = _channel_id(state, form["channel"])
    assert id is not None
    state.messages[id].remove(message)
    return {"ok": True, "channel": id, "ts": message.ts}


@route("slack", "POST", "/reactions.add")
def reactions_add(state: State, request: FakeRequest) -> Any:
    form = dict(request.form)
    message = _find(state, form.get("channel", ""), form.get("timestamp", ""))
    if message is None:
        return no("message_not_found")
    if form.get("name", "") in message.reactions:
        return no("already_reacted")
    message.reactions.add(form.get("name", "").strip(":"))
    return {"ok": True}


def _member(state: State, login: str) -> dict[str, Any]:
    person = state.people[login]
    profile = {"email": person.email, "real_name": person.name}
    return {"id": person.id, "name": login, "real_name": person.name, "profile": profile}


@route("slack", "GET", "/users.list")
def users_list(state: State, request: FakeRequest) -> Any:
    members = [_member(state, login) for login in state.people]
    return {"ok": True, "members": members, "response_metadata": {"next_cursor": ""}}


@route("slack", "GET", "/users.lookupByEmail")
def users_by_email(state: State, request: FakeRequest) -> Any:
    for person in state.people.values():
        if person.email == request.first("email"):
            return {"ok": True, "user": _member(state, person.login)}
    return no("users_not_found")


# -- Stripe --------------------------------------------------------------------------------------


def _customer(one: Customer) -> dict[str, Any]:
    head = {"id": one.id, "object": "customer", "created": 1_767_225_600, "livemode": False}
    return {**head, "email": one.email, "name": one.name, "metadata": {}}


def _charge(one: Charge) -> dict[str, Any]:
    paid = one.status == "succeeded"
    head = {"id": one.id, "object": "charge", "created": one.created, "livemode": False}
    return {
        **head,
        "amount": one.amount,
        "amount_refunded": one.refunded,
        "currency": "eur",
        "status": one.status,
        "paid": paid,
        "refunded": one.refunded == one.amount,
        "customer": one.customer,
        "payment_intent": None,
        "description": None,
    }


def _invoice(one: Invoice, state: State) -> dict[str, Any]:
    return {
        "id": one.id,
        "object": "invoice",
        "number": one.id.upper(),
        "status": one.status,
        "customer": one.customer,
        "customer_email": state.customers[one.customer].email,
        "currency": "eur",
        "amount_due": one.total,
        "amount_paid": one.total if one.status == "paid" else 0,
        "amount_remaining": one.remaining,
        "total": one.total,
        "due_date": one.due,
        "created": one.due - 30 * 86_400,
        "livemode": False,
    }


def _range(request: FakeRequest, field: str, value: int) -> bool:
    """Stripe's ``created[gte]`` and its kin."""
    tests: dict[str, Callable[[int], bool]] = {
        "gt": lambda n: value > n,
        "gte": lambda n: value >= n,
        "lt": lambda n: value < n,
        "lte": lambda n: value <= n,
    }
    for name, check in tests.items():
        given = request.first(f"{field}[{name}]")
        if given and not check(int(given)):
            return False
    return True


def _listed(request: FakeRequest, items: list[dict[str, Any]]) -> Any:
    ids = [one["id"] for one in items]
    after = request.first("starting_after")
    if after and after not in ids:
        return FakeReply(status=400, json={"error": {"message": f"No such object: {after}"}})
    start = ids.index(after) + 1 if after else 0
    end = start + min(100, int(request.first("limit", "10")))
    return {"object": "list", "data": items[start:end], "has_more": end < len(items)}


@route("stripe", "GET", "/v1/customers")
def customers_list(state: State, request: FakeRequest) -> Any:
    email = request.first("email")
    found = [one for one in state.customers.values() if email in ("", one.email)]
    return _listed(request, [_customer(one) for one in found])


@route("stripe", "POST", "/v1/customers")
def customers_create(state: State, request: FakeRequest) -> Any:
    form = dict(request.form)
    return _customer(state.add_customer(form.get("name", ""), form.get("email", "")))


@route("stripe", "GET", "/v1/customers/search")
def customers_search(state: State, request: FakeRequest) -> Any:
    """``email:"a@b.c"`` and ``name~"part"``, the two that are asked for."""
    field, _, value = request.first("query").replace("~", ":").partition(":")
    value = value.strip().strip("'\"")
    found = [
        _customer(one)
        for one in state.customers.values()
        if value and value.lower() in str(getattr(one, field.strip(), "")).lower()
    ]
    return {"object": "search_result", "data": found, "has_more": False, "next_page": None}


@route("stripe", "GET", "/v1/customers/{customer}")
def customers_get(state: State, request: FakeRequest) -> Any:
    found = state.customers.get(request.path_args["customer"])
    return FakeReply(status=404, json={"error": {"message": "No such customer"}}) if (
        found is None
    ) else _customer(found)  # fmt: skip


# customers/search is found before customers/{customer}: later routes win.
route("stripe", "GET", "/v1/customers/search")(customers_search)


@route("stripe", "GET", "/v1/charges")
def charges_list(state: State, request: FakeRequest) -> Any:
    customer = request.first("customer")
    found = [
        one
        for one in sorted(state.charges.values(), key=lambda one: -one.created)
        if customer in ("", one.customer) and _range(request, "created", one.created)
    ]
    return _listed(request, [_charge(one) for one in found])


@route("stripe", "GET", "/v1/invoices")
def invoices_list(state: State, request: FakeRequest) -> Any:
    customer, status = request.first("customer"), request.first("status")
    found = [
        one
        for one in state.invoices.values()
        if customer in ("", one.customer)
        and status in ("", one.status)
        and _range(request, "due_date", one.due)
    ]
    return _listed(request, [_invoice(one, state) for one in found])


def _refund(refund: Any) -> dict[str, Any]:
    return {
        "id": refund.id,
        "object": "refund",
        "amount": refund.amount,
        "currency": "eur",
        "charge": refund.charge,
        "payment_intent": None,
        "reason": refund.reason,
        "status": "succeeded",
        "metadata": {},
        "created": 1_772_445_600,
    }


@route("stripe", "POST", "/v1/refunds")
def refunds_create(state: State, request: FakeRequest) -> Any:
    form = dict(request.form)
    charge = state.charges.get(form.get("charge", ""))
    if charge is None:
        return FakeReply(status=404, json={"error": {"message": "No such charge"}})
    left = charge.amount - charge.refunded
    amount = int(form["amount"]) if form.get("amount") else left
    if charge.status != "succeeded" or not 0 < amount <= left:
        message = "This charge cannot be refunded by that amount."
        return FakeReply(status=400, json={"error": {"message": message}})
    return _refund(state.refund(charge.id, amount, form.get("reason")))


@route("stripe", "GET", "/v1/refunds")
def refunds_list(state: State, request: FakeRequest) -> Any:
    charge = request.first("charge")
    found = [one for one in state.refunds if charge in ("", one.charge)]
    return _listed(request, [_refund(one) for one in found])


# -- rates and holidays --------------------------------------------------------------------------


def _rates(state: State, request: FakeRequest) -> Any:
    table = {"EUR": 1.0, **state.rates}
    base, amount = request.first("base") or "EUR", float(request.first("amount") or "1")
    if base not in table:
        return gone("not found")
    wanted = request.first("symbols").split(",") if request.first("symbols") else list(table)
    values = {
        code: round(amount * table[code] / table[base], 2 if amount != 1 else 5)
        for code in wanted
        if code != base and code in table
    }
    return {"amount": amount, "base": base, "date": "2026-02-27", "rates": values}


@route("frankfurter", "GET", "/v1/{date}")
def rates_on(state: State, request: FakeRequest) -> Any:
    return _rates(state, request)


@route("frankfurter", "GET", "/v1/currencies")
def currencies(state: State, request: FakeRequest) -> Any:
    return {"EUR": "Euro", **dict.fromkeys(state.rates, "Currency")}


@route("frankfurter", "GET", "/v1/latest")
def rates_latest(state: State, request: FakeRequest) -> Any:
    return _rates(state, request)


def _holidays(state: State, country: str) -> list[dict[str, Any]]:
    return [
        {
            "date": day,
            "localName": name,
            "name": name,
            "countryCode": country,
            "global": True,
            "counties": None,
            "types": ["Public"],
        }
        for day, name in state.holidays[country]
    ]


@route("nager_date", "GET", "/api/v3/PublicHolidays/{year}/{countryCode}")
def public_holidays(state: State, request: FakeRequest) -> Any:
    country = request.path_args["countryCode"]
    if country not in state.holidays:
        return gone()
    return _holidays(state, country) if request.path_args["year"] == "2026" else []


@route("nager_date", "GET", "/api/v3/NextPublicHolidays/{countryCode}")
def next_holidays(state: State, request: FakeRequest) -> Any:
    country = request.path_args["countryCode"]
    if country not in state.holidays:
        return gone()
    return [one for one in _holidays(state, country) if one["date"] >= TODAY]


@route("nager_date", "GET", "/api/v3/AvailableCountries")
def countries(state: State, request: FakeRequest) -> Any:
    return [{"countryCode": code, "name": code} for code in state.holidays]
