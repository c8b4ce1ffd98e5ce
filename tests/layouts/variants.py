"""Two sites in other ways than the examples have them: every answer of `explain` occurs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from orchestrator.topology.model import Cluster, InternalTopic, Nodes, Topic, Topology

Mode = Literal["kraft", "zookeeper"]


def _two_sites(
    name: str, dc1: Nodes, dc2: Nodes, topics: tuple[Topic, ...], *, mode: Mode, combined: bool | None = None
) -> Topology:
    brokers = dc1.brokers + dc2.brokers
    offsets = InternalTopic(replicas=brokers, min_insync_replicas=2)
    main = Cluster(
        kafka="3.9.1" if mode == "zookeeper" else "4.3.1",
        metadata=mode,
        nodes=(dc1, dc2),
        combined=combined,
        internal_topics={"__consumer_offsets": offsets},
    )
    return Topology(
        version=1,
        name=name,
        layout="stretched-2dc",
        datacenters=("dc1", "dc2"),
        clusters={"main": main},
        topics=topics,
    )


def _topic(name: str, replicas: int, in_sync: int, per_dc: Mapping[str, int] | None = None) -> Topic:
    return Topic(
        name=name,
        cluster="main",
        partitions=3,
        replicas=replicas,
        min_insync_replicas=in_sync,
        replicas_per_dc=per_dc or {},
    )


VARIANTS: Mapping[str, Topology] = {
    # The smaller side's loss is survived; with the larger side the newest metadata may be gone.
    "kraft-2-and-3": _two_sites(
        "kraft-2-and-3",
        Nodes(dc="dc1", brokers=1, controllers=2),
        Nodes(dc="dc2", brokers=2, controllers=3),
        (_topic("orders", 3, 2, {"dc1": 1, "dc2": 2}), _topic("local", 2, 1, {"dc2": 2})),
        mode="kraft",
    ),
    # No procedure: killed brokers would take the quorum's place with them.
    "kraft-combined": _two_sites(
        "kraft-combined",
        Nodes(dc="dc1", brokers=2, controllers=2),
        Nodes(dc="dc2", brokers=2, controllers=2),
        (_topic("orders", 4, 3),),
        mode="kraft",
        combined=True,
    ),
    # A plain majority: all three survivors have to take part. m = 2 of 4 needs no lowering.
    "zookeeper-majority": _two_sites(
        "zookeeper-majority",
        Nodes(dc="dc1", brokers=2, zookeepers=3),
        Nodes(dc="dc2", brokers=2, zookeepers=3),
        (_topic("orders", 4, 3), _topic("metrics", 4, 2)),
        mode="zookeeper",
    ),
}
