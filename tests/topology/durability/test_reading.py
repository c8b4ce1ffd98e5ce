"""What consumers read at their own site: by the replicas that are there, in either mode of placement."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.topology.durability.reading import Reading, readings
from orchestrator.topology.flows import Consumer, Topic
from orchestrator.topology.model import Link, Topology
from tests.topology.durability.topologies import stretched, topic, topology


def _read(topics: Topic, *, unknown: bool = False, links: tuple[Link, ...] = ()) -> list[Reading]:
    """At the first and the last site of three."""
    main = replace(stretched("kraft", [2, 2, 2], [1, 1, 1]), read_from="nearest")
    main = replace(main, unknown=("racks",)) if unknown else main
    consumer = Consumer(
        name="billing", cluster="main", kind="group", topics=(topics.name,), instances={"dc1": 1, "dc3": 1}
    )
    found: Topology = replace(topology(main, topics), consumers=(consumer,), links=links)
    return list(readings(found))


def test_a_replica_at_each_site_is_near_to_everybody() -> None:
    """Of three replicas one is at each site: two thirds of what leaders send would cross."""
    for one in _read(topic(3, 2)):
        assert (one.at_site, one.is_near) == ((1, 1), True)
        assert one.crosses_with_leader is not None
        assert abs(one.crosses_with_leader - 2 / 3) < 1e-9
        assert "nothing of it crosses" in one.said
        assert "67%" in one.said


def test_fewer_replicas_than_sites_are_near_to_some() -> None:
    """Kafka may leave any site out; a spread that the file gives leaves out the one that it does not name."""
    assert [(one.at_site, one.is_near) for one in _read(topic(2, 1))] == [((0, 1), False)] * 2
    spread = replace(topic(2, 1), replicas_per_dc={"dc2": 1, "dc3": 1})
    first, last = _read(spread)
    assert (first.at_site, last.at_site) == ((0, 0), (1, 1))
    assert "no partition has a replica at dc1" in first.said


def test_nobody_is_near_where_racks_are_unknown() -> None:
    """A broker without a rack is nobody's nearest."""
    assert [
        (one.at_site, one.is_near, one.crosses_with_leader) for one in _read(topic(3, 2), unknown=True)
    ] == [(None, False, None)] * 2


def test_the_way_is_that_to_the_farthest_site() -> None:
    """By the links of the reader's own site."""
    links = (Link(between=("dc1", "dc2"), latency_ms=2.0), Link(between=("dc3", "dc1"), latency_ms=7.0))
    assert [one.way_ms for one in _read(topic(3, 2), links=links)] == [7.0, 7.0]


def test_a_cluster_that_is_read_from_its_leaders_has_nothing_to_tell() -> None:
    """The default."""
    assert readings(topology(stretched("kraft", [2, 2], [1, 1]), topic(3, 2))) == ()
