"""Preferred leaders on an estate in memory: elected, looked at, interrupted."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from orchestrator.errors import GateRefusedError, GateUnknownError
from orchestrator.moves.within_cluster.preferred import displaced
from orchestrator.ports.servers import Placement
from orchestrator.values import TopicPartition
from tests.twin.asking import described
from tests.twin.clusters import Log
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.killing import Story, doings, each, gone_on_with, sampled, taken_back
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


def test_leaders_do_not_go_to_a_site_that_is_evacuated_already(estates: Estates) -> None:
    """Both of two: the second one would undo the first one without a word."""
    operator = off(estates)
    with pytest.raises(GateRefusedError, match="leaders would go to dc1, which is evacuated"):
        operator.evacuate("dc2")
    is_off(operator)


def test_topics_that_are_not_to_be_seen_stay_recorded(estates: Estates) -> None:
    """By a narrower login, or a broker that is behind: what is not there is not put back."""
    operator = stretched(estates)
    before, main = orders(operator), operator.estate.clusters["main"]
    assert operator.evacuate("dc1").outcome == "ok"
    main.unseen.add("orders")
    result = operator.lead_as_before("main")
    assert result.outcome == "ok"
    told = [event.message for event in operator.events if event.step == "restore-order" and event.outcome]
    assert "this login may not describe, stay recorded: orders" in told[0]
    assert orders(operator)["orders"] != before["orders"]
    assert (
        "recorded, and gone or not for this login to describe: orders"
        in operator.lead_as_before("main").reason
    )
    main.unseen.clear()
    assert operator.lead_as_before("main").outcome == "ok"
    assert orders(operator) == before


def test_a_cluster_that_shows_no_topic_is_not_known(estates: Estates) -> None:
    """Nothing is led at dc1, by what is seen, and nothing displaced."""
    operator = stretched(estates)
    main = operator.estate.clusters["main"]
    main.unseen.update(main.topics)
    with pytest.raises(GateUnknownError, match="leaders-known unknown: main shows no topic"):
        operator.evacuate("dc1")


def test_partitions_that_came_between_two_evacuations_are_put_back_as_they_came(estates: Estates) -> None:
    """Of the others the first order counts; a topic that was made anew stays as it was made."""
    operator = stretched(estates)
    before, main = orders(operator), operator.estate.clusters["main"]
    assert operator.evacuate("dc1").outcome == "ok"
    more, anew = [name for name in before if before[name] != orders(operator)[name]][:2]
    for placed in ((1, 2, 3, 4), (2, 1, 4, 3)):
        main.topics[more].logs.append(Log(placed, placed[0], placed))
    operator.estate.make_anew("main", anew)
    made = orders(operator)[anew]
    assert operator.evacuate("dc1").outcome == "ok"
    is_off(operator)
    assert operator.lead_as_before("main").outcome == "ok"
    assert orders(operator) == {**before, more: [*before[more], (1, 2, 3, 4), (2, 1, 4, 3)], anew: made}


def test_what_has_come_until_a_run_goes_on_is_recorded_as_well(estates: Estates) -> None:
    """A topic is made after the process has died: its order is changed, too, and put back."""
    story = KILLED["evacuation"]
    for number, harm in sampled(estates, story, 6):
        operator = stretched(estates)
        before = orders(operator)
        operator.estate.record.harm_nth(number, harm)
        with pytest.raises(ProcessDied):
            operator.evacuate("dc1")
        operator.estate.record.heal()
        operator.estate.restart_dcctl()
        operator.estate.clusters["main"].create_topic("later", 4, 4, {})
        later = orders(operator)["later"]
        if operator.has_begun:
            assert operator.resume().outcome in ("ok", "incomplete")
        assert operator.evacuate("dc1").outcome in ("ok", "nothing-to-do")
        is_off(operator)
        assert operator.lead_as_before("main").outcome == "ok"
        assert orders(operator) == {**before, "later": later}, (number, harm)


def test_a_run_does_not_go_on_over_a_reassignment(estates: Estates) -> None:
    """It would call that off, and take what Kafka copies to for what was wanted."""
    operator = stretched(estates)
    main = operator.estate.clusters["main"]
    operator.estate.record.harm_nth(len(doings(estates, KILLED["evacuation"])) // 2, "dies after")
    with pytest.raises(ProcessDied):
        operator.evacuate("dc1")
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    main.moving.add(TopicPartition("orders", 0))
    with pytest.raises(GateRefusedError, match="no-reassignment refused: being reassigned at main: orders-0"):
        operator.resume()
    main.moving.clear()
    assert operator.resume().outcome == "ok"
    is_off(operator)


def test_nothing_more_is_asked_for_once_the_lock_is_lost(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ensemble is asked before each request, not only heard of."""
    operator = stretched(estates)
    before = orders(operator)
    monkeypatch.setattr("orchestrator.runs.live.run.Run.holds_lock", lambda _: False)
    assert operator.evacuate("dc1").outcome != "ok"
    assert orders(operator) == before


def test_a_replica_that_is_catching_up_is_not_put_first(estates: Estates) -> None:
    """The next one is in sync, and leads; that no other is left there is a person's to accept."""
    operator = stretched(estates)
    main = operator.estate.clusters["main"]
    log = main.topics["orders"].logs[0]
    there = [number for number in log.replicas if main.brokers[number].dc == "dc2"]
    log.isr = tuple(number for number in log.isr if number != there[0])
    expected = f"margin-after refused: outside dc1 .* orders-0 without {there[0]}; then the loss of broker"
    with pytest.raises(GateRefusedError, match=expected):
        operator.evacuate("dc1")
    assert operator.evacuate("dc1", accept_margin=True).outcome == "ok"
    assert log.leader == there[1]
    is_off(operator)
    assert "--accept-margin" in {e.data["option"] for e in operator.events if e.kind == "override"}


def test_a_site_that_is_out_of_order_itself_can_be_left(estates: Estates) -> None:
    """A broker there is down, and with it a replica of each partition: that is why it is left."""
    operator = stretched(estates)
    main = operator.estate.clusters["main"]
    main.set_brokers("gone", 1)
    operator.estate.live(12)
    assert operator.evacuate("dc1").outcome == "ok"
    is_off(operator)


def test_preferred_leaders_overtake_no_fence(estates: Estates) -> None:
    """A fence that stopped on its way is gone on with, whoever has led meanwhile."""
    operator = disturbed(estates)
    number = len(doings(estates, Story(disturbed, lambda o: o.fence("west"), lambda _: None))) // 2
    operator.estate.record.harm_nth(number, "dies after")
    with pytest.raises(ProcessDied):
        operator.fence("west")
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    fence = operator.run_id
    assert operator.balance("west").outcome == "ok"
    assert operator.resume(fence).outcome == "ok"


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


def test_applications_leave_one_after_the_other(estates: Estates) -> None:
    """Each is seen at work before the next is stopped."""
    operator = stretched(estates)
    assert operator.evacuate("dc1").outcome == "ok"
    begun = [e for e in operator.events if e.kind == "step-intent" and e.step]
    stops = [e.step for e in begun if e.step.startswith("stop-applications-")]
    assert len(stops) > 1
    for before, step in pairwise(stops):
        seen = before.replace("stop-applications", "record-applications-seen")
        outcome = next(e for e in operator.events if e.step == seen and e.outcome)
        assert outcome.outcome == "ok"
        assert outcome.sequence < next(e.sequence for e in begun if e.step == step)
