"""A mirror simulated slot by slot, as the truth that the offset map is held against.

A source partition with gaps is copied in passes, one for each life of the mirror's task: a pass starts at
or below the record after the last one copied before. The target's log has further slots that hold no record
(transaction markers). Of the offset syncs only some are kept; some come late, or twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from orchestrator.mirrors.mirrormaker2.formats import OffsetSync, encode_offset_sync
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.values import TopicPartition

PARTITION = TopicPartition("orders", 3)

Pair = tuple[int, int]


@dataclass(frozen=True)
class Mirror:
    """`slots[d]` is the source offset whose record stands at target offset d, or None."""

    source: list[int]
    slots: list[int | None]
    syncs: list[Pair]
    last_upstream: int
    end: Pair | None = field(default=None)

    def build(self) -> OffsetMap:
        return build(self.syncs, self.end)

    def records(self, start: int, stop: int | None = None) -> list[int]:
        """Source offsets of the records that a reader finds from target offset `start` on."""
        return [u for u in self.slots[start:stop] if u is not None]

    @property
    def has_replay(self) -> bool:
        records = self.records(0)
        return records != sorted(set(records))


def build(
    pairs: list[Pair],
    end: Pair | None = None,
    partition: TopicPartition = PARTITION,
    gaps: SourceGaps = "no",
) -> OffsetMap:
    """A map from pairs of offsets in topic order, through their bytes."""
    records = [encode_offset_sync(OffsetSync(partition, *pair)) for pair in pairs]
    builder = OffsetSyncs(gaps={partition: gaps})
    builder.add_syncs([key for key, _ in records], [value for _, value in records])
    if end is not None:
        builder.add_end(partition, *end)
    return builder.build()


class _Choices:
    """Decisions read from bytes, one each; when they are used up, the first option every time."""

    def __init__(self, data: bytes) -> None:
        self._data = iter(data)

    def of(self, *options: int) -> int:
        return options[next(self._data, 0) % len(options)]

    def up_to(self, highest: int) -> int:
        return next(self._data, 0) % (highest + 1)


def mirrors() -> st.SearchStrategy[Mirror]:
    """Mirrors of a few dozen records, with gaps, markers and restarts."""
    return st.binary(min_size=150, max_size=150).map(mirror_of)


def simple_mirrors() -> st.SearchStrategy[Mirror]:
    """Mirrors without gaps, markers and restarts, stopped in order."""
    return st.binary(min_size=40, max_size=40).map(lambda data: mirror_of(data, is_simple=True))


def gapless_mirrors() -> st.SearchStrategy[Mirror]:
    """Mirrors of sources in which each offset is a record, with markers and restarts."""
    return st.binary(min_size=150, max_size=150).map(lambda data: mirror_of(data, is_gapless=True))


def mirror_of(
    data: bytes, *, is_simple: bool = False, is_gapless: bool = False, source: list[int] | None = None
) -> Mirror:
    """The mirror that a sequence of decisions leads to; of this source, if one is given."""
    choose = _Choices(data)
    gaps = (1,) if is_simple or is_gapless else (1, 1, 1, 1, 2, 5)
    markers = (0,) if is_simple else (0, 0, 0, 0, 0, 0, 0, 1, 3)
    if source is None:
        source = [choose.up_to(5)]
        for _ in range(choose.up_to(choose.of(4, 8, 25))):
            source.append(source[-1] + choose.of(*gaps))
    slots: list[int | None] = [None] * choose.of(*markers)
    pairs: list[Pair] = []
    reached = start = 0
    for number in range(1 if is_simple else 1 + choose.up_to(3)):
        start = max(0, reached - choose.up_to(8)) if number else 0
        reached = len(source) - choose.up_to(len(source) - start)
        for u in source[start:reached]:
            pairs.append((u, len(slots)))
            slots += [u, *[None] * choose.of(*markers)]
    committed = [source[start - 1] if start else -1, *source[start:reached]]
    last_upstream = committed[-1 if is_simple or choose.up_to(1) else choose.up_to(len(committed) - 1)]
    end = (last_upstream, len(slots)) if choose.up_to(1) else None
    density = choose.of(0, 1, 2, 4)
    kept = _without_cancelling([p for p in pairs if not choose.up_to(density)], slots, end)
    for _ in range(choose.up_to(2) if kept else 0):
        at = choose.up_to(len(kept) - 1)
        again = kept[at] if choose.up_to(1) else kept.pop(at)
        kept.insert(at + choose.up_to(len(kept) - at), again)
    return Mirror(source, slots, kept, last_upstream, end)


def _without_cancelling(pairs: list[Pair], slots: list[int | None], end: Pair | None) -> list[Pair]:
    """Leave out pairs between which a gap and a marker cancel out: no pair of offsets could tell."""
    kept: list[Pair] = []
    for u, d in pairs:
        if u == d and slots[: d + 1] != list(range(u + 1)):
            continue
        before = [pair for pair in kept if pair[0] - pair[1] == u - d]
        if not before or _is_dense(slots, before[-1], (u, d)):
            kept.append((u, d))
    if end is not None:
        last = (end[0], end[1] - 1)
        kept = [
            pair
            for pair in kept
            if pair[0] - pair[1] != last[0] - last[1] or pair[1] > last[1] or _is_dense(slots, pair, last)
        ]
    return kept


def _is_dense(slots: list[int | None], first: Pair, last: Pair) -> bool:
    return slots[first[1] : last[1] + 1] == list(range(first[0], last[0] + 1))
