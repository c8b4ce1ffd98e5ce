"""A site is left by plan, and its servers are stopped, in memory; and back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.errors import GateRefusedError, GateUnknownError, UsageError
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.killing import Story, gone_on_with, sampled, taken_back
from tests.twin.operator import Operator
from tests.twin.record import Entry
from tests.twin.test_leaders import led_by, orders
from tests.twin.test_quorum import is_whole, quorum, stood_alone
from tests.twin.test_site_loss import is_as_before, takes_writes, wanted

FORMING = ("stretched-2dc", "stretched-2dc-kraft")
LIVING = ("stretched-2.5dc", "stretched-2.5dc-kraft", "stretched-3dc", "stretched-3dc-kraft")
EVERY = pytest.mark.parametrize("layout", [*FORMING, *LIVING])
WORD = {"lower_min_insync": ("all",)}


def at_work(estates: Estates, layout: str) -> Operator:
    """Everything is up."""
    return estates.at_work(f"topologies/{layout}.yaml")


def powered_off(operator: Operator, **asked: object) -> Operator:
    """dc1 is left, and its servers are stopped."""
    result = operator.evacuate("dc1", power_off=True, **{**WORD, **asked})
    assert result.outcome == "ok", result.reason
    return operator


def is_off(operator: Operator) -> None:
    """No server at dc1 runs or would start with its host; everybody else's do, and all is written."""
    services = operator.estate.services
    assert services.off == services.disabled == set(services.at("dc1"))
    stood_alone(operator)
    assert "dc1" not in led_by(operator)
    takes_writes(operator)


def has_come_back(operator: Operator) -> None:
    """All is as it was in a new estate."""
    services = operator.estate.services
    assert (services.off, services.disabled) == (set(), set())
    is_whole(operator)


@EVERY
def test_its_servers_stop_one_broker_at_a_time_and_back_all_is_as_before(
    estates: Estates, layout: str
) -> None:
    """No record waits; a second time there is nothing to do; failback is the one of a lost site."""
    operator = at_work(estates, layout)
    before, led = orders(operator), led_by(operator)
    powered_off(operator)
    is_off(operator)
    assert operator.plan is not None
    actions = [step.action for step in operator.plan.steps]
    brokers = len([b for b in operator.estate.clusters["main"].brokers.values() if b.dc == "dc1"])
    ends = ["fence-site", "stop-servers"]
    ends += ["record-generation", "stop-voters", "form-quorum", "start-rest"] if layout in FORMING else []
    ends += ["await-leaders", "see-writable", "see-site-off"]
    assert actions[-len(ends) :] == ends
    assert actions.count("stop-servers") == brokers + 1
    again = operator.evacuate("dc1", power_off=True)
    assert (again.outcome, again.reason) == ("nothing-to-do", "no server of main runs at dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    has_come_back(operator)
    assert (orders(operator), led_by(operator)) == (before, led)


def answers_only_with_a_quorum(estates: Estates, layout: str) -> Operator:
    """Brokers answer nobody while voters stand still."""
    operator = at_work(estates, layout)
    operator.estate.clusters["main"].is_silent_without_quorum = True
    return operator


@pytest.mark.parametrize("layout", [*FORMING, "stretched-3dc"])
@pytest.mark.parametrize("made", [at_work, answers_only_with_a_quorum])
def test_killed_on_its_way_it_is_gone_on_with_or_taken_back(
    estates: Estates, made: Callable[[Estates, str], Operator], layout: str
) -> None:
    """Up to the first changed file of a voter all can be taken back; then failback brings it back."""
    story = Story(
        lambda estates: made(estates, layout),
        lambda operator: operator.evacuate("dc1", power_off=True, **WORD),
        is_off,
        has_come_back,
    )
    for number, harm in sampled(estates, story, 5):
        gone_on_with(estates, story, number, harm)
        taken_back(estates, story, number, harm)


def test_topics_that_would_take_no_writes_refuse_it_until_somebody_names_them(estates: Estates) -> None:
    """Nothing is stopped, and nobody has moved."""
    operator = at_work(estates, "stretched-2dc-kraft")
    before = orders(operator)
    expected = "writes-go-on refused: without dc1 too few replicas are in sync for .* orders"
    with pytest.raises(GateRefusedError, match=expected):
        operator.evacuate("dc1", power_off=True)
    assert (orders(operator), operator.estate.services.off) == (before, set())
    with pytest.raises(UsageError, match="--lower-min-insync nobody: there is no such topic"):
        operator.evacuate("dc1", power_off=True, lower_min_insync=("nobody",))
    powered_off(operator)
    assert wanted(operator)["orders"] == "2"
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    is_as_before(operator)


def test_a_replica_elsewhere_that_is_not_in_sync_refuses_it(estates: Estates) -> None:
    """It would be one of those that are left."""
    operator = at_work(estates, "stretched-3dc")
    operator.estate.clusters["main"].set_brokers("gone", 3)
    operator.estate.live(12)
    with pytest.raises(GateRefusedError, match="margin-after refused: outside dc1 replicas of main"):
        operator.evacuate("dc1", power_off=True, **WORD)
    assert operator.estate.services.off == set()


def test_a_site_of_which_a_broker_is_down_is_powered_off_and_taken_back(estates: Estates) -> None:
    """That is why somebody goes there: what is up stops, and what is not is disabled."""
    for server in ("", "zookeeper-1"):
        operator = at_work(estates, "stretched-2.5dc")
        operator.estate.clusters["main"].set_brokers("gone", 1)
        operator.estate.live(12)
        operator.estate.record.harm_where(
            lambda entry, server=server: entry.words[0] == "stop service" and server in entry.words, "fails"
        )
        result = operator.evacuate("dc1", power_off=True, **WORD)
        assert result.outcome == ("undone" if server else "ok"), result.reason
        services = operator.estate.services
        assert services.off == (set() if server else set(services.at("dc1")))


def test_a_quorum_is_not_ended_where_it_is_not_known_who_votes_elsewhere(estates: Estates) -> None:
    """The tie-breaker may be down: without it nobody could be elected."""
    operator = at_work(estates, "stretched-2.5dc")
    operator.estate.lose("witness")
    operator.estate.live(12)
    with pytest.raises(GateUnknownError, match="quorum-continues unknown: without dc1 a quorum depends on"):
        operator.evacuate("dc1", power_off=True, **WORD)
    assert operator.estate.services.off == set()


@pytest.mark.parametrize("layout", ["stretched-3dc", "stretched-3dc-kraft"])
def test_a_voter_elsewhere_that_dies_on_the_way_keeps_the_others_running(
    estates: Estates, layout: str
) -> None:
    """Brokers took their time; hosts are asked once more before the voters of the site stop."""
    operator = at_work(estates, layout)
    main = operator.estate.clusters["main"]
    others = [number for number, voter in main.quorum.voters.items() if voter.site == "dc3"]

    def breaks(entry: Entry) -> bool:
        if entry.words[0] == "stop service":
            for number in others:
                main.set_controllers("gone", number)
        return False

    operator.estate.record.harm_where(breaks, "fails")
    result = operator.evacuate("dc1", power_off=True, **WORD)
    assert result.outcome == "undone", result.reason
    assert "too few voters run outside dc1 for a quorum" in result.reason
    assert operator.estate.services.off == set()
    assert quorum(operator).members()


def test_a_server_that_somebody_starts_again_on_the_way_is_seen(estates: Estates) -> None:
    """The run does not call that off; the same command stops it."""
    operator = at_work(estates, "stretched-2.5dc")
    services = operator.estate.services

    def starts(entry: Entry) -> bool:
        if entry.words[0] == "stop service" and not any("broker" in word for word in entry.words):
            services.off.discard("broker-1")
        return False

    operator.estate.record.harm_where(starts, "fails")
    result = operator.evacuate("dc1", power_off=True, **WORD)
    assert (result.outcome, "started again since: broker-1" in result.reason) == ("incomplete", True)
    operator.estate.record.heal()
    assert operator.evacuate("dc1", power_off=True, **WORD).outcome == "ok"
    is_off(operator)


def test_failback_starts_what_an_unfinished_power_off_has_stopped(estates: Estates) -> None:
    """The site is not recorded as off yet."""
    operator = at_work(estates, "stretched-2.5dc")
    operator.estate.record.harm_where(lambda entry: "broker-2" in entry.words, "dies before")
    with pytest.raises(ProcessDied):
        operator.evacuate("dc1", power_off=True, **WORD)
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    assert operator.estate.services.off == {"broker-1"}
    assert operator.lead_as_before("main").outcome == "ok"
    has_come_back(operator)


def test_an_old_power_off_is_not_taken_back_over_the_quorum_of_a_failover(estates: Estates) -> None:
    """It died on its way, the site's hosts went dark, and the others became the quorum by another run."""
    operator = at_work(estates, "stretched-2dc")
    operator.estate.record.harm_where(lambda entry: entry.words[0] == "stop voter", "dies before")
    with pytest.raises(ProcessDied):
        operator.evacuate("dc1", power_off=True, **WORD)
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    old = operator.run_id
    operator.estate.lose("dc1")
    operator.estate.live(12)
    assert operator.go_on_without("dc1", **WORD).outcome == "ok"
    for end in (operator.resume, operator.abort):
        with pytest.raises(GateRefusedError, match="overtaken"):
            end(old)


def test_a_host_that_does_not_tell_keeps_all_of_it_from_being_begun(estates: Estates) -> None:
    """What is stopped by plan is seen to be off, not attested."""
    operator = at_work(estates, "stretched-3dc")
    operator.estate.services.reach["dc1"] = "gone"
    with pytest.raises(GateUnknownError, match="servers-told unknown: host-dc1: no route to host"):
        operator.evacuate("dc1", power_off=True, **WORD)
    operator.estate.services.reach["dc1"] = "up"
    del operator.estate.services.of["broker-1"]
    with pytest.raises(GateRefusedError, match="servers-told refused: hosts at dc1 tell of"):
        operator.evacuate("dc1", power_off=True, **WORD)


@pytest.mark.parametrize("layout", [*FORMING, "stretched-3dc"])
def test_where_a_server_does_not_stop_all_is_taken_back(estates: Estates, layout: str) -> None:
    """The last broker, then a voter: whoever was stopped before runs again, and leads."""
    there = at_work(estates, layout).estate.services.at("dc1")
    brokers = [server for server in there if server.startswith("broker")]
    voters = [server for server in there if server not in brokers]
    for server, step in ((brokers[-1], f"stop-{brokers[-1]}"), (voters[0], "stop-voters-of-dc1")):
        operator = at_work(estates, layout)
        before, led = orders(operator), led_by(operator)
        operator.estate.record.harm_where(
            lambda entry, server=server: entry.words[0] == "stop service" and server in entry.words, "fails"
        )
        result = operator.evacuate("dc1", power_off=True, **WORD)
        assert (result.outcome, step in result.reason) == ("undone", True), result.reason
        has_come_back(operator)
        assert (orders(operator), led_by(operator)) == (before, led)


def test_brokers_elsewhere_that_fall_behind_on_the_way_stop_it(estates: Estates) -> None:
    """The plan was made while all were in sync; each broker is stopped only if enough others still are."""
    operator = at_work(estates, "stretched-2.5dc")
    main = operator.estate.clusters["main"]

    def breaks(entry: Entry) -> bool:
        if entry.words[0] == "stop service":
            main.set_brokers("gone", 4)
        return False

    operator.estate.record.harm_where(breaks, "fails")
    result = operator.evacuate("dc1", power_off=True, **WORD)
    assert result.outcome == "undone"
    assert "too few replicas outside dc1 are in sync for min.insync.replicas: " in result.reason
    assert operator.estate.services.off == set()
