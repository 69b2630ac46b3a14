"""How sure a share or a difference is. Intervals are 95 % unless told otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Interval:
    """Closed; *low* <= *high*."""

    low: float
    high: float

    def excludes(self, value: float) -> bool:
        return value < self.low or value > self.high


Pair: TypeAlias = tuple[int, int]
"""(k, n): k of n calls."""

RandRange: TypeAlias = Callable[[int], int]
"""``randrange(n)``: an integer in 0..n-1. The caller seeds it, so that a report repeats."""

N_RESAMPLES = 4_000


def wilson(k: int, n: int, *, level: float = 0.95) -> Interval:
    """
    Wilson score interval of the share k/n; the whole of 0..1 for n = 0.

    >>> found = wilson(55, 152)
    >>> round(found.low, 3), round(found.high, 3)
    (0.29, 0.441)
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n}")
    if n == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = k / n
    centre = share + z * z / (2 * n)
    spread = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # rounding must not move the ends of 0/n and n/n off 0 and 1, nor out of 0..1
    low = 0.0 if k == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if k == n else min(1.0, (centre + spread) / scale)
    return Interval(low, high)


def difference(before: Pair, after: Pair, *, level: float = 0.95) -> Interval:
    """
    Interval of ``after - before`` for two independent shares (Newcombe's hybrid score).

    Treats calls as independent; calls of one session are not quite, so it is too narrow
    rather than too wide.
    """
    if before[1] == 0 or after[1] == 0:
        return Interval(-1.0, 1.0)
    p, q = before[0] / before[1], after[0] / after[1]
    one, two = wilson(*before, level=level), wilson(*after, level=level)
    low = q - p - sqrt((q - two.low) ** 2 + (one.high - p) ** 2)
    high = q - p + sqrt((two.high - q) ** 2 + (p - one.low) ** 2)
    return Interval(max(-1.0, low), min(1.0, high))


def bootstrap_paired(
    pairs: Sequence[tuple[Pair, Pair]],
    randrange: RandRange,
    *,
    level: float = 0.95,
    n: int = N_RESAMPLES,
) -> Interval:
    """
    Percentile interval of ``after - before`` of the pooled shares, tasks drawn with
    replacement. *pairs*: (before, after) of each task.
    """
    if not pairs:
        return Interval(-1.0, 1.0)
    found = []
    for _ in range(n):
        drawn = [pairs[randrange(len(pairs))] for _ in pairs]
        found.append(pooled([b for _, b in drawn]) - pooled([a for a, _ in drawn]))
    return _percentiles(found, level)


def bootstrap_unpaired(
    before: Sequence[Pair],
    after: Sequence[Pair],
    randrange: RandRange,
    *,
    level: float = 0.95,
    n: int = N_RESAMPLES,
) -> Interval:
    """As `bootstrap_paired`, sessions of either side drawn on their own."""
    if not before or not after:
        return Interval(-1.0, 1.0)
    found = []
    for _ in range(n):
        one = [before[randrange(len(before))] for _ in before]
        two = [after[randrange(len(after))] for _ in after]
        found.append(pooled(two) - pooled(one))
    return _percentiles(found, level)


def pooled(pairs: Sequence[Pair]) -> float:
    """Share over all calls together; 0 without calls."""
    n = sum(pair[1] for pair in pairs)
    return sum(pair[0] for pair in pairs) / n if n else 0.0


def _percentiles(values: list[float], level: float) -> Interval:
    values.sort()
    tail = (1 - level) / 2
    last = len(values) - 1
    return Interval(values[round(tail * last)], values[round((1 - tail) * last)])
