"""What a primary that was lost holds when it is back, against what had been copied of it.

The mirror goes on from its own stored position. That is right only if the log still reaches there and
belongs to the same topic: after a power loss the log may be shorter, and the mirror would start from the
earliest offset, or pass over new records once they have grown beyond its position (facts: MirrorMaker 2).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from orchestrator.planning.failback_picture import Past
from orchestrator.planning.positions import source_partitions
from orchestrator.replication.cuts import Cut, Cuts
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import LogEnd, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The comparison, by the primary's partitions.

    `tail`: records that had not been copied and still arrive: late, not lost. `missing`: records that were
    seen in the log before the loss, were never copied, and are gone. `gap`: records that were not copied
    and have expired since. `set_offsets`: where the mirror's position must be set, the last offset read
    (None: none at all). `cuts` are all cuts of each log, the new ones last. `unrecorded`: nobody recorded how
    these logs stood, so that nothing tells what is missing from them.
    """

    tail: Mapping[TopicPartition, int]
    missing: Mapping[TopicPartition, int]
    gap: Mapping[TopicPartition, int]
    orphans: Mapping[TopicPartition, int]
    set_offsets: Mapping[TopicPartition, int | None]
    cuts: Cuts
    unrecorded: tuple[TopicPartition, ...] = ()
    problems: tuple[str, ...] = field(default=())

    @property
    def lost_records(self) -> int:
        """What the primary will not have: gone altogether, or at the standby only."""
        return sum(sum(part.values()) for part in (self.missing, self.gap, self.orphans))


def last_copied(
    partitions: Iterable[TopicPartition],
    *,
    stored: Mapping[TopicPartition, int],
    offset_map: OffsetMap,
    known_cuts: Cuts,
) -> dict[TopicPartition, int]:
    """The last source offset of each partition that the mirror surely has read; none of one that it has not.

    `stored`: the source connector's positions in Connect. They lag behind what was copied where the mirror
    was not stopped in order; the offset syncs tell of more. What was copied before the log was cut
    (`known_cuts`) tells nothing of the log as it is since.
    """
    found = {}
    for tp in partitions:
        since = max((cut.downstream for cut in known_cuts.get(tp, ())), default=0)
        last = max(stored.get(tp, -1), (offset_map.mirrored_end(tp, since=since) or 0) - 1)
        if last >= 0:
            found[tp] = last
    return found


def returned_side(
    topology: Topology,
    mirror: Replication,
    *,
    home: Mapping[TopicPartition, LogEnd],
    copied: Mapping[TopicPartition, LogEnd],
    last_read: Mapping[TopicPartition, int],
    past: Past,
) -> Returned:
    """The returned primary against what was recorded.

    `home`: its logs now. `copied`: logs at the standby, as they are named there. `last_read`: see
    `last_copied`.
    """
    # Not the samples: the watcher samples what has returned as well, and forgets what was before.
    left = past.left.log_ends() if past.left is not None else {}
    partitions = source_partitions(topology, mirror)
    return compare_returned(
        partitions,
        home=home,
        copied={tp: copied[mirror.mirrored(tp)] for tp in partitions if mirror.mirrored(tp) in copied},
        last_read=last_read,
        left=left,
        known_cuts=past.cuts,
    )


def compare_returned(
    partitions: Collection[TopicPartition],
    *,
    home: Mapping[TopicPartition, LogEnd],
    copied: Mapping[TopicPartition, LogEnd],
    last_read: Mapping[TopicPartition, int],
    left: Mapping[TopicPartition, LogEnd],
    known_cuts: Cuts,
) -> Returned:
    """Judge each partition; all are named as the primary names them.

    `home`: its logs now. `copied`: the logs of their copies at the standby. `last_read`: the last source
    offsets that the mirror surely has read, see `last_copied`. `left`: its logs as they stood when
    applications left.
    """
    tail: dict[TopicPartition, int] = {}
    missing: dict[TopicPartition, int] = {}
    gap: dict[TopicPartition, int] = {}
    orphans: dict[TopicPartition, int] = {}
    set_offsets: dict[TopicPartition, int | None] = {}
    cuts = dict(known_cuts)
    problems = []
    for tp in partitions:
        log, copy = home.get(tp), copied.get(tp)
        if log is None or copy is None:
            problems.append(f"{tp}: there is no log of it at {'either side' if log is copy else 'one side'}")
            continue
        read, seen = last_read.get(tp, -1) + 1, left.get(tp)
        if seen is not None and -1 < log.leader_epoch < seen.leader_epoch:
            problems.append(f"{tp}: leader epoch {log.leader_epoch}, but {seen.leader_epoch} was seen before")
        if seen is not None and seen.end_offset > max(log.end_offset, read):
            missing[tp] = seen.end_offset - max(log.end_offset, read)
        if log.end_offset < read:
            set_offsets[tp] = log.end_offset - 1 if log.end_offset else None
            cut = Cut(log.end_offset, copy.end_offset)
            if cut not in cuts.get(tp, ()):
                cuts[tp] = (*cuts.get(tp, ()), cut)
            orphans[tp] = min(read - log.end_offset, copy.end_offset - copy.start_offset)
            continue
        if log.start_offset > read:
            gap[tp] = log.start_offset - read
        if log.end_offset > read:
            tail[tp] = log.end_offset - max(read, log.start_offset)
    return Returned(
        tail=tail,
        missing=missing,
        gap=gap,
        orphans=orphans,
        set_offsets=set_offsets,
        cuts=cuts,
        unrecorded=tuple(tp for tp in partitions if tp not in left),
        problems=tuple(problems),
    )
