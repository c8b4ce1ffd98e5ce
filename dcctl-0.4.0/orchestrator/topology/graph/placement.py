"""Where the copies of a topic lie, and who decides in a cluster: the same rules as `explain` has."""

from __future__ import annotations

from orchestrator.topology.durability.placement import SiteBrokers, lost_of_alternated, lost_of_striped
from orchestrator.topology.graph.parts import Copies, Quorum
from orchestrator.topology.model import Cluster, Topic


def placed_copies(topic: Topic, cluster: Cluster) -> dict[str, Copies]:
    """Copies of each partition in each site of the cluster; nothing where the file does not know the racks.

    What lies in a site is what its loss would take: the fewest and the most over all placements.
    """
    if topic.replicas_per_dc:
        given = {site: topic.replicas_per_dc.get(site, 0) for site in cluster.datacenters}
        return {site: Copies(count, count) for site, count in given.items()}
    if "racks" in cluster.unknown:
        return {}
    brokers = cluster.brokers_per_dc
    placed = {}
    for site in cluster.datacenters:
        # Placement goes over the racks in the order of their names.
        sites = tuple(
            SiteBrokers(dc, count, count if dc == site else 0) for dc, count in sorted(brokers.items())
        )
        place = lost_of_striped if cluster.metadata == "kraft" else lost_of_alternated
        lost = place(topic.replicas, sites) if site in brokers else (0, 0)
        placed[site] = Copies(*lost)
    return placed


def quorum_of(name: str, cluster: Cluster) -> Quorum:
    """The quorum that decides a cluster's metadata: KRaft's controllers, or ZooKeeper's servers.

    A majority is more than half of all voters. A hierarchical one (ZooKeeper's `QuorumHierarchical`) is
    more than half of the weight in more than half of the groups; groups without weight are not counted.
    """
    votes: dict[str, int] = {}
    weights: dict[str, int] = {}
    is_hierarchical = cluster.quorum == "hierarchical" and cluster.metadata == "zookeeper"
    for row in cluster.nodes:
        voters = row.controllers if cluster.metadata == "kraft" else row.zookeepers
        if voters and "quorum" not in cluster.unknown:
            votes[row.dc] = votes.get(row.dc, 0) + voters
            weight = voters * row.zookeeper_weight if is_hierarchical else voters
            weights[row.dc] = weights.get(row.dc, 0) + weight
    return Quorum(
        cluster=name,
        metadata=cluster.metadata,
        rule="hierarchical" if is_hierarchical else "majority",
        votes=votes,
        weights=weights,
        needed=sum(votes.values()) // 2 + 1 if votes else 0,
        groups_needed=sum(weight > 0 for weight in weights.values()) // 2 + 1 if votes else 0,
    )
