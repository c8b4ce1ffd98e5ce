"""What the offset syncs tell of the target's log as it is now, and what it lost before.

The target's log can lose its end (an unclean leader election), or all of it (the copy was deleted and made
anew). The mirror goes on where it stood: its next syncs step back at the target. Where exactly the log was
cut, no sync tells for certain: MirrorMaker may have replaced or lost the very first ones after it
(`OffsetSyncWriter`: at most ten in flight, the newest waiting one of a partition counts). What earlier
syncs said of any target offset may be void from then on, so a step back begins a new log, and nothing of
the old one is kept. The only step back that changes nothing is a sync that says again what is known.

What was lost follows from the diagonals (upstream − downstream): if the mirror copied nothing twice
between, as many copies are gone as the diagonal has risen by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orchestrator.replication.segments import Offsets, Segments, fold, is_rising

# Of more stretches that lack copies only the sum is told.
_TOLD_APART = 1_000


class LostCopies(NamedTuple):
    """So many copies at most that the target had and lost, of source records below the offset `below`."""

    records: int
    below: int


@dataclass(frozen=True, slots=True, eq=False)
class CurrentLog:
    """Segments in the order of the target's log as it is now.

    `lost`: what it lost. `reached`: the highest source offset of which a copy stood in a log that is no
    more; -1 without any. A mirror that has not come that far again copies records anew, and has not caught
    up. `has_gaps`: somewhere more source offsets went by than target offsets.
    """

    segments: Segments
    lost: tuple[LostCopies, ...] = ()
    reached: int = -1
    has_gaps: bool = False

    @property
    def has_caught_up(self) -> bool:
        """Whether the mirror is as far as it ever was, as the syncs tell."""
        return self.reached < 0 or self.reached <= int(self.segments.last_upstream.max())


def current_log(segments: Segments, *, folds: bool = True) -> CurrentLog:
    """The log as it is now, from segments in the order of the syncs topic (at least one).

    `folds`: what lies on one diagonal belongs together (the source surely has no gaps).
    """
    if is_rising(segments.downstream, segments.length):
        return CurrentLog(segments, has_gaps=segments.has_source_gaps)
    segments = _without_repetitions(segments)
    segments = fold(segments) if folds else segments
    is_back = segments.downstream[1:] < segments.downstream[:-1] + segments.length[:-1]
    starts = np.flatnonzero(is_back) + 1
    risen = np.diff(segments.upstream - segments.downstream)
    has_gaps = bool(np.any(risen[~is_back] > 0))
    if not len(starts):
        return CurrentLog(segments, has_gaps=has_gaps)
    newest, before = int(starts[-1]), int(starts[-2]) if len(starts) > 1 else 0
    now, kept = segments[newest:], 0
    if folds:
        kept = _continued(segments[before:newest], now)
    if kept:
        at = np.concatenate((np.arange(before, before + kept), np.arange(newest, len(segments))))
        now, starts = fold(segments[at]), starts[:-1]
    dropped = segments.last_upstream[before + kept : newest].max() if before + kept < newest else -1
    return CurrentLog(
        now,
        _lost(segments, starts, risen[starts - 1]),
        max(int(dropped), int(segments.last_upstream[:before].max(initial=-1))),
        has_gaps,
    )


def _continued(old: Segments, now: Segments) -> int:
    """How many segments of the old log surely still hold: those up to one that the new log prolongs."""
    at = int(old.downstream.searchsorted(now.downstream[0], side="right")) - 1
    is_same = at >= 0 and int(old.upstream[at] - old.downstream[at]) == int(
        now.upstream[0] - now.downstream[0]
    )
    return at + 1 if is_same else 0


def unseen_losses(segments: Segments) -> tuple[LostCopies, ...]:
    """What the target may have lost without a step back that shows it, for a source that has no gaps.

    Where more source than target offsets go by all the same, copies are gone, or never were. `segments` are
    in the order of the syncs topic.
    """
    risen = np.diff(segments.upstream - segments.downstream)
    is_on = segments.downstream[1:] >= segments.downstream[:-1] + segments.length[:-1]
    at = np.flatnonzero(is_on & (risen > 0))
    if len(at) > _TOLD_APART:
        return (LostCopies(int(risen[at].sum()), int(segments.last_upstream.max()) + 1),)
    return _lost(segments, at + 1, risen[at])


def _lost(segments: Segments, starts: Offsets, records: Offsets) -> tuple[LostCopies, ...]:
    """What each new log lacks of the one before, unless the mirror has copied it again since."""
    lowest_since = np.minimum.accumulate(segments.upstream[::-1])[::-1]
    end = int(segments.last_upstream[-1]) + 1
    found = []
    for start, count in zip(starts.tolist(), records.tolist(), strict=True):
        below = int(segments.upstream[start])
        if end >= below:
            # Which of them are gone is not known: those below where the mirror began again may be.
            below = min(below, int(lowest_since[start]))
        if count > 0 and below > 0:
            found.append(LostCopies(min(count, below), below))
    return tuple(found)


def _without_repetitions(segments: Segments) -> Segments:
    """Leave out segments that step back in the log into an earlier segment that says the same."""
    end = segments.downstream + segments.length
    highest_before = np.concatenate(([0], np.maximum.accumulate(end)[:-1]))
    is_back = segments.downstream < highest_before
    back, forward = np.flatnonzero(is_back), np.flatnonzero(~is_back)
    at = np.searchsorted(segments.downstream[forward], segments.downstream[back], side="right") - 1
    earlier = forward[np.maximum(at, 0)]
    diagonal = segments.upstream - segments.downstream
    is_repetition = (
        (at >= 0) & (earlier < back) & (diagonal[earlier] == diagonal[back]) & (end[back] <= end[earlier])
    )
    # What a log that is no more said is no repetition: another one has begun between.
    other = np.zeros(len(segments), np.int64)
    other[back[~is_repetition]] = 1
    begun = other.cumsum()
    is_repetition &= begun[back] == begun[earlier]
    kept = np.ones(len(segments), dtype=bool)
    kept[back[is_repetition]] = False
    return segments[np.flatnonzero(kept)]
