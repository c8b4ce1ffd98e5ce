"""Topics as they are at a cluster."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.ports.servers import Kafka
from orchestrator.snapshot.observation import TopicState


def topic_states(cluster: Kafka, names: Iterable[str]) -> dict[str, TopicState]:
    """Those of the topics that exist, as they are at a cluster."""
    described = cluster.topics(names)
    configs = cluster.topic_config(described)
    return {
        name: TopicState(
            topic.topic_id,
            topic.leaders,
            tuple(len(replicas) for replicas in topic.isr),
            int(configs[name].get("min.insync.replicas", "1")),
        )
        for name, topic in described.items()
    }
