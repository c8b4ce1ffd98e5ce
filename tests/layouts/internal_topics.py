"""Kafka's own topics as running brokers have them, to be compared with what `explain` takes them for."""

from __future__ import annotations

from confluent_kafka import Producer

from orchestrator.adapters.kafka.client import client_properties, logger
from orchestrator.estate.live.connections import kafka_cluster
from orchestrator.topology.durability.shapes import INTERNAL_TOPICS, shapes_of
from orchestrator.topology.model import Topology

# Replicas and min.insync.replicas of one topic.
Durability = tuple[int, int]
_MADE_WITHIN_S = 60.0


def as_running(topology: Topology, cluster: str) -> dict[str, Durability]:
    """What is in force at the brokers. A transaction is prepared first: without any there is no topic of them."""
    described = topology.clusters[cluster]
    client = client_properties(cluster, described.bootstrap, described.client)
    Producer({**client, "transactional.id": "prepared"}, logger=logger).init_transactions(_MADE_WITHIN_S)
    with kafka_cluster(topology, cluster) as kafka:
        topics, configs = kafka.topics(INTERNAL_TOPICS), kafka.topic_config(INTERNAL_TOPICS)
    return {
        name: (min(map(len, topic.replicas)), int(configs[name]["min.insync.replicas"]))
        for name, topic in topics.items()
    }


def as_explained(topology: Topology, cluster: str) -> dict[str, Durability]:
    """What the analysis calculates with."""
    shapes = shapes_of(topology)[cluster]
    return {name: (shapes[name].replicas, shapes[name].min_insync_replicas) for name in INTERNAL_TOPICS}
