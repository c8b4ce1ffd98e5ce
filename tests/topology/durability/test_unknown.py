"""A file written by `import` says what could not be seen: what depends on it is unknown, and nothing else."""

from __future__ import annotations

from orchestrator.topology.durability.values import TopicFate
from orchestrator.topology.model import Topology
from tests.topology.durability.topologies import (
    cluster,
    cluster_after,
    stretched,
    topic,
    topic_after,
    topology,
    words,
)

UNKNOWN = ("unknown", "unknown", "unknown", "unknown")


def without_quorum() -> Topology:
    """Brokers are seen, controllers are not."""
    rows = [("dc1", {"brokers": 2}), ("dc2", {"brokers": 2})]
    return topology(cluster("kraft", *rows, unknown=("quorum",)), topic(4, 3))


def test_an_unseen_quorum_leaves_the_records_known() -> None:
    """Records depend on replicas alone."""
    fate = topic_after(without_quorum(), "dc1")
    assert words(fate) == ("safe", "unknown", "zero", "unknown")
    assert "a quorum that the file does not know" in fate.reason
    whole = cluster_after(without_quorum(), "dc1")
    assert (whole.control_plane, whole.reason) == (
        "unknown",
        "the file does not know where the controllers are; they may be in dc1",
    )


def test_an_unseen_quorum_changes_nothing_where_every_replica_is_lost() -> None:
    """Without a replica there is nothing to lead."""
    assert words(topic_after(without_quorum(), "dc1", "dc2")) == ("lost", "stop", "total", "site-return")


def test_an_unseen_quorum_of_another_cluster_may_be_in_any_lost_site_but_not_on_a_lost_broker() -> None:
    """A voter may stand where no broker does; it does not stand on a broker of another cluster."""
    other = cluster("kraft", ("dc3", {"brokers": 1, "controllers": 1}))
    given = topology({"main": without_quorum().clusters["main"], "other": other}, topic(4, 3))
    assert cluster_after(given, "dc3").control_plane == "unknown"
    assert words(topic_after(given, "dc3")) == ("safe", "continue", "zero", "zero")
    assert cluster_after(given, "dc3/broker-1").control_plane == "continues"


def without_racks(*lost: str, spread: dict[str, int] | None = None) -> TopicFate:
    """R=4, m=3 over brokers whose data centre nobody could see."""
    given = topology(
        stretched("kraft", [3, 3, 0], [2, 2, 1], unknown=("racks",)),
        topic(4, 3, replicas_per_dc=spread or {}),
    )
    return topic_after(given, *lost)


def test_unseen_racks_leave_a_sites_loss_unknown() -> None:
    """It cannot be told how many replicas are there, unless the file says it of the topic."""
    fate = without_racks("dc1")
    assert words(fate) == UNKNOWN
    assert fate.reason == "the file does not know where its replicas are"
    assert without_racks("dc1", spread={"dc1": 2, "dc2": 2}).acked_records == "safe"


def test_unseen_racks_do_not_matter_to_named_brokers() -> None:
    """At most as many replicas are lost as brokers are."""
    assert words(without_racks("dc1/broker-1")) == ("safe", "continue", "zero", "leader-election")
    three = without_racks("dc1/broker-1", "dc1/broker-2", "dc2/broker-4")
    assert (three.acked_records, three.writes) == ("at-risk", "need-procedure")


def test_unseen_internal_topics() -> None:
    """Their replicas are not guessed, unless none or all of the brokers are lost."""
    given = topology(stretched("kraft", [1, 1, 1], unknown=("internal-topics",)), topic(3, 2))
    fate = topic_after(given, "dc1", name="__consumer_offsets")
    assert words(fate) == UNKNOWN
    assert fate.reason == "the file does not know its replicas and min.insync.replicas"
    everything = topic_after(given, "dc1", "dc2", "dc3", name="__consumer_offsets")
    assert words(everything) == ("lost", "stop", "total", "site-return")
    assert words(topic_after(given, "dc1")) == ("safe", "continue", "zero", "leader-election")
