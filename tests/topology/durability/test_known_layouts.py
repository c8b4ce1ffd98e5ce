"""Layouts of which it is known, from Kafka's rules and from real servers, what a loss means."""

from __future__ import annotations

import pytest

from orchestrator.topology.model import InternalTopic, Producer
from tests.topology.durability.topologies import (
    cluster,
    cluster_after,
    stretched,
    topic,
    topic_after,
    topology,
    words,
)

BOTH = ["kraft", "zookeeper"]


@pytest.mark.parametrize("metadata", BOTH)
def test_two_sites_2_2_with_m_3_lose_nothing_and_wait(metadata: str) -> None:
    """R=4, m=3: safe; no writes until a quorum is formed and m is lowered to 2 (seen on real servers)."""
    given = topology(stretched(metadata, [2, 2], [3, 3]), topic(4, 3))
    for site in ("dc1", "dc2"):
        fate = topic_after(given, site)
        assert words(fate) == ("safe", "need-procedure", "zero", "procedure")
        assert "2 of 4 replicas" in fate.reason
        assert "lowered to 2" in fate.reason
        assert cluster_after(given, site).control_plane == "needs-procedure"


@pytest.mark.parametrize("metadata", BOTH)
def test_two_sites_2_2_with_m_2_may_lose_records(metadata: str) -> None:
    """R=4, m=2: at risk; the data rule would let writes go on, but the quorum is gone with either site."""
    given = topology(stretched(metadata, [2, 2], [3, 3]), topic(4, 2))
    assert words(topic_after(given, "dc1")) == ("at-risk", "need-procedure", "possible-loss", "procedure")
    assert "lowered" not in topic_after(given, "dc1").reason
    odd = topology(stretched(metadata, [2, 2], [2, 3]), topic(4, 2))
    assert words(topic_after(odd, "dc1")) == ("at-risk", "continue", "possible-loss", "leader-election")


@pytest.mark.parametrize("metadata", BOTH)
def test_two_sites_2_1(metadata: str) -> None:
    """R=3, m=2: at risk and no writes if the 2-side dies; safe and writes if the 1-side dies."""
    orders = topic(3, 2, replicas_per_dc={"dc1": 2, "dc2": 1})
    lost_two = topology(stretched(metadata, [2, 1], [1, 2]), orders)
    assert words(topic_after(lost_two, "dc1")) == ("at-risk", "need-procedure", "possible-loss", "procedure")
    lost_one = topology(stretched(metadata, [2, 1], [2, 1]), orders)
    assert words(topic_after(lost_one, "dc2")) == ("safe", "continue", "zero", "leader-election")


def test_two_sites_2_1_left_to_kafka_is_judged_by_its_worst_partition() -> None:
    """Three replicas over two equal sites: in some partitions either site has two."""
    given = topology(stretched("kraft", [2, 2], [3, 3]), topic(3, 2))
    for site in ("dc1", "dc2"):
        fate = topic_after(given, site)
        assert fate.acked_records == "at-risk"
        assert "at most 2 of 3 replicas" in fate.reason


@pytest.mark.parametrize("metadata", BOTH)
def test_three_sites_1_1_1(metadata: str) -> None:
    """R=3, m=2: nothing is lost, nothing waits; two sites at once are too many."""
    given = topology(stretched(metadata, [1, 1, 1]), topic(3, 2))
    for site in ("dc1", "dc2", "dc3"):
        assert words(topic_after(given, site)) == ("safe", "continue", "zero", "leader-election")
        assert cluster_after(given, site).control_plane == "continues"
    assert words(topic_after(given, "dc1", "dc3")) == ("at-risk", "stop", "possible-loss", "site-return")
    assert cluster_after(given, "dc1", "dc3").control_plane == "lost"


@pytest.mark.parametrize("metadata", BOTH)
@pytest.mark.parametrize(
    ("in_sync", "expected"),
    [
        (3, ("safe", "need-procedure", "zero", "procedure")),
        (2, ("at-risk", "continue", "possible-loss", "leader-election")),
    ],
)
def test_two_and_a_half_sites_2_2_0(metadata: str, in_sync: int, expected: tuple[str, ...]) -> None:
    """R=4: records as with two sites, but the control plane goes on. The third site's loss is not felt."""
    given = topology(stretched(metadata, [2, 2, 0], [2, 2, 1]), topic(4, in_sync))
    for site in ("dc1", "dc2"):
        assert words(topic_after(given, site)) == expected
        assert cluster_after(given, site).control_plane == "continues"
    assert words(topic_after(given, "dc3")) == ("safe", "continue", "zero", "zero")
    assert cluster_after(given, "dc3").control_plane == "continues"


@pytest.mark.parametrize("metadata", BOTH)
def test_one_site(metadata: str) -> None:
    """R=3, m=2: all is gone with the site; a broker costs one leader election."""
    given = topology(stretched(metadata, [3], [3]), topic(3, 2))
    assert words(topic_after(given, "dc1")) == ("lost", "stop", "total", "site-return")
    assert cluster_after(given, "dc1").control_plane == "lost"
    assert words(topic_after(given, "dc1/broker-1")) == ("safe", "continue", "zero", "leader-election")
    assert cluster_after(given, "dc1/broker-1").control_plane == "continues"


VOTERS = [
    ([1, 1, 1], "dc1", "continues", "one more failure can stop it"),
    ([2, 2, 2], "dc1", "continues", "4 of 6 controllers are left, and a quorum needs 4; one more failure"),
    ([2, 2, 1], "dc1", "continues", "3 of 5 controllers are left, and a quorum needs 3"),
    ([3, 3, 1], "dc2", "continues", "4 of 7 controllers are left, and a quorum needs 4"),
    ([2, 2, 1], "dc3", "continues", "4 of 5 controllers are left, and a quorum needs 3"),
    (
        [3, 3],
        "dc1",
        "needs-procedure",
        "3 of 6 controllers are left, and a quorum needs 4; all of them together",
    ),
    ([2, 3], "dc1", "continues", "3 of 5 controllers are left, and a quorum needs 3"),
    ([2, 3], "dc2", "lost", "the 3 lost may alone hold the last changes"),
]


@pytest.mark.parametrize(("voters", "lost", "expected", "because"), VOTERS)
def test_kraft_voters(voters: list[int], lost: str, expected: str, because: str) -> None:
    """Each row of the table of voters, controllers standing alone."""
    given = topology(stretched("kraft", [1] * len(voters), voters), topic(1, 1))
    fate = cluster_after(given, lost)
    assert fate.control_plane == expected
    assert because in fate.reason


def test_kraft_over_two_sites_has_no_supported_procedure() -> None:
    """What a simulation proves for isolated controllers, Apache Kafka does not support; combined cannot."""
    isolated = topology(stretched("kraft", [3, 3], [3, 3]), topic(4, 3))
    assert "Apache Kafka supports no procedure for that" in cluster_after(isolated, "dc1").reason
    combined = topology(stretched("kraft", [3, 3], [3, 3], combined=True), topic(4, 3))
    assert cluster_after(combined, "dc1").control_plane == "lost"
    assert "share their processes with brokers" in cluster_after(combined, "dc1").reason
    assert words(topic_after(combined, "dc1")) == ("safe", "stop", "zero", "site-return")


def test_zookeeper_hierarchical_two_groups_of_three() -> None:
    """Two of three are needed in both: one failure on each side is survived, two on one side are not."""
    given = topology(stretched("zookeeper", [2, 2], [3, 3], quorum="hierarchical"), topic(4, 3))
    site = cluster_after(given, "dc1")
    assert site.control_plane == "needs-procedure"
    assert "any 2 of them surely hold all committed metadata" in site.reason
    one_each = cluster_after(given, "dc1/zookeeper-1", "dc2/zookeeper-4")
    assert one_each.control_plane == "continues"
    two = cluster_after(given, "dc1/zookeeper-1", "dc1/zookeeper-2")
    assert two.control_plane == "needs-procedure"


def test_zookeeper_majority_of_six_needs_all_survivors() -> None:
    """With a plain majority only one of the three survivors may hold the newest change."""
    given = topology(stretched("zookeeper", [2, 2], [3, 3], quorum="majority"), topic(4, 3))
    assert "all of them together surely hold" in cluster_after(given, "dc1").reason
    two_more = cluster_after(given, "dc1", "dc2/zookeeper-4")
    assert two_more.control_plane == "lost"


def test_zookeeper_hierarchical_three_groups_of_three() -> None:
    """Two of three in two groups: a site's loss is survived, two are not."""
    given = topology(stretched("zookeeper", [1, 1, 1], [3, 3, 3], quorum="hierarchical"), topic(3, 2))
    assert cluster_after(given, "dc2").control_plane == "continues"
    assert cluster_after(given, "dc2", "dc3").control_plane == "lost"


def test_zookeeper_weights() -> None:
    """A group of weight 0 is not counted; weights decide a majority only in a hierarchical quorum."""
    rows = [
        ("dc1", {"brokers": 2, "zookeepers": 3}),
        ("dc2", {"brokers": 2, "zookeepers": 3, "zookeeper_weight": 0}),
    ]
    weighted = topology(cluster("zookeeper", *rows, quorum="hierarchical"), topic(4, 3))
    assert cluster_after(weighted, "dc2").control_plane == "continues"
    assert cluster_after(weighted, "dc1").control_plane == "lost"
    plain = topology(cluster("zookeeper", *rows), topic(4, 3))
    assert cluster_after(plain, "dc2").control_plane == "needs-procedure"


def test_producers_that_do_not_wait_may_lose_records_wherever_the_leader_dies() -> None:
    """acks=1: loss is possible whatever min.insync.replicas says; acknowledged with all, nothing is."""
    checkout = Producer(name="checkout", cluster="main", topics=("orders",), acks="1")
    given = topology(stretched("kraft", [2, 2, 0], [2, 2, 1]), topic(4, 3), producers=(checkout,))
    fate = topic_after(given, "dc1")
    assert words(fate) == ("safe", "need-procedure", "possible-loss", "procedure")
    assert "checkout (acks=1)" in fate.reason
    assert topic_after(given, "dc3").rpo == "zero"


def test_internal_topics_have_kafkas_defaults_or_the_files_words() -> None:
    """__consumer_offsets: 3 and 1; __transaction_state: 3 and 2."""
    given = topology(stretched("kraft", [1, 1, 1]))
    assert topic_after(given, "dc1", name="__consumer_offsets").acked_records == "at-risk"
    assert topic_after(given, "dc1", name="__transaction_state").acked_records == "safe"
    stated = topology(
        stretched(
            "kraft",
            [1, 1, 1],
            internal_topics={"__consumer_offsets": InternalTopic(replicas=3, min_insync_replicas=2)},
        )
    )
    assert topic_after(stated, "dc1", name="__consumer_offsets").acked_records == "safe"


def test_topics_without_a_replica_in_the_lost_site_serve_on_without_a_quorum() -> None:
    """Brokers serve until they need another leader, ISR or setting."""
    given = topology(stretched("kraft", [2, 2], [3, 3]), topic(2, 2, replicas_per_dc={"dc1": 2, "dc2": 0}))
    fate = topic_after(given, "dc2")
    assert words(fate) == ("safe", "continue", "zero", "zero")
    assert "without a quorum" in fate.reason
    assert words(topic_after(given, "dc1")) == ("lost", "stop", "total", "site-return")


def test_residency_confines_an_even_spread() -> None:
    """Two replicas that may lie in dc2 and dc3 only: dc1 has none, the others one each."""
    given = topology(stretched("kraft", [2, 2, 2]), topic(2, 2, residency=("dc2", "dc3")))
    assert words(topic_after(given, "dc1")) == ("safe", "continue", "zero", "zero")
    assert "1 of 2 replicas is in dc2" in topic_after(given, "dc2").reason


def test_the_configuration_of_a_topic_has_the_last_word() -> None:
    """min.insync.replicas under `config` is what Kafka gets; unclean elections take back what m promised."""
    lowered = topic(4, 3, config={"min.insync.replicas": "2"})
    unclean = topic(4, 3, name="clicks", config={"unclean.leader.election.enable": "true"})
    given = topology(stretched("kraft", [2, 2, 0], [2, 2, 1]), lowered, unclean)
    assert topic_after(given, "dc1").acked_records == "at-risk"
    assert topic_after(given, "dc1", name="clicks").acked_records == "at-risk"
    assert "unclean" in topic_after(given, "dc1", name="clicks").reason


def test_one_reason_is_enough_for_a_reader_in_a_hurry() -> None:
    """The whole sentence, once."""
    given = topology(stretched("zookeeper", [2, 2], [3, 3], quorum="hierarchical"), topic(4, 3))
    assert topic_after(given, "dc1").reason == (
        "2 of 4 replicas are in dc1, below min.insync.replicas 3: each acknowledged record has a copy"
        " elsewhere; writes wait for a new quorum, then for min.insync.replicas to be lowered to 2"
    )
    assert cluster_after(given, "dc1").reason == (
        "3 of 6 ZooKeeper servers are left, with a majority in 1 of 2 data centres, and a quorum needs 2;"
        " any 2 of them surely hold all committed metadata, so a quorum formed of all 3 loses nothing; where"
        " some of their hosts do not answer, the others are enough if they are more than half of each group,"
        " and one more failure then stops it"
    )


@pytest.mark.parametrize("metadata", BOTH)
def test_dynamic_voters_can_leave_a_quorum_that_lives(metadata: str) -> None:
    """Of 2 + 2 + 1 without two all three are needed, or two of them; of 1 + 1 + 1 both are in any case."""
    described = stretched(metadata, [1, 1, 1], [2, 2, 1], voters_mode="dynamic")
    assert "as long as lost voters count" in cluster_after(topology(described), "dc1").reason
    small = stretched(metadata, [1, 1, 1], [1, 1, 1], voters_mode="dynamic")
    assert "as long as lost voters count" not in cluster_after(topology(small), "dc1").reason
    static = stretched(metadata, [1, 1, 1], [2, 2, 1])
    assert "as long as lost voters count" not in cluster_after(topology(static), "dc1").reason


def test_dynamic_voters_of_kraft_cannot_be_changed_without_a_quorum() -> None:
    """They stand in the metadata log; an ensemble's stand in files."""
    found = cluster_after(topology(stretched("kraft", [3, 3], [3, 3], voters_mode="dynamic")), "dc1")
    assert found.control_plane == "lost"
    assert "dynamic voters stand in the metadata log" in found.reason
    zoo = cluster_after(topology(stretched("zookeeper", [3, 3], [3, 3], voters_mode="dynamic")), "dc1")
    assert zoo.control_plane == "needs-procedure"
