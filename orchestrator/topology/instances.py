"""At which sites of its cluster an application runs, by the file, and where it goes without them. Pure."""

from __future__ import annotations

from orchestrator.topology.flows import Consumer, Producer
from orchestrator.topology.model import Topology


def sites_of(topology: Topology, application: Consumer | Producer) -> tuple[str, ...]:
    """The sites of its cluster where instances of it run: as it says, or the first one that has brokers."""
    if application.instances:
        return tuple(application.instances)
    return (
        serving_sites(topology, application.cluster)[:1]
        or topology.clusters[application.cluster].datacenters[:1]
    )


def other_site(topology: Topology, application: Consumer | Producer) -> str | None:
    """The first other site of its cluster that has brokers.

    None where there is none, and where it keeps something at its site that it needs to go on.
    """
    here = (
        sites_of(topology, application)
        if is_free(application)
        else serving_sites(topology, application.cluster)
    )
    return next((dc for dc in serving_sites(topology, application.cluster) if dc not in here), None)


def is_free(application: Consumer | Producer) -> bool:
    """Whether all that it needs to go on is in its cluster."""
    return isinstance(application, Producer) or not application.bound_to_site


def serving_sites(topology: Topology, cluster: str) -> tuple[str, ...]:
    """The sites of a cluster that have brokers, in file order."""
    rows = topology.clusters[cluster].nodes
    return tuple(dict.fromkeys(row.dc for row in rows if row.brokers))
