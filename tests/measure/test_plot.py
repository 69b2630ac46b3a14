"""Marks stay on the paper, whatever the numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codemode.core.measure.call import CLASSES
from codemode.core.measure.plot import (
    LABELS,
    MAX_ROWS,
    RIGHT,
    WIDTH,
    share_rows,
    shared_folder,
    shortened,
    timeline,
)
from codemode.core.measure.report import Share
from codemode.core.measure.tally import SessionTally, Tick

moments = st.one_of(st.none(), st.floats(0, 1e7))
ticks = st.builds(
    lambda cls, start, more: Tick(
        name="act",
        cls=cls,
        start_s=start,
        end_s=None if start is None or more is None else start + more,
        rule="r",
    ),
    st.sampled_from(CLASSES),
    moments,
    moments,
)
shares = st.builds(
    lambda k, n: Share(name=f"/a/b/{k}.json", counts={"discovery": k, "work": n}),
    st.integers(0, 50),
    st.integers(0, 50),
)


@given(st.lists(ticks, max_size=20))
def test_a_timeline_stays_on_the_paper(some: list[Tick]) -> None:
    marks, axis = timeline(SessionTally(path="p", format="f", timeline=some))
    assert len(marks) == len(some)
    assert all(0 <= mark.x <= WIDTH and mark.x + mark.width <= WIDTH + 4 for mark in marks)
    assert all(0 < mark.y < axis.height for mark in marks)
    assert 1 <= len(axis.ticks) <= 12
    timed = bool(some) and all(tick.start_s is not None for tick in some)
    assert axis.label.startswith("seconds" if timed else "order")


@given(shares, st.lists(shares, max_size=60))
def test_shares_stand_inside_their_interval_and_the_plot(total: Share, rest: list[Share]) -> None:
    rows, axis = share_rows(total, rest)
    assert len(rows) == 1 + min(MAX_ROWS, sum(bool(share.n) for share in rest))
    for row in rows:
        assert LABELS <= row.low <= row.high <= WIDTH - RIGHT
        assert row.y < axis.height
    assert all(row.low <= row.dot <= row.high for row in rows[1:])


def test_labels_keep_the_end_of_a_path() -> None:
    assert shared_folder(["/a/b/x.json", "/a/b/y.json"]) == "/a/b/"
    assert shared_folder(["/a/bc/x", "/a/bd/x"]) == "/a/"
    assert shared_folder(["a.json", "b.json"]) == ""
    assert shared_folder(["/a/b.json"]) == "/a/"
    assert shared_folder(["/a/b.json", "/a/b.json"]) == "/a/"
    assert shared_folder([]) == ""
    assert shortened("x" * 50) == "…" + "x" * 29
