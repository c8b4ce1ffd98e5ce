"""Preferred leaders on an estate in memory: elected, looked at, interrupted."""

from __future__ import annotations

from collections import Counter

import pytest

from orchestrator.errors import GateRefusedError, GateUnknownError
from orchestrator.moves.leadership.preferred import displaced
from orchestrator.ports.servers import Placement
from tests.twin.asking import described
from tests.twin.conftest import Estates
from tests.twin.killing import Story, each, gone_on_with, sampled, taken_back
from tests.twin.operator import Operator

FILE = "tests/faults/sick.yaml"


def disturbed(estates: Estates) -> Operator:
    """A broker of west was away for a while: it is in sync again, and leads nothing."""
    operator = estates.at_work(FILE)
    west = operator.estate.clusters["west"]
    west.set_brokers("gone", 1)
    operator.estate.live(3)
    west.set_brokers("up", 1)
    operator.estate.live(3)
    assert elsewhere(operator)
    return operator


def elsewhere(operator: Operator, name: str = "west") -> list[str]:
    """Partitions of a cluster that another replica leads than the preferred one."""
    cluster = operator.estate.clusters[name]
    return [
        str(one)
        for one in displaced(Placement(described(cluster, cluster.topics), {}, frozenset(cluster.brokers)))
    ]


def test_each_partition_is_led_by_its_preferred_replica_again(estates: Estates) -> None:
    """And a second time there is nothing to do."""
    operator = disturbed(estates)
    result = operator.balance("west")
    assert (result.outcome, elsewhere(operator)) == ("ok", [])
    again = operator.balance("west")
    assert again.outcome == "nothing-to-do"
    assert "is led by its preferred replica" in again.reason


def test_a_replica_that_is_not_in_sync_does_not_lead(estates: Estates) -> None:
    """It is named, and nothing is asked for: it would lose what it does not have."""
    operator = estates.at_work(FILE)
    operator.estate.clusters["west"].set_brokers("gone", 1)
    operator.estate.live(3)
    before = elsewhere(operator)
    assert before
    result = operator.balance("west")
    assert result.outcome == "nothing-to-do"
    assert "instead of 1, which is down" in result.reason
    assert elsewhere(operator) == before


def test_a_cluster_that_does_not_answer_is_left_alone(estates: Estates) -> None:
    """What is not known is not taken for balanced."""
    operator = estates.at_work(FILE)
    operator.estate.clusters["west"].set_brokers("gone")
    with pytest.raises(GateUnknownError, match="leaders-known"):
        operator.balance("west")


def is_balanced(operator: Operator) -> None:
    """Each partition is led by its preferred replica."""
    assert elsewhere(operator) == []


STRETCHED = "topologies/stretched-2.5dc-kraft.yaml"


def stretched(estates: Estates) -> Operator:
    """Two sites with brokers and all their replicas in sync, and a third one that only votes."""
    return estates.at_work(STRETCHED)


def off(estates: Estates) -> Operator:
    """The first site has been evacuated."""
    operator = stretched(estates)
    assert operator.evacuate("dc1").outcome == "ok"
    return operator


def orders(operator: Operator) -> dict[str, list[tuple[int, ...]]]:
    """How the assignments of every topic stand."""
    return {
        name: [log.replicas for log in topic.logs]
        for name, topic in operator.estate.clusters["main"].topics.items()
    }


def led_by(operator: Operator) -> dict[str, int]:
    """Partitions by the site that leads them."""
    main = operator.estate.clusters["main"]
    return Counter(main.brokers[log.leader].dc for topic in main.topics.values() for log in topic.logs)


def is_off(operator: Operator) -> None:
    """dc1 leads nothing."""
    assert led_by(operator).keys() == {"dc2"}


def is_as_before(operator: Operator) -> None:
    """Of a new estate: both lead as they did."""
    assert elsewhere(operator, "main") == []
    assert led_by(operator).keys() == {"dc1", "dc2"}


def test_no_broker_at_an_evacuated_site_leads_and_back_all_is_as_before(estates: Estates) -> None:
    """The order of each assignment, not only who leads; a second time there is nothing to do."""
    operator = stretched(estates)
    before, led = orders(operator), led_by(operator)
    assert operator.evacuate("dc1").outcome == "ok"
    is_off(operator)
    again = operator.evacuate("dc1")
    assert (again.outcome, again.reason) == (
        "nothing-to-do",
        "no partition of main is led at dc1, or preferred there",
    )
    assert operator.lead_as_before("main").outcome == "ok"
    assert (orders(operator), led_by(operator)) == (before, led)
    assert operator.lead_as_before("main").reason.startswith("no site of main is evacuated, and no setting")


def test_what_came_later_is_evacuated_as_well_and_the_first_order_is_put_back(estates: Estates) -> None:
    """A topic that was made meanwhile, and one whose order somebody has changed by hand."""
    operator = stretched(estates)
    before, main = orders(operator), operator.estate.clusters["main"]
    assert operator.evacuate("dc1").outcome == "ok"
    main.create_topic("later", 4, 4, {})
    changed = next(name for name in before if before[name] != orders(operator)[name])
    later = orders(operator)["later"]
    main.topics[changed].logs[0].replicas = before[changed][0]
    assert operator.evacuate("dc1").outcome == "ok"
    is_off(operator)
    assert operator.lead_as_before("main").outcome == "ok"
    assert orders(operator) == {**before, "later": later}


def test_both_sites_one_after_the_other_are_put_back_in_the_order_in_which_they_were_left(
    estates: Estates,
) -> None:
    """The second one found what the first one had left, and the first one what there was."""
    operator = stretched(estates)
    before = orders(operator)
    assert operator.evacuate("dc1").outcome == "ok"
    assert operator.evacuate("dc2").outcome == "ok"
    assert led_by(operator).keys() == {"dc1"}
    assert operator.lead_as_before("main").outcome == "ok"
    assert orders(operator) == before


def test_a_partition_that_nobody_else_could_lead_keeps_the_site_from_being_evacuated(
    estates: Estates,
) -> None:
    """No replica elsewhere is in sync: it would be without a leader, or lose records."""
    operator = stretched(estates)
    main = operator.estate.clusters["main"]
    away = [number for number, broker in main.brokers.items() if broker.dc == "dc2"]
    main.set_brokers("gone", *away)
    operator.estate.live(3)
    before = orders(operator)
    with pytest.raises(GateRefusedError, match="site-evacuable refused: nobody outside dc1 could lead"):
        operator.evacuate("dc1")
    assert orders(operator) == before


def test_a_site_whose_replicas_are_not_in_sync_is_not_put_first_again(estates: Estates) -> None:
    """It would lead nothing, or lack what was written meanwhile."""
    operator = off(estates)
    main = operator.estate.clusters["main"]
    main.set_brokers("gone", min(n for n, broker in main.brokers.items() if broker.dc == "dc1"))
    operator.estate.live(3)
    with pytest.raises(GateRefusedError, match="isr-full refused: replicas of main are not in sync"):
        operator.lead_as_before("main")
    is_off(operator)


KILLED = {
    "balance": Story(disturbed, lambda operator: operator.balance("west"), is_balanced, lambda _: None),
    "evacuation": Story(stretched, lambda operator: operator.evacuate("dc1"), is_off, is_as_before),
    "return": Story(off, lambda operator: operator.lead_as_before("main"), is_as_before, lambda _: None),
}


@pytest.mark.parametrize("name", KILLED)
def test_killed_on_its_way_it_is_gone_on_with_or_taken_back(estates: Estates, name: str) -> None:
    """Before and after a sample of what it does."""
    for number, harm in sampled(estates, KILLED[name], 7):
        gone_on_with(estates, KILLED[name], number, harm)
        taken_back(estates, KILLED[name], number, harm)


@pytest.mark.drills
@pytest.mark.parametrize("name", KILLED)
def test_killed_anywhere_it_is_gone_on_with_or_taken_back(estates: Estates, name: str) -> None:
    """Before and after whatever it does."""
    for number, harm in each(estates, KILLED[name]):
        gone_on_with(estates, KILLED[name], number, harm)
        taken_back(estates, KILLED[name], number, harm)
