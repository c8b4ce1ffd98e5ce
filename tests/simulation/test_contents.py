"""Topics and access rules that a cluster starts with."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.simulation.contents import planned_acls, planned_topics
from orchestrator.topology.model import Topology


def _allowed(topology: Topology, cluster: str, user: str, operation: str, kind: str = "TOPIC") -> set[str]:
    return {
        acl.name
        for acl in planned_acls(topology, cluster)
        if acl.principal == f"User:{user}" and acl.resource == kind and operation in acl.operations
    }


def test_mirrored_and_landing_topics_equal_the_source(topology: Topology) -> None:
    """Same partitions, same durability, before MirrorMaker could create them with less."""
    source, target = planned_topics(topology, "west"), planned_topics(topology, "east")
    for topic in ("orders", "payments"):
        assert target[topic] == target[f"west.{topic}"] == source[topic]


def test_what_a_failover_reads_outlives_a_rehearsal(topology: Topology) -> None:
    """Offset syncs are not compacted away; samples keep an hour of history."""
    target = planned_topics(topology, "east")
    syncs = target["mm2-offset-syncs.west.internal"][2]
    assert syncs["cleanup.policy"] == "delete"
    assert int(syncs["retention.ms"]) > 24 * 3600 * 1000
    samples = target["dcctl-samples.west.internal"]
    assert samples[0] == 1
    assert samples[2]["min.compaction.lag.ms"] == "3600000"


def test_replicas_never_exceed_the_brokers(topology: Topology) -> None:
    """A smaller standby cluster still takes the topics."""
    east = topology.clusters["east"]
    small = replace(east, nodes=(replace(east.nodes[0], brokers=1, controllers=1),))
    topics = planned_topics(replace(topology, clusters={**topology.clusters, "east": small}), "east")
    assert {replicas for _, replicas, _ in topics.values()} == {1}
    assert topics["west.orders"][2]["min.insync.replicas"] == "1"


def test_identity_policy_has_one_topic_for_both(topology: Topology) -> None:
    """Mirrored and landing topic are the same one."""
    mirror = replace(topology.replication[0], policy="identity")
    topics = planned_topics(replace(topology, replication=(mirror,)), "east")
    assert "orders" in topics
    assert not [name for name in topics if name.startswith("west.o")]


def test_producers_write_landing_topics_and_nothing_mirrored(topology: Topology) -> None:
    """Anything else in a mirrored topic would break the offset map."""
    assert _allowed(topology, "west", "checkout", "WRITE") == {"orders"}
    assert _allowed(topology, "east", "checkout", "WRITE") == {"orders"}


def test_consumers_read_mirrored_and_landing_topics(topology: Topology) -> None:
    """After a failover a group goes on with both, under the same name."""
    assert _allowed(topology, "east", "billing", "READ") == {"orders", "west.orders"}
    assert _allowed(topology, "east", "billing", "READ", "GROUP") == {"billing"}
    assert not _allowed(topology, "east", "billing", "WRITE")


def test_spark_may_use_any_group_that_begins_with_its_name(topology: Topology) -> None:
    """Spark appends what it likes to the prefix."""
    rules = [acl for acl in planned_acls(topology, "east") if acl.principal == "User:revenue"]
    assert [acl.is_prefix for acl in rules if acl.resource == "GROUP"] == [True]


def test_mirror_only_reads_at_the_source(topology: Topology) -> None:
    """Its heartbeats apart; and at the target it writes to no landing topic."""
    assert _allowed(topology, "west", "mirror", "WRITE") == {"heartbeats"}
    assert "orders" not in _allowed(topology, "east", "mirror", "WRITE")
    assert {"west.orders", "west.heartbeats", "connect-east-offsets"} <= _allowed(
        topology, "east", "mirror", "WRITE"
    )
