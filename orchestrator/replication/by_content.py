"""Reads what places by content need: the records that stand for positions, and copies at the target.

What is believed of it, and why: `content.py`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

from orchestrator.ports.servers import Contents
from orchestrator.replication.content import (
    NO_RECORD,
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
"""Records of the target that are read for all positions of a move together."""
READ_WITHIN_S = 10.0
"""So long all that is read for places by content may take in a move, at the source and at the target."""
# So far back the last record before a position is looked for, where only markers stand before it.
_REACH = 64
# Ranges that lie nearer to each other are read as one: to begin at another place takes as long.
_JOINED_WITHIN = 500

_OWN_NOT_KNOWN = "the record that stands for the position itself is not known"
_NOTHING: Mapping[TopicPartition, int] = MappingProxyType({})

Positions = Mapping[TopicPartition, Collection[int]]


@dataclass(slots=True)
class SearchBudget:
    """What may still be read for places by content, and how long that may still take by a clock, `now_s`."""

    records: int = READ_AT_MOST
    seconds: float = READ_WITHIN_S
    now_s: Callable[[], float] = float

    def half(self) -> SearchBudget:
        """A half of it, for what is not the last to be read."""
        taken = SearchBudget(self.records // 2, self.seconds / 2, self.now_s)
        self.records -= taken.records
        self.seconds -= taken.seconds
        return taken

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Takes from it the time that something needs."""
        begun_s = self.now_s()
        try:
            yield
        finally:
            self.seconds = max(0.0, self.seconds - (self.now_s() - begun_s))


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
    read = ReadRanges.of(reader, ((tp, span) for (tp, _), span in spans.items()), timeout_s)
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
    written_since: Mapping[TopicPartition, int] = _NOTHING,
    budget: SearchBudget | None = None,
) -> OffsetMap:
    """The map with the places of these positions as their records' copies tell them.

    `fingerprints`: by source partition, by rising position. `copies`: what the source partitions are called
    at the target. `logs`: of the copies. `written_since`: the source offset from which on all records were
    written since the copy has the id that it has, as far as somebody saw. No more is read than the `budget`
    allows; where that is not enough, and where a log lacks what would have to be read, the map's word stands.
    Raises `ClusterError`.
    """
    budget = budget or SearchBudget()
    asked = [
        _Asked.of(offset_map, source, at, fingerprints.get(source, ()), logs.get(copies[source]))
        for source, ats in positions.items()
        if offset_map.may_have_gaps(source)
        for at in sorted(set(ats))
    ]
    why: dict[tuple[TopicPartition, int], str] = {}
    spans: dict[tuple[TopicPartition, int], range] = {}
    read_up_to = dict.fromkeys(positions, 0)
    for one in asked:
        span, source = one.span, one.source
        problem = one.problem(written_since.get(source))
        # Positions rise, and so do their stretches: what is read for one is there for the next.
        further = 0 if span is None else max(0, span.stop - max(span.start, read_up_to[source]))
        if not problem and further > budget.records:
            problem = f"more than {READ_AT_MOST:,} records would have to be read for all positions"
        if problem or span is None:
            why[source, one.position] = problem
            continue
        spans[source, one.position] = span
        budget.records -= further
        read_up_to[source] = max(read_up_to[source], span.stop)
    read = ReadRanges.of(
        reader, ((copies[source], span) for (source, _), span in spans.items()), budget.seconds
    )
    refused = reader.refused
    places = {}
    for one in asked:
        at, copy = (one.source, one.position), copies[one.source]
        records = read.within(copy, spans[at]) if at in spans else None
        if records is None and at in spans:
            told = refused.get(copy.topic)
            why[at] = f"the copies cannot be read: {told}" if told else "the copies were not read in time"
        places[at] = one.by_map if not one.is_open else one.place(offset_map, records, why.get(at, ""))
    return offset_map.checked_by_content(places)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A position, and the fingerprint that tells most of it: its own, or that of the nearest one before.

    `stretch`: where that one's record is to be looked for; `own`: where that of the position itself would be,
    None where there is nothing to look for. `log`: of the copies.
    """

    source: TopicPartition
    position: int
    by_map: Translated
    own: OpenStretch | None
    wanted: Fingerprint | None
    stretch: OpenStretch | None
    log: LogEnd | None

    @classmethod
    def of(
        cls,
        offset_map: OffsetMap,
        source: TopicPartition,
        position: int,
        known: Sequence[Fingerprint],
        log: LogEnd | None,
    ) -> _Asked:
        number = bisect_right(known, position, key=lambda one: one.position) - 1
        wanted = known[number] if number >= 0 else None
        own = stretch = offset_map.open_stretch(source, position)
        if wanted is None or wanted.position != position:
            stretch = None if wanted is None else offset_map.open_stretch(source, wanted.position)
        by_map = offset_map.translate(source, position)
        return cls(source, position, by_map, own, wanted, stretch, log)

    @property
    def is_open(self) -> bool:
        """Whether there is anything to look for."""
        return self.own is not None

    def problem(self, written_since: int | None) -> str:
        """Why nothing can be looked for; empty where it can."""
        if self.wanted is None:
            return NO_RECORD
        if self.stretch is None:
            return "no offset sync below the position is known"
        if self.log is None:
            return "nothing is known of the log of the copies"
        if self.stretch.start < self.log.start_offset:
            return f"the copies below offset {self.log.start_offset:,} are deleted"
        if not self.stretch.is_uncut and (written_since is None or self.wanted.offset < written_since):
            return "the copies may have been deleted and created again since the record was copied"
        return ""

    @property
    def span(self) -> range | None:
        """What is to be read: all in which the record, and any other below the position, may stand."""
        if self.wanted is None or self.stretch is None or self.own is None or self.log is None:
            return None
        found = self._searched(self.wanted, self.stretch, self.log)
        if self.wanted.position == self.position:
            return found
        own = stretch_to_read(self.own, self.log.end_offset, is_before=True)
        return range(found.start, max(found.stop, own.stop))

    @staticmethod
    def _searched(wanted: Fingerprint, stretch: OpenStretch, log: LogEnd) -> range:
        return stretch_to_read(stretch, log.end_offset, is_before=wanted.is_before)

    def place(self, offset_map: OffsetMap, records: Sequence[ReadContent] | None, why: str) -> Translated:
        """Where the position has its place, by what was read; `why`: nothing was."""
        wanted, stretch, log, span = self.wanted, self.stretch, self.log, self.span
        if records is None or wanted is None or stretch is None or log is None or span is None:
            return unchecked(self.by_map, why)
        searched = self._searched(wanted, stretch, log)
        is_whole = wanted.offset <= stretch.passed
        part = ReadStretch(searched.start, searched.stop, records, is_whole, stretch.is_uncut)
        if wanted.position == self.position:
            return checked(self.by_map, wanted, part)
        earlier = checked(offset_map.translate(self.source, wanted.position), wanted, part)
        is_all = self.own is not None and (self.own.stop is not None or self.own.passed >= 0)
        rest = ReadStretch(span.start, span.stop, records, is_all)
        return no_earlier_than(unchecked(self.by_map, _OWN_NOT_KNOWN), wanted, self.position, earlier, rest)


@dataclass(frozen=True, slots=True)
class ReadRanges:
    """Records by partition and range that was read as one."""

    records: Mapping[TopicPartition, Mapping[range, Sequence[ReadContent]]]

    @classmethod
    def of(
        cls, reader: Contents, spans: Iterable[tuple[TopicPartition, range]], timeout_s: float
    ) -> ReadRanges:
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
