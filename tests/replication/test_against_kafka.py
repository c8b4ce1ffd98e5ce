"""Our formats, names, configurations and translation held against Kafka's own classes and a real broker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from py4j.java_gateway import JavaGateway

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import KafkaRuntime, kafka_runtime
from orchestrator.adapters.kafka.cluster import KafkaCluster
from orchestrator.adapters.kafka.records import produce_records, read_records
from orchestrator.mirrors.mirrormaker2.checkpoints import kept, newest_checkpoints
from orchestrator.mirrors.mirrormaker2.connectors import connector_names, desired_connectors
from orchestrator.mirrors.mirrormaker2.formats import (
    Checkpoint,
    Heartbeat,
    OffsetSync,
    decode_checkpoint,
    decode_heartbeat,
    decode_offset_sync,
    encode_offset_sync,
)
from orchestrator.mirrors.mirrormaker2.offset_syncs import OffsetSyncs
from orchestrator.ports.admin_values import NewTopic
from orchestrator.replication.translation import (
    source_partition,
    translate_kept,
)
from orchestrator.topology.model import Cluster, Nodes, Replication, Topology
from orchestrator.values import TopicPartition
from tests.java_gateway import consumer_record, hidden_result, java_gateway
from tests.kafka_broker import kafka_broker
from tests.replication.mirror_records import encode_checkpoint, encode_heartbeat

pytestmark = pytest.mark.integration

_MIRROR = Replication(source="west", target="east", topics=("orders", "eu.payments"))
_NAMES = ("orders", "bestellungen-süd", "注文", "")
_OFFSETS = (0, 1, 127, 128, 65_535, 2**31, 2**63 - 1)


@pytest.fixture(scope="module")
def runtime() -> KafkaRuntime:
    return kafka_runtime("4.3.1", find_java())


@pytest.fixture(scope="module")
def gateway(runtime: KafkaRuntime) -> Iterator[JavaGateway]:
    with java_gateway(runtime) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def cluster(runtime: KafkaRuntime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    with kafka_broker(runtime, tmp_path_factory.mktemp("kafka")) as cluster:
        yield cluster


def test_offset_syncs_are_kafkas(gateway: JavaGateway) -> None:
    """Kafka's class reads what ours wrote, and ours reads what Kafka's wrote."""
    mirror = gateway.jvm.org.apache.kafka.connect.mirror
    for name in _NAMES:
        for offset in _OFFSETS:
            sync = OffsetSync(TopicPartition(name, 3), offset, offset // 2)
            found = mirror.OffsetSync.deserializeRecord(consumer_record(gateway, *encode_offset_sync(sync)))
            assert _partition(found.topicPartition()) == sync.partition
            assert (found.upstreamOffset(), found.downstreamOffset()) == sync[1:]
            assert decode_offset_sync(*_written(gateway, found)) == sync


def test_checkpoints_are_kafkas(gateway: JavaGateway) -> None:
    """Both ways, metadata included."""
    mirror = gateway.jvm.org.apache.kafka.connect.mirror
    for name in _NAMES:
        checkpoint = Checkpoint(name, TopicPartition(f"west.{name}", 7), 2**40, 2**39, name)
        found = mirror.Checkpoint.deserializeRecord(consumer_record(gateway, *encode_checkpoint(checkpoint)))
        assert (found.consumerGroupId(), _partition(found.topicPartition())) == checkpoint[:2]
        assert (found.upstreamOffset(), found.downstreamOffset(), found.metadata()) == checkpoint[2:]
        assert decode_checkpoint(*_written(gateway, found)) == checkpoint


def test_heartbeats_are_kafkas(gateway: JavaGateway) -> None:
    """Both ways."""
    mirror = gateway.jvm.org.apache.kafka.connect.mirror
    heartbeat = Heartbeat("west", "east", 1_760_000_000_000)
    found = mirror.Heartbeat.deserializeRecord(consumer_record(gateway, *encode_heartbeat(heartbeat)))
    assert (found.sourceClusterAlias(), found.targetClusterAlias(), found.timestamp()) == heartbeat
    assert decode_heartbeat(*_written(gateway, found)) == heartbeat


@pytest.mark.parametrize("policy", ["default", "identity"])
@pytest.mark.parametrize("separator", [".", "_"])
def test_topics_are_named_as_kafkas_policy_does(gateway: JavaGateway, policy: str, separator: str) -> None:
    """Mirrored topics, offset syncs and checkpoints, under both policies and any separator."""
    replication = replace(_MIRROR, policy=policy, separator=separator)
    source, *_ = _connectors(replication).values()
    java_class = source["replication.policy.class"].rpartition(".")[2]
    theirs = getattr(gateway.jvm.org.apache.kafka.connect.mirror, java_class)()
    theirs.configure(gateway.jvm.java.util.HashMap(source))
    assert theirs.formatRemoteTopic("west", "orders") == replication.mirrored_topic("orders")
    assert theirs.offsetSyncsTopic("west") == replication.offset_syncs_topic
    assert theirs.checkpointsTopic("west") == replication.checkpoints_topic


def test_connect_accepts_the_connectors(gateway: JavaGateway) -> None:
    """No property is in error, and none is one that MirrorMaker does not know."""
    mirror = gateway.jvm.org.apache.kafka.connect.mirror
    for config in _connectors(_MIRROR).values():
        connector = getattr(mirror, config["connector.class"].rpartition(".")[2])()
        validated = connector.validate(gateway.jvm.java.util.HashMap(config)).configValues()
        assert {
            value.name(): list(value.errorMessages()) for value in validated if value.errorMessages()
        } == {}
        known = set(connector.config().names())
        clients = re.compile(r"(source|target)\.(cluster|consumer|admin)\.|producer\.override\.")
        filters = {"topics", "topics.exclude", "groups", "groups.exclude"}  # read by their own classes
        assert {key for key in config if key not in known | filters and not clients.match(key)} == set()


def test_checkpoints_alone_are_translated_as_kafkas_client_does(
    gateway: JavaGateway, cluster: KafkaCluster
) -> None:
    """`RemoteClusterUtils.translateOffsets` from the same topic; and the map improves on it, never less."""
    groups, checkpoints = ("billing", "shipping", "süd"), []
    for position in range(0, 1000, 37):
        for number, group in enumerate(groups):
            for partition in range(3):
                upstream = position * (number + 1) % 2500  # some go back
                target = TopicPartition(_MIRROR.mirrored_topic("orders"), partition)
                behind = upstream // 400 * 400 + (upstream % 400 > 0)
                checkpoints.append(Checkpoint(group, target, upstream, behind))
    _fill(cluster, _MIRROR.checkpoints_topic, [encode_checkpoint(checkpoint) for checkpoint in checkpoints])
    syncs = [
        OffsetSync(TopicPartition("orders", partition), offset, offset)
        for offset in range(0, 2800, 100)
        for partition in range(3)
    ]
    _fill(cluster, _MIRROR.offset_syncs_topic, [encode_offset_sync(sync) for sync in syncs])

    stored = [decode_checkpoint(*record) for record in _read(cluster, _MIRROR.checkpoints_topic)]
    newest, nothing = newest_checkpoints(map(kept, stored)), OffsetSyncs().build()
    ours: dict[str, dict[TopicPartition, int | None]] = {}
    for (group, partition), checkpoint in newest.items():
        alone = translate_kept(checkpoint, TopicPartition("orders", partition.partition), nothing)
        ours.setdefault(group, {})[partition] = alone.offset
    for group in groups:
        assert ours[group] == _translated_by_kafka(gateway, cluster, group)

    builder = OffsetSyncs(gaps=dict.fromkeys((sync.partition for sync in syncs), "no"))
    records = _read(cluster, _MIRROR.offset_syncs_topic)
    builder.add_syncs([key for key, _ in records], [value for _, value in records])
    offset_map = builder.build()
    for checkpoint in newest.values():
        source = source_partition(_MIRROR, checkpoint.partition)
        assert source is not None
        better = translate_kept(checkpoint, source, offset_map)
        assert better[:3] == (checkpoint.upstream, True, 0)
        assert better.offset is not None
        assert better.offset >= (ours[checkpoint.group][checkpoint.partition] or 0)


def _translated_by_kafka(
    gateway: JavaGateway, cluster: KafkaCluster, group: str
) -> dict[TopicPartition, int]:
    jvm = gateway.jvm
    properties = jvm.java.util.HashMap({"bootstrap.servers": str(cluster.properties["bootstrap.servers"])})
    found = jvm.org.apache.kafka.connect.mirror.RemoteClusterUtils.translateOffsets(
        properties, _MIRROR.source, group, jvm.java.time.Duration.ofSeconds(30)
    )
    return {_partition(entry.getKey()): entry.getValue().offset() for entry in found.entrySet()}


def _connectors(replication: Replication) -> dict[str, dict[str, str]]:
    clusters = {
        dc: Cluster(kafka="4.3.1", metadata="kraft", nodes=(Nodes(dc=dc, brokers=3, controllers=3),))
        for dc in ("west", "east")
    }
    topology = Topology(
        version=1, name="t", layout="active-passive", datacenters=("west", "east"), clusters=clusters
    )
    client = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    connectors = desired_connectors(topology, replication, client, client, "w:1", "e:1")
    assert tuple(connectors) == connector_names(replication)
    return connectors


def _partition(partition: object) -> TopicPartition:
    return TopicPartition(partition.topic(), partition.partition())  # type: ignore[attr-defined]


def _written(gateway: JavaGateway, record: object) -> tuple[bytes, bytes]:
    key, value = (hidden_result(gateway, record, method) for method in ("recordKey", "recordValue"))
    return bytes(key), bytes(value)


def _fill(cluster: KafkaCluster, topic: str, records: list[tuple[bytes, bytes]]) -> None:
    cluster.create_topics({topic: NewTopic(replicas=1, config={"cleanup.policy": "compact"})})
    produce_records(cluster.name, cluster.properties, topic, records)


def _read(cluster: KafkaCluster, topic: str) -> list[tuple[bytes, bytes]]:
    partition = TopicPartition(topic, 0)
    end = cluster.end_offsets([partition])[partition]
    chunks = read_records(cluster.name, cluster.properties, {partition: (0, end)})
    return [(record.key or b"", record.value or b"") for chunk in chunks for record in chunk]
