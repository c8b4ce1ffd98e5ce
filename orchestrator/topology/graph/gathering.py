"""From a topology to the parts that its graph and its picture show."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.graph.parts import (
    Application,
    KafkaCluster,
    Mirror,
    Network,
    Parts,
    PlacedTopic,
    Servers,
    Site,
    Standby,
)
from orchestrator.topology.graph.placement import placed_copies, quorum_of
from orchestrator.topology.model import Cluster, Consumer, Producer, Topology


def parts_of(topology: Topology) -> Parts:
    """The parts of a topology, each kind in the order of the file."""
    clusters = topology.clusters.items()
    return Parts(
        name=topology.name,
        layout=topology.layout,
        sites=tuple(_site(topology, site) for site in topology.datacenters),
        clusters=tuple(_cluster_part(topology, name, cluster) for name, cluster in clusters),
        servers=tuple(servers for name, cluster in clusters for servers in _servers(name, cluster)),
        quorums={name: quorum_of(name, cluster) for name, cluster in clusters},
        applications=tuple(_applications(topology)),
        mirrors=tuple(
            Mirror(mirror.source, mirror.target, mirror.policy, mirror.topics, mirror.managed)
            for mirror in topology.replication
        ),
        networks=tuple(Network(link.between, link.latency_ms) for link in topology.links),
        standbys=tuple(
            standby for name, cluster in clusters for standby in _standbys(topology, name, cluster)
        ),
    )


def _standbys(topology: Topology, name: str, cluster: Cluster) -> Iterator[Standby]:
    """Those that the file names, not those that follow from the only mirror: that one is shown anyway."""
    applications: tuple[Producer | Consumer, ...] = (
        *topology.producers_of(name),
        *topology.consumers_of(name),
    )
    going: dict[str, list[str]] = {} if cluster.standby is None else {cluster.standby: []}
    for application in applications:
        said = application.standby or cluster.standby
        if said is not None:
            going.setdefault(said, []).append(application.name)
    for target, names in going.items():
        if target in topology.clusters and target != name:
            yield Standby(name, target, tuple(names), len(names) == len(applications))


def _site(topology: Topology, site: str) -> Site:
    servers = topology.coordination.datacenters if topology.coordination else ()
    return Site(site, servers.count(site), len(servers))


def _cluster_part(topology: Topology, name: str, cluster: Cluster) -> KafkaCluster:
    return KafkaCluster(
        name=name,
        kafka=cluster.kafka,
        metadata=cluster.metadata,
        sites=cluster.datacenters,
        topics=tuple(
            PlacedTopic(
                topic.name,
                topic.partitions,
                topic.replicas,
                topic.min_insync_replicas,
                placed_copies(topic, cluster),
            )
            for topic in topology.topics_of(name)
        ),
        copied=_copied(topology, name),
    )


def _copied(topology: Topology, target: str) -> dict[str, tuple[str, ...]]:
    """Names that the topics of each source have at `target`."""
    copied: dict[str, tuple[str, ...]] = {}
    for mirror in topology.replication:
        if mirror.target == target:
            names = tuple(mirror.mirrored_topic(topic) for topic in mirror.topics)
            copied[mirror.source] = copied.get(mirror.source, ()) + names
    return copied


def _servers(name: str, cluster: Cluster) -> Iterator[Servers]:
    for site in cluster.datacenters:
        rows = [row for row in cluster.nodes if row.dc == site]
        yield Servers(
            cluster=name,
            site=site,
            brokers=sum(row.brokers for row in rows),
            controllers=sum(row.controllers for row in rows),
            zookeepers=sum(row.zookeepers for row in rows),
            connect_workers=sum(row.connect_workers for row in rows),
            shared=sum(min(row.brokers, row.controllers) for row in rows) if cluster.is_combined else 0,
            racks=tuple(row.rack for row in rows if row.rack),
        )


def _applications(topology: Topology) -> Iterator[Application]:
    for producer in topology.producers:
        yield Application(producer.name, "producer", producer.cluster, producer.topics, producer.acks)
    for consumer in topology.consumers:
        topics = topology.topics_read(consumer)
        yield Application(
            consumer.name,
            consumer.kind,
            consumer.cluster,
            topics,
            pattern=consumer.pattern,
            caption=consumer.caption,
            mark=consumer.mark,
        )
