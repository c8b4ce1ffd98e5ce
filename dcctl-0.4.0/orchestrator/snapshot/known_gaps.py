"""Which source partitions may have gaps: by what the watcher has seen, and by what the file says."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.replication.source_gaps import SourceGaps, TopicWriters
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.topology.flows import transactional_topics
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import TopicPartition


def known_gaps(
    topology: Topology, mirror: Replication, writers: Mapping[str, TopicWriters]
) -> dict[TopicPartition, SourceGaps]:
    """Of each partition of the mirror's topics that anybody looked at; one that is not in it is unknown.

    `writers`: what was seen at the mirror's source, by topic. A topic that the file has compacted, or written
    in transactions, may have gaps whatever was seen.
    """
    transactional = transactional_topics(topology.producers)
    found: dict[TopicPartition, SourceGaps] = {}
    for name in mirror.topics:
        seen = writers.get(name)
        described = topology.topic(name, mirror.source)
        config = {} if described is None else described.config
        is_told = name in transactional or "compact" in str(config.get("cleanup.policy", ""))
        for number in range(0 if seen is None else seen.partitions):
            found[TopicPartition(name, number)] = "may" if is_told or seen is None else seen.gaps(number)
    return found


def sampled_gaps(
    topology: Topology, mirror: Replication, history: SampleHistory | None
) -> dict[TopicPartition, SourceGaps]:
    """The same from the watcher's samples. A topic that was made anew since anybody looked is unknown."""
    if history is None:
        return {}
    ids = {name: topic.topic_id for name, topic in history.topics.items()}
    writers = {
        name: seen for name, seen in history.writers.items() if ids.get(name, seen.topic_id) == seen.topic_id
    }
    return known_gaps(topology, mirror, writers)
