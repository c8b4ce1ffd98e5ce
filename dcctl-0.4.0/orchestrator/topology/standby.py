"""Where applications go when the cluster where they work is left, by the file. Pure."""

from __future__ import annotations

from orchestrator.topology.flows import Consumer, Producer
from orchestrator.topology.model import Topology

READ = "read"
"""As a consumer's `landing`: it reads everything that is written there."""


def standby_of(topology: Topology, application: Consumer | Producer) -> str | None:
    """The cluster where an application goes when its own is left; None where the file leads nowhere.

    Its own `standby`, else its cluster's, else the target of the only mirror that leads out of its cluster.
    The centre of an aggregation is no standby of its sources unless the file says so.
    """
    return application.standby or standby_of_cluster(topology, application.cluster)


def standby_of_cluster(topology: Topology, cluster: str) -> str | None:
    """The same for all applications of a cluster that say nothing of their own."""
    said = topology.clusters[cluster].standby
    if said is not None or topology.is_laid_out({"aggregation"}):
        return said
    targets = {mirror.target for mirror in topology.replication if mirror.source == cluster}
    return next(iter(targets)) if len(targets) == 1 else None


def standbys_of(topology: Topology, cluster: str) -> tuple[str, ...]:
    """Every cluster where an application of this one goes, in file order."""
    found = {standby_of(topology, producer) for producer in topology.producers_of(cluster)}
    found |= {standby_of(topology, consumer) for consumer in topology.consumers_of(cluster)}
    return tuple(name for name in topology.clusters if name in found)


def kept_for(topology: Topology, place: str) -> tuple[str, ...]:
    """The clusters whose applications may come to a place, in file order: those to be watched from there."""
    return tuple(name for name in topology.clusters if name != place and place in standbys_of(topology, name))
