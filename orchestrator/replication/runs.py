"""Stretches of a mirrored partition in which each record follows the one before it on both sides.

An offset sync says: the source record at offset U stands in the target's log at offset D. Two syncs that
follow each other with ΔU = ΔD > 0 leave no room for anything but the records between them, so everything
from the one to the other is known. Such stretches are folded into *runs*; what lies between two runs is
a *gap*, of which only the number of target offsets in it (its *slots*) is known. A slot may hold a
record, a copy made again after a restart, or none (a transaction marker, for one).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator.replication.formats import Offsets


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Runs of one partition: target offset `downstream[i] + k` holds source record `upstream[i] + k`
    for each k below `length[i]`.
    """

    upstream: Offsets
    downstream: Offsets
    length: Offsets

    def __len__(self) -> int:
        return len(self.upstream)

    def __getitem__(self, at: slice | Offsets) -> Runs:
        return Runs(self.upstream[at], self.downstream[at], self.length[at])

    @property
    def last_upstream(self) -> Offsets:
        """The last source offset of each run."""
        return self.upstream + self.length - 1

    @property
    def slots_between(self) -> Offsets:
        """Unknown target offsets between each run and the next one, for runs in log order."""
        slots = np.diff(self.downstream)
        slots -= self.length[:-1]
        return slots


NO_RUNS = Runs(*(np.empty(0, np.int64) for _ in range(3)))


def fold(runs: Runs) -> Runs:
    """Join neighbours that lie on one diagonal (upstream - downstream): ΔU = ΔD between them.

    Repeated syncs and syncs that arrive late lie on it as well, and vanish.
    """
    if len(runs) < 2:
        return runs
    diagonal = runs.upstream - runs.downstream
    first = np.concatenate(([0], np.flatnonzero(diagonal[1:] != diagonal[:-1]) + 1))
    upstream = np.minimum.reduceat(runs.upstream, first)
    end = np.maximum.reduceat(runs.upstream + runs.length, first)
    return Runs(upstream, upstream - diagonal[first], end - upstream)


def in_log_order(runs: Runs) -> Runs:
    """Runs in the order of the target's log, from runs in the order of the syncs topic.

    The two differ when a sync came late or twice (it says nothing new: left out), and when the target's
    log was cut or the topic made anew (what was said before of offsets from there on no longer holds).
    """
    if np.all(runs.downstream[1:] >= runs.downstream[:-1] + runs.length[:-1]):
        return runs
    runs = _without_repetitions(runs)
    limit = _lowest_behind(runs.downstream)
    return fold(shortened(runs, limit - runs.downstream))


def shortened(runs: Runs, length: Offsets) -> Runs:
    """Runs of at most `length` records each; those of none are left out."""
    length = np.minimum(runs.length, length)
    kept = np.flatnonzero(length > 0)
    return Runs(runs.upstream[kept], runs.downstream[kept], length[kept])


def counting_runs(log: Runs) -> tuple[Runs, Offsets]:
    """The runs without what later ones copy again, and the widest gap behind each but the last.

    What is left rises on both sides.
    """
    if np.all(log.upstream[1:] >= log.upstream[:-1] + log.length[:-1]):
        return log, log.slots_between
    length = np.minimum(log.length, _lowest_behind(log.upstream) - log.upstream)
    kept = np.flatnonzero(length > 0)
    runs = Runs(log.upstream[kept], log.downstream[kept], length[kept])
    if len(kept) == 1:
        return runs, NO_RUNS.length
    return runs, np.maximum.reduceat(log.slots_between, kept[:-1])


def records_behind(counting: Runs, upstream: Offsets) -> Offsets:
    """How many source records above each offset are known for certain, from runs that rise."""
    before = np.concatenate(([0], counting.length.cumsum()))
    at = np.maximum(counting.upstream.searchsorted(upstream, side="right") - 1, 0)
    within = np.maximum(upstream - counting.upstream[at] + 1, 0)
    behind: Offsets = before[-1] - before[at] - np.minimum(within, counting.length[at])
    return behind


def _without_repetitions(runs: Runs) -> Runs:
    """Leave out runs that step back in the log into an earlier run that says the same."""
    end = runs.downstream + runs.length
    highest_before = np.concatenate(([0], np.maximum.accumulate(end)[:-1]))
    is_back = runs.downstream < highest_before
    back, forward = np.flatnonzero(is_back), np.flatnonzero(~is_back)
    at = np.searchsorted(runs.downstream[forward], runs.downstream[back], side="right") - 1
    earlier = forward[np.maximum(at, 0)]
    diagonal = runs.upstream - runs.downstream
    is_repetition = (
        (at >= 0) & (earlier < back) & (diagonal[earlier] == diagonal[back]) & (end[back] <= end[earlier])
    )
    kept = np.ones(len(runs), dtype=bool)
    kept[back[is_repetition]] = False
    return runs[np.flatnonzero(kept)]


def _lowest_behind(values: Offsets) -> Offsets:
    """For each value the lowest of those behind it; the largest integer behind the last."""
    lowest = np.empty_like(values)
    lowest[-1] = np.iinfo(np.int64).max
    np.minimum.accumulate(values[:0:-1], out=lowest[-2::-1])
    return lowest
