"""What MirrorMaker is told to do for a mirror of the file."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from orchestrator.errors import DcctlError
from orchestrator.mirrors.mirrormaker2.connectors import connector_names, desired_connectors, source_isolation
from orchestrator.ports.servers import Connect
from orchestrator.replication.engine import Asked, engine_of
from orchestrator.topology.model import Cluster, Consumer, Nodes, Replication, Topic, Topology

_MIRROR = Replication(source="west", target="east", topics=("orders", "eu.payments"))


def _topology(brokers: int) -> Topology:
    cluster = {
        dc: Cluster(
            kafka="4.3.1", metadata="kraft", nodes=(Nodes(dc=dc, brokers=brokers, controllers=brokers),)
        )
        for dc in ("west", "east")
    }
    return Topology(
        version=1, name="t", layout="active-passive", datacenters=("west", "east"), clusters=cluster
    )


def _connectors(mirror: Replication = _MIRROR, brokers: int = 3) -> dict[str, dict[str, str]]:
    security = {"security.protocol": "SASL_PLAINTEXT", "sasl.jaas.config": "${file:/secrets:mirror}"}
    return desired_connectors(_topology(brokers), mirror, security, security, "w:1,w:2", "e:1")


def test_offset_syncs_survive_the_source() -> None:
    """Their default place is the source, which is what gets lost."""
    names = connector_names(_MIRROR)
    connectors = _connectors()
    assert set(connectors) == set(names)
    for name in (names.source, names.checkpoint):
        assert connectors[name]["offset-syncs.topic.location"] == "target"


def test_clients_of_both_clusters_get_their_properties() -> None:
    """Addresses and security, references to secrets kept as they are."""
    source = _connectors()["west-to-east-source"]
    assert source["source.cluster.bootstrap.servers"] == "w:1,w:2"
    assert source["target.cluster.bootstrap.servers"] == "e:1"
    assert source["source.cluster.sasl.jaas.config"] == "${file:/secrets:mirror}"


def test_heartbeats_start_at_the_source() -> None:
    """They come to the target through the mirror: only so does their age say something of the link."""
    heartbeat = _connectors()["west-to-east-heartbeat"]
    assert heartbeat["producer.override.bootstrap.servers"] == "w:1,w:2"
    assert heartbeat["target.cluster.bootstrap.servers"] == "w:1,w:2"
    assert (heartbeat["source.cluster.alias"], heartbeat["target.cluster.alias"]) == ("east", "west")


def test_topics_are_patterns() -> None:
    """A point in a name is a point, not any character."""
    assert _connectors()["west-to-east-source"]["topics"] == r"orders,eu\.payments"


@pytest.mark.parametrize(("policy", "expected"), [("default", "Default"), ("identity", "Identity")])
def test_the_policy_of_the_file(policy: str, expected: str) -> None:
    """With its separator."""
    source = _connectors(replace(_MIRROR, policy=policy, separator="_"))["west-to-east-source"]
    assert source["replication.policy.class"].endswith(f".{expected}ReplicationPolicy")
    assert source["replication.policy.separator"] == "_"


def test_no_more_replicas_than_brokers() -> None:
    """Three, or what the cluster can hold."""
    assert _connectors()["west-to-east-source"]["replication.factor"] == "3"
    assert _connectors(brokers=1)["west-to-east-checkpoint"]["checkpoints.topic.replication.factor"] == "1"


def test_properties_of_the_file_win() -> None:
    """Those of the producer stay away from the heartbeats, which are written to the other cluster."""
    mirror = replace(_MIRROR, connectors={"offset.lag.max": "10", "producer.override.batch.size": "1"})
    connectors = _connectors(mirror)
    assert connectors["west-to-east-source"]["offset.lag.max"] == "10"
    assert connectors["west-to-east-source"]["producer.override.batch.size"] == "1"
    assert "producer.override.batch.size" not in connectors["west-to-east-heartbeat"]


def test_what_the_map_rests_on_cannot_be_changed() -> None:
    """An override of it is refused, by name."""
    mirror = replace(_MIRROR, connectors={"offset-syncs.topic.location": "source"})
    with pytest.raises(DcctlError, match=r"replication west -> east: .*offset-syncs\.topic\.location"):
        _connectors(mirror)


def test_what_a_mirror_reads_is_said_by_the_more_special_key() -> None:
    """Else an aborted transaction at a log's end counts as records that the mirror has still to copy."""
    assert source_isolation(_connectors()[connector_names(_MIRROR).source]) == "read_committed"
    common, own = "consumer.isolation.level", "source.consumer.isolation.level"
    assert source_isolation({common: "read_committed"}) == "read_committed"
    assert source_isolation({common: "read_committed", own: "read_uncommitted"}) == "read_uncommitted"
    assert source_isolation({}) == "read_uncommitted"


def test_with_which_isolation_level_a_mirror_reads_its_own_connector_says() -> None:
    """Not the file: it may run as somebody else has set it up."""
    own = {"source.consumer.isolation.level": "read_uncommitted"}
    asked_for: list[str] = []

    def configuration(name: str) -> dict[str, str]:
        asked_for.append(name)
        return own

    workers = cast(Connect, SimpleNamespace(configuration=configuration))
    asked = Asked(pytest.fail, lambda _: workers)
    assert engine_of(_MIRROR).isolation_level(asked, _MIRROR) == "read_uncommitted"
    assert asked_for == [connector_names(_MIRROR).source]


@pytest.mark.parametrize("said", [{}, {"groups.exclude": "test-.*"}])
def test_groups_with_positions_of_their_own_at_the_target_are_left_out_of_the_group_sync(
    said: dict[str, str],
) -> None:
    """By id, whatever else the file leaves out: readers of copies, and those of one id at both clusters."""

    def group(name: str, cluster: str, *topics: str, group: str | None = None) -> Consumer:
        return Consumer(name=name, cluster=cluster, kind="group", topics=topics, group=group)

    topics = tuple(
        Topic(name="orders", cluster=cluster, partitions=1, replicas=1, min_insync_replicas=1)
        for cluster in ("west", "east")
    )
    mirror = Replication(source="west", target="east", topics=("orders",), connectors=said)
    topology = replace(
        _topology(1),
        topics=topics,
        replication=(mirror,),
        consumers=(
            group("billing", "west", "orders"),
            group("packing", "west", "orders"),
            group("packing-east", "east", "orders", group="packing"),
            group("search-east", "east", "orders"),
            group("reporting", "east", "orders", "west.orders", group="reporting.v2"),
        ),
    )
    made = desired_connectors(topology, mirror, {}, {}, "w:1", "e:1")[connector_names(mirror).checkpoint]
    excluded = made["groups.exclude"].split(",")
    assert excluded[-2:] == ["packing", r"reporting\.v2"]
    assert ("test-.*" in excluded) == bool(said)
    assert not {"billing", "search-east"} & {*excluded}
