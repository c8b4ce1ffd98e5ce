"""Who writes topics in transactions, so that they may have gaps: asked at their own cluster."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.errors import DcctlError
from orchestrator.ports.servers import KafkaAdmin
from orchestrator.replication.source_gaps import SourceGaps, TopicWriters
from orchestrator.runs.live.servers import Servers
from orchestrator.snapshot.known_gaps import known_gaps
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition

_ASK_TIMEOUT_S = 10.0


def gaps_now(servers: Servers, topology: Topology, mirror: Replication) -> dict[TopicPartition, SourceGaps]:
    """What the mirror's source says of its partitions; nothing where it cannot be asked."""
    try:
        with servers.admin(topology, mirror.source) as admin:
            writers = writers_told_by(admin, mirror.topics)
    except DcctlError:
        return {}
    return known_gaps(topology, mirror, writers)


def writers_told_by(admin: KafkaAdmin, topics: Iterable[str]) -> dict[str, TopicWriters]:
    """Who writes these topics at a cluster now. Raises `ClusterError`."""
    found = admin.describe_topics(topics, _ASK_TIMEOUT_S)
    configs = admin.configs("topic", found, own_only=False, timeout_s=_ASK_TIMEOUT_S)
    wanted = [tp for topic in found.values() for tp in topic.partitions]
    producers = admin.describe_producers(wanted, _ASK_TIMEOUT_S)
    return {
        name: TopicWriters(
            sampled_id(topic.topic_id),
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


def sampled_id(topic_id: str) -> str:
    """A topic's id in the letters of the samples: librdkafka's. Java has `_` and `-` for its `/` and `+`."""
    return topic_id.replace("_", "/").replace("-", "+")
