"""Slack, as far as the tasks go."""

from __future__ import annotations

from typing import Any

from codemode.ab.routes import route
from codemode.ab.state import Message, State
from codemode.testing import FakeRequest


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
