"""What an estate shall hold, by its topology file: topics, access rules and connectors of each cluster.

Derived from the file alone. The values are those of `observed`, so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.estate.desired_acls import desired_acls, named_principals, worker_acls
from orchestrator.estate.desired_topics import DesiredTopic, desired_topics
from orchestrator.replication.engine import DesiredConnector, engine_of
from orchestrator.topology.model import Topology
from orchestrator.values import Acl, QuotaOwner


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredCluster:
    """One cluster, with the connectors that shall run on its workers.

    Access rules are compared for `principals` alone, those that the file names: others belong to others.
    Those in `spared_acls` are not asked for, and not taken away either. `quotas`: bytes that mirrors may
    write in a second to each broker, by whom that limits; `mirror_users`: who mirrors are there, to quotas.
    """

    name: str
    topics: Mapping[str, DesiredTopic]
    acls: frozenset[Acl]
    spared_acls: frozenset[Acl]
    principals: frozenset[str]
    connectors: Mapping[str, DesiredConnector]
    quotas: Mapping[QuotaOwner, int] = field(default_factory=dict)
    mirror_users: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredEstate:
    """Every cluster of a topology."""

    clusters: Mapping[str, DesiredCluster]


def desired_estate(topology: Topology) -> DesiredEstate:
    """What the file says of each cluster."""
    return DesiredEstate(
        clusters={
            name: DesiredCluster(
                name=name,
                topics=desired_topics(topology, name),
                acls=desired_acls(topology, name),
                spared_acls=worker_acls(topology, name),
                principals=named_principals(topology, name),
                connectors=_connectors(topology, name),
                quotas=_quotas(topology, name),
                mirror_users=_mirror_users(topology, name),
            )
            for name in topology.clusters
        }
    )


def _connectors(topology: Topology, cluster: str) -> dict[str, DesiredConnector]:
    return {
        name: connector
        for mirror in topology.replication
        if mirror.target == cluster and mirror.managed
        for name, connector in engine_of(mirror).connectors(topology, mirror).items()
    }


def _quotas(topology: Topology, cluster: str) -> dict[QuotaOwner, int]:
    return {
        owner: limit
        for mirror in topology.replication
        if cluster in (mirror.source, mirror.target) and mirror.managed
        for owner, limit in engine_of(mirror).quotas(topology, mirror, cluster).items()
    }


def _mirror_users(topology: Topology, cluster: str) -> frozenset[str]:
    """None where no mirror of the file writes."""
    if not any(mirror.target == cluster and mirror.managed for mirror in topology.replication):
        return frozenset()
    return frozenset({topology.clusters[cluster].mirror_principal.removeprefix("User:")})
