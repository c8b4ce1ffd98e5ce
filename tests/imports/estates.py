"""Estates as they are seen that stand exactly as a file describes them, without the file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from orchestrator.estate.observed import ObservedEstate, ObservedQuorum
from orchestrator.imports.live.run import topology_text
from orchestrator.imports.seen import Imported, SeenCluster, SeenEstate
from orchestrator.topology.loading import check_text
from orchestrator.topology.model import Cluster, Topology
from tests.reconcile.estates import as_described

SETTINGS = {
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
}


def with_addresses(topology: Topology) -> Topology:
    """The file as for a real estate: clients and mirrors have addresses, mirrors a secret by reference."""
    jaas = 'x.PlainLoginModule required username="mirror" password="${directory:/run/secrets:mirror}";'
    return replace(
        topology,
        clusters={
            name: replace(
                cluster,
                bootstrap=tuple(f"{name}-{number}:9092" for number in range(1, cluster.brokers + 1)),
                connect=(f"http://{name}-connect:8083",) if cluster.has_connect else (),
                mirror_client={"sasl.jaas.config": jaas},
            )
            for name, cluster in topology.clusters.items()
        },
    )


def seen(topology: Topology, observed: ObservedEstate | None = None, **changes: Any) -> SeenEstate:
    """What is to be seen of it, controllers and ZooKeeper servers on hosts of their own."""
    observed = observed or as_described(topology)
    return SeenEstate(
        name=topology.name,
        clusters={
            name: _cluster(name, cluster, observed, **changes) for name, cluster in topology.clusters.items()
        },
        known_versions=("3.9.1", "4.3.1"),
        dc_of_host={
            f"{row.dc}-quorum": row.dc for cluster in topology.clusters.values() for row in cluster.nodes
        },
    )


def _cluster(name: str, cluster: Cluster, observed: ObservedEstate, **changes: Any) -> SeenCluster:
    found = observed.clusters[name]
    brokers = tuple(
        replace(broker, address=address)
        for broker, address in zip(found.brokers, cluster.bootstrap, strict=True)
    )
    is_kraft = cluster.metadata == "kraft"
    homes = [row.dc for row in cluster.nodes for _ in range(row.controllers + row.zookeepers)]
    first = 1 if is_kraft and cluster.is_combined else 101
    voters = {first + number: dc for number, dc in enumerate(homes)}
    groups = {
        number: tuple(voter for voter, dc in voters.items() if dc == row.dc)
        for number, row in enumerate(cluster.nodes, 1)
        if row.zookeepers
    }
    return SeenCluster(
        name=name,
        bootstrap=cluster.bootstrap,
        connect=cluster.connect,
        metadata=cluster.metadata,
        release=cluster.kafka.rpartition(".")[0],
        settings=SETTINGS,
        groups={},
        voter_hosts={voter: f"{dc}-quorum" for voter, dc in voters.items()},
        voter_groups=groups if cluster.quorum == "hierarchical" else {},
        observed=replace(
            found,
            brokers=brokers,
            quorum=ObservedQuorum(kind=cluster.metadata, voters=tuple(voters)),
            topic_defaults={"min.insync.replicas": "1"},
            **changes,
        ),
    )


def decided(imported: Imported, topology: Topology) -> Imported:
    """With `landing` as the example has it: no estate shows whose new records are, and the file is asked."""
    said = check_text(topology_text(imported, "from a test")).errors
    wanted = {consumer.name: consumer.landing for consumer in topology.consumers if consumer.landing}
    assert [problem.rule for problem in said] == ["landing-said"] * len(wanted)
    consumers = tuple(replace(one, landing=wanted.get(one.name)) for one in imported.topology.consumers)
    return replace(imported, topology=replace(imported.topology, consumers=consumers))
