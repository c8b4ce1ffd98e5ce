"""Translating positions for a look or for a move by hand, from the best that is to be had.

Positions come from the source itself while it answers, else from the watcher's samples, else from what the
mirror's engine has translated itself and keeps at the target; or from a snapshot file. What was used is said.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, NamedTuple

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.probe import listening
from orchestrator.applications.by_content import positions_of, with_places
from orchestrator.applications.by_time import offsets_by_time
from orchestrator.errors import ClusterError, UsageError
from orchestrator.estate.live.connections import connect_cluster, isolated_cluster, kafka_cluster
from orchestrator.moves.positions import TargetPosition, target_positions
from orchestrator.moves.support import refuse_unsupported
from orchestrator.ports.servers import Kafka
from orchestrator.replication.engine import Asked, NoMapError, engine_of
from orchestrator.replication.mirror_ref import ref_to, source_partitions
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.replication.translation import (
    KeptPosition,
    source_partition,
    translate_kept,
)
from orchestrator.snapshot.known_gaps import sampled_gaps
from orchestrator.snapshot.live.reader import samples_for
from orchestrator.snapshot.samples import SampledPosition, SampleHistory
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.verbs.live.group_offsets import Snapshot

Origin = Literal["source", "samples", "checkpoints", "snapshot"]
Positions = Mapping[str, Mapping[TopicPartition, SampledPosition]]

_PROBE_TIMEOUT_S = 0.5
_SOURCE_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Translations:
    """Translated positions, and what they rest on.

    `origin`: where the positions come from; `origin_reason` why no better one. `is_closed`: the mirror
    is stopped, so the map reaches to its very end. `without`: groups of which no position is known.
    """

    rows: tuple[TargetPosition, ...]
    origin: Origin
    origin_reason: str
    is_closed: bool
    without: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Recorded:
    positions: Positions
    ends: Mapping[TopicPartition, LogEnd]
    lost_at_s: float


_Found = tuple[Origin, str, _Recorded, Mapping[str, Sequence[KeptPosition]]]


def translate_groups(
    topology: Topology,
    mirror: Replication,
    groups: Iterable[str] = (),
    snapshot: Positions | None = None,
) -> Translations:
    """Translate the positions of `groups` (by default all that the topology names for this mirror).

    `snapshot` holds positions to use instead of what can be found. Without a map only what the mirror's
    engine has translated itself is left. Raises `ClusterError` where the target does not answer, or has no
    map for a snapshot; `UsageError` for a group that is a Spark query.
    """
    refuse_unsupported(topology, "offsets")
    target = kafka_cluster(topology, mirror.target)
    consumers = _consumers(topology, mirror, groups)
    mirrored = [mirror.mirrored(tp) for tp in source_partitions(topology, mirror)]
    existing = target.topics({tp.topic for tp in mirrored})
    logs = target.log_ends(
        tp for tp in mirrored if tp.topic in existing and tp in existing[tp.topic].partitions
    )
    history, unsampled = _history(topology, target, mirror)
    recreated = history.recreated
    try:
        offset_map, is_closed = _offset_map(topology, mirror, target, logs, history)
    except NoMapError as error:
        if snapshot is not None:
            raise
        offset_map, is_closed = OffsetMap({}), False
        origin, reason, recorded, checkpoints = _from_checkpoints(
            _asked(topology, target), mirror, history, error.problem
        )
    else:
        found = _recorded(
            topology, mirror, target, consumers, snapshot=snapshot, history=history, unsampled=unsampled
        )
        origin, reason, recorded, checkpoints = found
    offset_map = with_places(
        target,
        mirror,
        offset_map,
        positions_of(recorded.positions),
        history.fingerprints,
        logs,
        history=history,
    )
    rows: list[TargetPosition] = []
    for consumer in consumers:
        rows += target_positions(
            topology,
            mirror,
            consumer,
            recorded=recorded.positions.get(consumer.group_id, {}),
            sampled_ends=recorded.ends,
            offset_map=offset_map,
            recreated=recreated,
            target_logs=logs,
            by_time=offsets_by_time(
                target,
                mirror,
                consumer,
                recorded.positions.get(consumer.group_id, {}),
                history=history,
                offset_map=offset_map,
            ),
            lost_at_s=recorded.lost_at_s,
        )
    if origin == "checkpoints":
        rows = [_by_checkpoint(row, checkpoints, offset_map, logs, recreated) for row in rows]
    known = {row.group for row in rows if row.source_offset is not None}
    without = tuple(one.group_id for one in consumers if one.group_id not in known)
    return Translations(
        rows=tuple(rows), origin=origin, origin_reason=reason, is_closed=is_closed, without=without
    )


def snapshot_positions(snapshot: Snapshot) -> Positions:
    """The positions in a snapshot file that was taken at the source."""
    return {
        group: {tp: SampledPosition(offset, snapshot.taken_at_s) for tp, offset in offsets.items()}
        for group, offsets in snapshot.groups.items()
    }


class CurrentMap(NamedTuple):
    """The offset map as of now, the mirrored logs, and the watcher's samples (empty without any)."""

    offset_map: OffsetMap
    logs: Mapping[TopicPartition, LogEnd]
    history: SampleHistory


def current_map(topology: Topology, mirror: Replication, target: KafkaCluster) -> CurrentMap:
    """The map as of now, closed at its end if the mirror is stopped."""
    topics = target.topics(mirror.mirrored_topic(name) for name in mirror.topics)
    logs = target.log_ends(tp for topic in topics.values() for tp in topic.partitions)
    history, _ = _history(topology, target, mirror)
    return CurrentMap(_offset_map(topology, mirror, target, logs, history)[0], logs, history)


def is_answering(topology: Topology, cluster: str) -> bool:
    """Whether any broker of a cluster takes a connection: far quicker than a Kafka client's time-out."""
    addresses = topology.clusters[cluster].bootstrap
    return bool(addresses) and "yes" in listening(addresses, _PROBE_TIMEOUT_S).values()


def _consumers(topology: Topology, mirror: Replication, groups: Iterable[str]) -> tuple[Consumer, ...]:
    """The file's consumers, by name or group id; a group that it does not know reads every mirrored topic."""
    here = topology.consumers_of(mirror.source)
    known = {c.group_id: c for c in here if c.groups} | {c.name: c for c in here}
    wanted = tuple(groups) or tuple(c.name for c in here if c.groups)
    found = []
    for name in wanted:
        consumer = known.get(name)
        if consumer is not None and not consumer.groups:
            problem = f"is a {consumer.noun}: it commits no group offsets"
            raise UsageError(f"consumer {name}", problem, consumer.how_else_translated(mirror.target))
        found.append(
            consumer or Consumer(name=name, cluster=mirror.source, kind="group", topics=mirror.topics)
        )
    return tuple(found)


def _history(topology: Topology, target: KafkaCluster, mirror: Replication) -> tuple[SampleHistory, str]:
    """The watcher's samples; without any an empty history, and why."""
    try:
        return samples_for(topology, ref_to(mirror), target), ""
    except ClusterError as error:
        return SampleHistory(), error.problem


def _asked(topology: Topology, target: KafkaCluster) -> Asked:
    """The target and the workers there."""

    def cluster(name: str) -> Kafka:
        return target if name == target.name else kafka_cluster(topology, name)

    return Asked(cluster, lambda name: connect_cluster(topology, name, timeout_s=3.0))


def _offset_map(
    topology: Topology,
    mirror: Replication,
    target: KafkaCluster,
    logs: Mapping[TopicPartition, LogEnd],
    history: SampleHistory,
) -> tuple[OffsetMap, bool]:
    """The map; closed by the mirror's last pair if its engine says that it stands."""
    engine, asked = engine_of(mirror), _asked(topology, target)
    stopped_at = engine.stopped_at(asked, mirror)
    recreated, gaps = history.recreated, sampled_gaps(topology, mirror, history)
    if stopped_at is None:
        return engine.offset_map(asked, mirror, recreated=recreated, gaps=gaps), False
    now = target.log_ends(logs)
    closed = engine.offset_map(asked, mirror, recreated=recreated, gaps=gaps, stopped_at=stopped_at, logs=now)
    return closed, True


def _recorded(
    topology: Topology,
    mirror: Replication,
    target: KafkaCluster,
    consumers: tuple[Consumer, ...],
    *,
    snapshot: Positions | None,
    history: SampleHistory,
    unsampled: str,
) -> _Found:
    now_s = time.time()
    if snapshot is not None:
        return "snapshot", "as asked", _Recorded(snapshot, {}, now_s), {}
    try:
        return "source", "the source answers", _from_source(topology, mirror, consumers), {}
    except ClusterError as error:
        reason = f"the source does not answer ({error.problem})"
    if unsampled:
        reason = f"{reason}; no samples ({unsampled})"
    sampled = {one.group_id: history.positions(one.group_id) for one in consumers}
    if any(sampled.values()):
        return "samples", reason, _Recorded(sampled, history.newest_ends(), history.ages_at_s(now_s)), {}
    asked = _asked(topology, target)
    return _from_checkpoints(asked, mirror, history, f"{reason}; the samples know none of these groups")


def _from_checkpoints(asked: Asked, mirror: Replication, history: SampleHistory, reason: str) -> _Found:
    checkpoints = engine_of(mirror).kept_positions(asked, mirror)
    positions: dict[str, dict[TopicPartition, SampledPosition]] = {}
    for group, found in checkpoints.items():
        for kept in found:
            source = source_partition(mirror, kept.partition)
            if source is not None:
                place = SampledPosition(kept.upstream, kept.written_s)
                positions.setdefault(group, {})[source] = place
    recorded = _Recorded(positions, history.newest_ends(), time.time())
    return "checkpoints", reason, recorded, checkpoints


def _from_source(topology: Topology, mirror: Replication, consumers: tuple[Consumer, ...]) -> _Recorded:
    if not is_answering(topology, mirror.source):
        raise ClusterError(f"cluster {mirror.source}", "no broker takes a connection")
    source = isolated_cluster(topology, mirror.source)
    at_s = time.time()
    try:
        committed = source.committed([consumer.group_id for consumer in consumers], _SOURCE_TIMEOUT_S)
        ends = source.log_ends(source_partitions(topology, mirror), _SOURCE_TIMEOUT_S)
    finally:
        source.reset()
    positions = {
        group: {tp: SampledPosition(offset, at_s) for tp, offset in offsets.items() if tp in ends}
        for group, offsets in committed.items()
    }
    return _Recorded(positions, ends, at_s)


def _by_checkpoint(
    row: TargetPosition,
    checkpoints: Mapping[str, Sequence[KeptPosition]],
    offset_map: OffsetMap,
    logs: Mapping[TopicPartition, LogEnd],
    recreated: Mapping[str, Recreation] = MappingProxyType({}),
) -> TargetPosition:
    """A kept position carries a translation of its own, which counts where the map knows nothing at all.

    What the map or the log refuses stays refused: the position may speak of a copy that is no more.
    """
    if row.source_partition in offset_map.partitions:
        return row
    recreation = recreated.get(row.topic)
    for kept in checkpoints.get(row.group, ()):
        if kept.partition != row.target_partition or (
            recreation is not None and kept.written_s < recreation.seen_s
        ):
            continue
        best = translate_kept(kept, row.source_partition, offset_map)
        log = logs.get(kept.partition)
        if best.offset is None or log is None or not log.start_offset <= best.offset <= log.end_offset:
            continue
        return replace(
            row,
            target_offset=best.offset,
            exact=best.is_exact,
            reread_at_most=best.reread_at_most,
            reason=best.reason,
        )
    return row
