"""What the next single loss would stop, by who is in sync and which voters are up now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.moves.within_cluster.margin import NextStop, margin_now
from orchestrator.ports.servers import Placement, TopicDescription
from orchestrator.runs.facts_within_clusters import QuorumForced
from orchestrator.runs.within_clusters import Quorum
from orchestrator.topology.loading import load_topology

ROOT = Path(__file__).parents[2]
RACKS = {1: "dc1", 2: "dc1", 3: "dc2", 4: "dc2"}


def placed(isr: tuple[int, ...] = (1, 2, 3, 4), living: tuple[int, ...] = (1, 2, 3, 4)) -> Placement:
    """One partition with four replicas."""
    topic = TopicDescription("orders", "id", (isr[0],), ((1, 2, 3, 4),), (isr,))
    return Placement({"orders": topic}, {b: RACKS[b] for b in living}, frozenset(living))


def found(
    layout: str,
    placement: Placement,
    voting: Mapping[str, int] | None,
    *,
    wanted: int = 3,
    quorum: Quorum | None = None,
) -> dict[tuple[str, ...], tuple[str | None, tuple[str, ...]]]:
    """By what is lost."""
    topology = load_topology(ROOT / "topologies" / f"{layout}.yaml")
    rows = margin_now(
        topology, "main", placement, {"orders": wanted}, voting=voting, quorum=quorum or Quorum()
    )
    return {row.names: (row.control_plane, row.topics) for row in rows}


def test_all_is_up() -> None:
    """A site takes two of four replicas along; of five voters any two may go."""
    whole = found("stretched-2.5dc-kraft", placed(), {"dc1": 2, "dc2": 2, "witness": 1})
    assert whole == {("dc1", "dc2"): (None, ("orders",))}


def test_one_broker_is_down() -> None:
    """Three of four are in sync, and three are wanted: any other broker is one too many."""
    one = placed((2, 3, 4), (2, 3, 4))
    rows = found("stretched-2.5dc-kraft", one, {"dc1": 2, "dc2": 2, "witness": 1})
    assert rows == {("broker 2", "broker 3", "broker 4", "dc1", "dc2"): (None, ("orders",))}


def test_a_replica_that_is_up_and_out_of_sync_counts_for_nothing() -> None:
    """Who is in sync decides, not who is up."""
    behind = placed((1, 3, 4))
    rows = found("stretched-2.5dc-kraft", behind, {"dc1": 2, "dc2": 2, "witness": 1})
    assert ("broker 1", "broker 3", "broker 4", "dc1", "dc2") in rows


def test_voters_are_down() -> None:
    """Three of five are left: each of them is needed."""
    rows = found("stretched-2.5dc-kraft", placed(), {"dc1": 1, "dc2": 1, "witness": 1}, wanted=2)
    assert rows == {("a voter at dc1", "a voter at dc2", "a voter at witness", "dc1", "dc2"): ("lost", ())}


def test_which_voters_are_up_is_not_known() -> None:
    """Of metadata nothing is told then."""
    rows = found("stretched-2.5dc-kraft", placed(), None)
    assert rows == {("dc1", "dc2"): (None, ("orders",))}


def test_what_takes_no_writes_already_is_stopped_by_nothing() -> None:
    """Two of four are in sync, and three are wanted."""
    assert found("stretched-2.5dc-kraft", placed((3, 4), (3, 4)), None) == {}


@pytest.mark.parametrize("layout", ["stretched-2dc", "stretched-2dc-kraft"])
def test_survivors_are_the_whole_quorum(layout: str) -> None:
    """Two of these three decide; before, neither half of six did without the other."""
    both = found(layout, placed(), {"dc1": 3, "dc2": 3}, wanted=2)
    assert {name: row[0] for names, row in both.items() for name in names} == {
        "dc1": "needs-procedure",
        "dc2": "needs-procedure",
    }
    forced = QuorumForced(
        cluster="main", sites=("dc1",), generation=1, kept={"a": 4, "b": 5, "c": 6}, files={}
    )
    alone, quorum = placed((3, 4), (3, 4)), Quorum(generation=1, forced=forced)
    rows = found(layout, alone, {"dc2": 3}, wanted=2, quorum=quorum)
    assert {name for names in rows for name in names} == {"broker 3", "broker 4", "dc2"}
    rows = found(layout, alone, {"dc2": 2}, wanted=1, quorum=quorum)
    assert {name for names in rows for name in names} == {"a voter at dc2", "dc2"}


def in_racks(
    isr: tuple[int, ...], living: tuple[int, ...], voters: int, *, combined: bool = True
) -> dict[tuple[str, ...], tuple[str | None, tuple[str, ...]]]:
    """One location of three racks with two brokers and one controller each; the partition has four replicas."""
    topology = load_topology(ROOT / "tests" / "topology" / "racks.yaml")
    topology = replace(topology, clusters={"main": replace(topology.clusters["main"], combined=combined)})
    racks = {number: f"rack-{rack}" for number, rack in enumerate("aabbcc", 1) if number in living}
    topic = TopicDescription("orders", "id", (isr[0],), ((1, 3, 5, 2),), (isr,))
    sites = dict.fromkeys(living, "north")
    placement = Placement({"orders": topic}, sites, frozenset(living), racks)
    rows = margin_now(topology, "main", placement, {"orders": 3}, voting={"north": voters}, quorum=Quorum())
    return {row.names: (row.control_plane, row.topics) for row in rows}


@pytest.mark.parametrize("combined", [True, False])
def test_a_rack_takes_its_brokers_and_its_voters_along(combined: bool) -> None:
    """Of four replicas one rack has two, and three are wanted; of three voters one may go."""
    whole = in_racks((1, 3, 5, 2), (1, 2, 3, 4, 5, 6), 3, combined=combined)
    assert whole == {("rack rack-a",): (None, ("orders",))}


def test_a_rack_is_lost() -> None:
    """Writes wait already; of the two voters that are left each is needed, and each other rack has one."""
    rows = in_racks((3, 5), (3, 4, 5, 6), 2, combined=False)
    assert rows == {("a voter at north", "rack rack-b", "rack rack-c"): ("lost", ())}


def test_it_is_a_sentence() -> None:
    """For a terminal, and for a log."""
    one = NextStop(("broker 1", "dc2"), "lost", ("orders", "metrics"))
    assert str(one) == (
        "the loss of one of broker 1, dc2 would stop changes of metadata and writes to orders, metrics"
    )
