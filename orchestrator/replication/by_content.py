"""Reads what places by content need: the records that stand for positions, and copies at the target.

What is believed of it, and why: `content.py`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.ports.servers import Contents
from orchestrator.replication.content import (
    Fingerprint,
    ReadStretch,
    checked,
    fingerprint_of,
    no_earlier_than,
    stretch_to_read,
    unchecked,
)
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.partition_map import OpenStretch, Translated
from orchestrator.values import LogEnd, ReadContent, TopicPartition

READ_AT_MOST = 1_000_000
"""Records of the target that are read for all positions together."""
READ_WITHIN_S = 10.0
# So far back the last record before a position is looked for, where only markers stand before it.
_REACH = 64
# Ranges that lie nearer to each other are read as one: to begin at another place takes as long.
_JOINED_WITHIN = 500

Positions = Mapping[TopicPartition, Collection[int]]


def fingerprints_read(
    reader: Contents,
    positions: Positions,
    *,
    starts: Mapping[TopicPartition, int],
    compacted: Collection[str],
    timeout_s: float,
) -> dict[TopicPartition, dict[int, Fingerprint | None]]:
    """The record that stands for each position, by source partition; None where there is none.

    `starts`: where the logs begin. `compacted`: source topics that are. What was not read within `timeout_s`
    is left out. Raises `ClusterError`.
    """
    found = _fingerprints_within(reader, positions, 1, starts, compacted, timeout_s)
    nothing = {
        tp: [at for at, one in by_position.items() if one is None]
        for tp, by_position in found.items()
        if tp.topic not in compacted
    }
    nothing = {tp: left for tp, left in nothing.items() if left}
    if nothing:
        for tp, by_position in _fingerprints_within(
            reader, nothing, _REACH, starts, compacted, timeout_s
        ).items():
            found[tp].update(by_position)
    return found


def _fingerprints_within(  # noqa: PLR0917 - one question in parts
    reader: Contents,
    positions: Positions,
    reach: int,
    starts: Mapping[TopicPartition, int],
    compacted: Collection[str],
    timeout_s: float,
) -> dict[TopicPartition, dict[int, Fingerprint | None]]:
    spans = {
        (tp, at): range(max(starts.get(tp, 0), at - reach), at + 1)
        for tp, ats in positions.items()
        for at in ats
    }
    read = _Read.of(reader, ((tp, span) for (tp, _), span in spans.items()), timeout_s)
    found: dict[TopicPartition, dict[int, Fingerprint | None]] = {tp: {} for tp in positions}
    for (tp, at), span in spans.items():
        records = read.within(tp, span)
        if records is not None:
            found[tp][at] = fingerprint_of(at, records, is_compacted=tp.topic in compacted)
    return found


def places_by_content(
    reader: Contents,
    offset_map: OffsetMap,
    positions: Positions,
    *,
    fingerprints: Mapping[TopicPartition, Sequence[Fingerprint]],
    copies: Mapping[TopicPartition, TopicPartition],
    logs: Mapping[TopicPartition, LogEnd],
    timeout_s: float = READ_WITHIN_S,
) -> OffsetMap:
    """The map with the places of these positions as their records' copies tell them.

    `fingerprints`: by source partition, by rising position. `copies`: what the source partitions are called
    at the target. `logs`: of the copies. No more than `READ_AT_MOST` records are read; where that is not
    enough, and where a log lacks what would have to be read, the map's word stands. Raises `ClusterError`.
    """
    asked = [
        _Asked.of(offset_map, source, at, fingerprints.get(source, ()))
        for source, ats in positions.items()
        if offset_map.may_have_gaps(source)
        for at in sorted(set(ats))
    ]
    spans: dict[tuple[TopicPartition, int], range] = {}
    left, read_up_to = READ_AT_MOST, dict.fromkeys(positions, 0)
    for one in asked:
        log = logs.get(copies[one.source])
        if one.wanted is None or one.stretch is None or log is None:
            continue
        if one.stretch.start < log.start_offset:
            continue
        span = stretch_to_read(one.stretch, log.end_offset)
        # Positions rise, and so do their stretches: what is read for one is there for the next.
        further = max(0, span.stop - max(span.start, read_up_to[one.source]))
        if further <= left:
            spans[one.source, one.wanted.position] = span
            left -= further
            read_up_to[one.source] = max(read_up_to[one.source], span.stop)
    read = _Read.of(reader, ((copies[source], span) for (source, _), span in spans.items()), timeout_s)
    places = {
        (one.source, one.position): one.place(offset_map, spans, copies[one.source], read) for one in asked
    }
    return offset_map.checked_by_content(places)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A position, and the fingerprint that tells most of it: its own, or that of the nearest one before.

    `stretch`: where that one's record is to be looked for. `is_open`: whether there is anything to look for.
    """

    source: TopicPartition
    position: int
    by_map: Translated
    is_open: bool
    wanted: Fingerprint | None
    stretch: OpenStretch | None

    @classmethod
    def of(
        cls, offset_map: OffsetMap, source: TopicPartition, position: int, known: Sequence[Fingerprint]
    ) -> _Asked:
        number = bisect_right(known, position, key=lambda one: one.position) - 1
        wanted = known[number] if number >= 0 else None
        own = stretch = offset_map.open_stretch(source, position)
        if wanted is None or wanted.position != position:
            stretch = None if wanted is None else offset_map.open_stretch(source, wanted.position)
        by_map = offset_map.translate(source, position)
        return cls(source, position, by_map, own is not None, wanted, stretch)

    def place(
        self,
        offset_map: OffsetMap,
        spans: Mapping[tuple[TopicPartition, int], range],
        copy: TopicPartition,
        read: _Read,
    ) -> Translated:
        """Where the position has its place, by what was read."""
        wanted, stretch, by_map = self.wanted, self.stretch, self.by_map
        if not self.is_open:
            return by_map
        if wanted is None or stretch is None:
            return unchecked(by_map)
        span = spans.get((self.source, wanted.position))
        records = None if span is None else read.within(copy, span)
        if span is None or records is None:
            return unchecked(by_map)
        is_whole = wanted.offset <= stretch.passed
        part = ReadStretch(span.start, span.stop, records, is_whole, stretch.is_uncut)
        if wanted.position == self.position:
            return checked(by_map, wanted, part)
        earlier = checked(offset_map.translate(self.source, wanted.position), wanted, part)
        return no_earlier_than(unchecked(by_map), wanted, self.position, earlier)


@dataclass(frozen=True, slots=True)
class _Read:
    """Records by partition and range that was read as one."""

    records: Mapping[TopicPartition, Mapping[range, Sequence[ReadContent]]]

    @classmethod
    def of(cls, reader: Contents, spans: Iterable[tuple[TopicPartition, range]], timeout_s: float) -> _Read:
        wanted: dict[TopicPartition, list[range]] = {}
        for tp, span in spans:
            wanted.setdefault(tp, []).append(span)
        joined = {tp: _joined(ranges) for tp, ranges in wanted.items()}
        return cls(reader.read(joined, timeout_s) if joined else {})

    def within(self, tp: TopicPartition, span: range) -> list[ReadContent] | None:
        """What a reader gets from the beginning of a range on: all in it, and the next; None if not read."""
        if not len(span):
            return []
        for whole, records in self.records.get(tp, {}).items():
            if whole.start <= span.start and span.stop <= whole.stop:
                first = bisect_right(records, span.start - 1, key=lambda record: record.offset)
                last = bisect_right(records, span.stop - 1, key=lambda record: record.offset)
                return list(records[first : last + 1])
        return None


def _joined(ranges: Iterable[range]) -> list[range]:
    found: list[range] = []
    for one in sorted(ranges, key=lambda r: r.start):
        if found and one.start <= found[-1].stop + _JOINED_WITHIN:
            found[-1] = range(found[-1].start, max(found[-1].stop, one.stop))
        elif len(one):
            found.append(one)
    return found
