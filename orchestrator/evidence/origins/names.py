"""Which origins a consumer is to read, and what their records are called at each cluster. Pure."""

from __future__ import annotations

from orchestrator.evidence.clients.places import landing_topics
from orchestrator.evidence.origins.told import Origin
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.topology.counterparts import origin_of
from orchestrator.topology.landing import landings_read
from orchestrator.topology.model import Consumer, Topology
from orchestrator.topology.standby import standby_of


def name_at(topology: Topology, origin: Origin, cluster: str) -> str | None:
    """The topic with an origin's records at a cluster; None where nothing copies them there.

    A mirror that a move home makes counts as well: it brings what was written at a standby.
    """
    if cluster == origin.cluster:
        return origin.topic
    mirror = topology.mirror(origin.cluster, cluster)
    if mirror is None:
        back = topology.mirror(cluster, origin.cluster)
        mirror = None if back is None else reverse_mirror(back)
    return mirror.mirrored_topic(origin.topic) if mirror and origin.topic in mirror.topics else None


def origins_at_home(topology: Topology, consumer: Consumer) -> frozenset[Origin]:
    """The origins of all that a consumer reads by the file: wherever it works, it is to process all of it."""
    found = (origin_of(topology, name, consumer.cluster) for name in topology.topics_read(consumer))
    landing = {Origin(consumer.cluster, name) for name in landings_read(topology, consumer)}
    return frozenset(Origin(origin.cluster, origin.topic) for origin in found if origin) | landing


def origins_of_landing(topology: Topology, consumer: Consumer) -> frozenset[Origin]:
    """The landing topics of a consumer, which it reads while it is at its standby; not those read at home."""
    standby = standby_of(topology, consumer)
    if standby is None:
        return frozenset()
    found = frozenset(Origin(standby, name) for name in landing_topics(topology, consumer))
    return found - origins_at_home(topology, consumer)
