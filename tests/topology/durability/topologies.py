"""Topologies for the tests of the durability analysis, and its answers by name."""

from __future__ import annotations

from typing import Any

from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import loss_of
from orchestrator.topology.durability.values import ClusterFate, TopicFate
from orchestrator.topology.model import Cluster, Nodes, Topic, Topology


def cluster(metadata: str, *nodes: tuple[str, dict[str, int]], **more: Any) -> Cluster:
    """A cluster from its rows: `("dc1", {"brokers": 2, "zookeepers": 3})`."""
    return Cluster(
        kafka="4.3.1" if metadata == "kraft" else "3.9.1",
        metadata=metadata,
        nodes=tuple(Nodes(dc=dc, **counts) for dc, counts in nodes),
        **more,
    )


def stretched(
    metadata: str,
    brokers: list[int],
    voters: list[int] | None = None,
    *,
    voters_mode: str = "static",
    **more: Any,
) -> Cluster:
    """One cluster over dc1, dc2, …; without `voters` as many in each as decide nothing about brokers."""
    kind = "controllers" if metadata == "kraft" else "zookeepers"
    voters = voters or [1 if metadata == "kraft" else 3] * len(brokers)
    rows = [
        (f"dc{number}", {"brokers": count, kind: votes})
        for number, (count, votes) in enumerate(zip(brokers, voters, strict=True), 1)
    ]
    return cluster(metadata, *rows, voters=voters_mode, **more)


def topic(replicas: int, in_sync: int, *, name: str = "orders", at: str = "main", **more: Any) -> Topic:
    """A topic of three partitions."""
    return Topic(name=name, cluster=at, partitions=3, replicas=replicas, min_insync_replicas=in_sync, **more)


def topology(clusters: Cluster | dict[str, Cluster], *topics: Topic, **more: Any) -> Topology:
    """A topology; a single cluster is called main. The layout's name decides nothing in the analysis."""
    named = {"main": clusters} if isinstance(clusters, Cluster) else clusters
    centres = dict.fromkeys(dc for one in named.values() for dc in one.datacenters)
    return Topology(
        version=1,
        name="test",
        layout="stretched-2dc",
        datacenters=tuple(centres),
        clusters=named,
        topics=topics,
        **more,
    )


def cluster_after(given: Topology, *lost: str, at: str = "main") -> ClusterFate:
    """What a loss means for one cluster."""
    (loss,) = explain_topology(given, [loss_of(given, lost)]).losses
    return loss.clusters[at]


def topic_after(given: Topology, *lost: str, name: str = "orders", at: str = "main") -> TopicFate:
    """What a loss means for one topic."""
    return cluster_after(given, *lost, at=at).topics[name]


def words(fate: TopicFate) -> tuple[str, str, str, str]:
    """The four words of an answer."""
    return fate.acked_records, fate.writes, fate.rpo, fate.rto
