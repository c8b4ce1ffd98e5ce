"""The offset syncs of one partition, folded as they come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator.replication.segments import Offsets, Segments, endpoints, fold, points


class CollectedSyncs:
    """Segments of one partition in topic order, in columns that grow; the last segment may still become
    longer.

    With `folds` (the source surely has no gaps): if the first sync has the same offset on both sides, the
    stretch from the beginning of both logs to it leaves no room for a gap either (ΔU = ΔD): it is a segment.
    Without that a mirror whose very first sync was replaced by a later one, as happens under load, could not
    translate the positions before that.
    """

    def __init__(self, *, reaches_back: bool, folds: bool) -> None:
        self._reaches_back = reaches_back
        self.folds = folds
        self.first_pair = self.last_pair = (0, 0)
        self._columns = [np.empty(0, np.int64) for _ in range(3 if folds else 2)]
        self._size = 0
        self._is_shared = False

    @property
    def begins_alike(self) -> bool:
        """Whether both logs had grown alike, from their beginning, by the first sync."""
        return self._reaches_back and self.first_pair[0] == self.first_pair[1]

    def add(self, upstream: Offsets, downstream: Offsets) -> None:
        """Take the next syncs."""
        if not self._size:
            self.first_pair = int(upstream[0]), int(downstream[0])
        self.last_pair = int(upstream[-1]), int(downstream[-1])
        if self.folds:
            self._add_folded(upstream, downstream)
        else:
            self._put(self._size, (upstream, downstream))

    def _add_folded(self, upstream: Offsets, downstream: Offsets) -> None:
        diagonal = int(upstream[0]) - int(downstream[0])
        if not self._size and bool((upstream - downstream == diagonal).all()):
            # Many a partition has one segment, and an estate thousands of partitions.
            start = 0 if self._reaches_back and not diagonal else int(upstream.min())
            row = start, start - diagonal, int(upstream.max()) + 1 - start
            self._columns, self._size = list(np.array([row], np.int64).T), 1
            return
        last = [column[max(0, self._size - 1) : self._size] for column in self._columns]
        if not self._size and self._reaches_back:
            last = [np.zeros(1, np.int64)] * 3  # a segment of no records, at the beginning of both logs
        added = [upstream, downstream, np.ones(len(upstream), np.int64)]
        segments = fold(Segments(*(np.concatenate(both) for both in zip(last, added, strict=True))))
        segments = segments[int(segments.length[0] == 0) :]
        self._put(max(0, self._size - 1), (segments.upstream, segments.downstream, segments.length))

    def _put(self, start: int, columns: Sequence[Offsets]) -> None:
        self._size = start + len(columns[0])
        for i, values in enumerate(columns):
            if self._is_shared or self._size > len(self._columns[i]):
                # Column by column, so that only one of them is held twice at a time.
                grown = np.empty(max(16, self._size, 2 * start), np.int64)
                grown[:start] = self._columns[i][:start]
                self._columns[i] = grown
            self._columns[i][start : self._size] = values
        self._is_shared = False

    def segments(self) -> Segments:
        """All segments so far. They are not copied until more are added."""
        self._is_shared = True
        columns = [column[: self._size] for column in self._columns]
        return Segments(*columns) if self.folds else points(*columns)

    def endpoints(self) -> Segments:
        """What is left of folded segments when they are not believed."""
        segments = endpoints(self.segments())
        is_made_up = self.begins_alike and self.first_pair[0] > 0
        return segments[int(is_made_up) :]
