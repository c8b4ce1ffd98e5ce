"""The landing topics, once a failback has been: what a group had read of them at the primary, as copies.

A group back at the primary reads the rest of what the standby had taken from the copy there
(`east.orders`). When it comes again, it goes on in the landing topic (`orders`) from the same record. The
map for that stays at the standby, and its last pair is written by the failback: nobody could tell later
where the copy ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.applications.by_counting import with_counted_places
from orchestrator.moves.ports import Maps
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.replication.positions_back import landing_position
from orchestrator.replication.translation import source_partition
from orchestrator.runs.effect import Running
from orchestrator.runs.ports import Clusters
from orchestrator.snapshot.samples import SampledPosition
from orchestrator.topology.model import Consumer, Topology
from orchestrator.values import LogEnd, TopicPartition


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """The landing topics and the map to their copies at the primary; `partitions`: by topic, those copied."""

    offset_map: OffsetMap
    logs: Mapping[TopicPartition, LogEnd]
    partitions: Mapping[str, Sequence[TopicPartition]]

    def place(self, landing: TopicPartition, at: int) -> Translated:
        """Where to go on in a landing partition from offset `at` of its copy."""
        log = self.logs[landing]
        found = landing_position(self.offset_map, landing, at, log.start_offset)
        if found.offset is None:
            return found
        return found._replace(offset=min(max(found.offset, log.start_offset), log.end_offset))


def brought_back(run: Running, mirror: MirrorRef) -> BroughtBack | None:
    """What failbacks have brought to the primary; None where none was ever begun.

    `mirror`: the file's. Raises `ClusterError`.
    """
    topology, target = run.port(Topology), run.port(Clusters).cluster(mirror.target)
    forward = mirror.of(topology)
    offset_map = None if forward.keeps_names else run.port(Maps).kept(mirror.other_way)
    if offset_map is None:
        return None
    described = target.topics(forward.topics)
    logs = target.log_ends([tp for topic in described.values() for tp in topic.partitions])
    by_topic: dict[str, list[TopicPartition]] = {}
    for tp in logs:
        if offset_map.segments(tp):  # of the others nothing was ever brought over: their ends hold
            by_topic.setdefault(tp.topic, []).append(tp)
    return BroughtBack(offset_map, logs, by_topic)


def landing_offsets(
    run: Running,
    mirror: MirrorRef,
    consumers: Iterable[Consumer],
    recorded: Mapping[str, Mapping[TopicPartition, SampledPosition]],
) -> dict[str, dict[TopicPartition, int]]:
    """Where each group goes on in the landing topics; empty where no failback was ever begun.

    `recorded`: what each group had committed at the primary. A group of which no position in the copies is
    known starts where the log does: what it has read of them nobody knows. Raises `ClusterError`.
    """
    brought = brought_back(run, mirror)
    if brought is None:
        return {}
    reverse = mirror.other_way.of(run.port(Topology))
    copies: dict[TopicPartition, set[int]] = {}
    for tp, at in (item for positions in recorded.values() for item in positions.items()):
        source = source_partition(reverse, tp)
        if source is not None:
            copies.setdefault(source, set()).add(at.offset)
    counted = with_counted_places(run, mirror.other_way, brought.offset_map, behind=copies)
    brought = replace(brought, offset_map=counted)
    found: dict[str, dict[TopicPartition, int]] = {}
    for consumer in consumers:
        own = found.setdefault(consumer.group_id, {})
        for landing in (
            tp
            for topic in run.port(Topology).topics_read(consumer)
            for tp in brought.partitions.get(topic, ())
        ):
            position = recorded[consumer.group_id].get(reverse.mirrored(landing))
            placed = brought.place(landing, 0 if position is None else position.offset)
            if placed.offset is not None:
                own[landing] = placed.offset
    return found
