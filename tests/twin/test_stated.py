"""What plans state of each application is what happens, in every layout and each way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.runs.prices import price_in_words
from tests.twin import test_active_sites as sites
from tests.twin import test_centres as centres
from tests.twin import test_into_centre as into_centre
from tests.twin import test_one_group as one_group
from tests.twin import test_parts as parts
from tests.twin import test_verbs as verbs
from tests.twin.conftest import Estates
from tests.twin.operator import Operator
from tests.twin.stated import Stated

SLOW = 4.0
"""Records that a slow consumer reads in a second; its producer writes 20."""


def stated(operator: Operator, move: Callable[[], object]) -> Stated:
    """One move, which ends well, and does what its plan states."""
    found = Stated(operator)
    result = move()
    assert getattr(result, "outcome", "") == "ok"
    found.assert_true()
    operator.estate.live(5)
    return found


def lost(operator: Operator, cluster: str) -> None:
    operator.estate.lose(cluster)
    operator.estate.live(5)


def back(operator: Operator, cluster: str) -> None:
    operator.estate.bring_back(cluster)
    operator.estate.live(10)


def tail(operator: Operator, home: str, copies: str) -> int:
    """Records of `orders` that a lost site has, and nobody else."""

    def end(cluster: str, topic: str) -> int:
        return sum(log.end for log in operator.estate.clusters[cluster].topics[topic].logs)

    return end(home, "orders") - end(copies, f"{home}.orders")


@pytest.mark.parametrize("file", [parts.SMALL, "topologies/active-passive.yaml"])
def test_active_passive(estates: Estates, file: str) -> None:
    """There and back as planned, and lost and returned; queries as well as groups."""
    operator = estates.at_work(file)
    there = stated(operator, operator.switchover)
    billing = there.of("billing")
    assert billing["west.orders"].route == "west→east"
    assert billing["west.orders"].newer_in == "orders"
    assert (billing["orders"].begins, billing["orders"].unread_at_most) == ("fenced-end", 0)
    home = stated(operator, operator.failback).of("billing")
    assert {(read.topic, read.left, read.route) for read in home.values()} == {
        ("orders", "west.orders", "inverse of west→east"),
        ("east.orders", "orders", "east→west"),
    }
    lost(operator, "west")
    gone = stated(operator, operator.failover)
    again = gone.of("billing")
    assert again["orders"].route == "inverse of east→west"
    assert again["orders"].unread_at_most is None
    assert "by the map of the way back" in again["orders"].reason
    late = tail(operator, "west", "east")
    assert 0 < late <= gone.plan.predicted.late["orders"]["at_most"]
    assert again["west.orders"].out_of_order_at_most == gone.plan.predicted.late["orders"]["at_most"]
    back(operator, "west")
    home = stated(operator, operator.failback).of("billing")
    assert (home["orders"].out_of_order_at_most, home["orders"].reread_at_most) == (late, late)


def test_a_backlog_at_a_lost_site_is_stated(estates: Estates) -> None:
    """Who is slow has the rest unread where it goes, exactly as many where nothing lands any more."""
    operator = parts.at_work(estates)
    operator.estate.applications.clients["west", "consumer-billing"].rate_per_s = SLOW
    operator.estate.applications.clients["east", "consumer-billing"].rate_per_s = SLOW
    operator.estate.live(10)
    lost(operator, "west")
    found = stated(operator, operator.failover)
    row = found.of("billing")["west.orders"]
    (billing,) = (c for c in operator.estate.topology.consumers if c.name == "billing")
    assert row.unread_now == row.unread_at_most == found.unread(billing, "west.orders") > 100
    assert found.of("shipping")["west.orders"].unread_now < row.unread_now  # type: ignore[operator]


def test_a_backlog_is_told_as_it_is_before_a_planned_move(estates: Estates) -> None:
    """How much it will be nobody knows before everybody has stopped, and that is said."""
    operator = parts.at_work(estates)
    operator.estate.applications.clients["west", "consumer-billing"].rate_per_s = SLOW
    operator.estate.live(10)
    row = stated(operator, operator.switchover).of("billing")["west.orders"]
    assert row.unread_now is not None
    assert row.unread_now > 100
    assert row.unread_at_most is None
    assert row.reason == "producers write and it reads until they are stopped"


def test_a_sick_site(estates: Estates) -> None:
    """What answers is written until it is fenced: how much is unread then is not known before."""
    operator = verbs.sick(estates)
    found = stated(operator, operator.leave)
    assert found.of("billing")["west.orders"].unread_at_most is None


def test_two_active_sites(estates: Estates) -> None:
    """By both routes; whose the new records are is in what is read."""
    operator = sites.at_work(estates)
    there = stated(operator, lambda: operator.switchover(to="east"))
    assert set(there.of("packing-west")) == {"west.orders"}
    assert there.of("billing")["orders"].begins == "fenced-end"
    assert there.of("billing")["orders"].unread_at_most is None
    assert there.of("reporting")["orders"].route == "inverse of east→west"
    orders = {one.name: one.never_in_order for one in there.plan.applications}
    assert orders["reporting"] == ("west.orders", "orders")
    assert orders["packing-west"] == ()
    (shop,) = (one for one in there.plan.applications if one.name == "shop-west")
    assert [(one.topic, one.others) for one in shop.writes] == [("orders", ("shop-east",))]
    stated(operator, lambda: operator.failback(to="west"))
    lost(operator, "west")
    gone = stated(operator, lambda: operator.failover(to="east"))
    assert gone.of("packing-west")["west.orders"].out_of_order_at_most == 0
    late = tail(operator, "west", "east")
    assert 0 < late <= (gone.of("reporting")["west.orders"].out_of_order_at_most or 0)
    back(operator, "west")
    home = stated(operator, lambda: operator.failback(to="west"))
    assert home.of("reporting")["orders"].out_of_order_at_most == late
    assert home.of("packing-west")["orders"].out_of_order_at_most == 0


def test_one_group_id_at_both_sites(estates: Estates) -> None:
    """What the members there read already is not begun anew by who comes."""
    operator = sites.at_work(estates, one_group.sharing)
    found = stated(operator, lambda: operator.switchover(to="east"))
    row = found.of("packing-west")["orders"]
    assert (row.begins, row.unread_at_most, row.reread_at_most) == ("own-position", None, 0)
    stated(operator, lambda: operator.failback(to="west"))


def test_two_centres(estates: Estates) -> None:
    """Over two maps; what a lost source has not brought is stated apart."""
    operator = centres.at_work(estates)
    there = stated(operator, lambda: operator.switchover(to="reserve", left="centre"))
    route = "inverse of dc1→centre, then dc1→reserve"
    assert there.of("audit")["dc1.orders"].route == route
    assert there.plan.predicted.late == {}
    assert price_in_words(there.plan).startswith("no record lost, no record read again")
    stated(operator, lambda: operator.failback(to=""))
    centres.lose_both(operator)
    gone = stated(operator, lambda: operator.failover(to="reserve", attested=("centre", "dc1")))
    assert (
        gone.of("audit")["dc1.orders"].reread_if_source_returns
        == gone.plan.predicted.reread["audit"]["if_source_returns"]
        > 0  # type: ignore[operator]
    )


def test_a_source_into_its_centre(estates: Estates) -> None:
    """As along a mirror, beside the centre's own."""
    operator = into_centre.at_work(estates)
    stated(operator, lambda: operator.switchover(to="centre", left="dc1"))
    stated(operator, lambda: operator.failback(to="dc1"))
    lost(operator, "dc1")
    stated(operator, lambda: operator.failover(to="centre", attested=("dc1",)))


def test_parts_of_a_site(estates: Estates) -> None:
    """A consumer alone, which nobody writes for there; a topic with all of its own, twice."""
    operator = parts.at_work(estates)
    alone = stated(operator, lambda: operator.switchover(applications=("billing",))).of("billing")
    assert (alone["orders"].begins, alone["orders"].unread_at_most) == ("log-start", 0)
    stated(operator, lambda: operator.failback(applications=("billing",)))
    for _ in range(2):
        moved = stated(operator, lambda: operator.switchover(topics=("orders",)))
        assert "settlement" not in {one.name for one in moved.plan.applications}
        stated(operator, lambda: operator.failback(topics=("orders",)))
    stated(operator, lambda: operator.switchover(applications=("billing",)))
    home = stated(operator, lambda: operator.failback(applications=("billing",))).of("billing")
    assert home["east.orders"].begins == "own-position"
