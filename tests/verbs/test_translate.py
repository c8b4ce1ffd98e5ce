"""Translating, saving and restoring positions at a real target whose source is gone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster, produce_records
from orchestrator.applications.by_time import RECORD_TIME_MARGIN_S
from orchestrator.errors import ClusterError, DcctlError, UsageError
from orchestrator.mirrors.mirrormaker2.formats import (
    Checkpoint,
    OffsetSync,
    encode_offset_sync,
)
from orchestrator.ports.admin_values import NewTopic
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.snapshot.live.tidying import create_samples_topic, withdraw_useless
from orchestrator.snapshot.samples import (
    GroupPositions,
    Round,
    Sample,
    TopicEnds,
    WritersSeen,
    encode_sample,
)
from orchestrator.topology.model import Cluster, Consumer, Nodes, Replication, Topic, Topology
from orchestrator.topology.spark import SparkQuery
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.verbs.live.group_offsets import (
    Snapshot,
    read_snapshot,
    restore_snapshot,
    take_snapshot,
    write_snapshot,
)
from orchestrator.verbs.live.moving import move_group
from orchestrator.verbs.live.translate import snapshot_positions, translate_groups
from tests.kafka_broker import kafka_broker
from tests.replication.mirror_records import encode_checkpoint

ORDERS = TopicPartition("orders", 0)
RECORDS = 500


def topology_over(target: KafkaCluster, source: str) -> Topology:
    """A mirror from a source that nobody answers for."""
    nodes = Nodes(dc="d", brokers=1, controllers=1)
    return Topology(
        version=1,
        name="t",
        layout="active-passive",
        datacenters=("d",),
        clusters={
            source: Cluster(kafka="4.3.1", metadata="kraft", nodes=(nodes,), bootstrap=("127.0.0.1:9",)),
            "east": Cluster(
                kafka="4.3.1",
                metadata="kraft",
                nodes=(nodes,),
                bootstrap=(str(target.properties["bootstrap.servers"]),),
                connect=("http://127.0.0.1:9",),
            ),
        },
        topics=(Topic(name="orders", cluster=source, partitions=1, replicas=1, min_insync_replicas=1),),
        replication=(Replication(source=source, target="east", topics=("orders",)),),
        consumers=(
            Consumer(name="billing", cluster=source, kind="group", topics=("orders",)),
            SparkQuery(name="revenue", cluster=source, kind="spark", topics=("orders",)),
        ),
    )


@pytest.fixture(scope="module")
def east(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A target with mirrors from `west` and `north`: 500 records each, 1,000 offsets behind the source's."""
    folder = tmp_path_factory.mktemp("east")
    with kafka_broker(kafka_runtime("4.3.1", find_java()), folder) as cluster:
        names = [
            f"{source}.{rest}" for source in ("west", "north") for rest in ("orders", "checkpoints.internal")
        ]
        syncs = [f"mm2-offset-syncs.{source}.internal" for source in ("west", "north")]
        cluster.create_topics({name: NewTopic(replicas=1) for name in [*names, *syncs, "orders"]})
        for source in ("west", "north"):
            write(cluster, f"{source}.orders", [(b"k", b"v")] * RECORDS)
            pairs = [
                encode_offset_sync(OffsetSync(ORDERS, 1000 + n, n))
                for n in [*range(0, RECORDS, 50), RECORDS - 1]
            ]
            write(cluster, f"mm2-offset-syncs.{source}.internal", pairs)
        yield cluster


def write(cluster: KafkaCluster, topic: str, records: list[tuple[bytes, bytes]]) -> None:
    """Write and wait."""
    produce_records("east", cluster.properties, topic, records, timeout_s=60)


def committed(cluster: KafkaCluster, group: str) -> dict[TopicPartition, int]:
    """Committed offsets, once the new cluster has coordinators."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return cluster.committed([group])[group]
        except ClusterError:
            assert time.monotonic() < deadline
            time.sleep(0.2)


@pytest.mark.integration
def test_the_samples_tell_where_a_lost_sources_group_stood(east: KafkaCluster) -> None:
    """From the watcher's record through the exact map, with an age that is judged at the loss."""
    topology = topology_over(east, "west")
    mirror = topology.replication[0]
    create_samples_topic(east, mirror.samples_topic)
    samples: list[Sample] = [
        GroupPositions(watcher="w", group="billing", topic="orders", block=0, at_s=100, offsets={0: 1123}),
        TopicEnds(watcher="w", topic="orders", block=0, at_s=100, topic_id="x", ends={0: LogEnd(1000, 1500)}),
        WritersSeen(watcher="w", block=0, at_s=100, topics={"orders": TopicWriters("x", 1)}),
        Round(watcher="w", begun_at_s=100, ended_at_s=100.1, outcome="good", full_at_s=100),
        Round(watcher="w", begun_at_s=101, ended_at_s=101.2, outcome="failed", cause="refused"),
    ]
    write(east, mirror.samples_topic, [encode_sample(sample) for sample in samples])
    found = translate_groups(topology, mirror)
    (row,) = found.rows
    assert found.origin == "samples"
    assert "no broker takes a connection" in found.origin_reason
    assert (row.target_topic, row.target_offset, row.exact) == ("west.orders", 123, True)
    assert row.position_age_s == pytest.approx(1.2)
    with pytest.raises(UsageError, match="is a Spark query"):
        translate_groups(topology, mirror, ["revenue"])
    assert translate_groups(topology, mirror, ["nobody"]).without == ("nobody",)

    # What a watcher that is long silent knows stays until a later one knows it better.
    days_s = 10 * 86_400
    later = Round(watcher="v", begun_at_s=days_s, ended_at_s=days_s, outcome="good", full_at_s=days_s)
    write(east, mirror.samples_topic, [encode_sample(later)])
    assert withdraw_useless(east, mirror.samples_topic) == 0
    known = [replace(sample, watcher="v", at_s=days_s) for sample in samples[:3]]
    write(east, mirror.samples_topic, [encode_sample(sample) for sample in known])
    assert withdraw_useless(east, mirror.samples_topic) == 4


@pytest.mark.integration
def test_without_samples_mirrormakers_checkpoints_are_used(east: KafkaCluster) -> None:
    """Coarse at MirrorMaker; nobody saw who writes the source, so the map says no more than that either."""
    topology = topology_over(east, "north")
    mirror = topology.replication[0]
    checkpoint = Checkpoint("billing", TopicPartition("north.orders", 0), 1123, 51)
    write(east, mirror.checkpoints_topic, [encode_checkpoint(checkpoint)])
    found = translate_groups(topology, mirror)
    assert found.origin == "checkpoints"
    assert "no watcher has ever run" in found.origin_reason
    assert [(row.source_offset, row.target_offset, row.exact) for row in found.rows] == [(1123, 101, False)]
    assert "may have gaps" in found.rows[0].reason

    # Before the first sync of the copy as it is now: a checkpoint may speak of one that is no more.
    older = Checkpoint("billing", TopicPartition("north.orders", 0), 900, 400)
    write(east, mirror.checkpoints_topic, [encode_checkpoint(older)])
    (row,) = translate_groups(topology, mirror).rows
    assert (row.source_offset, row.target_offset) == (900, None)
    assert "below the oldest offset sync" in row.reason


@pytest.mark.integration
def test_without_offset_syncs_mirrormakers_own_translation_is_left(east: KafkaCluster) -> None:
    """Its default keeps the syncs at the source, which is gone: coarse, and said so."""
    topology = topology_over(east, "south")
    mirror = topology.replication[0]
    names = (mirror.checkpoints_topic, mirror.mirrored_topic("orders"))
    east.create_topics({name: NewTopic(replicas=1) for name in names})
    write(east, mirror.mirrored_topic("orders"), [(b"k", b"v")] * RECORDS)
    checkpoint = Checkpoint("billing", TopicPartition("south.orders", 0), 1123, 101)
    write(east, mirror.checkpoints_topic, [encode_checkpoint(checkpoint)])
    found = translate_groups(topology, mirror)
    assert found.origin == "checkpoints"
    assert [(row.source_offset, row.target_offset, row.exact) for row in found.rows] == [(1123, 101, False)]
    saved = snapshot_positions(Snapshot("south", time.time(), {"billing": {ORDERS: 1050}}))
    with pytest.raises(ClusterError, match="there is no such topic"):
        translate_groups(topology, mirror, snapshot=saved)


@pytest.mark.integration
def test_a_position_without_a_translation_goes_by_time(east: KafkaCluster) -> None:
    """Ten minutes of records, a second each; the syncs begin behind the group: three minutes are read again."""
    topology = topology_over(east, "centre")
    topology = replace(topology, consumers=(replace(topology.consumers[0], on_untranslatable="timestamp"),))
    mirror = topology.replication[0]
    mirrored = mirror.mirrored_topic("orders")
    east.create_topics({name: NewTopic(replicas=1) for name in (mirrored, mirror.offset_syncs_topic)})
    create_samples_topic(east, mirror.samples_topic)
    now_s = int(time.time())
    producer = Producer({"bootstrap.servers": east.properties["bootstrap.servers"]})
    for second in range(600):
        producer.produce(mirrored, b"v", timestamp=(now_s - 600 + second) * 1000)
    assert producer.flush(60) == 0
    write(east, mirror.offset_syncs_topic, [encode_offset_sync(OffsetSync(ORDERS, 1_550, 550))])
    samples: list[Sample] = []
    for second in range(0, 600, 5):
        at_s = now_s - 600 + second
        ends = {0: LogEnd(1_000, 1_000 + second)}
        samples.append(TopicEnds(watcher="w", topic="orders", block=0, at_s=at_s, topic_id="x", ends=ends))
        samples.append(Round(watcher="w", begun_at_s=at_s, ended_at_s=at_s, outcome="good", full_at_s=at_s))
    position = GroupPositions(
        watcher="w", group="billing", topic="orders", block=0, at_s=now_s - 5, offsets={0: 1_400}
    )
    write(east, mirror.samples_topic, [encode_sample(sample) for sample in [position, *samples]])
    (row,) = translate_groups(topology, mirror).rows
    assert (row.source_offset, row.exact, row.reread_at_most) == (1_400, False, 600 - 220)
    assert row.target_offset == 400 - int(RECORD_TIME_MARGIN_S)
    assert row.reason.endswith("by the time of the record")


@pytest.mark.integration
def test_a_group_is_moved_by_hand_and_put_back(east: KafkaCluster, tmp_path: Path) -> None:
    """Every partition that it will read is written; what was there before is a file that restores it."""
    topology = topology_over(east, "west")
    saved = snapshot_positions(Snapshot("west", time.time(), {"billing": {ORDERS: 1050}}))
    committed(east, "billing")
    moved = move_group(topology, "billing", "east", landing="start", write=True, snapshot=saved)
    expected = {TopicPartition("west.orders", 0): 50, TopicPartition("orders", 0): 0}
    assert moved.offsets == committed(east, "billing") == expected
    assert moved.before.groups["billing"] == {}

    file = tmp_path / "billing.json"
    write_snapshot(take_snapshot(topology, "east", ["billing"]), file)
    changed = {TopicPartition("west.orders", 0): 77}
    east.write_group_offsets("billing", changed)
    before = restore_snapshot(topology, "east", read_snapshot(file))
    assert before.groups["billing"][TopicPartition("west.orders", 0)] == 77
    assert committed(east, "billing") == expected

    outside = Snapshot("east", 0.0, {"billing": {TopicPartition("west.orders", 0): 9999}})
    with pytest.raises(DcctlError, match=r"outside the log: billing west.orders-0 at 9999"):
        restore_snapshot(topology, "east", outside)
    missing = Snapshot("east", 0.0, {"billing": {TopicPartition("none", 0): 1}})
    with pytest.raises(DcctlError, match="lacks none-0"):
        restore_snapshot(topology, "east", missing)
    far = snapshot_positions(Snapshot("west", 0.0, {"billing": {ORDERS: 5}}))
    with pytest.raises(DcctlError, match="cannot be moved"):
        move_group(topology, "billing", "east", landing="start", write=True, snapshot=far)
    assert committed(east, "billing") == expected


def test_a_snapshot_file_reads_back_and_others_are_refused(tmp_path: Path) -> None:
    """Its format, and a clear word for any other file."""
    file = tmp_path / "offsets.json"
    snapshot = Snapshot("west", 12.5, {"a": {ORDERS: 3}, "b": {TopicPartition("x", 11): 0}})
    write_snapshot(snapshot, file)
    assert read_snapshot(file) == snapshot
    for content in ("[]", "{", '{"kind": "other", "format_version": 1}', '{"kind":"group-offsets"}'):
        file.write_text(content)
        with pytest.raises(DcctlError, match="is not a snapshot of group offsets"):
            read_snapshot(file)
    with pytest.raises(DcctlError, match="cannot be read"):
        read_snapshot(tmp_path / "none.json")
