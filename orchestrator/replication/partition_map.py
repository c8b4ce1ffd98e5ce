"""The offset map of one source partition: which target offset stands for which source offset.

What is asked: a group has committed U, the next source offset that it would read. The answer is a target
offset from which on *every* mirrored record at or above U can be read (never a skip). It is *exact* if no
record below U can be read from there on either.

What is known: segments (see `segments.py`) in the order of the target's log, and the number of slots between
them. Rules:

- U inside a segment: the slot of its record.
- U behind a segment: the slot after the segment. Exact if the next segment starts in that very slot.
- U before the oldest segment: none. (That segment reaches back to the beginning of both logs if the first
  sync has the same offset on both sides.)
- A segment that starts at or below where an earlier one ended is a *replay*: a restarted task copied records
  again. From its start on the later copies count, because after them everything follows completely.
- That last reason fails while a replay has not caught up with where the mirror had been before. Then the
  records between stand only *before* the replay, and whoever starts in it would skip them. So no segment is
  used that might lie in such a replay. As any sync can be missing, a gap may hide one: the mirror may have
  been further ahead by as many records as the gap has slots. It has caught up for certain when that
  many records have been seen behind the gap.
- In the same way a gap further on may hide the start of a replay, which repeats as many records as it
  has slots at most. A position so close before it is not called exact.

- A source that may have gaps (see `source_gaps.py`): nothing between two syncs is interpolated, as a missing
  source offset and a record copied again may cancel out there. The answer is behind the lower sync. Of a
  record that was copied twice the first copy counts: whatever a log that lost copies lacks of the second
  pass can be read behind it.
- Where more source than target offsets go by between two syncs, the source has a gap, or the target's log
  was cut, has grown beyond its old end since, and every sync from there is missing. So no answer is less far
  from the upper sync than the source offsets between them allow.

Taken for granted, because no pair of offsets could tell:
- A source of which it is known that it has no gaps has none: between syncs with ΔU = ΔD > 0 nothing cancels
  out (the mirror's producer is idempotent and alone).
- Of one that may have gaps: two stretches in which gaps and copies made again cancel out do not lie so near
  each other that a mirror which stopped in the second had not caught up from the first.
- Between two syncs, or since the newest, the target's log is not cut and records are copied again, both
  unseen.
- If the log was cut since the newest sync, the stored position of a stopped mirror is that of the last record
  that it copied. One that is late by as many records as were cut looks like a log that lost none.
- While the mirror runs the log was not cut since the newest sync: its end is not asked for.
- The oldest sync is not itself part of a replay that never caught up.

What that can cost, and what protects from it: `docs/copies.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.replication.segments import (
    Offsets,
    Segments,
)

UNLIMITED = 1 << 62


class Translated(NamedTuple):
    """A translated offset.

    `offset` is None where there is no translation. `reread_at_most` is an upper bound of the records
    that are read again because of the translation: 0 where it is exact, None where it is not known.
    """

    offset: int | None
    is_exact: bool
    reread_at_most: int | None
    reason: str


class OpenStretch(NamedTuple):
    """Target offsets in which the copy of the record that stands for a position must be looked for.

    `start`: of a record below the position that no later sync makes void. `stop`: of the first record behind
    which none below the position can stand; None where the map knows of none. `passed`: up to that source
    offset each record surely has a copy, and none is copied again from now on; -1 where nobody knows how far.
    `is_uncut`: otherwise the log may have lost all that stood from `start` on, and have grown again.
    """

    start: int
    stop: int | None
    passed: int
    is_uncut: bool


class MirrorEnd(NamedTuple):
    """Where a stopped mirror stands: the last source offset read (-1: none), the target's log end."""

    last_upstream: int
    target_end: int


class Closing(NamedTuple):
    """What is known behind the last segment.

    `open`: the mirror may go on. `exact`: nothing stands behind it. `loose`: `slots` unknown target
    offsets stand behind it. `cut`: the target's log ends before the newest syncs. `missing`: so many more
    source offsets were read behind it than the log has slots for; `gone`: copies that the log lost.
    """

    kind: Literal["open", "exact", "loose", "cut"]
    last_upstream: int
    slots: int = 0
    missing: int = 0
    gone: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PartitionMap:
    """Source offsets to target offsets, for one partition.

    `segments` are those that count, by rising offsets on both sides. A position in segment i is exact as long
    as it is at most `clear[i]` records behind the segment's start. `slots_behind` are known target offsets
    behind the last of these segments (None: open). `is_settled` says that no replay may be unfinished.
    `caps[i]` is the target offset beyond which segment i and those below it may be void, for the log may have
    been cut there (None: it was not; `cap` holds for all). `records`: from each segment to the next, where
    that is more than its length. `begins_alike`: both logs had grown alike by the oldest sync.
    """

    segments: Segments
    clear: Offsets
    closing: Closing
    slots_behind: int | None
    is_settled: bool
    mirrored_end: int
    cap: int = UNLIMITED
    caps: Offsets | None = None
    records: Offsets | None = None
    may_have_gaps: bool = False
    begins_alike: bool = False

    def translate(self, upstream: int) -> Translated:
        """Where to read at the target when `upstream` is the next offset to read at the source."""
        at = int(self.segments.upstream.searchsorted(upstream, side="right")) - 1
        if at < 0:
            return self._below(upstream)
        found = self._translate(upstream, at)
        cap = self.cap if self.caps is None else int(self.caps[at])
        if found.offset is None or found.offset <= cap:
            return found
        offset = int(self._capped(upstream, np.array([at]), np.array([cap]))[0])
        reread = None if found.reread_at_most is None else found.reread_at_most + found.offset - offset
        reason = "the source has a gap here, or the target has lost copies: translated to the place before"
        return Translated(offset, False, reread, reason)

    def _capped(self, upstream: Offsets | int, at: Offsets, caps: Offsets) -> Offsets:
        """Answers from before the caps, for positions in or behind segments that reach beyond them.

        A segment that begins beyond the cap may be void: the nearest that does not tells, as far as the cap.
        """
        segments = self.segments
        below = np.minimum(segments.downstream.searchsorted(caps, side="right") - 1, at)
        nearest = np.maximum(below, 0)
        known = segments.downstream[nearest] + np.minimum(
            upstream - segments.upstream[nearest], segments.length[nearest]
        )
        capped: Offsets = np.maximum(np.where(below < 0, caps, np.minimum(known, caps)), 0)
        return capped

    def _below(self, upstream: int) -> Translated:
        oldest = int(self.segments.upstream[0])
        if self.begins_alike:
            slots = int(self.segments.downstream[0])
            behind = self._reread(0, 0)
            reread = None if behind is None else slots + behind
            return Translated(
                0, upstream == 0, 0 if upstream == 0 else reread, "before the oldest offset sync"
            )
        return Translated(None, False, None, f"below the oldest offset sync, at source offset {oldest}")

    def _translate(self, upstream: int, at: int) -> Translated:
        segments = self.segments
        length = int(segments.length[at])
        within = upstream - int(segments.upstream[at])
        offset = int(segments.downstream[at]) + min(within, length)
        if within < length:
            if within <= int(self.clear[at]):
                return Translated(offset, True, 0, "between offset syncs without a gap")
            reason = "between offset syncs, but a restart of the mirror may have copied records again"
            return Translated(offset, False, self._reread(at, within), reason)
        if at + 1 == len(segments):
            return self._behind(upstream, offset, within - length)
        if offset == int(segments.downstream[at + 1]) and int(self.clear[at + 1]) >= 0:
            return Translated(offset, True, 0, "in a gap of the source, next to an offset sync")
        reason = (
            "between two offset syncs of a source that may have gaps: translated to the lower one"
            if self.may_have_gaps
            else "between two offset syncs with a gap: translated to the lower one"
        )
        return Translated(offset, False, self._reread(at, self._records_from(at)), reason)

    def _records_from(self, at: int) -> int:
        """Records from the start of a segment to the start of the next, as far as they count."""
        return int(self.segments.length[at] if self.records is None else self.records[at])

    def open_stretch(self, upstream: int) -> OpenStretch | None:
        """Where the record that stands for a position is to be looked for (see `content.py`).

        None where nothing has to be: the source surely has no gaps, the position lies beyond all copies of a
        mirror that stands, or no pair below it is known.
        """
        if not self.may_have_gaps or (self.closing.kind == "exact" and upstream > self.mirrored_end):
            return None
        segments = self.segments
        at = int(segments.upstream.searchsorted(upstream, side="right")) - 1
        cap = self.cap if self.caps is None else int(self.caps[max(at, 0)])
        # One that begins at the cap or beyond it may be void, and at the beginning nothing is below that.
        below = int(segments.downstream.searchsorted(cap, side="left")) - 1
        first = min(int(segments.upstream.searchsorted(upstream, side="left")) - 1, below)
        if first < 0 and not self.begins_alike:
            return None
        start = 0 if first < 0 else int(segments.downstream[first])
        # From its beginning the log is searched whole: it may be another one than the pairs above tell of.
        is_uncut = first >= 0
        if at < 0:
            clear = self._first_clear(0, 0)
        else:
            within = upstream - int(segments.upstream[at])
            clear = self._first_clear(at, min(within, self._records_from(at)))
        if clear is not None:
            passed = int(segments.upstream[clear])
            return OpenStretch(start, int(segments.downstream[clear]), passed, is_uncut)
        # A task that is started again begins behind what Connect has stored: it repeats nothing before that.
        stands = self.closing.kind in {"exact", "loose"}
        return OpenStretch(start, None, self.closing.last_upstream if stands else -1, is_uncut)

    def translate_many(self, upstream: Offsets) -> tuple[Offsets, npt.NDArray[np.bool_]]:
        """Target offset (-1 for none) and exactness for each source offset, as `translate` tells them."""
        # In rising order neighbours are looked up near each other: several times faster in a large map.
        order = np.argsort(upstream)
        offsets, exact = self._translate_rising(upstream[order])
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return offsets[back], exact[back]

    def _translate_rising(self, upstream: Offsets) -> tuple[Offsets, npt.NDArray[np.bool_]]:
        segments = self.segments
        found = segments.upstream.searchsorted(upstream, side="right") - 1
        at = np.maximum(found, 0)
        length = segments.length[at]
        within = upstream - segments.upstream[at]
        offsets = segments.downstream[at] + np.minimum(within, length)
        last = len(segments) - 1
        following = np.minimum(at + 1, last)
        exact = np.where(
            within < length,
            within <= self.clear[at],
            (offsets == segments.downstream[following]) & (self.clear[following] >= 0) & (at < last),
        )
        behind = (at == last) & (within >= length)
        exact[behind] = self._is_exact_behind(within[behind] - length[behind])
        if self.caps is not None or self.cap < UNLIMITED:
            caps = np.broadcast_to(np.int64(self.cap), len(at)) if self.caps is None else self.caps[at]
            beyond = np.flatnonzero(offsets > caps)
            exact[beyond] = False
            offsets[beyond] = self._capped(upstream[beyond], at[beyond], caps[beyond])
        below = found < 0
        offsets[below] = 0 if self.begins_alike else -1
        exact[below] = self.begins_alike & (upstream[below] == 0)
        return offsets, exact

    def _behind(self, upstream: int, offset: int, beyond: int) -> Translated:
        is_exact = bool(self._is_exact_behind(np.array([beyond]))[0])
        if not self.is_settled:
            reason = (
                "the mirror may have stopped while it copied records again: translated to the place before"
            )
            unseen = max(0, upstream - self.mirrored_end) if self.closing.kind == "open" else 0
            return Translated(offset, False, (self.slots_behind or 0) + unseen, reason)
        match self.closing.kind:
            case "open":
                reason = "right after the newest offset sync" if is_exact else "beyond the newest offset sync"
                return Translated(offset, is_exact, beyond, reason)
            case "exact":
                lost = upstream - self.mirrored_end
                reason = (
                    f"beyond the last mirrored record: {lost} processed records never arrived"
                    if lost > 0
                    else "at the end of what was mirrored"
                )
                return Translated(offset, True, 0, reason)
            case "loose":
                reason = "beyond the newest offset sync, which the log end does not match"
                return Translated(offset, False, self.closing.slots, reason)
            case "cut":
                return Translated(offset, False, None, "the target's log ends before the newest offset sync")

    def _is_exact_behind(self, beyond: Offsets) -> npt.NDArray[np.bool_]:
        """For positions that many records behind the end of the last segment."""
        if not self.is_settled or self.closing.kind in {"loose", "cut"}:
            return np.zeros(len(beyond), dtype=bool)
        exact: npt.NDArray[np.bool_] = (beyond == 0) | (self.closing.kind == "exact")
        return exact

    def _reread(self, at: int, within: int) -> int | None:
        """Slots of all gaps, from segment `at` on, in which a record below the position may stand."""
        clear = self._first_clear(at, within)
        if clear is not None:
            return self._slots(at, clear)
        if self.slots_behind is None:
            return None
        return self._slots(at, len(self.segments) - 1) + self.slots_behind

    def _first_clear(self, at: int, within: int) -> int | None:
        """The first segment behind `at` from which on no record below the position stands; or None."""
        segments, last = self.segments, len(self.segments) - 1
        start, records, window = at, 0, 16
        while start < last:
            stop = min(start + window, last)
            counted = segments.length if self.records is None else self.records
            passed = records + counted[start:stop].cumsum()
            clear = np.flatnonzero(within - passed <= self.clear[start + 1 : stop + 1])
            if len(clear):
                return start + int(clear[0]) + 1
            start, records, window = stop, int(passed[-1]), window * 4
        return None

    def _slots(self, first: int, last: int) -> int:
        """Target offsets between two segments that are in none of the segments from the one up to the
        other."""
        between = int(self.segments.downstream[last] - self.segments.downstream[first])
        return between - int(self.segments.length[first:last].sum())
