"""Where a client lives, in which lives, and what it reads there. Pure."""

from __future__ import annotations

from typing import NamedTuple

from orchestrator.errors import DcctlError
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.topology.model import Consumer, Replication, Topology

LIFE_AT_SOURCE = 1
LIFE_AT_TARGET = 2


class Place(NamedTuple):
    """Where a client lives: which life, at which cluster and site, and the mirror that leads there."""

    life: int
    cluster: str
    dc: str
    mirror: Replication | None


def places(topology: Topology, cluster: str) -> list[Place]:
    """Where clients of a cluster live: at the cluster itself, and at the target of its mirror if any."""
    found = [Place(LIFE_AT_SOURCE, cluster, _datacenter(topology, cluster), None)]
    mirror = next((mirror for mirror in topology.replication if mirror.source == cluster), None)
    if mirror is not None:
        found.append(Place(LIFE_AT_TARGET, mirror.target, _datacenter(topology, mirror.target), mirror))
    return found


def topics_read(consumer: Consumer, mirror: Replication | None) -> list[str]:
    """Topics that a consumer reads: its own, and after a move the mirrored ones before them."""
    mirrored = [] if mirror is None else [mirror.mirrored_topic(topic) for topic in consumer.topics]
    return list(dict.fromkeys([*mirrored, *consumer.topics]))


def topics_read_back(topology: Topology, consumer: Consumer) -> list[str]:
    """Topics that a consumer reads once it is back from the mirror's target: its own, and what was written
    there meanwhile, as the reverse mirror names it.
    """
    mirror = next((mirror for mirror in topology.replication if mirror.source == consumer.cluster), None)
    return list(consumer.topics) if mirror is None else topics_read(consumer, reverse_mirror(mirror))


def _datacenter(topology: Topology, cluster: str) -> str:
    datacenters = topology.clusters[cluster].datacenters
    if not datacenters:
        raise DcctlError(f"cluster {cluster}", "has no nodes, so its clients have no site")
    return datacenters[0]
