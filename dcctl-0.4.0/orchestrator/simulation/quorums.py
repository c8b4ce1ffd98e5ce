"""Metadata quorums of simulated clusters: whether the voters that are up are enough. Pure."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.topology.model import Cluster


def has_quorum(cluster: Cluster, datacenters: Collection[str]) -> bool:
    """Whether the metadata's voters in these data centres are enough, all of them living."""
    is_hierarchical = cluster.quorum == "hierarchical" and cluster.metadata == "zookeeper"
    voters: dict[str, int] = {}
    for row in cluster.nodes:
        weight = row.zookeeper_weight if is_hierarchical else 1
        voters[row.dc] = voters.get(row.dc, 0) + row.controllers + row.zookeepers * weight
    voters = {dc: count for dc, count in voters.items() if count}
    living = {dc: count for dc, count in voters.items() if dc in datacenters}
    if is_hierarchical:
        return 2 * len(living) > len(voters)
    return 2 * sum(living.values()) > sum(voters.values())
