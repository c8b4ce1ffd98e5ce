"""How fast a mirror may copy: the client quotas that keep it to the file's `max_bytes_per_s`.

Of Kafka's quotas the one of a user *and* a client id is the most specific, and nobody else's: mirrors share a
principal with each other and with Connect's workers, whose offsets, syncs and heartbeats must not wait. A
consumer's quota at the source could not do so, since each task reads under a name of its own
(`MirrorConnectorConfig.addClientId`). Brokers keep quotas each by itself, so each gets its part.
"""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.mirrors.mirrormaker2.connectors import connector_names
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import QuotaOwner


def mirror_quotas(topology: Topology, mirror: Replication, cluster: str) -> Mapping[QuotaOwner, int]:
    """Bytes a second and broker: at the target the mirror's, at the source those of the way back.

    That one goes over the same link, and must find its quota when a failback makes it. Where the file has a
    mirror of its own in that direction, it has a limit of its own or none.
    """
    if mirror.max_bytes_per_s is None:
        return {}
    writer = mirror
    if cluster == mirror.source:
        if topology.mirror(mirror.target, mirror.source) is not None:
            return {}
        writer = reverse_mirror(mirror)
    owner = quota_owner(topology, writer)
    brokers = topology.clusters[cluster].brokers
    return {owner: max(1, mirror.max_bytes_per_s // brokers)} if brokers else {}


def quota_owner(topology: Topology, mirror: Replication) -> QuotaOwner:
    """Who the tasks that copy are at the mirror's target."""
    principal = topology.clusters[mirror.target].mirror_principal
    return QuotaOwner(principal.removeprefix("User:"), connector_names(mirror).source)
