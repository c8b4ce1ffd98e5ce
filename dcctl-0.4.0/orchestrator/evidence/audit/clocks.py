"""How far a client's clock was from the third place's, by what its ledger says. Pure.

The folder of the ledgers lies on one machine for all of them: its clock is what the clocks of two sites are
compared by (`docs/decisions/0039`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class ClockReading(NamedTuple):
    """One comparison. `at_ms`: when, by the client's own clock (Unix epoch milliseconds).

    `offset_ms` has to be added to the client's clock to have the third place's, give or take `within_ms`.
    """

    at_ms: int
    offset_ms: int
    within_ms: int


Clocks = Mapping[tuple[str, int, int], Sequence[ClockReading]]
"""Readings in the order of their lines, by kind ("producer" or "consumer"), index and life."""


def reading_at(readings: Sequence[ClockReading], at_ms: float) -> ClockReading | None:
    """The newest reading that is not later than a moment, or the first of all; None without any."""
    earlier = [reading for reading in readings if reading.at_ms <= at_ms]
    return earlier[-1] if earlier else next(iter(readings), None)
