"""Intervals: known values, and what must hold for any counts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.core.measure.stats import (
    Interval,
    bootstrap_paired,
    bootstrap_unpaired,
    difference,
    pooled,
    wilson,
)

pairs = st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
some = st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
lists = st.lists(some, min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(0, 60, 0.0, 0.0602), (55, 152, 0.2897, 0.4408), (26, 132, 0.1381, 0.2730), (1, 1, 0.2065, 1)],
)
def test_wilson_gives_published_values(k: int, n: int, low: float, high: float) -> None:
    found = wilson(k, n)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(pairs)
def test_wilson_holds_the_share_and_stays_between_zero_and_one(pair: tuple[int, int]) -> None:
    k, n = pair
    found = wilson(k, n)
    assert 0.0 <= found.low <= found.high <= 1.0
    if n:
        assert found.low <= k / n <= found.high
    else:
        assert found == Interval(0.0, 1.0)


@given(some)
def test_more_of_the_same_narrows_and_more_certainty_widens(pair: tuple[int, int]) -> None:
    k, n = pair

    def width(found: Interval) -> float:
        return found.high - found.low

    assert width(wilson(10 * k, 10 * n)) < width(wilson(k, n))
    assert width(wilson(k, n, level=0.99)) > width(wilson(k, n))


@given(pairs)
def test_wilson_is_the_same_seen_from_the_other_side(pair: tuple[int, int]) -> None:
    k, n = pair
    one, other = wilson(k, n), wilson(n - k, n)
    assert one.low == pytest.approx(1 - other.high)


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3)])
def test_counts_that_cannot_be_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="of 3"):
        wilson(k, n)


def test_newcombe_gives_his_published_value() -> None:
    found = difference((48, 80), (56, 70))  # Newcombe 1998, table II a, method 10, signs turned
    assert (round(found.low, 4), round(found.high, 4)) == (0.0524, 0.3339)


@given(some, some)
def test_a_difference_holds_its_value_and_turns_with_its_sides(one, two) -> None:
    there, back = difference(one, two), difference(two, one)
    change = two[0] / two[1] - one[0] / one[1]
    assert there.low - 1e-12 <= change <= there.high + 1e-12
    assert there.low == pytest.approx(-back.high)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(some, some), min_size=1, max_size=8), st.integers(0, 9))
def test_the_bootstrap_repeats_with_its_seed_and_stays_in_range(given_pairs, seed: int) -> None:
    def once() -> Interval:
        return bootstrap_paired(given_pairs, random.Random(seed).randrange, n=60)

    found = once()
    assert found == once()
    assert -1.0 <= found.low <= found.high <= 1.0


@settings(max_examples=30, deadline=None)
@given(lists)
def test_a_task_that_did_not_change_shows_no_change(side) -> None:
    found = bootstrap_paired([(one, one) for one in side], random.Random(1).randrange, n=50)
    assert found == Interval(0.0, 0.0)


def test_the_bootstrap_covers_the_truth_about_as_often_as_it_says() -> None:
    """200 made-up recordings with a true change of -0.3, ten calls in each of 30 tasks."""
    world, hits = random.Random(7), 0
    for _ in range(200):
        made = [
            (
                (sum(world.random() < 0.5 for _ in range(10)), 10),
                (sum(world.random() < 0.2 for _ in range(10)), 10),
            )
            for _ in range(30)
        ]
        found = bootstrap_paired(made, world.randrange, n=200)
        hits += not found.excludes(-0.3)
    assert 0.88 <= hits / 200 <= 0.99


def test_nothing_on_a_side_leaves_everything_open() -> None:
    draw = random.Random(1).randrange
    assert bootstrap_unpaired([], [(1, 2)], draw) == Interval(-1.0, 1.0)
    assert bootstrap_paired([], draw) == Interval(-1.0, 1.0)
    assert difference((0, 0), (1, 2)) == Interval(-1.0, 1.0)


@given(lists)
def test_pooling_is_all_calls_together(side) -> None:
    assert pooled(side) == pytest.approx(sum(k for k, _ in side) / sum(n for _, n in side))
