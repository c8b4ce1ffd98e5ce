"""Where the clients of each layout live, and what they read there before, between and after moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import DcctlError
from orchestrator.evidence.clients.places import (
    partitions_read,
    place_in,
    places,
    topics_read,
    topics_read_back,
)
from orchestrator.simulation.workload.install import client_programs, installed_programs, subscription
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Consumer, Topology
from tests.drill.rehearsal import ROOT

PASSIVE = load_topology(ROOT / "tests" / "faults" / "small.yaml")
SITES = load_topology(ROOT / "tests" / "layouts" / "two-sites.yaml")
CENTRES = load_topology(ROOT / "tests" / "layouts" / "two-centres.yaml")
ONE_CENTRE = load_topology(ROOT / "topologies" / "aggregation.yaml")


def consumer(topology: Topology, name: str) -> Consumer:
    return next(one for one in topology.consumers if one.name == name)


@pytest.mark.parametrize(
    ("topology", "name", "home", "standby", "back"),
    [
        (PASSIVE, "billing", ["orders"], ["west.orders", "orders"], ["east.orders", "orders"]),
        (
            PASSIVE,
            "fraud",
            ["orders", "payments"],
            ["west.orders", "west.payments", "orders", "payments"],
            ["east.orders", "east.payments", "orders", "payments"],
        ),
        (SITES, "reporting", ["orders", "east.orders"], ["west.orders", "orders"], ["orders", "east.orders"]),
        (SITES, "analytics", ["orders", "east.orders"], ["west.orders", "orders"], ["orders", "east.orders"]),
        (SITES, "billing", ["orders"], ["west.orders", "orders"], ["orders"]),
        (SITES, "packing-west", ["orders"], ["west.orders"], ["orders"]),
        (SITES, "packing-east", ["orders"], ["east.orders"], ["orders"]),
        (
            CENTRES,
            "reporting",
            ["dc1.orders", "dc2.orders"],
            ["dc1.orders", "dc2.orders"],
            ["dc1.orders", "dc2.orders"],
        ),
        (CENTRES, "audit", ["dc1.orders"], ["dc1.orders"], ["dc1.orders"]),
    ],
)
def test_what_a_consumer_reads_is_the_same_records_wherever_it_works(
    topology: Topology, name: str, home: list[str], standby: list[str], back: list[str]
) -> None:
    """At its standby the counterparts, and what its producers write there unless that is somebody else's."""
    one = consumer(topology, name)
    at_home, there = places(topology, one)
    assert topics_read(topology, one, at_home) == home
    assert topics_read(topology, one, there) == standby
    assert topics_read_back(topology, one) == back


def test_lives_are_lived_at_home_and_at_the_standby_in_turns() -> None:
    """And one that nobody leads anywhere has no second life."""
    audit, shop = consumer(CENTRES, "audit"), CENTRES.producers[0]
    assert [place_in(CENTRES, audit, life).cluster for life in (1, 2, 3, 4)] == ["centre", "reserve"] * 2
    assert place_in(CENTRES, shop, 1).cluster == "dc1"
    with pytest.raises(DcctlError, match="it lives at dc1 alone"):
        place_in(CENTRES, shop, 2)
    moved = replace(shop, standby="centre")
    assert [place.cluster for place in places(CENTRES, moved)] == ["dc1", "centre"]


def test_a_source_that_goes_to_the_centre_comes_home_with_what_was_written_there() -> None:
    """No mirror of the file leads back, so the move home makes one, as with a passive side."""
    one = replace(ONE_CENTRE.consumers[0], cluster="dc1", topics=("orders",), pattern=None, standby="centre")
    centre = next(iter({mirror.target for mirror in ONE_CENTRE.replication}))
    one = replace(one, standby=centre)
    at_home, there = places(ONE_CENTRE, one)
    assert topics_read(ONE_CENTRE, one, there) == ["dc1.orders", "orders"]
    assert topics_read_back(ONE_CENTRE, one) == [f"{centre}.orders", "orders"]
    partitions = next(t.partitions for t in ONE_CENTRE.topics if (t.name, t.cluster) == ("orders", "dc1"))
    assert partitions_read(ONE_CENTRE, one, at_home, 3) == {
        f"{centre}.orders": partitions,
        "orders": partitions,
    }


def test_a_landing_topic_has_room_for_the_partitions_of_every_source() -> None:
    """Two sources with 3 and 2 partitions write the same topic of a centre."""
    one = replace(consumer(CENTRES, "audit"), cluster="dc2", topics=("orders",), standby="centre")
    assert partitions_read(CENTRES, one, places(CENTRES, one)[1], 2) == {"dc2.orders": 2, "orders": 3}


def test_programs_are_where_clients_work_now_and_may_work_later() -> None:
    """Started are those at home; a standby knows them too, and no other site does."""
    assert client_programs(CENTRES, "centre") == ["consumer-reporting", "consumer-audit"]
    assert client_programs(CENTRES, "reserve") == []
    assert installed_programs(CENTRES, "reserve") == ["consumer-reporting", "consumer-audit"]
    assert installed_programs(CENTRES, "dc1") == ["producer-shop-dc1"]
    assert client_programs(SITES, "east") == ["consumer-packing-east", "producer-shop-east"]
    assert len(installed_programs(SITES, "east")) == len(SITES.consumers) + len(SITES.producers)


def test_a_pattern_is_subscribed_to_as_one_where_it_matches_just_what_is_to_be_read() -> None:
    """By names where it would match more; beside it what it does not match."""
    one, pattern = consumer(SITES, "analytics"), r"^((.*\.)?orders)$"
    for place in places(SITES, one):
        assert subscription(SITES, one, place, topics_read(SITES, one, place)) == [pattern]
    home, there = places(SITES, one)
    assert subscription(SITES, one, home, ["later", "orders", "east.orders"]) == [pattern, "later"]
    narrow = replace(one, pattern=r"east\.orders")
    assert subscription(SITES, narrow, home, topics_read(SITES, narrow, home)) == [r"^(east\.orders)$"]
    assert subscription(SITES, narrow, there, topics_read(SITES, narrow, there)) == ["orders"]
    for unknown in (r"(?:east\.)?orders", r"\w*\.?orders"):
        foreign = replace(one, pattern=unknown)
        assert subscription(SITES, foreign, home, ["orders", "east.orders"]) == ["orders", "east.orders"]
    wide = replace(one, pattern=r".*orders", topics=("orders",), landing="packing-east")
    assert subscription(SITES, wide, there, ["west.orders"]) == ["west.orders"]
    assert subscription(SITES, consumer(SITES, "billing"), home, ["orders"]) == ["orders"]
