"""Several clusters: what a mirror's copy is worth, and that an untouched cluster says so."""

from __future__ import annotations

from orchestrator.topology.model import Cluster, Producer, Replication, Topology
from tests.topology.durability.topologies import cluster, cluster_after, topic, topic_after, topology, words

SWITCH = ("at-risk", "need-procedure", "replication-lag", "switch-clients")
GONE = ("lost", "stop", "total", "site-return")
UNTOUCHED = ("safe", "continue", "zero", "zero")


def site(dc: str) -> Cluster:
    """A cluster of three combined nodes in one data centre."""
    return cluster("kraft", (dc, {"brokers": 3, "controllers": 3}))


def pair(*mirrors: Replication, replicas: int = 3, in_sync: int = 2, **more: object) -> Topology:
    """`orders` produced at west; clusters west and east, each in a data centre of its own name."""
    orders = topic(replicas, in_sync, at="west")
    return topology({"west": site("west"), "east": site("east")}, orders, replication=mirrors, **more)


FORWARD = Replication(source="west", target="east", topics=("orders",))


def test_clients_switch_to_the_mirrors_target_and_its_tail_is_at_risk() -> None:
    """The copy is all but what the mirror had not reached."""
    fate = topic_after(pair(FORWARD), "west", at="west")
    assert words(fate) == SWITCH
    assert fate.switch_to == "east"
    assert fate.reason == (
        "all 3 replicas are in west; clients can go on at east, with what the mirror has copied"
    )


def test_a_topic_that_no_mirror_names_is_gone() -> None:
    """A mirror of something else does not help."""
    assert words(topic_after(pair(), "west", at="west")) == GONE


def test_an_untouched_cluster_says_so() -> None:
    """Losing the target costs the source nothing."""
    given = pair(FORWARD)
    assert words(topic_after(given, "east", at="west")) == UNTOUCHED
    west = cluster_after(given, "east", at="west")
    assert (west.control_plane, west.reason) == ("continues", "nothing of this cluster is in east")


def test_both_sites_lost_leaves_nothing() -> None:
    """The copy dies with the original, and the reason says so."""
    fate = topic_after(pair(FORWARD), "west", "east", at="west")
    assert words(fate) == GONE
    assert "so is its mirrored copy at east" in fate.reason


def test_a_broker_is_replaced_inside_its_cluster_not_by_the_mirror() -> None:
    """One leader election; switching the clients would cost more."""
    fate = topic_after(pair(FORWARD), "west/broker-1", at="west")
    assert words(fate) == ("safe", "continue", "zero", "leader-election")


def test_a_topic_of_one_replica_needs_its_mirror_for_a_broker() -> None:
    """Its partitions on that broker are nowhere else."""
    given = pair(FORWARD, replicas=1, in_sync=1)
    assert words(topic_after(given, "west/broker-1", at="west")) == SWITCH
    assert words(topic_after(pair(replicas=1, in_sync=1), "west/broker-1", at="west")) == GONE


def test_a_target_that_cannot_be_written_still_holds_the_records() -> None:
    """The copy has one replica and its brokers' quorum is gone: nobody takes over, the records are there."""
    weak = cluster(
        "kraft", ("east", {"brokers": 2, "controllers": 2}), ("far", {"brokers": 1, "controllers": 3})
    )
    given = topology({"west": site("west"), "east": weak}, topic(3, 2, at="west"), replication=(FORWARD,))
    fate = topic_after(given, "west", "far", at="west")
    assert words(fate) == ("at-risk", "stop", "replication-lag", "site-return")
    assert "east has what the mirror has copied, but takes no writes" in fate.reason


def test_a_target_that_needs_a_procedure_first_is_told_as_such() -> None:
    """Its own min.insync.replicas cannot be met either."""
    given = pair(FORWARD, in_sync=3)
    fate = topic_after(given, "west", "east/broker-2", at="west")
    assert words(fate) == SWITCH
    assert "at east, after a procedure there" in fate.reason


def test_mirrors_of_mirrors_count() -> None:
    """orders goes west, east, far; with west and east lost, far has it as east.west.orders."""
    clusters = {name: site(name) for name in ("west", "east", "far")}
    onward = Replication(source="east", target="far", topics=("west.orders",))
    given = topology(clusters, topic(3, 2, at="west"), replication=(FORWARD, onward))
    assert topic_after(given, "west", at="west").switch_to == "east"
    assert topic_after(given, "west", "east", at="west").switch_to == "far"


def test_active_active_protects_each_side_by_the_other() -> None:
    """Each side's own topic has its copy at the other; what is produced there goes on."""
    back = Replication(source="east", target="west", topics=("orders",))
    given = topology(
        {"west": site("west"), "east": site("east")},
        topic(3, 2, at="west"),
        topic(3, 2, at="east"),
        replication=(FORWARD, back),
    )
    assert words(topic_after(given, "west", at="west")) == SWITCH
    assert words(topic_after(given, "west", at="east")) == UNTOUCHED
    assert words(topic_after(given, "east", at="east")) == SWITCH


def test_the_mirrors_own_durability_counts_for_the_copy() -> None:
    """`replicas` of a mirror: with one only, a lost broker at the target can have it."""
    thin = Replication(source="west", target="east", topics=("orders",), replicas=1, min_insync_replicas=1)
    assert words(topic_after(pair(thin), "west", "east/broker-1", at="west")) == GONE
    assert words(topic_after(pair(FORWARD), "west", "east/broker-1", at="west")) == SWITCH


def test_acks_below_all_do_not_better_a_replication_lag() -> None:
    """possible-loss is the least that they make of it."""
    hasty = Producer(name="checkout", cluster="west", topics=("orders",), acks="1")
    assert words(topic_after(pair(FORWARD, producers=(hasty,)), "west", at="west")) == SWITCH


def test_a_stretched_source_that_stops_is_left_for_its_mirror() -> None:
    """Its records are safe on disks that nobody can read before the site is back: clients switch."""
    stretched = cluster(
        "kraft", ("dc1", {"brokers": 2, "controllers": 2}), ("dc2", {"brokers": 2, "controllers": 3})
    )
    given = topology({"west": stretched, "east": site("far")}, topic(4, 3, at="west"), replication=(FORWARD,))
    fate = topic_after(given, "dc2", at="west")
    assert words(fate) == ("safe", "need-procedure", "replication-lag", "switch-clients")


def test_internal_topics_are_not_mirrored() -> None:
    """They are judged by their own replicas."""
    assert words(topic_after(pair(FORWARD), "west", at="west", name="__consumer_offsets")) == GONE
