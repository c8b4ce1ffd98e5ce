"""Small topologies of the layouts that the simulation has to run, as text."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.topology.model import Cluster, Nodes, Topic, Topology


def stretched(*rows: Nodes, metadata: str = "kraft", hierarchical: bool = False) -> Topology:
    """One cluster `main` over the data centres of `rows`, with a topic on every broker."""
    brokers = sum(row.brokers for row in rows)
    cluster = Cluster(
        kafka="3.9.1" if metadata == "zookeeper" else "4.3.1",
        metadata=metadata,  # type: ignore[arg-type]
        nodes=rows,
        quorum="hierarchical" if hierarchical else "majority",
    )
    topic = Topic(name="orders", cluster="main", partitions=2, replicas=brokers, min_insync_replicas=2)
    return Topology(
        version=1,
        name="stretched",
        layout="stretched-2dc",
        datacenters=tuple(dict.fromkeys(row.dc for row in rows)),
        clusters={"main": cluster},
        topics=(topic,),
    )


def zookeeper_2dc() -> Topology:
    """The layout of the proven procedure: groups of three, two brokers a site."""
    rows = (Nodes(dc="dc1", brokers=2, zookeepers=3), Nodes(dc="dc2", brokers=2, zookeepers=3))
    return stretched(*rows, metadata="zookeeper", hierarchical=True)


def kraft_2dc(*, combined: bool | None = None) -> Topology:
    """Its KRaft variant: three controllers a site, by themselves unless `combined`."""
    topology = stretched(Nodes(dc="dc1", brokers=2, controllers=3), Nodes(dc="dc2", brokers=2, controllers=3))
    main = replace(topology.clusters["main"], combined=combined)
    return replace(topology, clusters={"main": main})
