"""The samples topic: how it is made, and what is told to compaction so that it does not grow."""

from __future__ import annotations

from orchestrator.adapters.kafka import KafkaCluster, produce_records, read_records
from orchestrator.ports.admin_values import NewTopic
from orchestrator.snapshot.sample_tidying import useless_records
from orchestrator.values import TopicPartition

SAMPLES_CONFIG = {
    "cleanup.policy": "compact",
    "min.compaction.lag.ms": str(3_600_000),
    "segment.ms": str(600_000),
}


def create_samples_topic(cluster: KafkaCluster, topic: str) -> None:
    """Create the samples topic unless it exists, with three replicas or as many as there are brokers."""
    replicas = min(3, len(cluster.brokers(5.0)))
    config = {**SAMPLES_CONFIG, "min.insync.replicas": str(max(1, replicas - 1))}
    cluster.create_topics({topic: NewTopic(replicas=replicas, config=config)}, 10.0)


def withdraw_useless(cluster: KafkaCluster, topic: str, timeout_s: float = 10.0) -> int:
    """Withdraw the records that say nothing any more; returns how many. Raises `ClusterError`."""
    partition = TopicPartition(topic, 0)
    log = cluster.log_ends([partition], timeout_s)[partition]
    newest: dict[bytes, tuple[int, bytes]] = {}
    place = 0
    for chunk in read_records(
        cluster.name, cluster.properties, {partition: (log.start_offset, log.end_offset)}
    ):
        for record in chunk:
            place += 1
            if record.key is None:
                continue
            if record.value is None:
                newest.pop(record.key, None)
            else:
                newest[record.key] = (place, record.value)
    withdrawn = useless_records(newest)
    if withdrawn:
        produce_records(cluster.name, cluster.properties, topic, [(key, None) for key in withdrawn])
    return len(withdrawn)
