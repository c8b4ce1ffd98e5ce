"""A position confirmed or found by a record's content, where pairs of offsets leave its place open.

In a partition that may have gaps (transaction markers, aborted records, compaction) nothing between two
offset syncs can be interpolated (see `partition_map.py`). But a record stands for a position P of the source:
the last one before P, behind whose copy the place lies, or the first one from P on, at whose copy it lies.
What of it is kept is its *fingerprint*; its copy is looked for at the target.

Why the first match never skips: the mirror copies record by record, and a restarted task begins at or below
the record behind the last one that was acknowledged. So behind a pair (U at D) with U at or below the record,
the first record at or above it to reach the target is that record itself: only lower ones stand before its
first copy. Whatever is at or above P stands behind that. An identical record further up is an earlier place:
more is read again, nothing is skipped.

Both hold only in a stretch of the target's log that

- begins at a pair that no later sync makes void, with a record below P;
- lacks no offset: a later identical record could stand in for a copy that compaction or deletion took;
- was written under one leader epoch, which is known: where a log was cut and has grown again a newer epoch
  begins, and what was cut off may have been the copy. A copy that was deleted and made anew begins with the
  first epoch again: where the pairs leave that open, only a record counts that was written since somebody saw
  the copy with the id that it has.

What follows such a stretch is not believed. And only a record counts that has surely come to the target if
whatever is behind it has: one that the source's retention took before the mirror came to it has no copy, and
an identical one behind it may have (see `Fingerprint.has_a_copy`).

A place is exact if its record was found once in all that the map leaves open, and has surely been copied: had
the mirror copied records again there, this one would be among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from orchestrator.replication.partition_map import OpenStretch, Translated
from orchestrator.values import Content, ReadContent

_FIRST_EPOCH = 0
"""The leader epoch of a log that no leader before has written: of such a one nothing was ever cut off."""


class Fingerprint(NamedTuple):
    """The record that stands for a position: its source offset, and what it holds.

    `offset` is below `position` for the last record before it; otherwise it is the first one from there on.
    `is_copied`: it still stood at the source when the mirror was known to have passed it.
    """

    position: int
    offset: int
    content: Content
    is_copied: bool = False

    @property
    def is_before(self) -> bool:
        """Whether the place lies behind the record's copy, and not at it."""
        return self.offset < self.position

    def has_a_copy(self, source_start: int) -> bool:
        """Whether retention surely did not take the record before the mirror came to it.

        `source_start`: the newest known beginning of the source's log.
        """
        return self.is_copied or self.offset >= source_start


def fingerprint_of(
    position: int, records: Iterable[ReadContent], *, is_compacted: bool
) -> Fingerprint | None:
    """The record that stands for a position, of all that a reader gets from some offset below it on.

    Where the source is compacted only the one at `position` - 1 does: another one may have been nearer when
    the mirror was there, and be gone. It must be read after the mirror has passed it: one that compaction
    takes before that has no copy, and an identical one behind it has. None where there is none.
    """
    around = sorted(records, key=lambda record: record.offset)
    before = next((record for record in reversed(around) if record.offset < position), None)
    found = before or next((record for record in around if record.offset >= position), None)
    if found is None or (is_compacted and found.offset != position - 1):
        return None
    return Fingerprint(position, found.offset, found.content)


class ReadStretch(NamedTuple):
    """What was read of a stretch that the map leaves open.

    `records`: all that a reader got from `first` up to `stop`, in order. `is_whole`: nothing that the map
    leaves open lies behind `stop`, and the record that is looked for has a copy. `is_uncut`: as for
    `OpenStretch`.
    """

    first: int
    stop: int
    records: Sequence[ReadContent]
    is_whole: bool
    is_uncut: bool = True


def stretch_to_read(stretch: OpenStretch, log_end: int, *, is_before: bool) -> range:
    """The target offsets in which a position's record may stand. `log_end`: where the target's log ends.

    `is_before`: it is one before the position, and none of these stands at the stretch's stop.
    """
    stop = log_end if stretch.stop is None else min(stretch.stop + (0 if is_before else 1), log_end)
    return range(stretch.start, max(stretch.start, stop))


NO_RECORD = "no record that stands for the position is known"


def unchecked(by_map: Translated, why: str = NO_RECORD) -> Translated:
    """A place that nobody could confirm: where there may be gaps it is not called exact."""
    if by_map.offset is None:
        return by_map
    done = "confirmed" if by_map.is_exact else "found"
    return by_map._replace(is_exact=False, reason=f"{by_map.reason}; not {done} by content: {why}")


def checked(by_map: Translated, wanted: Fingerprint, read: ReadStretch) -> Translated:
    """The place of a position by its record's copy, or the map's own where that is not to be found.

    `by_map` never skips; where both say something else the lower place counts, or the higher one if the map's
    is only a bound.
    """
    if by_map.offset is None:
        return by_map
    end, found = _believed(wanted, read)
    if not found:
        where = "" if end >= read.stop else f" before offset {end:,}, behind which the log may have changed"
        reason = f"{by_map.reason}; its record was not found among the copies{where}"
        return by_map._replace(is_exact=False, reason=reason)
    places = [offset + 1 if wanted.is_before else offset for offset in found]
    if by_map.is_exact:
        return _confirmed(by_map, by_map.offset, places)
    offset = max(places[0], by_map.offset)
    if not read.is_whole or end < read.stop:
        left = by_map.reread_at_most
        left = None if left is None else max(0, left - (offset - by_map.offset))
        return Translated(offset, False, left, "found by content; not all of the copies behind it were read")
    if len(found) == 1:
        return Translated(offset, True, 0, "found by content")
    reason = f"found by content, at the first of {len(found):,} records that are alike"
    return Translated(offset, False, max(0, places[-1] - offset), reason)


def _confirmed(by_map: Translated, offset: int, places: Sequence[int]) -> Translated:
    """A place that the map calls exact, beside those that the content tells."""
    if offset in places:
        return by_map._replace(reason=f"{by_map.reason}, confirmed by content")
    lower = min(offset, places[0])
    return Translated(lower, False, max(offset, places[-1]) - lower, "its record's copy stands elsewhere")


def no_earlier_than(
    by_map: Translated, earlier: Fingerprint, position: int, place: Translated, read: ReadStretch
) -> Translated:
    """The place of a position by the place of an `earlier` one, where that is better than the map's.

    What lies between the two is read again, as often as the mirror has copied it. `read`: of the copies all
    in which a record below the position may stand.
    """
    if place.offset is None or by_map.offset is None or place.offset <= by_map.offset:
        return by_map
    between = position - earlier.position
    bounds = [
        None if place.reread_at_most is None else place.reread_at_most + between + _repeated(place, read),
        by_map.reread_at_most,
        max(0, read.stop - place.offset) if read.is_whole else None,
    ]
    known = [bound for bound in bounds if bound is not None]
    reason = f"{place.reason}, for the position {between:,} offsets before"
    return Translated(place.offset, False, min(known, default=None), reason)


def _repeated(place: Translated, read: ReadStretch) -> int:
    """How many copies, from a place on, may be further ones of a record that stands there already."""
    there = [r.content for r in read.records if (place.offset or 0) <= r.offset < read.stop]
    are_timed = all(content.timestamp_ms is not None for content in there)
    return len(there) - len(set(there) if are_timed else {content.digest for content in there})


def _believed(wanted: Fingerprint, read: ReadStretch) -> tuple[int, list[int]]:
    """How far the stretch is believed (to that offset, exclusively), and where the record stands in it."""
    at = read.first
    found: list[int] = []
    if not read.is_uncut and (not read.records or read.records[0].leader_epoch != _FIRST_EPOCH):
        return at, found
    for record in read.records:
        if at >= read.stop or record.offset != at or record.leader_epoch is None:
            break
        if record.leader_epoch != read.records[0].leader_epoch:
            break
        if record.content.is_same(wanted.content):
            found.append(at)
        at += 1
    return at, found
