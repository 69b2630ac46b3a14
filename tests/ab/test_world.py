"""The world of the tasks: deterministic, and judged by its state."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ab.solutions import SOLUTIONS
from codemode.ab.judge import differences
from codemode.ab.seeded import seeded
from codemode.ab.state import Anything, Issue, Mentions, fits
from codemode.ab.tasks import TASKS
from codemode.ab.world import KEYED, TOKEN, TOOLSETS, World
from codemode.testing import FakeRequest

SEEDS = range(6)


def test_there_are_thirty_tasks_and_each_crosses_toolsets():
    assert len(TASKS) == 30
    for task in TASKS.values():
        assert len(set(task.toolsets)) >= 2, task.name
        assert set(task.toolsets) <= set(TOOLSETS), task.name
    assert set(SOLUTIONS) == set(TASKS)


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_seeds_give_equal_worlds_and_tasks(seed: int):
    one, other = seeded(seed), seeded(seed)

    assert one == other
    for task in TASKS.values():
        assert task.posed(one)[0] == task.posed(other)[0]
        assert one == other, f"{task.name} changed the world it was posed in"


@pytest.mark.parametrize("seed", SEEDS)
def test_no_task_is_done_before_it_is_begun(seed: int):
    start = seeded(seed)
    for task in TASKS.values():
        _, wanted = task.posed(start)
        assert differences(wanted, start), task.name
        assert differences(wanted, wanted.copy()) == [], task.name


def test_seeds_differ():
    assert len({json.dumps([t.posed(seeded(s))[0] for t in TASKS.values()]) for s in SEEDS}) > 5


@pytest.mark.parametrize("name", TASKS)
def test_anything_too_many_is_seen(name: str):
    start = seeded(3)
    _, wanted = TASKS[name].posed(start)
    spoilt = [wanted.copy() for _ in range(6)]
    spoilt[0].post("general", "By the way")
    spoilt[1].repos["octo/web"].issues[12].labels.add("oops")
    spoilt[2].repos["octo/api"].open_issue("Not asked for")
    spoilt[3].refund("ch_001", 1)
    spoilt[4].add_customer("Nobody", "n@example.com")
    spoilt[5].comment("octo/web", 1, "Hello")

    assert all(differences(wanted, state) for state in spoilt)


def test_what_is_new_may_come_in_any_order():
    one, other = seeded(1), seeded(1)
    for state, texts in ((one, ("a", "b")), (other, ("b", "a"))):
        for text in texts:
            state.post("ops", text)
            state.repos["octo/api"].open_issue(f"Issue {text}")

    assert differences(one, other) == []


def test_an_answer_in_the_wrong_thread_is_not_the_same():
    one, other = seeded(1), seeded(1)
    first, second = one.in_channel("support")[:2]
    one.post("support", "yes", thread=first.ts)
    other.post("support", "yes", thread=second.ts)

    assert differences(one, other)
    other.in_channel("support")[-1].thread = first.ts
    assert differences(one, other) == []


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("a b", " a\n b ", True),
        ("a b", "a B", False),
        (None, "", True),
        (None, "x", False),
        (Mentions(("#1", "#3")), "see #3 and #1", True),
        (Mentions(("#1", "#3")), "see #3", False),
        (Anything(), None, True),
    ],
)
def test_texts(expected: object, actual: str | None, same: bool):
    assert fits(expected, actual) is same  # type: ignore[arg-type]


def request(method: str, path: str, **more: object) -> FakeRequest:
    headers = {"authorization": f"Bearer {TOKEN}"}
    return FakeRequest(method=method, path=path, **{"headers": headers, **more})  # type: ignore[arg-type]


def test_keyed_toolsets_refuse_without_the_token_and_nothing_else_is_answered():
    world = World(seeded(1))
    for toolset, path in (("github", "/users/ada"), ("slack", "/auth.test")):
        found = world.upstream.respond(request("GET", f"/{toolset}{path}", headers={}))
        assert found.status == 401
        assert world.upstream.respond(request("GET", f"/{toolset}{path}")).status == 200
    assert set(KEYED) < set(TOOLSETS)
    assert world.upstream.respond(request("GET", "/github/orgs/octo/repos")).status == 404


def test_lists_come_in_pages():
    world = World(seeded(1))
    first = world.upstream.respond(request("GET", "/stripe/v1/invoices", query=()))
    rest = world.upstream.respond(
        request(
            "GET",
            "/stripe/v1/invoices",
            query=(("starting_after", first.json["data"][-1]["id"]),),
        )
    )

    assert first.json["has_more"] is True
    assert rest.json["has_more"] is False
    assert len(first.json["data"]) + len(rest.json["data"]) == len(world.state.invoices)


def test_what_cannot_be_done_twice_is_refused():
    world = World(seeded(1))
    merge = request("PUT", "/github/repos/octo/web/pulls/101/merge")
    refund = request("POST", "/stripe/v1/refunds", body=b"charge=ch_001")

    assert [world.upstream.respond(merge).status for _ in range(2)] == [200, 405]
    assert [world.upstream.respond(refund).status for _ in range(2)] == [200, 400]


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("repo:octo/api is:open label:bug is:issue", lambda i: i.is_open and "bug" in i.labels),
        ("repo:octo/api is:closed label:urgent", lambda i: not i.is_open and "urgent" in i.labels),
        ("repo:octo/api is:open no:assignee is:issue", lambda i: i.is_open and not i.assignees),
        ('repo:octo/api "Refund request" in:title', lambda i: i.title == "Refund request"),
        ("repo:octo/api is:issue -label:bug", lambda i: "bug" not in i.labels),
    ],
)
def test_issues_are_found_by_what_people_ask(query: str, meant: Callable[[Issue], bool]):
    world = World(seeded(4))

    found = world.upstream.respond(
        request("GET", "/github/search/issues", query=(("q", query), ("per_page", "100")))
    ).json

    issues = world.state.repos["octo/api"].issues.values()
    assert {one["number"] for one in found["items"]} == {i.number for i in issues if meant(i)}
    assert found["total_count"] == len(found["items"]) > 0
