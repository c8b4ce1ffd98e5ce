"""Where applications of a file go, and what they share there: the rules' silence, where nothing is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.topology.landing import shared_landings
from orchestrator.topology.loading import check_text, dump_topology, load_topology, parse_topology
from orchestrator.topology.model import Topology

BASES = Path(__file__).parent / "bases"


def edited(name: str, *edits: tuple[str, str]) -> str:
    """A valid file with something exchanged; each edit must apply."""
    text = (BASES / f"{name}.yaml").read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


def shared(topology: Topology) -> dict[str, tuple[str, ...]]:
    """What each consumer of a file shares after a move; without those that share nothing."""
    found = {consumer.name: shared_landings(topology, consumer) for consumer in topology.consumers}
    return {name: topics for name, topics in found.items() if topics}


def test_who_reads_his_home_only_shares_the_landing_topic_where_he_goes() -> None:
    """Who reads the other side's records too does not: each record is in one of the two topics."""
    topology = load_topology(BASES / "active-active.yaml")
    assert shared(topology) == {"packing-west": ("orders",), "packing-east": ("orders",)}


def test_a_pattern_counts_for_the_topics_that_it_matches() -> None:
    """One that matches the copy as well needs no `landing`, and none is asked for."""
    text = edited(
        "active-active",
        (
            'topics: [orders], principal: "User:packing-west", landing: packing-east',
            "pattern: '(.*\\.)?orders', principal: \"User:packing-west\"",
        ),
        (", landing: packing-west", ", landing: reporting"),
    )
    assert not check_text(text, "f").problems
    assert shared(parse_topology(text)) == {"packing-east": ("orders",)}


@pytest.mark.parametrize("landing", ["read", "packing-east"])
def test_both_choices_are_valid(landing: str) -> None:
    """Everything, or left to the one that reads it there."""
    text = edited("active-active", ("landing: packing-east", f"landing: {landing}"))
    assert not check_text(text, "f").problems


def test_nothing_is_shared_where_the_producers_of_a_topic_go_elsewhere() -> None:
    """A consumer that goes alone reads the copy, which its producers at home go on filling."""
    south = (
        "  south:\n    kafka: 4.3.1\n    metadata: kraft\n    nodes:\n"
        "      - {dc: south, brokers: 3, controllers: 3, connect_workers: 1}\n"
        "    internal_topics:\n      __consumer_offsets: {replicas: 3, min_insync_replicas: 2}\n"
    )
    text = edited(
        "active-active",
        ("datacenters: [west, east]", "datacenters: [west, east, south]"),
        ("clusters:\n", f"clusters:\n{south}"),
        (
            "replication:\n",
            "replication:\n  - {source: west, target: south, topics: [orders]}\n"
            "  - {source: south, target: west, topics: [orders]}\n",
        ),
        (
            "topics:\n  #",
            "topics:\n  - {name: orders, cluster: south, partitions: 3, replicas: 3, min_insync_replicas: 2}\n  #",
        ),
        ("shop-west, cluster: west,", "shop-west, cluster: west, standby: south,"),
        (", landing: packing-east", ", standby: east"),
        ("topics: [orders, east.orders],", "topics: [orders, east.orders], standby: east,"),
    )
    checked = check_text(text, "f")
    assert not checked.problems
    assert shared(checked.valid()) == {"packing-east": ("orders",)}


def test_a_standby_without_writers_shares_nothing() -> None:
    """Active-passive says that nothing is written at the passive side, whatever topics the file has there."""
    text = edited(
        "active-passive",
        (
            "topics:\n  -",
            "topics:\n  - {name: orders, cluster: east, partitions: 4, replicas: 3, min_insync_replicas: 2}\n  -",
        ),
    )
    topology = parse_topology(text)
    assert topology.topic("orders", "east") is not None
    assert shared(topology) == {}


def test_one_group_may_be_at_two_clusters() -> None:
    """Its positions are of each cluster; the entries keep names of their own."""
    text = edited(
        "active-active",
        (
            "cluster: west, kind: group, topics: [orders], principal",
            "cluster: west, kind: group, group: packing, topics: [orders], principal",
        ),
        ("cluster: east, kind: group,", "cluster: east, kind: group, group: packing,"),
    )
    assert not check_text(text, "f").problems
    topology = parse_topology(text)
    west, east, reporting = topology.consumers
    assert (west.name, west.groups, west.program) == ("packing-west", ("packing",), "consumer-packing-west")
    assert (east.groups, reporting.groups) == (("packing",), ("reporting",))
    assert {(rule.principal, rule.resource_name) for rule in (*west.acls(), *east.acls())} == {
        ("User:packing-west", "packing"),
        ("User:packing-east", "packing"),
    }
    assert west.moved_to("east").groups == ("packing",)
    told = [consumer.get("group") for consumer in dump_topology(topology)["consumers"]]
    assert told == ["packing", "packing", None]
