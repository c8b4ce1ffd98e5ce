"""A real broker, read for a plan; and clusters that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.adapters.connect import ConnectCluster
from orchestrator.adapters.java.detection import find_java
from orchestrator.adapters.java.runtime import kafka_runtime
from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.adapters.kafka.java_admin_jvm import end_shared_jvm
from orchestrator.estate.desired import desired_estate
from orchestrator.estate.live.observe import observe_estate, plain_topics
from orchestrator.estate.observed import ObservedQuorum, observed_connectors
from orchestrator.ports.admin_values import NewTopic
from orchestrator.ports.connector import ConnectorStatus, TaskStatus
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Cluster, Nodes, Replication, Topology
from orchestrator.topology.rules.secrets import RULES
from tests.kafka_broker import kafka_broker
from tests.reconcile.estates import as_described, planned, with_cluster


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
    broker.create_topics(
        {
            "orders": NewTopic(partitions=2, replicas=1, config={"retention.ms": "1000"}),
            "plain": NewTopic(replicas=1),
        }
    )
    address = str(broker.properties["bootstrap.servers"])
    estate = observe_estate(_topology(west=(address,), away=("127.0.0.1:1",), unnamed=()))
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


def test_a_topic_without_the_setting_is_found_for_every_setting() -> None:
    """What is in force without one is what such a topic says; of a setting that all have nobody knows it."""
    configs = {
        "a": {"min.insync.replicas": "2"},
        "b": {"min.insync.replicas": "2", "retention.ms": "1"},
        "c": {"retention.ms": "1", "cleanup.policy": "compact", "segment.ms": "1"},
    }
    assert plain_topics(configs) == ("a", "c")
    assert plain_topics({"a": {"x": "1"}, "b": {"x": "2"}}) == ("a",)
    assert plain_topics({"b": {}, "a": {}}) == ("a",)
    assert plain_topics({}) == ()


class _Workers(ConnectCluster):
    """They run every connector that somebody has asked for."""

    def __init__(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        self._configs = configs

    def described(self) -> dict[str, tuple[dict[str, str], ConnectorStatus]]:
        status = ConnectorStatus("RUNNING", (TaskStatus(0, "RUNNING"),))
        return {name: (dict(config), status) for name, config in self._configs.items()}


@pytest.mark.parametrize(
    "client",
    [
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": "https://sso.example/token",
            "sasl.jaas.config": 'x required clientId="m" clientSecret="${directory:/run/secrets:mirror}";',
        },
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "GSSAPI",
            "sasl.jaas.config": 'x required useKeyTab=true keyTab="/run/mirror.keytab" principal="mirror";',
        },
    ],
    ids=["OAuth", "Kerberos"],
)
def test_connectors_as_the_file_says_are_seen_as_the_file_says(client: Mapping[str, str]) -> None:
    """However the mirror logs in; otherwise each apply would set them up anew, and take them back."""
    file = load_topology(Path(__file__).parents[2] / "topologies" / "active-passive.yaml")
    clusters = {name: replace(cluster, mirror_client=client) for name, cluster in file.clusters.items()}
    file = replace(file, clusters=clusters)
    assert [finding for rule in RULES for finding in rule.check(file)] == []
    wanted = desired_estate(file).clusters["east"].connectors
    seen = observed_connectors(_Workers({name: one.config for name, one in wanted.items()}).described())
    assert {name: one.config for name, one in seen.items()} == {n: one.config for n, one in wanted.items()}
    plan = planned(file, with_cluster(as_described(file), "east", connectors=seen))
    assert plan.facts["differences"] == []
