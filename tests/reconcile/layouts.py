"""Topologies of each layout, as small as they can be."""

from __future__ import annotations

from orchestrator.topology.model import (
    Cluster,
    Consumer,
    Nodes,
    Producer,
    Replication,
    Topic,
    Topology,
)


def cluster(*nodes: Nodes, **more: object) -> Cluster:
    """A KRaft cluster."""
    return Cluster(kafka="4.3.1", metadata="kraft", nodes=nodes, **more)  # type: ignore[arg-type]


def site(dc: str, brokers: int = 3, connect_workers: int = 0) -> Nodes:
    """A row of nodes."""
    return Nodes(dc=dc, brokers=brokers, controllers=brokers, connect_workers=connect_workers)


def active_active() -> Topology:
    """Two sites, each a mirror of the other; `orders` is written at both."""
    return Topology(
        version=1,
        name="both",
        layout="active-active",
        datacenters=("west", "east"),
        clusters={
            "west": cluster(site("west", connect_workers=1), bootstrap=("w:1",)),
            "east": cluster(site("east", connect_workers=1), bootstrap=("e:1",)),
        },
        topics=(
            Topic(name="orders", cluster="west", partitions=6, replicas=3, min_insync_replicas=2),
            Topic(name="orders", cluster="east", partitions=6, replicas=3, min_insync_replicas=2),
        ),
        replication=(
            Replication(source="west", target="east", topics=("orders",)),
            Replication(source="east", target="west", topics=("orders",)),
        ),
        producers=(Producer(name="shop", cluster="west", topics=("orders",), principal="User:shop"),),
        consumers=(
            Consumer(
                name="billing",
                cluster="west",
                kind="group",
                topics=("orders", "east.orders"),
                principal="User:billing",
            ),
        ),
    )


def aggregation() -> Topology:
    """Two sites into a third. Their topics have the same name, and not the same partitions."""
    return Topology(
        version=1,
        name="all",
        layout="aggregation",
        datacenters=("dc1", "dc2", "hub"),
        clusters={
            "dc1": cluster(site("dc1"), bootstrap=("a:1",)),
            "dc2": cluster(site("dc2"), bootstrap=("b:1",)),
            "hub": cluster(site("hub", connect_workers=1), bootstrap=("h:1",)),
        },
        topics=(
            Topic(name="T", cluster="dc1", partitions=3, replicas=3, min_insync_replicas=2),
            Topic(name="T", cluster="dc2", partitions=6, replicas=3, min_insync_replicas=2),
        ),
        replication=(
            Replication(source="dc1", target="hub", topics=("T",)),
            Replication(source="dc2", target="hub", topics=("T",)),
        ),
    )


def stretched(*topics: Topic, dcs: tuple[str, ...] = ("dc1", "dc2")) -> Topology:
    """One cluster over several sites, two brokers in each, and the topics."""
    nodes = [Nodes(dc=dc, brokers=2, controllers=3) for dc in dcs]
    return Topology(
        version=1,
        name="main",
        layout="stretched-2dc",
        datacenters=dcs,
        clusters={"main": cluster(*nodes, bootstrap=("m:1",), combined=False)},
        topics=topics,
    )
