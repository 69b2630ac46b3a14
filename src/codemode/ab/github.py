"""GitHub, as far as the tasks go."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from codemode.ab.routes import Answer, gone, route
from codemode.ab.state import TODAY, Issue, Pull, State
from codemode.testing import FakeReply, FakeRequest

REPO = "/repos/{owner}/{repo}"


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


@route("github", "GET", "/search/issues")
def search_issues(state: State, request: FakeRequest) -> Any:
    """The qualifiers that people use: repo, is, state, label, assignee, author, no, in."""
    terms = re.findall(r'(-?\w+):("[^"]*"|\S+)|("[^"]*"|\S+)', request.first("q"))
    asked = [(key, value.strip('"').lower()) for key, value, _ in terms if key]
    words = [word.strip('"').lower() for _, _, word in terms if word]
    found = [
        item
        for name, repo in state.repos.items()
        for item in [
            *(_issue(one, name) for one in repo.issues.values()),
            *(_pull(one, name) | {"pull_request": {}} for one in repo.pulls.values()),
        ]
        if all(_qualifies(item, name, key, value) for key, value in asked)
        and all(word in f"{item['title']} {item['body']}".lower() for word in words)
    ]
    return {
        "total_count": len(found),
        "incomplete_results": False,
        "items": _page(request, found),
    }


def _qualifies(item: dict[str, Any], repo: str, key: str, value: str) -> bool:
    if key.startswith("-"):
        return not _qualifies(item, repo, key[1:], value)
    is_pull = "pull_request" in item
    people = [one["login"] for one in item["assignees"]]
    kinds = {"issue": not is_pull, "pr": is_pull, "pull-request": is_pull}
    match key:
        case "repo":
            return repo == value
        case "org" | "user":
            return repo.startswith(f"{value}/")
        case "is" | "state" | "type":
            return kinds.get(value, bool(item["state"] == value))
        case "label":
            return any(one["name"].lower() in value.split(",") for one in item["labels"])
        case "assignee":
            return value in people
        case "author":
            return bool(item["user"]["login"] == value)
        case "no":
            return not item["labels"] if value == "label" else not people
    return True


@route("github", "GET", REPO)
@_in_repo
def repos_get(state: State, request: FakeRequest, name: str) -> Any:
    repo = state.repos[name]
    owner, short = name.split("/")
    stamp = "2025-01-01T00:00:00Z"
    return {
        "id": sum(map(ord, name)),
        "name": short,
        "full_name": name,
        "owner": _user(owner),
        "private": False,
        "description": None,
        "fork": False,
        "html_url": f"https://github.com/{name}",
        "default_branch": "main",
        "language": None,
        "archived": False,
        "stargazers_count": 0,
        "forks_count": 0,
        "open_issues_count": sum(one.is_open for one in repo.issues.values()),
        "pushed_at": stamp,
        "created_at": stamp,
        "updated_at": stamp,
    }
