"""Stretches of a mirrored partition in which each record follows the one before it on both sides.

An offset sync says: the source record at offset U stands in the target's log at offset D. Two syncs that
follow each other with ΔU = ΔD > 0 leave no room for anything but the records between them, so everything from
the one to the other is known. Such stretches are folded into *segments*; what lies between two segments is a
*gap*, of which only the number of target offsets in it (its *slots*) is known. A slot may hold a record, a
copy made again after a restart, or none (a transaction marker, for one).

Where the source may have gaps, a gap of the source and a record copied again can cancel out between two
syncs: there nothing is folded, and each sync is a segment of one record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Offsets = npt.NDArray[np.int64]

# What is computed for all segments is computed so many at a time: a map of ten million segments takes 32
# bytes for each of them, and every array more of that length would take 8.
_BLOCK = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Segments of one partition: target offset `downstream[i] + k` holds source record `upstream[i] + k`
    for each k below `length[i]`.
    """

    upstream: Offsets
    downstream: Offsets
    length: Offsets

    def __len__(self) -> int:
        return len(self.upstream)

    def __getitem__(self, at: slice | Offsets) -> Segments:
        return Segments(self.upstream[at], self.downstream[at], self.length[at])

    @property
    def is_rising(self) -> bool:
        """Whether each segment lies above the one before it at the source: nothing was copied twice."""
        return is_rising(self.upstream, self.length)

    @property
    def last_upstream(self) -> Offsets:
        """The last source offset of each segment."""
        return self.upstream + self.length - 1

    @property
    def has_source_gaps(self) -> bool:
        """Whether somewhere more source offsets went by than target offsets: not each is a record."""
        if len(self) < 2:
            return False
        for block in blocks_from_the_end(len(self) - 1):
            # One array of a block's length at a time.
            behind = slice(block.start + 1, block.stop + 1)
            risen = self.upstream[behind] - self.upstream[block]
            risen -= self.downstream[behind]
            risen += self.downstream[block]
            if np.any(risen > 0):
                return True
        return False

    @property
    def slots_between(self) -> Offsets:
        """Unknown target offsets between each segment and the next one, for segments in log order."""
        slots = np.diff(self.downstream)
        slots -= self.length[:-1]
        return slots


NO_SEGMENTS = Segments(*(np.empty(0, np.int64) for _ in range(3)))


def fold(segments: Segments) -> Segments:
    """Join neighbours that lie on one diagonal (upstream - downstream): ΔU = ΔD between them.

    Repeated syncs and syncs that arrive late lie on it as well, and vanish.
    """
    if len(segments) < 2:
        return segments
    diagonal = segments.upstream - segments.downstream
    first = np.concatenate(([0], np.flatnonzero(diagonal[1:] != diagonal[:-1]) + 1))
    upstream = np.minimum.reduceat(segments.upstream, first)
    end = np.maximum.reduceat(segments.upstream + segments.length, first)
    return Segments(upstream, upstream - diagonal[first], end - upstream)


def shortened(segments: Segments, length: Offsets) -> Segments:
    """Segments of at most `length` records each; those of none are left out."""
    length = np.minimum(segments.length, length)
    kept = np.flatnonzero(length > 0)
    return Segments(segments.upstream[kept], segments.downstream[kept], length[kept])


def endpoints(segments: Segments) -> Segments:
    """The first and the last record of each segment, as segments of one record."""
    both = np.repeat(np.arange(len(segments)), np.where(segments.length > 1, 2, 1))
    is_last = np.concatenate((both[1:] != both[:-1], [True])) if len(both) else np.empty(0, bool)
    within = np.where(is_last, segments.length[both] - 1, 0)
    return points(segments.upstream[both] + within, segments.downstream[both] + within)


def points(upstream: Offsets, downstream: Offsets) -> Segments:
    """Segments of one record each. Their lengths take no memory."""
    return Segments(upstream, downstream, np.broadcast_to(np.int64(1), len(upstream)))


def probable_records(segments: Segments, at: slice) -> Offsets:
    """Records from the start of each segment (but the last) to the start of the next, for segments that rise.

    Those of the segment itself; and where ΔU = ΔD, one for each slot between: not certain (a gap of the
    source and a copy made again may cancel out there), so a limit that rests on it holds as long as that does
    not happen twice near by.
    """
    behind = slice(at.start + 1, at.stop + 1)
    slots = segments.downstream[behind] - segments.downstream[at] - segments.length[at]
    is_even = (
        segments.upstream[behind] - segments.upstream[at]
        == segments.downstream[behind] - segments.downstream[at]
    )
    found: Offsets = segments.length[at] + np.where(is_even, slots, 0)
    return found


def first_copies(log: Segments) -> Segments:
    """Of segments of one record those that no earlier one had come as far as: the first copies of records."""
    if log.is_rising:
        return log
    highest_before = np.concatenate(([-1], np.maximum.accumulate(log.upstream)[:-1]))
    return log[np.flatnonzero(log.upstream > highest_before)]


def counting_segments(log: Segments) -> tuple[Segments, Offsets | None]:
    """The segments without what later ones copy again, and the widest gap behind each but the last.

    What is left rises on both sides. No widest gaps if nothing is left out: they are those between the
    segments.
    """
    if log.is_rising:
        return log, None
    length = lowest_behind(log.upstream)
    length -= log.upstream
    np.minimum(length, log.length, out=length)
    kept = np.flatnonzero(length > 0)
    length = length[kept]
    slots = np.maximum.reduceat(log.slots_between, kept[:-1]) if len(kept) > 1 else NO_SEGMENTS.length
    return Segments(log.upstream[kept], log.downstream[kept], length), slots


class RecordCount:
    """Counts source records that are known for certain, in segments that rise."""

    def __init__(self, rising: Segments) -> None:
        self._runs = rising
        self._up_to = rising.length.cumsum()

    def above(self, upstream: Offsets) -> Offsets:
        """How many records above each offset there are at least."""
        segments = self._runs
        at = segments.upstream.searchsorted(upstream, side="right") - 1
        np.maximum(at, 0, out=at)
        rest = segments.length[at] - np.maximum(upstream - segments.upstream[at] + 1, 0)
        above: Offsets = self._up_to[-1] - self._up_to[at] + np.maximum(rest, 0)
        return above


def blocks_from_the_end(count: int) -> Iterator[slice]:
    """Slices that cover `count` elements, the last ones first."""
    for stop in range(count, 0, -_BLOCK):
        yield slice(max(0, stop - _BLOCK), stop)


def is_rising(start: Offsets, length: Offsets) -> bool:
    if len(start) < 2:
        return True
    for block in blocks_from_the_end(len(start) - 1):
        if np.any(start[block.start + 1 : block.stop + 1] < start[block] + length[block]):
            return False
    return True


def lowest_behind(values: Offsets) -> Offsets:
    """For each value the lowest of those behind it; the largest integer behind the last."""
    lowest = np.empty_like(values)
    lowest[-1] = np.iinfo(np.int64).max
    np.minimum.accumulate(values[:0:-1], out=lowest[-2::-1])
    return lowest
