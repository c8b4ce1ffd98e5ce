"""Kafka's own Admin, where librdkafka does not suffice: apart, because most commands need no Java."""

from __future__ import annotations

from orchestrator.adapters.kafka.java_admin import JavaAdmin
from orchestrator.topology.model import Topology


def java_admin(topology: Topology, name: str) -> JavaAdmin:
    """Kafka's own Admin for one cluster of the topology; close it, or take it as a context."""
    cluster = topology.clusters[name]
    return JavaAdmin(name, cluster.bootstrap, cluster.client)
