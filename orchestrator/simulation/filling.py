"""What a new simulation's clusters get before the first client comes: what their topology file says."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.access import AccessRules
from orchestrator.estate.desired_acls import desired_acls
from orchestrator.estate.desired_topics import desired_topics
from orchestrator.estate.placement import Spread
from orchestrator.simulation.estate import KafkaNode
from orchestrator.simulation.servers import INTERNAL_PARTITIONS, OFFSETS_TOPIC, internal_topic
from orchestrator.topology.model import Topology

# As Kafka makes it itself (`GroupCoordinator.groupMetadataTopicConfigs`).
_OFFSETS_CONFIG = {
    "cleanup.policy": "compact",
    "compression.type": "producer",
    "segment.bytes": str(100 * 1024 * 1024),
}


def create_access(topology: Topology, cluster: KafkaCluster) -> None:
    """Create every access rule that the topology wants at a cluster."""
    AccessRules(cluster.name, cluster.properties).add(desired_acls(topology, cluster.name))


def create_topics(topology: Topology, cluster: KafkaCluster, brokers: Iterable[KafkaNode]) -> int:
    """Create every topic that the topology wants at a cluster, each where it shall lie; returns how many.

    Kafka spreads replicas over racks by itself; where the file says otherwise they are assigned. The topic of
    the groups' offsets is made beforehand, too: the first group does not wait for it.
    """
    spread = Spread({node.node_id: node.dc for node in brokers})
    topics = desired_topics(topology, cluster.name)
    plans = {
        topic.name: (topic.partitions, topic.replicas, topic.config)
        for topic in topics.values()
        if topic.partitions is not None
    }
    durability = internal_topic(topology.clusters[cluster.name], OFFSETS_TOPIC)
    own = topics[OFFSETS_TOPIC].config if OFFSETS_TOPIC in topics else {}
    plans[OFFSETS_TOPIC] = (INTERNAL_PARTITIONS, durability.replicas, {**_OFFSETS_CONFIG, **own})
    assignments = {
        topic.name: spread.assignments(topic, topic.partitions)
        for topic in topics.values()
        if topic.partitions is not None and topic.placement.is_explicit
    }
    cluster.create_topics(plans, assignments=assignments)
    return len(plans)
