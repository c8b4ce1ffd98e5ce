"""Moving one consumer by hand: a group's offsets, or a Spark query's checkpoint."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from orchestrator.adapters.checkpoint_files import local_checkpoint, newest_write_s
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.applications.by_time import offsets_by_time
from orchestrator.applications.spark.checkpoints import Place, placed_by
from orchestrator.applications.spark.live.relocation import (
    checkpoint_positions,
    copy_folder,
    refuse_running_original,
    relocate_checkpoint,
    undo_relocation,
)
from orchestrator.applications.spark.ports import RelocationReport
from orchestrator.applications.translating import HOW_TO_PLACE
from orchestrator.errors import DcctlError, UsageError
from orchestrator.estate.live.connections import kafka_cluster
from orchestrator.moves.positions import offsets_to_write, partitions_to_read
from orchestrator.moves.support import refuse_unsupported
from orchestrator.replication.mirror_ref import mirrors_into
from orchestrator.runs.live.by_hand import ByHand, by_hand
from orchestrator.snapshot.samples import SampledPosition
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.topology.spark import SparkQuery, queries_of
from orchestrator.values import TopicPartition
from orchestrator.verbs.live.group_offsets import Snapshot
from orchestrator.verbs.live.translate import Positions, Translations, current_map, translate_groups

C = TypeVar("C", bound=Consumer)
Landing = Literal["start", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedGroup:
    """`offsets`: what the group has at the target (or would have). `before`: what it had there."""

    translations: Translations
    offsets: dict[TopicPartition, int]
    before: Snapshot
    is_written: bool


def move_group(
    topology: Topology,
    group: str,
    to: str,
    *,
    landing: Landing,
    write: bool,
    snapshot: Positions | None = None,
) -> MovedGroup:
    """Translate a group's positions and, with `write`, commit them at the target.

    Each landing partition gets the start or the end of its log. Raises `DcctlError`, with nothing
    written, if a position has no translation or the group has running members at either side, and
    `LockHeldError` where a run is under way.
    """
    refuse_unsupported(topology, "relocate")
    consumer = _named(group, [c for c in topology.consumers if c.groups], Consumer.noun)
    mirror = _mirror(topology, consumer, to)
    if not write:
        return _moved_group(topology, consumer, mirror, landing, snapshot, None)
    with by_hand(topology, [to], f"relocate group {group}") as hand:
        return _moved_group(topology, consumer, mirror, landing, snapshot, hand)


def _moved_group(  # noqa: PLR0917 - what is moved, and under whose lock
    topology: Topology,
    consumer: Consumer,
    mirror: Replication,
    landing: Landing,
    snapshot: Positions | None,
    hand: ByHand | None,
) -> MovedGroup:
    group, to = consumer.group_id, mirror.target
    target = kafka_cluster(topology, to)
    translations = translate_groups(topology, mirror, [consumer.name], snapshot)
    without = [f"{r.source_partition}: {r.reason}" for r in translations.rows if r.target_offset is None]
    if without:
        raise DcctlError(
            f"consumer {consumer.called}",
            f"cannot be moved, these positions cannot be translated to {to}: {'; '.join(without)}",
            HOW_TO_PLACE,
        )
    starts = _landing_offsets(topology, mirror, consumer, target, landing)
    offsets = offsets_to_write(topology, mirror, [consumer], translations.rows, starts)[group]
    offsets = _beside_others(topology, consumer, mirror, offsets)
    before = Snapshot(to, time.time(), target.committed([group]))
    if hand is not None:
        if translations.origin == "source":
            _refuse_members(kafka_cluster(topology, mirror.source), group)
        _refuse_members(target, group)
        hand.note({"cluster": to, "groups": [group]})
        target.write_group_offsets(group, offsets, may_write=hand.may_write)
    return MovedGroup(translations=translations, offsets=offsets, before=before, is_written=hand is not None)


def move_query(
    topology: Topology,
    query: str,
    to: str,
    *,
    landing: Landing,
    run_id: str,
    checkpoint: Path | None = None,
    destination: Path | None = None,
    is_attested_stopped: bool = False,
) -> RelocationReport:
    """Relocate a Spark query's checkpoint to its standby place, or to `destination`.

    Taken is the watcher's copy, or `checkpoint`, which must be at rest unless a person attests that its
    query is stopped. Raises `DcctlError` for everything that forbids it, and `LockHeldError` where a run is
    under way; then nothing has changed.
    """
    refuse_unsupported(topology, "relocate")
    consumer = _query(topology, query)
    mirror = _mirror(topology, consumer, to)
    with by_hand(topology, [to], f"relocate spark {query}") as hand:
        if checkpoint is not None and not is_attested_stopped:
            refuse_running_original(checkpoint, time.time())
        copy = checkpoint or copy_folder(consumer)
        place = destination or standby_folder(topology, query)
        translate, starts = _places_of_query(topology, consumer, mirror, landing, copy)
        hand.note({"cluster": to, "query": query, "destination": str(place)})
        return relocate_checkpoint(
            copy,
            place,
            translate,
            mirror.mirrored_topic,
            starts,
            query=query,
            sink=consumer.sink,
            run_id=run_id,
            is_at_rest=checkpoint is not None,
        )


def undo_move_of_query(topology: Topology, query: str, destination: Path | None) -> tuple[Path, Path | None]:
    """Take the last relocation of a query's checkpoint back.

    Returns its place, and where what was relocated lies now (None: it had never come to its place). Raises as
    `undo_relocation` does, and `LockHeldError` where a run is under way.
    """
    place = destination or standby_folder(topology, query)
    consumer = _query(topology, query)
    clusters = [m.target for m in topology.replication if m.source == consumer.cluster]
    with by_hand(topology, clusters, f"relocate spark {query} --undo") as hand:
        hand.note({"query": query, "destination": str(place)})
        return place, undo_relocation(place)


def _places_of_query(
    topology: Topology, consumer: SparkQuery, mirror: Replication, landing: Landing, copy: Path
) -> tuple[Place, dict[TopicPartition, int]]:
    """Where each offset of the checkpoint goes on, and the starts of what it did not know."""
    target = kafka_cluster(topology, mirror.target)
    offset_map, logs, history = current_map(topology, mirror, target)
    written_at_s = newest_write_s(copy) or 0.0
    by_time: dict[TopicPartition, int] = {}
    if consumer.on_untranslatable == "timestamp":
        offsets = checkpoint_positions(copy)
        positions = {tp: SampledPosition(offset, written_at_s) for tp, offset in offsets.items()}
        by_time = offsets_by_time(target, mirror, consumer, positions, history=history, offset_map=offset_map)

    translate = placed_by(
        consumer,
        mirror,
        offset_map,
        logs,
        recreated=history.recreated,
        committed_at_s=written_at_s,
        by_time=by_time,
    )
    own = {mirror.mirrored_topic(topic) for topic in consumer.topics}
    starts = {tp: log.start_offset for tp, log in logs.items() if tp.topic in own}
    starts |= _landing_offsets(topology, mirror, consumer, target, landing)
    return translate, starts


def standby_folder(topology: Topology, query: str) -> Path:
    """Where the query opens its checkpoint after a move."""
    consumer = _query(topology, query)
    if consumer.standby_checkpoint is None:
        raise DcctlError(
            f"consumer {query}",
            "has no standby_checkpoint",
            "name it in the topology file, or give a destination",
        )
    return local_checkpoint(f"consumer {query}", consumer.standby_checkpoint)


def _named(name: str, known: Sequence[C], noun: str) -> C:
    found = next((consumer for consumer in known if consumer.name == name), None)
    same = [consumer for consumer in known if consumer.group_id == name]
    if found is None and len(same) > 1:
        names = ", ".join(consumer.name for consumer in same)
        raise UsageError(f"{noun} {name}", f"is the group of several consumers: {names}", "name one of them")
    if found is None and same:
        return same[0]
    if found is None:
        names = ", ".join(consumer.name for consumer in known) or "none"
        raise UsageError(f"{noun} {name}", f"the topology file has no such {noun}; it has: {names}")
    return found


def _query(topology: Topology, name: str) -> SparkQuery:
    return _named(name, [query for _, query in queries_of(topology)], SparkQuery.noun)


def _mirror(topology: Topology, consumer: Consumer, to: str) -> Replication:
    for mirror in mirrors_into(topology, to):
        if mirror.source == consumer.cluster:
            return mirror
    raise UsageError(
        f"consumer {consumer.name}", f"is at {consumer.cluster}, and no mirror copies from there to {to}"
    )


def _landing_offsets(
    topology: Topology, mirror: Replication, consumer: Consumer, target: KafkaCluster, landing: Landing
) -> dict[TopicPartition, int]:
    """Where the consumer starts in the topics that producers write at the target."""
    if mirror.keeps_names:
        return {}
    own = {mirror.mirrored_topic(topic) for topic in consumer.topics}
    wanted = [tp for tp in partitions_to_read(topology, mirror, consumer) if tp.topic not in own]
    logs = target.log_ends(wanted)
    return {tp: log.start_offset if landing == "start" else log.end_offset for tp, log in logs.items()}


def _beside_others(
    topology: Topology, consumer: Consumer, mirror: Replication, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """What is written where the file has another consumer of the group: in topics of its own it goes on.

    Raises `DcctlError` where one position would serve both.
    """
    others = [one for one in topology.consumers_of(mirror.target) if one.groups == consumer.groups]
    own = {name: one for one in others for name in topology.topics_read(one)}
    for name in map(mirror.mirrored_topic, topology.topics_read(consumer)):
        if name in own and not mirror.keeps_names:
            raise DcctlError(
                f"consumer {consumer.called}",
                f"reads {name} at {mirror.target} with one position for it and for {own[name].name}",
                "give each a `group` of its own",
            )
    return {tp: at for tp, at in offsets.items() if tp.topic not in own}


def _refuse_members(cluster: KafkaCluster, group: str) -> None:
    members = cluster.group_members([group])[group]
    if members:
        raise DcctlError(
            f"group {group}",
            f"has {members} running members at {cluster.name}; nothing was written",
            "stop its consumers first: offsets that they commit later would not be translated",
        )
