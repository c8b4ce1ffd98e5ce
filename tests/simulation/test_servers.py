"""Configuration of the servers, as they will read it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.simulation import servers
from orchestrator.simulation.credentials import java_client, worker_secret
from orchestrator.simulation.estate import Estate, planned_estate
from orchestrator.topology.model import InternalTopic, Topology
from tests.simulation.layouts import kraft_2dc, zookeeper_2dc
from tests.simulation.loopback import Loopback

PASSWORDS = {"broker": "b-secret", "operator": "o-secret", "mirror": "m-secret", "billing": "x-secret"}


@pytest.fixture
def estate(topology: Topology) -> Estate:
    return planned_estate(topology)


def _node(topology: Topology, estate: Estate, cluster: str = "west") -> dict[str, str]:
    nodes = estate.nodes_of(cluster)
    described = topology.clusters[cluster]
    return servers.kraft_properties(
        nodes[1], nodes, described, Loopback(estate), data=Path("/d"), passwords=PASSWORDS
    )


def test_nodes_know_each_other(topology: Topology, estate: Estate) -> None:
    """Static voters: all three controllers, by their controller ports; the rack is the data centre."""
    properties = _node(topology, estate)
    ports = Loopback(estate).ports
    voters = [
        f"{n.node_id}@127.0.0.1:{ports[f'west/{n.program}/controller']}" for n in estate.nodes_of("west")
    ]
    assert properties["controller.quorum.voters"] == ",".join(voters)
    assert properties["broker.rack"] == "west"
    assert f"CLIENT://127.0.0.1:{ports['west/broker-2/client']}," in properties["listeners"]


def test_isolated_nodes_have_one_role_each() -> None:
    """A controller serves no client; a broker votes for nobody, and knows who does."""
    topology = kraft_2dc()
    estate = planned_estate(topology)
    voters = estate.controllers_of("main")

    def properties(node_id: int) -> dict[str, str]:
        node = next(node for node in estate.nodes if node.node_id == node_id)
        main = topology.clusters["main"]
        return servers.kraft_properties(
            node, voters, main, Loopback(estate), data=Path("/d"), passwords=PASSWORDS
        )

    broker, controller = properties(3), properties(104)
    assert (broker["process.roles"], controller["process.roles"]) == ("broker", "controller")
    assert "CONTROLLER" not in broker["listeners"]
    assert "CLIENT" not in controller["listeners"]
    assert "advertised.listeners" not in controller
    assert broker["controller.quorum.voters"] == controller["controller.quorum.voters"]
    assert broker["controller.quorum.voters"].count("@") == 6
    assert (broker["broker.rack"], controller["broker.rack"]) == ("dc2", "dc2")


def test_zookeeper_mode_has_nothing_of_kraft() -> None:
    """It takes its metadata from the ensemble, and its access rules too."""
    topology = zookeeper_2dc()
    estate = planned_estate(topology)
    properties = servers.zookeeper_mode_properties(
        estate.nodes[0],
        "127.0.0.1:1,127.0.0.1:2",
        topology.clusters["main"],
        Loopback(estate),
        data=Path("/d"),
        passwords=PASSWORDS,
    )
    assert properties["zookeeper.connect"] == "127.0.0.1:1,127.0.0.1:2"
    assert properties["broker.id"] == "1"
    assert properties["authorizer.class.name"].endswith("AclAuthorizer")
    assert not {"process.roles", "node.id", "controller.quorum.voters"} & properties.keys()


def test_nobody_gets_in_without_a_name(topology: Topology, estate: Estate) -> None:
    """Every listener asks who it is, an authorizer decides, and only two users are above it."""
    properties = _node(topology, estate)
    assert "PLAINTEXT" not in properties["listener.security.protocol.map"].replace("SASL_PLAINTEXT", "")
    assert properties["authorizer.class.name"].endswith("StandardAuthorizer")
    assert properties["super.users"] == "User:operator;User:broker"
    assert properties["allow.everyone.if.no.acl.found"] == "false"
    for user, password in PASSWORDS.items():
        assert f'user_{user}="{password}"' in properties["listener.name.client.plain.sasl.jaas.config"]


def test_internal_topics_are_as_durable_as_the_file_says(topology: Topology, estate: Estate) -> None:
    """Kafka's own defaults unless it says otherwise: what `explain` judges is what runs."""
    properties = _node(topology, estate)
    assert properties["offsets.topic.replication.factor"] == "3"
    assert properties["min.insync.replicas"] == "1"
    assert properties["transaction.state.log.min.isr"] == "2"
    stronger = replace(
        topology.clusters["west"],
        internal_topics={"__consumer_offsets": InternalTopic(replicas=2, min_insync_replicas=2)},
    )
    properties = _node(replace(topology, clusters={**topology.clusters, "west": stronger}), estate)
    assert properties["offsets.topic.replication.factor"] == "2"
    assert properties["min.insync.replicas"] == "2"


def test_worker_configuration_holds_no_password(topology: Topology, estate: Estate) -> None:
    """It refers to a file: Connect shows configurations to whoever asks its REST interface."""
    reference = worker_secret(Path("/sim/connect.properties"), "mirror")
    properties = servers.worker_properties(
        estate.workers[0],
        ["127.0.0.1:1"],
        Loopback(estate),
        replicas=3,
        offset_flush_interval_s=0.5,
        security=java_client("mirror", reference),
    )
    for prefix in ("", "producer.", "consumer.", "admin."):
        assert f'password="{reference}"' in properties[f"{prefix}sasl.jaas.config"]
    assert properties["offset.flush.interval.ms"] == "500"
    assert properties["connector.client.config.override.policy"] == "All"


def test_backslashes_survive_the_properties_file() -> None:
    """A regular expression reaches the server as it was."""
    assert servers.java_properties({"topics": r"a\.b"}) == "topics=a\\\\.b\n"


def test_dynamic_voters_stand_in_no_file() -> None:
    """A node asks any controller who votes."""
    topology = kraft_2dc()
    estate, main = planned_estate(topology), replace(topology.clusters["main"], voters="dynamic")
    voters = estate.controllers_of("main")
    properties = servers.kraft_properties(
        voters[0], voters, main, Loopback(estate), data=Path("/d"), passwords=PASSWORDS
    )
    assert "controller.quorum.voters" not in properties
    assert properties["controller.quorum.bootstrap.servers"].count(",") == 5


def test_brokers_that_are_read_from_the_nearest_replica_know_racks(
    topology: Topology, estate: Estate
) -> None:
    """The selector is there where the file asks for it, and Kafka's default elsewhere."""
    assert "replica.selector.class" not in _node(topology, estate)
    near = {**topology.clusters, "west": replace(topology.clusters["west"], read_from="nearest")}
    selector = _node(replace(topology, clusters=near), estate)["replica.selector.class"]
    assert selector == "org.apache.kafka.common.replica.RackAwareReplicaSelector"
