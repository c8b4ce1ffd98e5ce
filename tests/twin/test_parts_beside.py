"""Parts of one of two active sites, of a centre, and one of several mirrors in one file."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from orchestrator.errors import GateRefusedError
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from tests.twin import test_active_sites as sites
from tests.twin import test_centres as centres
from tests.twin import truths
from tests.twin.conftest import ROOT, Estates
from tests.twin.operator import Operator


def assert_each_once(operator: Operator, place: str, names: list[str]) -> None:
    twice = truths.processed_twice(operator.estate, names)
    assert twice == dict.fromkeys(names, 0)
    skipped = truths.skipped(operator.estate, place)
    assert {name: skipped[name] for name in names if name in skipped} == {}


def test_a_reader_of_both_sites_goes_alone_and_home(estates: Estates) -> None:
    """What it reads at either site it has read once, while everybody writes on."""
    operator = sites.at_work(estates)
    for _ in range(2):
        assert (
            operator.switchover(to="east", left="west", applications=("reporting", "search")).outcome == "ok"
        )
        operator.estate.live(10)
        assert_each_once(operator, "east", ["reporting", "search"])
        assert operator.failback(to="west", applications=("reporting", "search")).outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator, "west", ["reporting", "search", "billing", "packing-west"])
    sites.rest(operator)
    assert sites.unread(operator, "reporting") == sites.unread(operator, "search") == set()
    times = [
        at for at, producer, _ in operator.estate.applications.ledger.written_at if producer == "shop-west"
    ]
    assert max(b - a for a, b in pairwise(times)) <= 1


def test_who_reads_all_that_lands_does_not_go_alone(estates: Estates) -> None:
    """It would read what others write at the other site, while its own producers are at home."""
    operator = sites.at_work(estates)
    with pytest.raises(GateRefusedError, match="consumer billing: has landing: read"):
        operator.switchover(to="east", left="west", applications=("billing",))


def test_one_consumer_of_a_centre_goes_alone_and_home(estates: Estates) -> None:
    """The other one is not touched."""
    operator = centres.at_work(estates)
    for _ in range(2):
        assert operator.switchover(to="reserve", left="centre", applications=("audit",)).outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator, "reserve", ["audit"])
        assert_each_once(operator, "centre", ["reporting"])
        with pytest.raises(GateRefusedError, match="selection refused: reporting works at centre"):
            operator.failback(to="centre")
        assert operator.failback(to="centre", applications=("audit",)).outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator, "centre", ["audit", "reporting"])


def test_nothing_goes_home_that_has_never_left(estates: Estates) -> None:
    """Its positions at the other centre are none: it would read everything again."""
    operator = centres.at_work(estates)
    with pytest.raises(GateRefusedError, match="works at centre"):
        operator.failback(to="centre")


def three_pairs(file: Topology) -> Topology:
    """Three estates as the file has one, each with its own mirror."""
    marks = ("", "-b", "-c")
    found = file
    for mark in marks[1:]:
        renamed = {name: f"{name}{mark}" for name in file.clusters}
        of = lambda one, mark=mark, renamed=renamed: replace(  # noqa: E731
            one,
            name=f"{one.name}{mark}",
            cluster=renamed[one.cluster],
            **({"principal": f"{one.principal}{mark}"} if hasattr(one, "principal") else {}),
            **({"topics": tuple(f"{topic}{mark}" for topic in one.topics)} if hasattr(one, "topics") else {}),
        )
        found = replace(
            found,
            datacenters=(*found.datacenters, *renamed.values()),
            clusters={
                **found.clusters,
                **{
                    renamed[name]: replace(
                        one, nodes=tuple(replace(row, dc=renamed[row.dc]) for row in one.nodes)
                    )
                    for name, one in file.clusters.items()
                },
            },
            topics=(*found.topics, *map(of, file.topics)),
            producers=(*found.producers, *map(of, file.producers)),
            consumers=(*found.consumers, *map(of, file.consumers)),
            replication=(
                *found.replication,
                *(
                    replace(
                        one,
                        source=renamed[one.source],
                        target=renamed[one.target],
                        topics=tuple(f"{topic}{mark}" for topic in one.topics),
                    )
                    for one in file.replication
                ),
            ),
        )
    return found


def test_one_of_three_mirrors_is_moved_while_the_others_work_on(estates: Estates) -> None:
    """And a part of another one beside it."""
    file = three_pairs(load_topology(ROOT / "tests/faults/small.yaml"))
    operator = estates.at_work(file)
    for workers in operator.estate.workers.values():
        workers.writes_delayed_syncs = True
    operator.estate.live(2)
    assert operator.switchover(to="east-b", left="west-b").outcome == "ok"
    operator.estate.live(10)
    assert operator.switchover(to="east-c", left="west-c", applications=("billing-c",)).outcome == "ok"
    operator.estate.live(10)
    names = ["billing", "shipping", "fraud"]
    assert_each_once(operator, "east-b", [f"{name}-b" for name in names])
    assert_each_once(operator, "east-c", ["billing-c"])
    assert_each_once(operator, "west-c", ["shipping-c", "fraud-c"])
    assert_each_once(operator, "west", names)
    assert operator.failback(to="west-b").outcome == "ok"
    assert operator.failback(to="west-c", applications=("billing-c",)).outcome == "ok"
    operator.estate.live(10)
    for mark in ("", "-b", "-c"):
        assert_each_once(operator, f"west{mark}", [f"{name}{mark}" for name in names])
    written = truths.written_at(operator.estate)
    assert written["orders"] == ["west"]
    assert written["orders-b"] == ["west-b", "east-b", "west-b"]


def with_payments(file: Topology) -> Topology:
    """West has a second topic, with a writer and a reader of its own, and one that reads both."""
    told = sites.told_apart(file)
    orders = next(one for one in told.topics if one.cluster == "west")
    shop = next(one for one in told.producers if one.cluster == "west")
    packing = next(one for one in told.consumers if one.name == "packing-west")
    mark = replace(shop.identified_by, value="till") if shop.identified_by else None
    till = replace(shop, name="till", principal="User:till", topics=("payments",), identified_by=mark)
    cashier = replace(packing, name="cashier", principal="User:cashier", topics=("payments",), landing=None)
    fraud = replace(
        cashier, name="fraud", principal="User:fraud", topics=("orders", "east.orders", "payments")
    )
    return replace(
        told,
        topics=(*told.topics, replace(orders, name="payments")),
        producers=(*told.producers, till),
        consumers=(*told.consumers, cashier, fraud),
        replication=tuple(
            replace(one, topics=(*one.topics, "payments")) if one.source == "west" else one
            for one in told.replication
        ),
    )


def test_a_topic_of_an_active_site_goes_beside_others_and_home(estates: Estates) -> None:
    """The other topic is written on at home; those at the other site work on."""
    operator = estates.at_work(sites.TWO_SITES, change=with_payments)
    for workers in operator.estate.workers.values():
        workers.writes_delayed_syncs = True
    operator.estate.live(2)
    moving = ["packing-west", "reporting", "search", "fraud"]
    for _ in range(2):
        assert operator.switchover(to="east", left="west", topics=("orders",)).outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator, "east", [*moving, "packing-east"])
        assert_each_once(operator, "west", ["cashier"])
        assert operator.failback(to="west", topics=("orders",)).outcome == "ok"
        operator.estate.live(10)
        assert_each_once(operator, "west", [*moving, "cashier"])
        assert_each_once(operator, "east", ["packing-east"])
    sites.rest(operator)
    assert sites.unread(operator, "fraud") == set()
    written = operator.estate.applications.ledger.written_at
    times = [at for at, producer, _ in written if producer == "till"]
    assert max(b - a for a, b in pairwise(times)) <= 1
    assert {cluster for _, producer, cluster in written if producer == "till"} == {"west"}
