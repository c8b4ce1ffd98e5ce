"""What a cluster holds before the first client comes: topics and access rules. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.adapters.kafka.acls import Acl
from orchestrator.simulation.credentials import MIRROR
from orchestrator.simulation.servers import (
    INTERNAL_PARTITIONS,
    OFFSETS_TOPIC,
    connect_topics,
    internal_topic,
)
from orchestrator.topology.model import Cluster, Consumer, Replication, Topic, Topology

TopicPlan = tuple[int, int, Mapping[str, str]]

_COMPACT = {"cleanup.policy": "compact"}
# Longer than any rehearsal: the offset map is rebuilt from these pairs.
_SYNCS = {"cleanup.policy": "delete", "retention.ms": str(30 * 24 * 3600 * 1000)}
_SAMPLES = {"cleanup.policy": "compact", "min.compaction.lag.ms": "3600000", "segment.ms": "600000"}

_MIRROR = f"User:{MIRROR}"
_CLUSTER = "kafka-cluster"


def planned_topics(topology: Topology, cluster: str) -> dict[str, TopicPlan]:
    """Every topic that `cluster` starts with: name -> (partitions, replicas, configuration).

    At the source what the file says; at the target the mirrored topics and the landing topics (where
    producers write after a failover), equal in partitions and durability, and what the mirror and the
    watcher keep there. MirrorMaker takes topics that exist as they are.
    """
    brokers = sum(row.brokers for row in topology.clusters[cluster].nodes)
    kept = min(3, brokers)
    topics = {topic.name: _plan(topic, brokers) for topic in topology.topics if topic.cluster == cluster}
    topics[OFFSETS_TOPIC] = _offsets_topic(topology.clusters[cluster])
    for mirror in topology.replication:
        if mirror.source == cluster:
            topics["heartbeats"] = (1, kept, _COMPACT)
        if mirror.target != cluster:
            continue
        for topic in _mirrored(topology, mirror):
            topics[mirror.mirrored_topic(topic.name)] = _plan(topic, brokers)
            topics.setdefault(topic.name, _plan(topic, brokers))
        topics[mirror.mirrored_topic("heartbeats")] = (1, kept, _COMPACT)
        topics[mirror.offset_syncs_topic] = (1, kept, _SYNCS)
        topics[mirror.checkpoints_topic] = (1, kept, _COMPACT)
        topics[mirror.samples_topic] = (1, kept, _SAMPLES)
        internal = connect_topics(cluster)
        topics[internal["config.storage.topic"]] = (1, kept, _COMPACT)
        topics[internal["offset.storage.topic"]] = (3, kept, _COMPACT)
        topics[internal["status.storage.topic"]] = (1, kept, _COMPACT)
    return topics


def _plan(topic: Topic, brokers: int) -> TopicPlan:
    replicas = min(topic.replicas, brokers)
    in_sync = min(topic.min_insync_replicas, replicas)
    return topic.partitions, replicas, {"min.insync.replicas": str(in_sync), **topic.config}


def _offsets_topic(cluster: Cluster) -> TopicPlan:
    """As Kafka creates it itself (`GroupCoordinator.groupMetadataTopicConfigs`), but before it is needed."""
    durability = internal_topic(cluster, OFFSETS_TOPIC)
    config = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(100 * 1024 * 1024),
        "min.insync.replicas": str(durability.min_insync_replicas),
    }
    return INTERNAL_PARTITIONS, durability.replicas, config


def _mirrored(topology: Topology, mirror: Replication) -> list[Topic]:
    named = ((name, topology.topic(name, mirror.source)) for name in mirror.topics)
    return [topic for _, topic in named if topic is not None]


def planned_acls(topology: Topology, cluster: str) -> list[Acl]:
    """Every access rule that `cluster` starts with. Operator and brokers are super users and need none."""
    return [
        *_producer_rules(topology, cluster),
        *_consumer_rules(topology, cluster),
        *(rule for mirror in topology.replication for rule in _mirror_rules(mirror, cluster)),
    ]


def _producer_rules(topology: Topology, cluster: str) -> Iterator[Acl]:
    for producer in topology.producers:
        principal = producer.principal or f"User:{producer.name}"
        if producer.cluster == cluster or topology.mirror(producer.cluster, cluster):
            for topic in producer.topics:
                yield Acl(principal, "TOPIC", topic, ("WRITE", "DESCRIBE"))


def _consumer_rules(topology: Topology, cluster: str) -> Iterator[Acl]:
    for consumer in topology.consumers:
        principal = consumer.principal or f"User:{consumer.name}"
        mirror = topology.mirror(consumer.cluster, cluster)
        if consumer.cluster != cluster and mirror is None:
            continue
        topics = set(consumer.topics)
        if mirror is not None:
            topics |= {mirror.mirrored_topic(topic) for topic in consumer.topics}
        for topic in sorted(topics):
            yield Acl(principal, "TOPIC", topic, ("READ", "DESCRIBE"))
        yield _group_rule(principal, consumer)


def _group_rule(principal: str, consumer: Consumer) -> Acl:
    # Spark makes up group ids with the query's prefix (kafka.group.id or groupIdPrefix).
    return Acl(principal, "GROUP", consumer.name, ("READ", "DESCRIBE"), is_prefix=consumer.kind == "spark")


def _mirror_rules(mirror: Replication, cluster: str) -> Iterator[Acl]:
    if mirror.source == cluster:
        for topic in mirror.topics:
            yield Acl(_MIRROR, "TOPIC", topic, ("READ", "DESCRIBE", "DESCRIBE_CONFIGS"))
        # The heartbeat connector writes here; the mirror carries them over like any topic.
        yield Acl(_MIRROR, "TOPIC", "heartbeats", ("READ", "WRITE", "CREATE", "DESCRIBE", "DESCRIBE_CONFIGS"))
        yield Acl(_MIRROR, "GROUP", "*", ("DESCRIBE",))
        yield Acl(_MIRROR, "CLUSTER", _CLUSTER, ("DESCRIBE",))
    if mirror.target == cluster:
        written = [
            *(mirror.mirrored_topic(topic) for topic in (*mirror.topics, "heartbeats")),
            mirror.offset_syncs_topic,
            mirror.checkpoints_topic,
            *connect_topics(cluster).values(),
        ]
        everything = ("READ", "WRITE", "CREATE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS")
        for topic in written:
            yield Acl(_MIRROR, "TOPIC", topic, everything)  # type: ignore[arg-type]
        # Connect's own group, and the offsets that MirrorMaker writes for others.
        yield Acl(_MIRROR, "GROUP", "*", ("READ", "DESCRIBE"))
        yield Acl(_MIRROR, "CLUSTER", _CLUSTER, ("DESCRIBE",))
