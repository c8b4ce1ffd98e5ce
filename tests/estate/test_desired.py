"""What a cluster shall hold by its file: topics, access rules, connectors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.estate.desired import desired_estate
from orchestrator.estate.desired_acls import desired_acls
from orchestrator.estate.desired_topics import desired_topics
from orchestrator.mirrors.mirrormaker2.objects import heartbeats_topics
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import InternalTopic, Replication, Topic, Topology
from tests.reconcile.layouts import active_active, aggregation, cluster, site, stretched

EXAMPLE = Path(__file__).parents[2] / "topologies" / "active-passive.yaml"
TWO_CENTRES = EXAMPLE.with_name("aggregation-two-centres.yaml")


@pytest.fixture(scope="module")
def topology() -> Topology:
    """The example."""
    return load_topology(EXAMPLE)


def _allowed(topology: Topology, cluster: str, user: str, operation: str, kind: str = "TOPIC") -> set[str]:
    return {
        acl.resource_name
        for acl in desired_acls(topology, cluster)
        if acl.principal == f"User:{user}" and acl.resource_type == kind and acl.operation == operation
    }


def test_mirrored_and_landing_topics_equal_the_source(topology: Topology) -> None:
    """Same partitions, same durability, before MirrorMaker could create them with less."""
    source, target = desired_topics(topology, "west"), desired_topics(topology, "east")
    for name in ("orders", "payments"):
        for other in (target[name], target[f"west.{name}"]):
            assert other.origin == ("west", name)
            assert (other.partitions, other.replicas, other.config) == (
                source[name].partitions,
                source[name].replicas,
                source[name].config,
            )


def test_what_a_failover_reads_outlives_a_rehearsal(topology: Topology) -> None:
    """Offset syncs are not compacted away; samples keep an hour of history."""
    target = desired_topics(topology, "east")
    syncs = target["mm2-offset-syncs.west.internal"].config
    assert syncs["cleanup.policy"] == "delete"
    assert int(syncs["retention.ms"]) > 24 * 3600 * 1000
    samples = target["dcctl-samples.west.internal"]
    assert samples.partitions == 1
    assert samples.config["min.compaction.lag.ms"] == "3600000"


def test_replicas_never_exceed_the_brokers(topology: Topology) -> None:
    """A smaller standby cluster still takes the topics."""
    east = replace(topology.clusters["east"], nodes=(site("east", 1, connect_workers=1),))
    topics = desired_topics(replace(topology, clusters={**topology.clusters, "east": east}), "east")
    assert {topic.replicas for topic in topics.values()} == {1}
    assert topics["west.orders"].config["min.insync.replicas"] == "1"


def test_identity_policy_has_one_topic_for_both(topology: Topology) -> None:
    """Mirrored and landing topic are the same one. Heartbeats alone are renamed, as MirrorMaker does."""
    mirror = replace(topology.replication[0], policy="identity")
    topics = desired_topics(replace(topology, replication=(mirror,)), "east")
    assert topics["orders"].role == "mirrored"
    assert [name for name in topics if name.startswith("west.")] == [
        "west.checkpoints.internal",
        "west.heartbeats",
    ]
    assert "heartbeats" not in topics


def test_topics_whose_maker_chooses_are_only_compared(topology: Topology) -> None:
    """Connect's own, and those of Kafka that the file speaks of."""
    described = replace(
        topology.clusters["east"],
        internal_topics={"__consumer_offsets": InternalTopic(min_insync_replicas=2)},
    )
    topics = desired_topics(replace(topology, clusters={**topology.clusters, "east": described}), "east")
    offsets = topics["__consumer_offsets"]
    assert (offsets.partitions, offsets.replicas, offsets.config) == (None, 3, {"min.insync.replicas": "2"})
    assert not offsets.must_exist
    assert not topics["connect-east-configs"].must_exist


def test_a_mirror_may_be_less_durable_than_its_source(topology: Topology) -> None:
    """Where the file says so; the landing topic stays as the source's."""
    mirror = replace(
        topology.replication[0], replicas=2, min_insync_replicas=1, topic_config={"retention.ms": "1000"}
    )
    topics = desired_topics(replace(topology, replication=(mirror,)), "east")
    assert (topics["west.orders"].replicas, topics["orders"].replicas) == (2, 3)
    assert topics["west.orders"].config == {"min.insync.replicas": "1", "retention.ms": "1000"}


def test_a_mirror_of_somebody_else_is_left_alone(topology: Topology) -> None:
    """Its topics, connectors and rights are not ours; where producers land and what we record, is."""
    mirror = replace(topology.replication[0], managed=False)
    east = desired_estate(replace(topology, replication=(mirror,))).clusters["east"]
    assert {topic.role for topic in east.topics.values()} == {"landing", "watcher"}
    assert not east.connectors
    assert "User:mirror" not in {acl.principal for acl in east.acls}


def test_active_active_needs_no_second_orders() -> None:
    """What one side's producers would land in is what the file describes there; heartbeats do not circle."""
    topics = desired_topics(active_active(), "east")
    assert (topics["orders"].role, topics["west.orders"].role) == ("file", "mirrored")
    assert heartbeats_topics(active_active(), "east") == ("heartbeats", "west.heartbeats")
    names = set(topics)
    assert {"mm2-offset-syncs.west.internal", "west.checkpoints.internal"} <= names
    assert not {name for name in names if name.startswith(("east.", "west.east."))}


def test_a_consumer_of_both_sides_finds_both_again() -> None:
    """What came from the other side is there under its own name."""
    rights = _allowed(active_active(), "east", "billing", "READ")
    assert rights == {"orders", "west.orders"}


def test_aggregation_brings_topics_of_one_name_together() -> None:
    """Each copy has its source's partitions; the landing topic has room for both."""
    topics = desired_topics(aggregation(), "hub")
    assert [topics[name].partitions for name in ("dc1.T", "dc2.T", "T")] == [3, 6, 6]
    assert topics["dc2.T"].origin == ("dc2", "T")
    assert set(heartbeats_topics(aggregation(), "hub")) == {"dc1.heartbeats", "dc2.heartbeats"}


def test_a_centres_consumers_have_their_rights_at_its_standby_too() -> None:
    """No mirror leads from one centre to the other; a move between them makes no rules first."""
    topology = load_topology(TWO_CENTRES)
    assert _allowed(topology, "reserve", "reporting", "READ") == {"dc1.orders", "dc2.orders"}
    assert _allowed(topology, "reserve", "audit", "READ") == {"dc1.orders"}
    assert _allowed(topology, "reserve", "reporting", "READ", "GROUP") == {"reporting"}


def test_a_group_id_of_its_own_is_what_a_consumer_may_join() -> None:
    """At home and where it goes; its name is none of Kafka's business."""
    topology = load_topology(TWO_CENTRES)
    consumers = tuple(
        replace(one, group="reports") if one.name == "reporting" else one for one in topology.consumers
    )
    for place in ("centre", "reserve"):
        named = replace(topology, consumers=consumers)
        assert _allowed(named, place, "reporting", "READ", "GROUP") == {"reports"}


def test_a_chain_of_mirrors_passes_everything_on() -> None:
    """What is mirrored twice still has the durability of the file; nobody lands with it."""
    topology = aggregation()
    far = cluster(site("far", connect_workers=1), bootstrap=("f:1",))
    topology = replace(
        topology,
        datacenters=(*topology.datacenters, "far"),
        clusters={**topology.clusters, "far": far},
        replication=(*topology.replication, Replication(source="hub", target="far", topics=("dc1.T",))),
    )
    topics = desired_topics(topology, "far")
    assert topics["hub.dc1.T"].partitions == 3
    assert "dc1.T" not in topics
    assert {"hub.heartbeats", "hub.dc1.heartbeats", "hub.dc2.heartbeats"} <= set(topics)


def _topic(**more: object) -> Topic:
    given = {"name": "orders", "cluster": "main", "partitions": 4, "replicas": 4, "min_insync_replicas": 3}
    return Topic(**{**given, **more})  # type: ignore[arg-type]


def test_placement_is_assigned_only_where_kafka_would_not_see_to_it() -> None:
    """Its own spread over racks is even; a number for each site, or a site left out, is not its business."""
    even = desired_topics(stretched(_topic()), "main")["orders"].placement
    assert (even.datacenters, even.is_explicit) == (("dc1", "dc2"), False)
    counted = desired_topics(stretched(_topic(replicas_per_dc={"dc1": 2, "dc2": 1, "dc3": 0})), "main")
    assert dict(counted["orders"].placement.per_dc) == {"dc1": 2, "dc2": 1}
    assert counted["orders"].placement.is_explicit
    kept = desired_topics(stretched(_topic(replicas=2, residency=("dc2",))), "main")["orders"].placement
    assert (kept.datacenters, kept.is_explicit) == (("dc2",), True)


def test_inside_one_location_kafka_spreads_over_the_racks() -> None:
    """Numbers for the data centre, and where copies may lie, say nothing of them."""
    file = load_topology(Path(__file__).parents[1] / "topology" / "racks.yaml")
    counted = replace(file.topics[0], replicas_per_dc={"north": 3}, residency=("north",))
    placement = desired_topics(replace(file, topics=(counted,)), "main")["orders"].placement
    assert (placement.datacenters, placement.per_dc) == (("rack-a", "rack-b", "rack-c"), {})
    assert not placement.is_explicit


def test_own_topics_of_a_mirror_survive_a_site() -> None:
    """Two copies in each of two sites: three would leave one of them with a single one."""
    topology = active_active()
    wide = cluster(site("east", 2, connect_workers=1), site("north", 2), bootstrap=("e:1",))
    topology = replace(topology, clusters={**topology.clusters, "east": wide})
    assert desired_topics(topology, "east")["dcctl-samples.west.internal"].replicas == 4


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
    rules = [acl for acl in desired_acls(topology, "east") if acl.principal == "User:revenue"]
    assert {acl.pattern for acl in rules if acl.resource_type == "GROUP"} == {"PREFIXED"}


def test_mirror_only_reads_at_the_source(topology: Topology) -> None:
    """Its heartbeats apart; and at the target it writes to no landing topic."""
    assert _allowed(topology, "west", "mirror", "WRITE") == {"heartbeats"}
    written = _allowed(topology, "east", "mirror", "WRITE")
    assert "orders" not in written
    assert {"west.orders", "west.heartbeats", "connect-east-offsets"} <= written


def test_nobody_unnamed_gets_rules(topology: Topology) -> None:
    """Rules are for principals that the file names; others belong to others."""
    nameless = replace(topology, producers=(replace(topology.producers[0], principal=None),))
    assert not _allowed(nameless, "west", "checkout", "WRITE")
    assert "User:checkout" not in desired_estate(nameless).clusters["west"].principals


def test_connectors_run_at_their_target() -> None:
    """Three for each mirror; only the group sync may be without a task."""
    estate = desired_estate(active_active())
    east = estate.clusters["east"].connectors
    assert set(east) == {"west-to-east-source", "west-to-east-checkpoint", "west-to-east-heartbeat"}
    assert [name for name, connector in east.items() if connector.may_lack_tasks] == [
        "west-to-east-checkpoint"
    ]
    assert east["west-to-east-source"].config["source.cluster.bootstrap.servers"] == "w:1"
    assert set(estate.clusters["west"].connectors) == {
        "east-to-west-source",
        "east-to-west-checkpoint",
        "east-to-west-heartbeat",
    }
