"""Configuration of the servers, as they will read it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.simulation import servers
from orchestrator.simulation.estate import Estate, planned_estate, port_count
from orchestrator.topology.model import InternalTopic, Topology

PASSWORDS = {"broker": "b-secret", "operator": "o-secret", "mirror": "m-secret", "billing": "x-secret"}


@pytest.fixture
def estate(topology: Topology) -> Estate:
    return planned_estate(topology, range(20_000, 20_000 + port_count(topology)))


def _node(topology: Topology, estate: Estate, cluster: str = "west") -> dict[str, str]:
    nodes = estate.nodes_of(cluster)
    described = topology.clusters[cluster]
    return servers.node_properties(nodes[1], nodes, described, data=Path("/d"), passwords=PASSWORDS)


def test_nodes_know_each_other(topology: Topology, estate: Estate) -> None:
    """Static voters: all three controllers, by their controller ports; the rack is the data centre."""
    properties = _node(topology, estate)
    voters = [f"{n.node_id}@127.0.0.1:{n.controller_port}" for n in estate.nodes_of("west")]
    assert properties["controller.quorum.voters"] == ",".join(voters)
    assert properties["broker.rack"] == "west"
    assert "CLIENT://127.0.0.1:20002," in properties["listeners"]


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
    """Three replicas and two in sync unless it says otherwise."""
    properties = _node(topology, estate)
    assert properties["offsets.topic.replication.factor"] == "3"
    assert properties["min.insync.replicas"] == "2"
    weaker = replace(
        topology.clusters["west"],
        internal_topics={"__consumer_offsets": InternalTopic(replicas=2, min_insync_replicas=1)},
    )
    properties = _node(replace(topology, clusters={**topology.clusters, "west": weaker}), estate)
    assert properties["offsets.topic.replication.factor"] == "2"
    assert properties["min.insync.replicas"] == "1"


def test_worker_configuration_holds_no_password(topology: Topology, estate: Estate) -> None:
    """It refers to a file: Connect shows configurations to whoever asks its REST interface."""
    properties = servers.worker_properties(
        estate.workers[0],
        estate.bootstrap("east"),
        replicas=3,
        offset_flush_interval_s=0.5,
        folder=Path("/sites/east/connect-1"),
    )
    reference = "${file:/sites/east/connect-1/mirror.properties:password}"
    for prefix in ("", "producer.", "consumer.", "admin."):
        assert f'password="{reference}"' in properties[f"{prefix}sasl.jaas.config"]
    assert properties["offset.flush.interval.ms"] == "500"
    assert properties["connector.client.config.override.policy"] == "All"


def test_backslashes_survive_the_properties_file() -> None:
    """A regular expression reaches the server as it was."""
    assert servers.java_properties({"topics": r"a\.b"}) == "topics=a\\\\.b\n"
