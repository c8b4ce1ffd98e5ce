"""Applications that a loss stops: all of a cluster of which no broker is left, and where each goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.topology.durability.analysis import explain_topology
from orchestrator.topology.durability.losses import loss_of
from orchestrator.topology.durability.values import ApplicationFate
from orchestrator.topology.loading import parse_topology

DCS = ("dc1", "dc2")
TOPOLOGIES = Path(__file__).parents[3] / "topologies"


def stopped(name: str, *lost: str, edits: Sequence[tuple[str, str]] = ()) -> tuple[ApplicationFate, ...]:
    """By an example with something exchanged."""
    text = (TOPOLOGIES / f"{name}.yaml").read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    topology = parse_topology(text)
    (found,) = explain_topology(topology, [loss_of(topology, lost)]).losses
    return found.applications


def where(found: Sequence[ApplicationFate]) -> dict[str, tuple[str | None, tuple[str, ...]]]:
    """The cluster and the topics of each."""
    return {one.name: (one.goes_to, one.topics) for one in found}


def test_the_sides_applications_go_beside_those_at_work_at_the_other_one() -> None:
    """Two active sites: who reads both sides' orders reads both there, and who leaves the new ones does not."""
    assert where(stopped("active-active", "west")) == {
        "shop-west": ("east", ("orders",)),
        "packing-west": ("east", ("west.orders",)),
        "reporting": ("east", ("west.orders", "orders")),
    }
    assert where(stopped("active-active", "east")) == {
        "shop-east": ("west", ("orders",)),
        "packing-east": ("west", ("east.orders",)),
    }


def test_with_landing_read_it_reads_all_that_is_written_there() -> None:
    """And the answer says that others' records are among it."""
    found = stopped("active-active", "west", edits=[("landing: packing-east", "landing: read")])
    (packing,) = [one for one in found if one.name == "packing-west"]
    assert packing.topics == ("west.orders", "orders")
    assert packing.reason == (
        "packing-west goes to east, and reads west.orders, orders there; "
        "orders with the records of east's own producers"
    )


def test_a_centres_consumers_go_to_the_other_one_and_no_producer_stops() -> None:
    """A pattern finds the same topics there."""
    assert where(stopped("aggregation-two-centres", "centre")) == {
        "reporting": ("reserve", ("dc1.orders", "dc2.orders")),
        "audit": ("reserve", ("dc1.orders",)),
    }
    assert stopped("aggregation-two-centres", "reserve") == ()


def test_without_a_standby_a_centres_consumers_wait() -> None:
    """One centre; and of two the one whose standby is lost as well."""
    (reporting,) = stopped("aggregation", "centre")
    assert (reporting.goes_to, reporting.reason) == (
        None,
        "the file names no standby for reporting: it waits until centre is back",
    )
    both = stopped("aggregation-two-centres", "centre", "reserve")
    assert {one.reason for one in both} == {
        f"reserve, the standby of {name}, is lost too: it waits until centre is back"
        for name in ("reporting", "audit")
    }


def test_an_aggregations_source_goes_to_its_centre_only_where_the_file_says_so() -> None:
    """By `standby` of the cluster, or of one application."""
    assert {one.goes_to for one in stopped("aggregation", "dc1")} == {None}
    told = [("  dc1:\n    kafka: 4.3.1\n", "  dc1:\n    kafka: 4.3.1\n    standby: centre\n")]
    assert where(stopped("aggregation", "dc1", edits=told)) == {
        "shop-dc1": ("centre", ("orders",)),
        "packing-dc1": ("centre", ("dc1.orders", "orders")),
    }
    one = [("cluster: dc1, kind: group,", "cluster: dc1, kind: group, standby: centre,")]
    assert where(stopped("aggregation", "dc1", edits=one)) == {
        "shop-dc1": (None, ()),
        "packing-dc1": ("centre", ("dc1.orders",)),
    }


def test_of_two_sources_that_go_to_one_centre_one_goes_at_a_time() -> None:
    """Said where both are lost; consumers follow their producers."""
    told = [
        (f"  {dc}:\n    kafka: 4.3.1\n", f"  {dc}:\n    kafka: 4.3.1\n    standby: centre\n") for dc in DCS
    ]
    reasons = {one.name: one.reason for one in stopped("aggregation", *DCS, edits=told)}
    assert reasons["shop-dc1"] == (
        "shop-dc1 goes to centre, and writes orders there; only one source at a time goes there with it: dc1, or dc2"
    )
    assert "only one" not in reasons["packing-dc1"]
    (shop, _) = stopped("aggregation", "dc1", edits=told)
    assert "only one" not in shop.reason


@pytest.mark.parametrize("lost", ["west/broker-1", "east"])
def test_nothing_stops_while_a_broker_of_its_cluster_is_left(lost: str) -> None:
    """What becomes of its topics is another question."""
    assert stopped("active-passive", lost) == ()


def test_a_stretched_clusters_applications_stop_with_its_last_site() -> None:
    """One site of it is answered topic by topic."""
    assert stopped("stretched-3dc", "dc1") == ()
    assert {one.goes_to for one in stopped("stretched-3dc", "dc1", "dc2", "dc3")} == {None}
