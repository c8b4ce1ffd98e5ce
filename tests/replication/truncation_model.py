"""A mirror simulated slot by slot whose copy is cut, deleted and made anew while syncs go missing.

What happens, in any order: records are copied, the mirror's task begins again further back, the target's
log loses its end or everything, the connector is set back to the beginning. Offset syncs are written as
`OffsetSyncWriter` writes them (first record of a task, a step back at the target, a gap of the source, each
so many records), and each of them may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from orchestrator.mirrors.mirrormaker2.formats import OffsetSync, encode_offset_sync
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.values import TopicPartition
from tests.replication.mirror_model import PARTITION, Pair


@dataclass
class Sync:
    """One that arrived, and what happened between the one before it and this one."""

    pair: Pair
    is_cut: bool
    is_restarted: bool


@dataclass
class World:
    """`slots[d]` is the source record at target offset d now. `source` are all records of the source."""

    source: list[int]
    slots: list[int]
    syncs: list[Sync]
    stored: int
    is_cut_since: bool
    is_restarted_since: bool
    is_stopped: bool
    is_stored_late: bool
    shown_gaps: frozenset[TopicPartition] = frozenset()

    def build(self, gaps: SourceGaps) -> OffsetMap:
        builder = OffsetSyncs(gaps={PARTITION: gaps})
        records = [encode_offset_sync(OffsetSync(PARTITION, *sync.pair)) for sync in self.syncs]
        builder.add_syncs([key for key, _ in records], [value for _, value in records])
        if self.is_stopped:
            builder.add_end(PARTITION, self.stored, len(self.slots))
        built = builder.build()
        self.shown_gaps = builder.shown_gaps
        return built

    def untold(self, offset_map: OffsetMap) -> str:
        """What happened here that no pair of offsets tells; empty where nothing did. See `partition_map.py`."""
        log = offset_map._logs.get(PARTITION)
        if log is not None and len(log):
            before = max(self.slots[: int(log.downstream[0])], default=-1)
            if before > int(log.last_upstream.max()):
                return "the oldest sync lies in a replay that never caught up"
        if any(sync.is_cut and sync.is_restarted for sync in self.syncs):
            return "cut and copied again between two syncs"
        if not self.is_cut_since:
            return ""
        if self.is_restarted_since:
            return "cut and copied again since the newest sync"
        if not self.is_stopped:
            return "cut since the newest sync, and the mirror runs"
        return "cut since the newest sync, and the stored position is late" if self.is_stored_late else ""

    @property
    def shows_each_cut(self) -> bool:
        """Whether the syncs step back after each cut, or the log ends before them."""
        pairs = [sync.pair for sync in self.syncs]
        unseen = any(
            sync.is_cut and (at == 0 or pairs[at - 1][1] < sync.pair[1]) for at, sync in enumerate(self.syncs)
        )
        return not unseen and not (self.is_cut_since and len(self.slots) > pairs[-1][1])

    def missing(self) -> int:
        """Source records without a copy."""
        return len(set(self.source) - set(self.slots))


def world_of(r: Random, *, has_gaps: bool) -> World:
    """A world of a few dozen to a few hundred records."""
    gap = r.choice([0.03, 0.2]) if has_gaps else 0.0
    source = [u for u in range(r.choice([20, 60, 150])) if r.random() >= gap] or [0]
    lag_max, kept = r.choice([3, 10, 1000]), r.choice([1.0, 0.7, 0.3])
    restart, cut = r.choice([0.0, 0.03]), r.choice([0.0, 0.02, 0.05])
    slots: list[int] = []
    syncs: list[Sync] = []
    at, stored, since_sync, steps = 0, -1, 0, r.choice([30, 120, 300])
    last_pair: Pair | None = None
    is_cut = is_restarted = False
    for _ in range(steps):
        chance = r.random()
        if chance < cut:
            slots = slots[: r.choice([0, r.randint(0, len(slots)), max(0, len(slots) - r.randint(0, 8))])]
            is_cut = True
        elif chance < cut + restart:
            before = at
            at = 0 if r.random() < 0.1 else _after(source, stored)
            stored = stored if at else -1
            is_restarted |= at < before
            last_pair = None
        elif at < len(source):
            pair = source[at], len(slots)
            slots.append(source[at])
            at += 1
            if r.random() < 0.3:
                stored = pair[0]
            if (
                last_pair is None
                or pair[1] <= last_pair[1]
                or pair[0] - last_pair[0] != 1
                or since_sync >= lag_max
            ):
                since_sync = 0
                if r.random() < kept:
                    syncs.append(Sync(pair, is_cut, is_restarted))
                    is_cut = is_restarted = False
            since_sync += 1
            last_pair = pair
    stored = max(stored, source[at - 1]) if at and r.random() < 0.5 and slots else stored
    is_late = bool(at) and stored < source[at - 1]
    return World(source, slots, syncs, stored, is_cut, is_restarted, r.random() < 0.5, is_late)


def _after(source: list[int], offset: int) -> int:
    return next((i for i, u in enumerate(source) if u > offset), len(source))
