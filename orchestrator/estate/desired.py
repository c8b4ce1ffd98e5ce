"""What an estate shall hold, by its topology file: topics, access rules and connectors of each cluster.

Derived from the file alone. The values are those of `observed`, so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.estate.desired_acls import desired_acls, named_principals, worker_acls
from orchestrator.estate.desired_topics import DesiredTopic, desired_topics
from orchestrator.replication.connectors import desired_connectors, may_lack_tasks
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import Acl


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredConnector:
    """One connector. `source` is the cluster that its mirror copies from.

    `may_lack_tasks`: it runs rightly without any task for as long as the source has no consumer group.
    """

    name: str
    source: str
    config: Mapping[str, str]
    may_lack_tasks: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredCluster:
    """One cluster, with the connectors that shall run on its workers.

    Access rules are compared for `principals` alone, those that the file names: others belong to others.
    Those in `spared_acls` are not asked for, and not taken away either.
    """

    name: str
    topics: Mapping[str, DesiredTopic]
    acls: frozenset[Acl]
    spared_acls: frozenset[Acl]
    principals: frozenset[str]
    connectors: Mapping[str, DesiredConnector]


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
            )
            for name in topology.clusters
        }
    )


def _connectors(topology: Topology, cluster: str) -> dict[str, DesiredConnector]:
    return {
        name: DesiredConnector(
            name=name, source=mirror.source, config=config, may_lack_tasks=name in may_lack_tasks(mirror)
        )
        for mirror in topology.replication
        if mirror.target == cluster and mirror.managed
        for name, config in configurations(topology, mirror).items()
    }


def configurations(topology: Topology, mirror: Replication) -> dict[str, dict[str, str]]:
    """What each connector of a mirror is to be set up with, by its name, as the file says."""
    source, target = topology.clusters[mirror.source], topology.clusters[mirror.target]
    return desired_connectors(
        topology,
        mirror,
        source.mirror_client,
        target.mirror_client,
        ",".join(source.bootstrap),
        ",".join(target.bootstrap),
    )
