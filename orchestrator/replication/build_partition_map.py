"""Makes the map of one source partition from the segments of the target's log; the rules:
`partition_map.py`."""

from __future__ import annotations

import numpy as np

from orchestrator.replication.current_log import CurrentLog, LostCopies
from orchestrator.replication.partition_map import UNLIMITED, Closing, MirrorEnd, PartitionMap
from orchestrator.replication.segments import (
    Offsets,
    RecordCount,
    Segments,
    blocks_from_the_end,
    counting_segments,
    first_copies,
    probable_records,
    shortened,
)


def build_partition_map(
    current: CurrentLog,
    end: MirrorEnd | None,
    *,
    may_have_gaps: bool,
    begins_alike: bool,
    counts_missing: bool,
) -> tuple[PartitionMap | None, Segments, tuple[LostCopies, ...]]:
    """The map from the current log, its segments with the stopped mirror's end put in, and what the log lost.

    `may_have_gaps`: the source may; then no segment is longer than one record. `begins_alike`: the first sync
    ever had the same offset on both sides. `counts_missing`: source offsets that went by without a copy were
    records. The map is None if nothing is known of the partition.
    """
    log, closing = _closed(current.segments, end, may_have_gaps)
    lost = _all_lost(current, closing, counts_missing)
    if not len(log):
        return None, log, lost
    if len(log) == 1 and not may_have_gaps:
        return _of_one_segment(current, log, closing), log, lost
    counting = first_copies(log) if may_have_gaps else log
    usable = _settled_segments(counting, may_have_gaps)
    segments, widest_gap = counting_segments(counting[:usable])
    records = _records(segments) if may_have_gaps else None
    up_to = usable if counting is log else int(log.downstream.searchsorted(segments.downstream[-1])) + 1
    tail_limit, slots_behind = _tail(log, up_to, closing)
    log_end = int(log.downstream[-1] + log.length[-1])
    mirrored = int(log.last_upstream.max() if not log.is_rising else log.upstream[-1] + log.length[-1] - 1)
    return (
        PartitionMap(
            segments=segments,
            clear=_clear(segments, widest_gap, tail_limit, records),
            closing=closing,
            slots_behind=slots_behind,
            is_settled=up_to == len(log),
            mirrored_end=max(mirrored, closing.last_upstream if closing.kind != "cut" else -1) + 1,
            cap=log_end - closing.missing if closing.missing else UNLIMITED,
            # Of all syncs, also those beyond a cut: what they tell of the log below holds.
            caps=_caps(current.segments, segments, closing.missing)
            if current.segments.has_source_gaps
            else None,
            records=records,
            may_have_gaps=may_have_gaps,
            begins_alike=begins_alike,
        ),
        log,
        lost,
    )


def _of_one_segment(current: CurrentLog, log: Segments, closing: Closing) -> PartitionMap:
    """The same of a partition without any gap: thousands of an estate's partitions are such."""
    tail_limit, slots_behind = _tail(log, 1, closing)
    start, length = int(log.upstream[0]), int(log.length[0])
    last = max(start + length - 1, closing.last_upstream if closing.kind != "cut" else -1)
    return PartitionMap(
        segments=log,
        clear=np.array([tail_limit], np.int64),
        closing=closing,
        slots_behind=slots_behind,
        is_settled=True,
        mirrored_end=last + 1,
        cap=int(log.downstream[0]) + length - closing.missing if closing.missing else UNLIMITED,
        caps=_caps(current.segments, log, closing.missing) if current.segments.has_source_gaps else None,
    )


def _all_lost(current: CurrentLog, closing: Closing, counts_missing: bool) -> tuple[LostCopies, ...]:
    """What the syncs tell, and what the end of a stopped mirror's log does."""
    records = closing.gone + (closing.missing if counts_missing else 0)
    if records <= 0:
        return current.lost
    below = max(int(current.segments.last_upstream.max()), closing.last_upstream) + 1
    return (*current.lost, LostCopies(records, below))


def _records(segments: Segments) -> Offsets:
    """`probable_records` of all segments; of the last its length."""
    found = np.empty(len(segments), np.int64)
    found[-1] = segments.length[-1]
    for block in blocks_from_the_end(len(segments) - 1):
        found[block] = probable_records(segments, block)
    return found


def _caps(log: Segments, segments: Segments, missing: int) -> Offsets:
    """For each of `segments` the lowest target offset at which the log may have been cut behind its start.

    Between two neighbours of the log no more can have been written than source offsets went by; behind the
    last one so many are `missing`.
    """
    caps = np.empty(len(log), np.int64)
    caps[-1] = log.downstream[-1] + log.length[-1] - missing
    for block in blocks_from_the_end(len(log) - 1):
        behind = slice(block.start + 1, block.stop + 1)
        low = log.downstream[behind] - (log.upstream[behind] - log.upstream[block] - log.length[block])
        np.minimum(low, log.downstream[block] + log.length[block], out=low)
        low[-1] = min(int(low[-1]), int(caps[block.stop]))
        caps[block] = np.minimum.accumulate(low[::-1])[::-1]
    return caps if len(segments) == len(log) else caps[log.downstream.searchsorted(segments.downstream)]


def _closed(log: Segments, end: MirrorEnd | None, may_have_gaps: bool) -> tuple[Segments, Closing]:
    """The segments within the target's log, prolonged to the end that Connect's offset confirms."""
    if end is None or not len(log):
        return log, Closing("open", -1)
    slots = end.target_end - int(log.downstream[-1] + log.length[-1])
    ahead = end.last_upstream - int(log.upstream[-1] + log.length[-1]) + 1
    if slots < 0:
        # What was read since the newest sync may stand in the slots before the end.
        kept = end.target_end - max(0, ahead)
        log = shortened(log, kept - log.downstream)
        left = end.target_end - int(log.downstream[-1] + log.length[-1]) if len(log) else 0
        return log, Closing("cut", end.last_upstream, left, gone=max(0, ahead) - slots)
    missing = max(0, ahead - slots)
    if slots == 0:
        return log, Closing("exact", end.last_upstream, missing=missing)
    if slots == ahead and not may_have_gaps:
        length = log.length.copy()
        length[-1] += slots
        return Segments(log.upstream, log.downstream, length), Closing("exact", end.last_upstream)
    return log, Closing("loose", end.last_upstream, slots, missing)


def _settled_segments(log: Segments, may_have_gaps: bool) -> int:
    """How many segments, from the first, surely do not lie in a replay that has not caught up.

    Whatever follows the segment with the highest source offset repeats, and has not caught up.
    A gap with more slots than records are known behind it leaves open how far the mirror had been.
    """
    if log.is_rising:
        return _settled_rising_segments(log, may_have_gaps)
    last = log.last_upstream
    usable = len(log) - int(last[::-1].argmax())
    count = RecordCount(counting_segments(log[:usable])[0])
    for block in blocks_from_the_end(usable - 1):
        slots = log[block.start : block.stop + 1].slots_between
        unsettled = np.flatnonzero(slots > count.above(last[block]))
        if len(unsettled):
            usable = block.start + int(unsettled[0]) + 1
    return usable


def _settled_rising_segments(log: Segments, may_have_gaps: bool) -> int:
    usable, records = len(log), int(log.length[-1])
    for block in blocks_from_the_end(len(log) - 1):
        # Records of each segment of the block, up to the start of the next.
        counted = probable_records(log, block) if may_have_gaps else log.length[block]
        up_to = counted[::-1].cumsum()[::-1] + records
        behind = np.append(up_to[1:], records)
        slots = log[block.start : block.stop + 1].slots_between
        unsettled = np.flatnonzero(slots > behind)
        if len(unsettled):
            usable = block.start + int(unsettled[0]) + 1
        records = int(up_to[0])
    return usable


def _tail(log: Segments, usable: int, closing: Closing) -> tuple[int, int | None]:
    """How far the last usable segment is clear of what follows it, and the slots that follow it."""
    start, length = int(log.upstream[usable - 1]), int(log.length[usable - 1])
    end = int(log.downstream[usable - 1]) + length
    limit, slots_behind = UNLIMITED, int(log.downstream[-1] + log.length[-1]) - end
    lowest = start + length
    if usable < len(log):
        lowest = min(lowest, int(log.upstream[usable:].min()))
        limit = lowest - start - int(log[usable - 1 :].slots_between.max())
    if closing.slots:
        # A pass that ends at Connect's offset and fills these slots began that many records before it.
        lowest = min(lowest, closing.last_upstream + 1)
        limit = min(limit, lowest - start - closing.slots)
    is_open = closing.kind == "open" and usable == len(log)
    return limit, None if is_open else slots_behind + closing.slots


def _clear(
    segments: Segments, widest_gap: Offsets | None, tail_limit: int, records: Offsets | None
) -> Offsets:
    """For each segment how many records behind its start are surely not copied again further on.

    `clear[i] = min(length[i] - widest_gap[i], records[i] + clear[i + 1])`, solved block by block from the
    end; `records` are the lengths if None.
    """
    clear = np.empty(len(segments), np.int64)
    clear[-1] = tail_limit
    for block in blocks_from_the_end(len(segments) - 1):
        gap = (
            segments[block.start : block.stop + 1].slots_between if widest_gap is None else widest_gap[block]
        )
        length = segments.length[block]
        counted = length if records is None else records[block]
        before = counted.cumsum()
        whole = int(before[-1])
        before -= counted
        limit = before + length
        limit -= gap
        limit[-1] = min(int(limit[-1]), whole + int(clear[block.stop]))
        limit = np.minimum.accumulate(limit[::-1])[::-1]
        limit -= before
        clear[block] = limit
    return clear
