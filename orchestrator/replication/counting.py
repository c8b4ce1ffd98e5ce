"""A position placed by counting the source's records between offset syncs, where those may have gaps.

Where a source may have gaps nothing between two offset syncs (U at D) and (U' at D') is interpolated from
offsets (see `partition_map.py`). But while the source can be read, its records can be counted. A mirror
copies record by record: whatever stands in a slot of the target's log is the record that follows the one in
the slot before, or, after a restart, an earlier one. So in D' - D slots it comes to U' only if there are no
more than D' - D records behind U up to U', and if there are as many, each slot holds the one that follows:
nothing was copied again. Then every slot between is known, in both directions, whatever its record holds: no
record is compared, so identical ones do not matter, and nothing of a lost copy is needed but its pairs.

That holds if

- the source has lost no record since it was copied: the stretch begins at a record that is still there, it
  was written under one leader epoch, and the topic is not compacted;
- the reader sees what the mirror saw: the same isolation level;
- the mirror leaves nothing out: it has no filter.

A target whose log lost its end has fewer slots than records, and does not match. As everywhere in the map,
that a log was cut and records were copied again between the same two syncs is taken not to happen.

Behind the newest pair of a mirror that may go on nothing is counted: no slot further up tells how many
records lie between, so a restart may hide there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orchestrator.replication.inverse_map import InversePartitionMap
from orchestrator.replication.partition_map import UNLIMITED, PartitionMap, Translated
from orchestrator.replication.segments import Offsets, Segments
from orchestrator.values import ReadContent

_BY_COUNTING = "found by counting the source's records"
_PAIRS_AT_MOST = 10_000


class Window(NamedTuple):
    """Offset syncs that follow each other in the target's log, rising on both sides."""

    upstream: Offsets
    downstream: Offsets

    @property
    def source(self) -> range:
        """The source offsets in it, both ends included."""
        return range(int(self.upstream[0]), int(self.upstream[-1]) + 1)

    def up_to(self, last: int) -> Window:
        """Without the pairs behind one of them."""
        return Window(self.upstream[: last + 1], self.downstream[: last + 1])

    def counted(self, records: Sequence[ReadContent]) -> Offsets | None:
        """The source offset in each slot from the first on; None where their number does not match.

        `records`: all that a reader with the mirror's isolation level gets of `source`.
        """
        slots = self.downstream - self.downstream[0]
        epochs = {record.leader_epoch for record in records}
        if len(records) != int(slots[-1]) + 1 or len(epochs) != 1 or None in epochs:
            return None
        offsets = np.fromiter((record.offset for record in records), np.int64, len(records))
        return offsets if bool((offsets[slots] == self.upstream).all()) else None


def window_ahead(found: PartitionMap, log: Segments, upstream: int) -> Window | None:
    """The pairs from the last one at or below a source position up to where none below it can stand.

    `log`: all pairs of the target's log. None where the map tells its place, or no pair encloses it.
    """
    at = int(found.segments.upstream.searchsorted(upstream, side="right")) - 1
    if not found.may_have_gaps or at < 0:
        return None
    pairs, rows = _pairs_from(found, log, int(log.downstream.searchsorted(found.segments.downstream[at])))
    first = int(pairs.upstream.searchsorted(upstream))
    if first == len(pairs.upstream):
        return None
    # Each slot of a window holds another record.
    behind = pairs.downstream - pairs.downstream[first]
    is_enough = (behind + rows.clear >= 0) & (rows.caps >= pairs.downstream[first]) & (behind >= 0)
    return pairs.up_to(int(is_enough.argmax())) if is_enough.any() else None


def place_ahead(by_map: Translated, window: Window, slots: Offsets, upstream: int) -> Translated:
    """The place of a source position in a window of which each slot's record is known."""
    offset = int(window.downstream[0]) + int(slots.searchsorted(upstream))
    if by_map.offset is None or offset < by_map.offset:
        return by_map
    return Translated(offset, True, 0, _BY_COUNTING)


def window_behind(
    inverse: InversePartitionMap, found: PartitionMap, log: Segments, downstream: int
) -> Window | None:
    """The pairs around a target position, as far as it takes on both sides.

    Down to where the mirror cannot have been further ahead before, and up to where the log cannot have been
    cut below the position and have grown again. None where no pair encloses it.
    """
    at = int(log.downstream.searchsorted(downstream - 1, side="right")) - 1
    if not found.may_have_gaps or at < 0:
        return None
    lowest = max(0, at - _PAIRS_AT_MOST)
    falls = np.flatnonzero(np.diff(log.upstream[lowest : at + 1]) <= 0)
    lowest += int(falls[-1]) + 1 if len(falls) else 0
    hidden = inverse.hidden(lowest, at)
    enough = np.flatnonzero(hidden <= downstream - 1 - log.downstream[lowest : at + 1])
    if not len(enough):
        return None
    pairs, rows = _pairs_from(found, log, at)
    is_enough = (pairs.downstream >= downstream - 1) & (rows.caps >= downstream)
    if not is_enough.any():
        return None
    above, below = pairs.up_to(int(is_enough.argmax())), slice(lowest + int(enough[-1]), at)
    return Window(
        np.concatenate((log.upstream[below], above.upstream)),
        np.concatenate((log.downstream[below], above.downstream)),
    )


def place_behind(
    by_map: Translated, inverse: InversePartitionMap, window: Window, slots: Offsets, downstream: int
) -> Translated:
    """The source position for a target position in a window of which each slot's record is known."""
    last = int(slots[downstream - 1 - int(window.downstream[0])])
    if by_map.offset is None or last + 1 < by_map.offset or inverse.lowest_from(downstream) <= last:
        return by_map
    return Translated(last + 1, True, 0, _BY_COUNTING)


class _Rows(NamedTuple):
    """Of each pair: how far a position is clear of what follows it (`PartitionMap.clear`), and its cap."""

    clear: Offsets
    caps: Offsets


def _pairs_from(found: PartitionMap, log: Segments, first: int) -> tuple[Window, _Rows]:
    """The pairs of the target's log from one on, as long as they rise at the source.

    If they do to the end, nothing has been copied again behind the first one. Then the newest one, or where a
    mirror that stands has come to, is as good as one that counts.
    """
    pairs = slice(first, min(len(log), first + _PAIRS_AT_MOST))
    falls = np.flatnonzero(np.diff(log.upstream[pairs]) <= 0)
    pairs = slice(first, first + int(falls[0]) + 1) if len(falls) else pairs
    window = Window(log.upstream[pairs], log.downstream[pairs])
    segments = found.segments
    at = np.minimum(segments.downstream.searchsorted(window.downstream), len(segments) - 1)
    counts = segments.downstream[at] == window.downstream
    clear = np.where(counts, found.clear[at], -UNLIMITED)
    caps = np.where(counts, found.cap if found.caps is None else found.caps[at], -1)
    if pairs.stop < len(log):
        return window, _Rows(clear, caps)
    end = _end_pair(found, log)
    if end is not None:
        return Window(*(np.append(of, told) for of, told in zip(window, end, strict=True))), _Rows(
            np.append(clear, UNLIMITED), np.append(caps, UNLIMITED)
        )
    if found.closing.kind == "open" and not counts[-1]:
        clear[-1], caps[-1] = UNLIMITED, window.downstream[-1] + 1
    return window, _Rows(clear, caps)


def _end_pair(found: PartitionMap, log: Segments) -> tuple[int, int] | None:
    """Where a mirror that stands has come to, if slots behind the newest sync are not told by that."""
    end = int(log.downstream[-1] + log.length[-1]) - 1 + found.closing.slots
    if found.closing.kind != "loose" or found.closing.last_upstream <= int(log.upstream[-1]):
        return None
    return found.closing.last_upstream, end
