"""A real broker, read for a plan; and clusters that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.java_admin_jvm import end_shared_jvm
from orchestrator.operations.layout.observe import _masked, observe_layout
from orchestrator.planning.layout.observed import ObservedQuorum
from orchestrator.topology.model import Cluster, Nodes, Replication, Topology
from tests.kafka_broker import kafka_broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One without an authorizer."""
    folder = tmp_path_factory.mktemp("broker")
    settings = {"broker.rack": "west", "auto.create.topics.enable": "false"}
    with kafka_broker(kafka_runtime("4.3.1", find_java()), folder, settings=settings) as cluster:
        yield cluster
    end_shared_jvm()


def _topology(**bootstrap: tuple[str, ...]) -> Topology:
    row = Nodes(dc="here", brokers=1, controllers=1)
    clusters = {
        name: Cluster(kafka="4.3.1", metadata="kraft", nodes=(row,), bootstrap=addresses)
        for name, addresses in bootstrap.items()
    }
    mirror = Replication(source="away", target="west", topics=())
    return Topology(
        version=1,
        name="t",
        layout="active-passive",
        datacenters=("here",),
        clusters=clusters,
        replication=(mirror,),
    )


@pytest.mark.integration
def test_clusters_are_read_side_by_side(broker: KafkaCluster) -> None:
    """What is there is there; what cannot be had has a reason, and the other clusters do not suffer."""
    broker.create_topics({"orders": (2, 1, {"retention.ms": "1000"}), "plain": (1, 1, {})})
    address = str(broker.properties["bootstrap.servers"])
    estate = observe_layout(_topology(west=(address,), away=("127.0.0.1:1",), unnamed=()))
    west = estate.clusters["west"]
    assert west.problem == ""
    assert [(b.broker_id, b.address, b.rack) for b in west.brokers] == [(1, address, "west")]
    orders = west.topics["orders"]
    assert (orders.partitions, orders.replicas, orders.isr) == (2, ((1,), (1,)), ((1,), (1,)))
    assert orders.config == {"retention.ms": "1000"}
    assert (west.topics["plain"].config, orders.is_internal) == ({}, False)
    assert (west.acls, west.has_authorizer) == (frozenset(), False)
    assert west.quorum == ObservedQuorum(kind="kraft", voters=(1,), leader=1)
    assert west.reassigning == frozenset()
    assert west.connectors is None
    assert "no Connect workers" in west.unknown["connectors"]
    away = estate.clusters["away"]
    assert away.problem == "no address takes a connection: 127.0.0.1:1 refuses connections"
    assert (away.topics, away.quorum) == ({}, None)
    assert "bootstrap" in estate.clusters["unnamed"].problem


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("source.cluster.sasl.jaas.config", 'x required password="hush";', "(not shown)"),
        (
            "source.cluster.sasl.jaas.config",
            'x required password="${directory:/run:mirror}";',
            'x required password="${directory:/run:mirror}";',
        ),
        ("database.password", "hush", "(not shown)"),
        ("database.password", "", ""),
        ("topics", "password-changes", "password-changes"),
    ],
)
def test_literal_secrets_of_connectors_are_masked(key: str, value: str, shown: str) -> None:
    """References stay: they are what a plan compares."""
    assert _masked(key, value) == shown
