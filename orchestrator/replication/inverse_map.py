"""The offset map turned around, for a failback: from a target offset to a source offset.

What is asked: a group has committed D at the target, so it has seen everything in the slots below D. The
answer is a source offset U from which on *every* record can be read that is in none of those slots. It is
exact if none of those that are can be read from U on.

As the mirror never leaves a record out, the slots below D hold every record up to the highest one in them:
U is that record's offset + 1. Known of it is the highest in the segments below D; a gap below D may hide that
the mirror had been further ahead (see `partition_map.py`), by as many records as the gap has slots.

But a group may have come to D without reading all below: it was set there by a translation, and where a
restart had copied records again that is the later copy (see `partition_map.py`). So where records that
stand below D stand at or behind it once more, or may, the answer is the lowest of these, and is not exact.
"""

from __future__ import annotations

import numpy as np

from orchestrator.replication.partition_map import UNLIMITED, Translated
from orchestrator.replication.segments import Offsets, RecordCount, Segments, counting_segments

_NOTHING = -(1 << 62)


class InversePartitionMap:
    """Target offsets to source offsets, for one partition; `log` are all its segments in log order."""

    def __init__(self, log: Segments) -> None:
        last = log.last_upstream
        self.log = log
        self._highest = np.maximum.accumulate(last)
        self._count = RecordCount(counting_segments(log[: int(last.argmax()) + 1])[0])
        # How far the mirror may have been, in records above (below: negative) the highest known one.
        reach = log.slots_between - self._count.above(last[:-1])
        self._reach = np.maximum.accumulate(np.concatenate(([_NOTHING], reach)))
        self._lowest_from = np.append(np.minimum.accumulate(log.upstream[::-1])[::-1], -_NOTHING)

    def lowest_from(self, downstream: int) -> int:
        """The lowest source offset that is known to stand at a target offset or behind it."""
        return int(self._lowest_from[int(self.log.downstream.searchsorted(downstream))])

    def hidden(self, first: int, last: int) -> Offsets:
        """For each segment from one to another, how many records the mirror may have been ahead before.

        `UNLIMITED` for one that is known to be in a repetition.
        """
        at = slice(first, last + 1)
        hidden = self._reach[at] + self._count.above(self.log.upstream[at])
        found: Offsets = np.where(self._highest[at] > self.log.last_upstream[at], UNLIMITED, hidden)
        return found

    def translate(self, downstream: int) -> Translated:
        """Where to read at the source when `downstream` is the next offset to read at the target."""
        log = self.log
        at = int(log.downstream.searchsorted(downstream - 1, side="right")) - 1
        if at < 0:
            return self._below(downstream)
        seen, length = downstream - int(log.downstream[at]), int(log.length[at])
        highest = int(log.upstream[at]) + min(seen, length) - 1
        if at:
            highest = max(highest, int(self._highest[at - 1]))
        hidden = int(self._reach[at] + self._count.above(np.array([highest]))[0])
        unknown = seen - length
        # The next one of the pass in which D is, which may stand in the gap, or the start of a later pass.
        again = min(int(log.upstream[at]) + min(seen, length), int(self._lowest_from[at + 1]))
        if again <= highest:
            # All of the later copies are known to the group only if it has read the earlier ones.
            cost = highest + 1 - again + max(unknown, hidden, 0)
            return Translated(again, False, cost, "the mirror has copied records again after a restart")
        if unknown > 0:
            reason = (
                "beyond the newest offset sync" if at + 1 == len(log) else "between offset syncs with a gap"
            )
            return Translated(
                highest + 1,
                False,
                max(unknown, hidden),
                f"{reason}: translated to the record after the lower one",
            )
        if hidden > 0:
            reason = "between offset syncs, but the mirror may have been further ahead before"
            return Translated(highest + 1, False, hidden, reason)
        return Translated(highest + 1, True, 0, "between offset syncs without a gap")

    def _below(self, downstream: int) -> Translated:
        oldest = int(self.log.downstream[0])
        if downstream == oldest:
            return Translated(int(self.log.upstream[0]), True, 0, "at the oldest offset sync")
        return Translated(None, False, None, f"below the oldest offset sync, at target offset {oldest}")
