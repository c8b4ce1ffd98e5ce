"""The exact offset map of a mirror, built from every offset sync that its engine wrote.

An offset sync is a pair: the source record at one offset stands in the copy at another. Every one counts: see
`partition_map.py` for the rules and for what they take for granted, `segments.py` for how syncs are folded,
and `inverse_map.py` for the way back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import cast

import numpy as np
import numpy.typing as npt

from orchestrator.replication.built_partition import BuiltPartition, built_partition
from orchestrator.replication.collected_syncs import CollectedSyncs
from orchestrator.replication.counting import (
    Window,
    place_ahead,
    place_behind,
    window_ahead,
    window_behind,
)
from orchestrator.replication.current_log import LostCopies, current_log, unseen_losses
from orchestrator.replication.inverse_map import InversePartitionMap
from orchestrator.replication.partition_map import MirrorEnd, OpenStretch, Translated
from orchestrator.replication.segments import NO_SEGMENTS, Offsets
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.values import TopicPartition

__all__ = ["OffsetMap", "OffsetMapBuilder", "Translated"]

Counting = Mapping[int, tuple[Window, Offsets]]
"""By position: the offset syncs around it, and the source offset in each slot from the first of them on."""

_BATCH = 100_000
_UNKNOWN = Translated(None, False, None, "no offset sync of this partition")


class OffsetMapBuilder(ABC):
    """Collects offset syncs in the order of their topic, folding them as they come.

    What a record of that topic looks like is the engine's: it fills in the two methods that read it.
    """

    def __init__(
        self,
        recreated: Collection[str] = (),
        gaps: Mapping[TopicPartition, SourceGaps] = MappingProxyType({}),
        shown_gaps: Collection[TopicPartition] = (),
    ) -> None:
        """`gaps`: whether source partitions may have gaps; one that is not named may.

        `shown_gaps`: those that have some for all that was said, as an earlier look at the syncs has shown.
        `recreated`: source topics of which equal offsets on both sides tell nothing of what was before.
        """
        self._recreated = frozenset(recreated)
        self._gaps = gaps
        self._shown = frozenset(shown_gaps)
        self.shown_gaps = self._shown
        self._ids: dict[bytes, int] = {}
        self._collected: list[CollectedSyncs] = []
        self._partitions: list[TopicPartition] = []
        self._ends: dict[TopicPartition, MirrorEnd] = {}
        self._keys: list[bytes] = []
        self._values: list[bytes] = []
        self._taken = 0

    @staticmethod
    @abstractmethod
    def source_of(key: bytes) -> TopicPartition:
        """The source partition that a record's key names. Raises `FormatError`."""

    @staticmethod
    @abstractmethod
    def pairs_of(values: Sequence[bytes], first: int) -> tuple[Offsets, Offsets]:
        """Source and target offsets in the values of records, all at once.

        Raises `FormatError` naming the first value that is no pair, counted from `first`.
        """

    def add_syncs(self, keys: Sequence[bytes], values: Sequence[bytes | None]) -> None:
        """Take over records of the syncs topic, in topic order; call it again for the next ones.

        A value of None (a tombstone) says nothing and is left out. Raises `FormatError` for bytes that
        are no offset sync; as records are decoded many at a time, also for records given earlier.
        """
        if None in values:
            present = [i for i, value in enumerate(values) if value is not None]
            keys, values = [keys[i] for i in present], [values[i] for i in present]
        self._keys += keys
        self._values += cast(Sequence[bytes], values)
        if len(self._keys) >= _BATCH:
            self._take()

    def add_end(self, source: TopicPartition, last_upstream: int, target_end: int) -> None:
        """One more pair, from a mirror that was stopped: where it stands for certain.

        `last_upstream` is the source connector's offset in Connect, the last source offset read (-1: it
        has none); `target_end` the end offset of the target partition, read *after* the mirror stopped.
        Not to be called while the mirror runs: positions beyond it would skip what still arrives.
        """
        self._ends[source] = MirrorEnd(last_upstream, target_end)

    def build(self) -> OffsetMap:
        """The map of everything added so far; the builder can be added to afterwards.

        `shown_gaps` are then the partitions that are said to have no gaps and whose syncs show one. What
        was folded of these is not believed: a builder that is told of them makes a better map.
        """
        self._take()
        found: dict[TopicPartition, BuiltPartition] = {}
        shown = set(self._shown)
        for partition, collected in zip(self._partitions, self._collected, strict=True):
            current = current_log(collected.segments(), folds=collected.folds)
            unseen: tuple[LostCopies, ...] = ()
            if current.has_gaps and self._gaps.get(partition) == "no":
                shown.add(partition)
                unseen = unseen_losses(collected.segments())
                if collected.folds:
                    current = current_log(collected.endpoints(), folds=False)
            said = self._gaps.get(partition, "unknown")
            built = built_partition(collected, current, self._ends.get(partition), said, partition in shown)
            found[partition] = built._replace(lost=(*unseen, *built.lost)) if unseen else built
        self.shown_gaps = frozenset(shown)
        empty = frozenset(p for p, end in self._ends.items() if end.target_end == 0) - found.keys()
        return OffsetMap(found, empty)

    def _take(self) -> None:
        keys, values, self._keys, self._values = self._keys, self._values, [], []
        if not keys:
            return
        for start in range(0, len(keys), _BATCH):
            batch = slice(start, start + _BATCH)
            upstream, downstream = self.pairs_of(values[batch], self._taken)
            ids = self._partition_ids(keys[batch])
            self._taken += len(ids)
            self._collect(ids, upstream, downstream)

    def _partition_ids(self, keys: list[bytes]) -> npt.NDArray[np.int32]:
        try:
            return np.fromiter(map(self._ids.__getitem__, keys), np.int32, len(keys))
        except KeyError:
            for key in set(keys).difference(self._ids):
                partition = self.source_of(key)
                self._partitions.append(partition)
                self._collected.append(
                    CollectedSyncs(
                        reaches_back=partition.topic not in self._recreated,
                        folds=self._gaps.get(partition) == "no" and partition not in self._shown,
                    )
                )
                self._ids[key] = len(self._ids)
            return self._partition_ids(keys)

    def _collect(self, ids: npt.NDArray[np.int32], upstream: Offsets, downstream: Offsets) -> None:
        if int(ids.min()) != int(ids.max()):
            order = np.argsort(ids, kind="stable")
            ids, upstream, downstream = ids[order], upstream[order], downstream[order]
        starts = np.concatenate(([0], np.flatnonzero(ids[1:] != ids[:-1]) + 1, [len(ids)]))
        for start, stop in pairwise(starts.tolist()):
            self._collected[ids[start]].add(upstream[start:stop], downstream[start:stop])


class OffsetMap:
    """Where a group that stood at a source offset has to stand at the target, and the way back."""

    def __init__(
        self,
        built: Mapping[TopicPartition, BuiltPartition],
        empty: frozenset[TopicPartition] = frozenset(),
        checked: Mapping[tuple[TopicPartition, int], Translated] = MappingProxyType({}),
        counted_back: Mapping[tuple[TopicPartition, int], tuple[int, Translated]] = MappingProxyType({}),
    ) -> None:
        self._built = dict(built)
        self._maps = {tp: found.map for tp, found in built.items() if found.map is not None}
        self._logs = {tp: found.log for tp, found in built.items() if found.map is not None}
        self._empty = empty
        self._inverse: dict[tuple[TopicPartition, int], InversePartitionMap] = {}
        self._checked, self._counted_back = checked, counted_back
        self.partitions = frozenset(self._built) | empty

    def translate(self, source: TopicPartition, upstream: int) -> Translated:
        """The target offset for a group whose next offset to read at the source is `upstream`.

        From it on, every mirrored record at or above `upstream` can be read. If it is exact, none below
        `upstream` can, as far as the offset syncs reach.
        """
        told = self._checked.get((source, upstream))
        if told is not None:
            return told
        found = self._maps.get(source)
        return self._unmapped(source) if found is None else found.translate(upstream)

    def checked_by_content(self, places: Mapping[tuple[TopicPartition, int], Translated]) -> OffsetMap:
        """The same map, with places of some source offsets as they were found or confirmed by content."""
        return OffsetMap(self._built, self._empty, {**self._checked, **places}, self._counted_back)

    def counted(self, source: TopicPartition, ahead: Counting, behind: Counting) -> OffsetMap:
        """The same map, with places of source (`ahead`) and target offsets (`behind`) found by counting.

        Each is a window (see `window_ahead`, `window_behind`) and the source offset in each of its slots.
        """
        there = {
            (source, at): place_ahead(self.translate(source, at), window, slots, at)
            for at, (window, slots) in ahead.items()
        }
        back = {
            (source, at): (
                int(window.downstream[0]),
                place_behind(self.inverse(source, at), self._inverse_map(source), window, slots, at),
            )
            for at, (window, slots) in behind.items()
        }
        return OffsetMap(self._built, self._empty, {**self._checked, **there}, {**self._counted_back, **back})

    def window_ahead(self, source: TopicPartition, upstream: int) -> Window | None:
        """In which source records are to be counted for a source offset; None where that would not help."""
        if source not in self._maps or self.translate(source, upstream).is_exact:
            return None
        return window_ahead(self._maps[source], self._logs[source], upstream)

    def window_behind(self, source: TopicPartition, downstream: int) -> Window | None:
        """The same for a target offset."""
        if source not in self._maps or self.inverse(source, downstream).is_exact:
            return None
        found, log = self._maps[source], self._logs[source]
        return window_behind(self._inverse_map(source), found, log, downstream)

    def is_found(self, source: TopicPartition, upstream: int) -> bool:
        """Whether the place of a source offset was found or confirmed by content, exactly."""
        told = self._checked.get((source, upstream))
        return told is not None and told.is_exact

    def open_stretch(self, source: TopicPartition, upstream: int) -> OpenStretch | None:
        """Where the record that stands for a source offset is to be looked for; see `PartitionMap`."""
        found = self._maps.get(source)
        return None if found is None else found.open_stretch(upstream)

    def may_have_gaps(self, source: TopicPartition) -> bool:
        """Whether the source partition may have gaps, so that nothing between two syncs is interpolated."""
        found = self._maps.get(source)
        return found is not None and found.may_have_gaps

    def translate_many(
        self, source: TopicPartition, upstream: Offsets
    ) -> tuple[Offsets, npt.NDArray[np.bool_]]:
        """By the map alone, many offsets of a partition: target offsets (-1: none), and which are exact."""
        found = self._maps.get(source)
        if found is not None:
            return found.translate_many(upstream)
        single = self._unmapped(source)
        offset = -1 if single.offset is None else single.offset
        return np.full(len(upstream), offset, np.int64), np.full(len(upstream), single.is_exact)

    def inverse(self, source: TopicPartition, downstream: int, *, since: int = 0) -> Translated:
        """The source offset for a group whose next offset to read at the target is `downstream`.

        From it on, every source record whose copy is not below `downstream` can be read. `since`: only
        what the target's log holds from that offset on counts; what stands before tells nothing of the
        source's log as it is now (see `cuts.py`).
        """
        counted = self._counted_back.get((source, downstream))
        if counted is not None and counted[0] >= since:
            return counted[1]
        log = self._logs.get(source, NO_SEGMENTS)
        if not np.any(log.downstream >= since):
            return self._unmapped(source) if downstream == 0 else _UNKNOWN
        return self._inverse_map(source, since).translate(downstream)

    def _inverse_map(self, source: TopicPartition, since: int = 0) -> InversePartitionMap:
        if (source, since) not in self._inverse:
            log = self._logs[source]
            self._inverse[source, since] = InversePartitionMap(log[np.flatnonzero(log.downstream >= since)])
        return self._inverse[source, since]

    def mirrored_end(self, source: TopicPartition, *, since: int = 0) -> int | None:
        """The next source offset that is not copied, as far as the map surely knows; None: it does not.

        `since`: only what the target's log holds from that offset on counts, as for `inverse`.
        """
        found = self._maps.get(source)
        if found is None or not since:
            return None if found is None else found.mirrored_end
        log = self._logs[source]
        log = log[np.flatnonzero(log.downstream >= since)]
        return int(log.last_upstream.max()) + 1 if len(log) else None

    def ended_at(self, source: TopicPartition) -> int | None:
        """The next source offset, of a mirror that is known to have stopped; None of one that may go on."""
        found = self._maps.get(source)
        return None if found is None or found.closing.kind == "open" else found.mirrored_end

    def first_copied(self, source: TopicPartition) -> int | None:
        """The first source offset of which a copy is known; None without any."""
        found = self._maps.get(source)
        return None if found is None else int(found.segments.upstream[0])

    def first_at_beginning(self, source: TopicPartition) -> int:
        """The first source offset of which a copy can ever have been made, as the oldest sync tells.

        The slots before it hold no more records than they are. 0 where no sync is known.
        """
        built = self._built.get(source)
        return 0 if built is None else max(0, built.first[0] - built.first[1])

    def lost_copies(self, source: TopicPartition) -> tuple[LostCopies, ...]:
        """Copies that the target had and lost again, in the order in which that happened."""
        built = self._built.get(source)
        return () if built is None else built.lost

    def no_later_than(self, source: TopicPartition, upstream: int) -> int | None:
        """For a position below the oldest sync: its record does not stand behind this target offset.

        Each record between them needs a slot of its own. None for any other position.
        """
        log = self._logs.get(source)
        if log is None or upstream >= int(log.upstream[0]):
            return None
        return max(0, int(log.downstream[0]) - (int(log.upstream[0]) - upstream))

    def mirrored_at_most(self, source: TopicPartition, target_end: int) -> int | None:
        """The next source offset that cannot be copied if the target's log ends at `target_end`.

        A record needs a slot, so the slots behind the newest sync tell how many more there can be; which
        source offsets these have follows only while every source offset is a record. None where the syncs
        show that some are not (transactions, compaction, a filter), and where there are no syncs.
        """
        if target_end == 0:
            return 0
        found_map, log = self._maps.get(source), self._logs.get(source)
        if found_map is None or found_map.may_have_gaps or log is None or log.has_source_gaps:
            return None
        found = self.inverse(source, target_end)
        if found.offset is None or found.reread_at_most is None:
            return None
        return found.offset + found.reread_at_most

    def first_target_offset(self, source: TopicPartition) -> int:
        """Where the oldest known record stands at the target; 0 where none is known."""
        log = self._logs.get(source, NO_SEGMENTS)
        return int(log.downstream[0]) if len(log) else 0

    def copied_again(self, source: TopicPartition) -> int:
        """How many copies are further ones of records that had one already, as far as the syncs tell.

        Each moves all later ones up by a slot. Of a source with gaps, which move them down, it is the least.
        """
        log = self._logs.get(source, NO_SEGMENTS)
        risen = np.diff(log.downstream - log.upstream)
        return int(risen[risen > 0].sum())

    def is_settled(self, source: TopicPartition) -> bool:
        """Whether no restart of the mirror can be unfinished, that is still copying records again."""
        found = self._maps.get(source)
        return found is not None and found.is_settled

    def segments(self, source: TopicPartition) -> int:
        """How many segments the syncs of a partition were folded into: the size of its map."""
        return len(self._logs.get(source, NO_SEGMENTS))

    def _unmapped(self, source: TopicPartition) -> Translated:
        if source in self._empty:
            return Translated(0, True, 0, "no record of this partition was ever mirrored")
        built = self._built.get(source)
        return _UNKNOWN if built is None else Translated(None, False, None, built.problem)
