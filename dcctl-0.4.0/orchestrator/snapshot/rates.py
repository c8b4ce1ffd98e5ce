"""Rates from a series of readings of a growing number, each made at some moment between two times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class Reading(NamedTuple):
    """`value` was read at some moment between `begun_at_s` and `ended_at_s`."""

    begun_at_s: float
    ended_at_s: float
    value: int


def largest_rate(readings: Sequence[Reading], window_s: float = 1.0) -> float | None:
    """The largest growth per second between two readings at least `window_s` apart; None without such.

    A reading's moment is known only to an interval, so the time between two readings is taken as short
    as it can have been: the answer is never below the true average rate of any such window.
    """
    largest: float | None = None
    later = 0
    for index, first in enumerate(readings):
        later = max(later, index + 1)
        while later < len(readings) and readings[later].begun_at_s - first.ended_at_s < window_s:
            later += 1
        if later == len(readings):
            break
        # A longer window holds a shorter one of at least the same rate: the nearest reading is enough.
        second = readings[later]
        rate = (second.value - first.value) / (second.begun_at_s - first.ended_at_s)
        largest = rate if largest is None else max(largest, rate)
    return None if largest is None else max(largest, 0.0)


def mean_rate(readings: Sequence[Reading]) -> float | None:
    """Growth per second between the first and the last reading; None with fewer than two."""
    if len(readings) < 2 or readings[-1].begun_at_s <= readings[0].begun_at_s:
        return None
    first, last = readings[0], readings[-1]
    return max(0.0, (last.value - first.value) / (last.begun_at_s - first.begun_at_s))


def largest_step(readings: Sequence[Reading]) -> int:
    """The largest growth between two neighbouring readings."""
    return max((b.value - a.value for a, b in pairwise(readings)), default=0)
