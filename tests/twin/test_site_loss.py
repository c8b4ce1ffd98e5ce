"""A site of a stretched cluster is lost, in memory, where the quorum of its metadata goes on; and comes back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from orchestrator.errors import ClusterError, GateRefusedError, GateUnknownError, UsageError
from orchestrator.moves.within_cluster.serving import SeeWritable
from orchestrator.runs.effect import Nothing, Outcome, Running
from orchestrator.values import ReplicaEnd, TopicPartition
from tests.twin.clusters import TwinRecord
from tests.twin.conftest import Estates
from tests.twin.crew import EPOCH_S, ProcessDied
from tests.twin.killing import Story, each, gone_on_with, sampled, taken_back
from tests.twin.operator import Operator

STRETCHED = "topologies/stretched-2.5dc-kraft.yaml"
KEY = "min.insync.replicas"


def lost(estates: Estates, dc: str = "dc1") -> Operator:
    """One site of three is away, and leaders have been elected."""
    operator = estates.at_work(STRETCHED)
    operator.estate.lose(dc)
    operator.estate.live(12)
    return operator


def returned(estates: Estates) -> Operator:
    """Writes went on without it, and it is back with its disks."""
    operator = lost(estates)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    return operator


def wanted(operator: Operator) -> dict[str, str | None]:
    """What each topic has set itself."""
    topics = operator.estate.clusters["main"].topics
    return {name: topic.config.get(KEY) for name, topic in topics.items()}


def writes(operator: Operator) -> set[str]:
    """Topics of which every partition acknowledges a record to a producer that waits for all."""
    main = operator.estate.clusters["main"]
    return {
        name
        for name, topic in main.topics.items()
        if all(
            main.append(TopicPartition(name, at), TwinRecord(0.0, None, b"x"))
            for at in range(len(topic.logs))
        )
    }


def takes_writes(operator: Operator) -> None:
    """All of it."""
    assert writes(operator) == set(operator.estate.clusters["main"].topics)


def is_as_before(operator: Operator) -> None:
    """As the file has it."""
    topics = {topic.name: str(topic.min_insync_replicas) for topic in operator.estate.topology.topics}
    assert {name: value for name, value in wanted(operator).items() if name in topics} == topics


def test_without_a_word_topics_that_prefer_consistency_wait_and_that_is_said(estates: Estates) -> None:
    """Nothing is lowered; a second look finds the same."""
    operator = lost(estates)
    before = wanted(operator)
    assert "orders" not in writes(operator)
    result = operator.go_on_without("dc1")
    assert result.outcome == "ok"
    assert operator.plan is not None
    assert "orders" in operator.plan.facts["stopped"]
    assert "wait for the site" in operator.plan.way
    assert wanted(operator) == before


def test_with_the_word_writes_go_on_and_what_was_there_is_put_back(estates: Estates) -> None:
    """Lowered to the replicas that are left, at the topics alone; there and back."""
    operator = lost(estates)
    before = wanted(operator)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    takes_writes(operator)
    assert wanted(operator)["orders"] == "2"
    with pytest.raises(GateRefusedError, match="sites-returned refused: no server of main at dc1"):
        operator.lead_as_before("main")
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    assert wanted(operator) == before
    takes_writes(operator)
    assert operator.lead_as_before("main").outcome == "nothing-to-do"


def test_a_broker_that_dies_meanwhile_is_not_counted_as_in_sync(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cluster takes it for living for a while, and writes would wait for it."""
    operator = lost(estates)
    look = SeeWritable.perform

    def dies_before(self: SeeWritable, run: Running) -> Outcome[Nothing]:
        place = operator.estate.clusters["main"]
        broker = next(one for one in place.brokers.values() if one.state == "up")
        broker.state, broker.changed_at_s = "gone", place.now_s
        return look(self, run)

    monkeypatch.setattr(SeeWritable, "perform", dies_before)
    result = operator.go_on_without("dc1", lower_min_insync=("all",))
    assert result.outcome == "incomplete"
    assert "see-writable failed: too few replicas in sync" in result.reason


def test_what_somebody_has_changed_since_is_left_and_named(estates: Estates) -> None:
    """It is neither what it was nor what it was lowered to."""
    operator = returned(estates)
    operator.estate.clusters["main"].configure("orders", {KEY: "1"})
    result = operator.lead_as_before("main")
    assert result.outcome == "ok"
    assert wanted(operator)["orders"] == "1"
    said = next(
        event.message for event in operator.events if event.step == "restore-min-insync" and event.outcome
    )
    assert "changed by somebody since, and left: orders" in said


def test_the_loss_of_a_site_without_brokers_asks_for_nothing(estates: Estates) -> None:
    """The tie-breaker: leaders and settings stay."""
    operator = lost(estates, "witness")
    result = operator.go_on_without("witness")
    assert (result.outcome, result.reason) == (
        "nothing-to-do",
        "every topic of main can be written with acks=all",
    )


def test_nobody_goes_on_without_a_site_that_is_up_or_of_which_nobody_speaks(estates: Estates) -> None:
    """A site that is out of reach alone would go on writing."""
    operator = estates.at_work(STRETCHED)
    with pytest.raises(GateRefusedError, match="lost-site-off refused: brokers of main at dc1 are up: 1, 2"):
        operator.go_on_without("dc1")
    with pytest.raises(GateRefusedError, match="attested refused: nobody attests"):
        operator.go_on_without()


def running(operator: Operator) -> set[tuple[str, str]]:
    """Every application that runs: its program, and the site."""
    return {(name, dc) for (dc, name), one in operator.estate.applications.clients.items() if one.is_running}


def test_applications_of_the_lost_site_go_on_at_another_one_and_come_home(estates: Estates) -> None:
    """In the same logs, by the same positions; who works at home again is nowhere else."""
    operator = lost(estates)
    at_home = running(operator)
    result = operator.go_on_without("dc1", lower_min_insync=("all",))
    assert result.outcome == "ok"
    assert operator.plan is not None
    programs = {name for name, _ in at_home}
    assert operator.plan.facts["applications"] == dict.fromkeys(programs, "dc2")
    assert {(name, "dc2") for name in programs} <= running(operator)
    assert [step.action for step in operator.plan.steps][-6:] == [
        "record-applications",
        "record-ends",
        "start-elsewhere",
        "await-landing-records",
        "await-group-progress",
        "record-applications",
    ]
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "nothing-to-do"
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    assert running(operator) == at_home
    assert operator.lead_as_before("main").outcome == "nothing-to-do"


def test_who_was_never_seen_elsewhere_is_started_once_more_whoever_asks(estates: Estates) -> None:
    """The hosts did not answer: a record that they are being started is no proof that they run."""
    operator = lost(estates)
    operator.estate.applications.reach["dc2"] = "silent"
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome != "ok"
    operator.estate.applications.reach["dc2"] = "up"
    assert not {dc for _, dc in running(operator)} - {"dc1"}
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert {name for name, dc in running(operator) if dc == "dc2"} == {name for name, _ in running(operator)}


def test_who_cannot_be_started_at_home_is_not_stopped_and_is_named(estates: Estates) -> None:
    """All others go home; it does once a host has it."""
    operator = returned(estates)
    client = operator.estate.applications.clients.pop(("dc1", "consumer-billing"))
    assert operator.lead_as_before("main").outcome == "ok"
    assert operator.plan is not None
    assert operator.plan.facts["applications_left"] == {"consumer-billing": "no host at dc1 has it"}
    assert "not brought home, since no host at dc1 has it: consumer-billing" in operator.plan.way
    assert ("consumer-billing", "dc2") in running(operator)
    assert ("producer-checkout", "dc1") in running(operator)
    again = operator.lead_as_before("main")
    assert (again.outcome, "consumer-billing" in again.reason) == ("nothing-to-do", True)
    operator.estate.applications.clients["dc1", "consumer-billing"] = replace(client, is_running=False)
    assert operator.lead_as_before("main").outcome == "ok"
    assert ("consumer-billing", "dc2") not in running(operator)


def test_who_was_evacuated_goes_home_where_the_other_site_is_lost(estates: Estates) -> None:
    """Home is up, and evacuated of leaders alone."""
    operator = estates.at_work(STRETCHED)
    at_home = running(operator)
    assert operator.evacuate("dc1").outcome == "ok"
    assert {dc for _, dc in running(operator)} == {"dc2"}
    operator.estate.lose("dc2")
    operator.estate.live(12)
    assert operator.go_on_without("dc2", lower_min_insync=("all",)).outcome == "ok"
    assert at_home <= running(operator)
    assert operator.go_on_without("dc2", lower_min_insync=("all",)).outcome == "nothing-to-do"


def test_the_first_site_whose_hosts_have_an_application_is_taken(estates: Estates) -> None:
    """And one that is evacuated only where no other has it."""
    operator = estates.at_work("topologies/stretched-3dc-kraft.yaml")
    del operator.estate.applications.clients["dc2", "consumer-billing"]
    operator.estate.lose("dc1")
    operator.estate.live(12)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert operator.plan is not None
    placed = operator.plan.facts["applications"]
    assert placed.pop("consumer-billing") == "dc3"
    assert set(placed.values()) == {"dc2"}


def test_whom_no_host_has_elsewhere_stays_and_keeps_nobody_from_going(estates: Estates) -> None:
    """A failover is not refused for it: writes go on, and the plan names it."""
    operator = lost(estates)
    del operator.estate.applications.clients["dc2", "consumer-billing"]
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert operator.plan is not None
    assert operator.plan.facts["applications_left"] == {"consumer-billing": "no host at dc2 has it"}
    assert "not started elsewhere, since no host at dc2 has it: consumer-billing" in operator.plan.way


def test_who_writes_what_waits_for_the_site_is_started_and_not_waited_for(estates: Estates) -> None:
    """Its first record comes once the site is back."""
    operator = lost(estates)
    assert operator.go_on_without("dc1").outcome == "ok"
    assert operator.plan is not None
    assert ("producer-checkout", "dc2") in running(operator)
    assert "await-group-progress" not in [step.action for step in operator.plan.steps]


def preferring_availability(estates: Estates, tmp_path: Path) -> Operator:
    """One broker of four is left, and the topics of the cluster prefer to be written."""
    data = yaml.safe_load(Path(STRETCHED).read_text(encoding="utf-8"))
    data["clusters"]["main"]["prefer"] = "availability"
    for topic in data["topics"]:
        topic.pop("prefer", None)
    file = tmp_path / "availability.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    operator = estates.at_work(str(file))
    operator.estate.clusters["main"].set_brokers("gone", 4)
    operator.estate.lose("dc1")
    operator.estate.live(12)
    return operator


def test_one_copy_alone_is_a_persons_word_also_where_the_file_prefers_availability(
    estates: Estates, tmp_path: Path
) -> None:
    """The next lost broker would take acknowledged records along: nobody has said that before the loss."""
    operator = preferring_availability(estates, tmp_path)
    before = wanted(operator)
    with pytest.raises(GateRefusedError, match=r"margin-after refused: one broker alone has .* orders"):
        operator.go_on_without("dc1")
    assert wanted(operator) == before
    assert operator.go_on_without("dc1", accept_margin=True).outcome == "ok"
    assert wanted(operator)["orders"] == "1"
    assert "--accept-margin" in {e.data["option"] for e in operator.events if e.kind == "override"}


def test_what_the_next_loss_would_stop_is_told_and_asks_for_no_word(estates: Estates) -> None:
    """Two copies are left of each record: one more lost broker stops writes, and loses nothing."""
    operator = lost(estates)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert operator.plan is not None
    gate = next(gate for gate in operator.plan.gates if gate.id == "margin-after")
    assert (
        gate.outcome,
        "then the loss of one of broker 3, broker 4 would stop writes to" in gate.reason,
    ) == (
        "ok",
        True,
    )
    found = {tuple(one["next"]): one for one in operator.plan.facts["margin"]}
    assert found["broker 3", "broker 4"]["control_plane"] is None
    voters = next(its for names, its in found.items() if "a voter at witness" in names)
    assert voters["control_plane"] == "lost"


def left_behind(estates: Estates) -> Operator:
    """A partition of which dc1 alone was in sync, which is lost; broker 4 has 8 records more than broker 3."""
    operator = estates.at_work(STRETCHED)
    main = operator.estate.clusters["main"]
    here = {number for number, broker in main.brokers.items() if broker.dc == "dc1"}
    log = main.topics["orders"].logs[0]
    log.isr = tuple(number for number in log.replicas if number in here)
    log.leader = log.isr[0]
    now_s = EPOCH_S + operator.estate.crew.now_s
    log.behind = {
        3: ReplicaEnd(log.epoch, log.end - 10, now_s - 5, 2.0),
        4: ReplicaEnd(log.epoch, log.end - 2, now_s - 1, 2.0),
    }
    log.replicas = (1, 3, 2, 4)
    operator.estate.lose("dc1")
    operator.estate.live(12)
    return operator


def test_a_partition_whose_replicas_in_sync_are_all_lost_is_refused_by_name(estates: Estates) -> None:
    """Whoever else led it would lack records; how many is said."""
    operator = left_behind(estates)
    expected = "clean-leaders refused: no replica in sync is up: orders-0 .broker 4 has most, "
    with pytest.raises(GateRefusedError, match=expected):
        operator.go_on_without("dc1", lower_min_insync=("all",))
    with pytest.raises(GateRefusedError, match="would be lost, and 3 are accepted"):
        operator.go_on_without("dc1", lower_min_insync=("all",), accept_unclean=3)


def test_a_partition_without_any_replica_elsewhere_keeps_nobody_else_waiting(estates: Estates) -> None:
    """It waits for its broker, and that is said: a topic that was made in the last second, or of one copy."""
    operator = estates.at_work(STRETCHED)
    log = operator.estate.clusters["main"].topics["metrics"].logs[0]
    log.replicas, log.isr, log.leader = (1,), (1,), 1
    operator.estate.lose("dc1")
    operator.estate.live(12)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert operator.plan is not None
    assert operator.plan.facts["away"] == ["metrics-0"]
    assert "partitions of metrics have no replica elsewhere, and wait for the site" in operator.plan.way
    assert writes(operator) == set(operator.estate.clusters["main"].topics) - {"metrics"}
    again = operator.go_on_without("dc1", lower_min_insync=("all",))
    assert again.reason.endswith("with acks=all, but for metrics: no replica of some partition is up")


def test_with_the_word_whoever_has_most_leads_and_the_order_is_put_back(estates: Estates) -> None:
    """It is not the first of the assignment; settings are lowered once it leads."""
    operator = left_behind(estates)
    main = operator.estate.clusters["main"]
    log, before = main.topics["orders"].logs[0], wanted(operator)
    end = log.end - 2
    assert operator.go_on_without("dc1", lower_min_insync=("all",), accept_unclean=100).outcome == "ok"
    assert (log.leader, log.replicas) == (4, (4, 1, 3, 2))
    assert log.end >= end
    assert operator.plan is not None
    steps = [step.action for step in operator.plan.steps]
    order = ["await-leaders", "put-longest-first", "elect-unclean", "lower-min-insync", "see-writable"]
    assert steps[2:7] == order
    takes_writes(operator)
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    assert (log.replicas, log.leader) == ((1, 3, 2, 4), 1)
    assert wanted(operator) == before
    assert operator.lead_as_before("main").outcome == "nothing-to-do"


def test_a_topic_that_is_deleted_before_the_election_is_named_and_the_command_goes_on(
    estates: Estates,
) -> None:
    """Somebody has given it up meanwhile: whether it is led is not known, and nothing is said to be."""
    operator = left_behind(estates)
    operator.estate.record.harm_where(lambda entry: "step-intent-elect-unclean" in entry.value, "dies after")
    with pytest.raises(ProcessDied):
        operator.go_on_without("dc1", lower_min_insync=("all",), accept_unclean="all")
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    del operator.estate.clusters["main"].topics["orders"]
    result = operator.resume()
    assert result.outcome == "unknown"
    assert "not among the topics of main any more: orders-0" in result.reason


def test_nobody_is_elected_where_a_replica_that_is_up_does_not_tell_its_end(estates: Estates) -> None:
    """It may be the one that has most."""
    operator = left_behind(estates)
    main = operator.estate.clusters["main"]
    log, order = main.topics["orders"].logs[0], main.topics["orders"].logs[0].replicas
    log.behind[4] = ClusterError("cluster main", "its disk does not answer")
    with pytest.raises(GateUnknownError, match=r"who has most is not known: orders-0 \(broker 4: its disk"):
        operator.go_on_without("dc1", accept_unclean="all")
    assert (log.replicas, main.is_led(log)) == (order, False)


def test_a_topic_that_is_not_there_is_refused_and_one_that_needs_nothing_is_left(estates: Estates) -> None:
    """Somebody has typed another name; or the command once more."""
    operator = lost(estates)
    with pytest.raises(UsageError, match="--lower-min-insync ordres: there is no such topic"):
        operator.go_on_without("dc1", lower_min_insync=("ordres",))
    assert operator.go_on_without("dc1", lower_min_insync=("orders", "metrics")).outcome == "ok"
    assert (wanted(operator)["orders"], wanted(operator)["metrics"]) == ("2", "2")
    assert operator.plan is not None
    assert dict(operator.plan.facts["copies"]) == {"orders": 2}
    said = list(dict.fromkeys(e.data["option"] for e in operator.events if e.kind == "override"))
    assert said == ["--attest-down", "--lower-min-insync"]


def lost_but_for_hosts(estates: Estates) -> Operator:
    """The site takes part in nothing any more, and its hosts answer: they would start its servers again."""
    operator = estates.at_work(STRETCHED)
    operator.estate.services.disabled.add("broker-2")
    operator.estate.lose("dc1", but_for_hosts=True)
    operator.estate.live(12)
    return operator


def returned_with_services_off(estates: Estates) -> Operator:
    """The site is there again, and nothing of it runs."""
    operator = lost_but_for_hosts(estates)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    return operator


def said(operator: Operator, step: str) -> str:
    """What a step said as it ended."""
    return next(event.message for event in operator.events if event.step == step and event.outcome)


def services_are_off(operator: Operator) -> None:
    """Those of the lost site, and no other."""
    services = operator.estate.services
    assert services.off == services.disabled == set(services.at("dc1"))
    takes_writes(operator)


def services_are_as_before(operator: Operator) -> None:
    """One of them was disabled before."""
    services = operator.estate.services
    assert (services.off, services.disabled) == (set(), {"broker-2"})
    is_as_before(operator)


def test_services_are_stopped_where_hosts_answer_and_are_as_before_on_the_way_back(
    estates: Estates,
) -> None:
    """Stopped and disabled; started and enabled are those that were so."""
    operator = lost_but_for_hosts(estates)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    services_are_off(operator)
    names = ", ".join(operator.estate.services.at("dc1"))
    count = len(operator.estate.services.at("dc1"))
    assert said(operator, "stop-services") == f"{count} services stopped and disabled: {names}"
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    assert operator.plan is not None
    steps = [step.action for step in operator.plan.steps]
    assert steps[:4] == ["count-tails", "start-services", "let-sites-run", "await-in-sync"]
    services_are_as_before(operator)
    assert operator.lead_as_before("main").outcome == "nothing-to-do"


def test_a_host_that_does_not_answer_is_named_and_never_counted_as_stopped(estates: Estates) -> None:
    """The failover goes on; it is what was attested."""
    operator = lost(estates)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    expected = "no host tells of a service; host-dc1 does not answer: attested to be down (no route to host)"
    assert said(operator, "stop-services") == expected
    assert operator.estate.services.off == set()
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    assert operator.plan is not None
    assert "start-services" not in [step.action for step in operator.plan.steps]


def test_services_that_do_not_stop_keep_nobody_waiting_and_are_named(estates: Estates) -> None:
    """Guards keep them off; whoever reads how the run ended stops them at the host."""
    operator = lost_but_for_hosts(estates)
    operator.estate.record.harm_where(lambda entry: entry.words[0] == "stop service", "fails")
    result = operator.go_on_without("dc1", lower_min_insync=("all",))
    assert result.outcome == "ok"
    assert "stop-services" in result.reason
    takes_writes(operator)


def test_without_servers_in_the_inventory_nobody_is_asked_and_that_is_said(estates: Estates) -> None:
    """The plan has no step for it."""
    operator = lost(estates)
    operator.estate.services.reach.clear()
    operator.estate.services.of.clear()
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert operator.plan is not None
    assert "stop-services" not in [step.action for step in operator.plan.steps]
    expected = "attested to be down, no service is stopped: the inventory names no servers at dc1"
    assert expected in said(operator, "fence-site")


def test_a_host_that_is_away_on_the_way_back_keeps_its_services_recorded(estates: Estates) -> None:
    """Nobody else waits for it, and the next way back starts them."""
    operator = returned_with_services_off(estates)
    services = operator.estate.services
    stopped = services.at("dc1")
    services.reach["dc1"] = "gone"
    with pytest.raises(GateRefusedError, match="sites-returned refused: no server of main at dc1"):
        operator.lead_as_before("main")
    services.reach["dc1"] = "up"
    assert operator.lead_as_before("main").outcome == "ok"
    assert not services.off & set(stopped)


def are_where_recorded(operator: Operator) -> None:
    """Whoever runs elsewhere than the file has it is found by the next way back."""
    if {dc for _, dc in running(operator)} != {"dc1"}:
        operator.lead_as_before("main")
    assert {dc for _, dc in running(operator)} == {"dc1"}


KILLED = {
    "hosts": Story(
        lost_but_for_hosts,
        lambda o: o.go_on_without("dc1", lower_min_insync=("all",)),
        services_are_off,
        services_are_as_before,
    ),
    "hosts back": Story(
        returned_with_services_off,
        lambda o: o.lead_as_before("main"),
        services_are_as_before,
        are_where_recorded,
        pause_s=12.0,  # who goes on at once is refused while replicas that came back catch up
    ),
    "there": Story(
        lost, lambda o: o.go_on_without("dc1", lower_min_insync=("all",)), takes_writes, is_as_before
    ),
    "back": Story(returned, lambda o: o.lead_as_before("main"), is_as_before, are_where_recorded),
    "unclean": Story(
        left_behind,
        lambda o: o.go_on_without("dc1", lower_min_insync=("all",), accept_unclean=100),
        takes_writes,
        is_as_before,
    ),
}


@pytest.mark.parametrize("name", KILLED)
def test_killed_on_its_way_it_is_gone_on_with_or_taken_back(estates: Estates, name: str) -> None:
    """Before and after a sample of what it does."""
    for number, harm in sampled(estates, KILLED[name], 5):
        gone_on_with(estates, KILLED[name], number, harm)
        taken_back(estates, KILLED[name], number, harm)


@pytest.mark.drills
@pytest.mark.parametrize("name", KILLED)
def test_killed_anywhere_it_is_gone_on_with_or_taken_back(estates: Estates, name: str) -> None:
    """Before and after whatever it does."""
    for number, harm in each(estates, KILLED[name]):
        gone_on_with(estates, KILLED[name], number, harm)
        taken_back(estates, KILLED[name], number, harm)


def test_what_returned_logs_hold_beyond_their_leaders_is_counted_before_brokers_start(
    estates: Estates, tmp_path: Path
) -> None:
    """Leaders of the lost site had taken records alone. What was to be kept and cannot be keeps them waiting."""
    operator = returned(estates)
    main = operator.estate.clusters["main"]
    log = main.topics["orders"].logs[0]
    begun = log.epochs[log.epoch]
    log.behind = {1: ReplicaEnd(log.epoch - 1, begun + 40)}
    main.brokers[1].state = "gone"
    operator.estate.live(3)
    result = operator.lead_as_before("main", keep_tails=str(tmp_path / "kept"))
    assert result.outcome == "incomplete"
    said = {event.step: event.message for event in operator.events if event.outcome}
    rows = f"orders-0 of broker 1 40 from {begun:,} on; not counted: broker 2 is up"
    assert f"40 records beyond the leaders', to be cut off: {rows}" in said["count-tails"]
    assert "let-sites-run" not in said


def test_hosts_that_do_not_answer_keep_no_site_away(estates: Estates) -> None:
    """What their logs hold is not counted, and that is said."""
    operator = returned(estates)
    operator.estate.applications.reach["dc1"] = "gone"
    operator.lead_as_before("main")
    said = {event.step: event.message for event in operator.events if event.outcome}
    assert "not counted: host-dc1: no route to host" in said["count-tails"]
    assert said["let-sites-run"] == "servers of main may run at dc1"


def test_what_is_to_be_kept_is_not_let_go_where_the_cluster_does_not_answer(
    estates: Estates, tmp_path: Path
) -> None:
    """Without the option its servers run; with it nobody starts what would be cut off."""
    operator = returned(estates)
    operator.estate.clusters["main"].set_brokers("gone")
    operator.estate.live(12)
    kept = str(tmp_path / "kept tails")
    with pytest.raises(GateRefusedError, match="tails-readable refused: main does not answer"):
        operator.lead_as_before("main", keep_tails=kept)
    assert operator.plan is not None
    assert operator.plan.command == f"failback --cluster main --keep-tails '{kept}'"
