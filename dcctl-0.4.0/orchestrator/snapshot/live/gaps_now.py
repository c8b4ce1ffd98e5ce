"""Who writes topics in transactions, so that they may have gaps: asked at their own cluster."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.errors import DcctlError
from orchestrator.ports.servers import Kafka
from orchestrator.replication.source_gaps import SourceGaps, TopicWriters
from orchestrator.runs.live.servers import Servers
from orchestrator.snapshot.known_gaps import known_gaps
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition

_ASK_TIMEOUT_S = 10.0


def gaps_now(servers: Servers, topology: Topology, mirror: Replication) -> dict[TopicPartition, SourceGaps]:
    """What the mirror's source says of its partitions; nothing where it cannot be asked."""
    try:
        writers = writers_told_by(servers.kafka(topology, mirror.source), mirror.topics)
    except DcctlError:
        return {}
    return known_gaps(topology, mirror, writers)


def writers_told_by(cluster: Kafka, topics: Iterable[str]) -> dict[str, TopicWriters]:
    """Who writes these topics at a cluster now. Raises `DcctlError` where it cannot be asked.

    Its connections are closed again: a client of a cluster that has died would turn in circles.
    """
    try:
        found = cluster.topics(topics, _ASK_TIMEOUT_S)
        configs = cluster.topic_config(found, _ASK_TIMEOUT_S)
        wanted = [tp for topic in found.values() for tp in topic.partitions]
        producers = cluster.describe_producers(wanted, _ASK_TIMEOUT_S)
    finally:
        cluster.close()
    return {
        name: TopicWriters(
            topic.topic_id,
            len(topic.partitions),
            frozenset(
                tp.partition
                for tp in topic.partitions
                if any(producer.is_transactional for producer in producers.get(tp, ()))
            ),
            "compact" in configs.get(name, {}).get("cleanup.policy", "compact"),
        )
        for name, topic in found.items()
    }
