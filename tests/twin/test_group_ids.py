"""Consumers whose group id is not their name: Kafka is asked about the id, people are told the name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from orchestrator.errors import GateRefusedError
from orchestrator.topology.model import Topology
from orchestrator.watch.status import mirror_status
from tests.twin import test_active_sites as sites
from tests.twin import test_verbs as passive
from tests.twin import truths
from tests.twin.conftest import Estates
from tests.twin.operator import Operator


def renamed(file: Topology) -> Topology:
    """Each group's id is another one than its consumer's name."""
    groups = [replace(c, group=f"{c.name}.v2") if c.groups else c for c in file.consumers]
    return replace(file, consumers=tuple(groups))


def site(estates: Estates) -> Operator:
    return sites.at_work(estates, lambda file: renamed(sites.told_apart(file)))


def assert_by_id(operator: Operator) -> None:
    """No cluster was ever asked about a group that is called like a consumer."""
    names = {consumer.name for consumer in operator.estate.topology.consumers if consumer.groups}
    for cluster in operator.estate.clusters.values():
        assert names & cluster.groups.keys() == set(), cluster.name


def test_two_sites_there_and_home_again(estates: Estates) -> None:
    """Planned: everything is read once."""
    operator = site(estates)
    assert operator.switchover(to="east").outcome == "ok"
    operator.estate.live(10)
    sites.assert_sound(operator, "east")
    assert operator.failback(to="west").outcome == "ok"
    operator.estate.live(10)
    sites.assert_sound(operator, "west")
    sites.rest(operator)
    assert sites.unread(operator, "reporting") == sites.unread(operator, "search") == set()
    assert_by_id(operator)


def test_a_lost_site_and_home_again(estates: Estates) -> None:
    """From what watchers have kept under the ids."""
    operator = site(estates)
    sites.lose_and_return(operator)
    sites.rest(operator)
    assert sites.unread(operator, "reporting") == sites.unread(operator, "search") == set()
    assert_by_id(operator)


@pytest.mark.parametrize("leave", [Operator.failover, Operator.leave, Operator.switchover])
def test_active_passive_there_and_home_again(estates: Estates, leave: Callable[[Operator], object]) -> None:
    """The other procedures: nothing is skipped, and what is read again was foretold under the name."""
    operator = estates.at_work(passive.DEGRADED, change=renamed)
    if leave is Operator.failover:
        operator.estate.lose("west")
    elif leave is Operator.leave:
        operator.estate.clusters["west"].set_brokers("gone", 1)
    operator.estate.live(5)
    assert leave(operator).outcome == "ok"
    assert operator.plan is not None
    assert set(operator.plan.predicted.reread) == {c.name for c in operator.estate.topology.consumers}
    operator.estate.live(6)
    assert truths.skipped(operator.estate, "east") == {}
    operator.estate.bring_back("west")
    operator.estate.live(10)
    assert operator.failback().outcome == "ok"
    operator.estate.live(6)
    assert truths.skipped(operator.estate, "west") == {}
    assert_by_id(operator)


def test_a_group_at_work_at_the_other_side_is_told_by_name_and_id(estates: Estates) -> None:
    """Both are needed: the name to find it in the file, the id to find it in Kafka."""
    operator = estates.at_work(passive.DEGRADED, change=renamed)
    operator.estate.clusters["east"].group("billing.v2").members["stranger"] = ()
    with pytest.raises(GateRefusedError, match=r"billing \(group billing\.v2\) \(1\)"):
        operator.switchover()


def test_status_has_both(estates: Estates) -> None:
    """And finds what the group would read again under its name."""
    operator = estates.at_work(passive.DEGRADED, change=renamed)
    told = mirror_status(operator.estate.topology, operator.mirror, servers=operator.estate.servers)
    rows = {row["consumer"]: row for row in told["groups"]}
    assert rows["billing"]["group"] == "billing.v2"
    assert rows["billing"]["partitions"] > 0
    assert rows["billing"]["position_age_s"] is not None
    assert rows["billing"]["reread"] != {}
