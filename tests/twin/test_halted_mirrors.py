"""Mirrors that were stopped for an unclean election whose run did not come to its end, in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.errors import GateRefusedError, GateUnknownError
from orchestrator.mirrors.mirrormaker2.engine import MirrorMaker2
from orchestrator.mirrors.mirrormaker2.shortened import SetBehindElection
from orchestrator.mirrors.mirrormaker2.standing import ResumeConnectors
from orchestrator.moves.participants import MirrorEngine
from orchestrator.moves.within_cluster.electing_unclean import ElectUnclean, PutLongestFirst
from orchestrator.runs.effect import Failed
from orchestrator.topology.loading import parse_topology
from orchestrator.values import ReplicaEnd, TopicPartition
from tests.twin.conftest import Estates
from tests.twin.connect import Connector
from tests.twin.crew import EPOCH_S
from tests.twin.killing import Story, gone_on_with, sampled
from tests.twin.operator import Operator
from tests.twin.test_stretched_mirrored import FILE, cut, go_on_unclean, goes_on_behind, left_behind

ORDERS = TopicPartition("orders", 0)


def copier(operator: Operator) -> Connector:
    """The source connector of the one mirror."""
    return operator.estate.workers["reserve"].connectors["main-to-reserve-source"]


def actions(operator: Operator) -> list[str]:
    """Of the newest plan."""
    assert operator.plan is not None
    return [step.action for step in operator.plan.steps]


def ended_at(operator: Operator, effect: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends where that effect fails, and whoever typed the command does not resume it."""
    with monkeypatch.context() as patch:
        patch.setattr(effect, "perform", lambda _self, _run: Failed("nobody answered"))
        if hasattr(effect, "verify"):
            patch.setattr(effect, "verify", lambda _self, _run: Failed("nobody answered"))
        assert go_on_unclean(operator).outcome == "incomplete"
    assert copier(operator).state == "STOPPED"
    operator.estate.live(5)


def failover(operator: Operator) -> None:
    """The same command once more."""
    assert go_on_unclean(operator).outcome == "ok"


def put_back(operator: Operator) -> None:
    """The site returned, and somebody puts back what was changed within the cluster."""
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"


@pytest.mark.parametrize("effect", [PutLongestFirst, ElectUnclean])
def test_stopped_for_an_election_that_failed_it_goes_on_behind_the_next_one(
    estates: Estates, monkeypatch: pytest.MonkeyPatch, effect: type
) -> None:
    """That the first run found it running is known to the second one."""
    operator = left_behind(estates)
    ended_at(operator, effect, monkeypatch)
    failover(operator)
    assert copier(operator).state == "RUNNING"
    goes_on_behind(operator)
    assert go_on_unclean(operator).outcome == "nothing-to-do"


@pytest.mark.parametrize("next_command", [failover, put_back])
@pytest.mark.parametrize("effect", [SetBehindElection, ResumeConnectors])
def test_not_set_behind_what_was_elected_it_is_set_by_the_next_command(
    estates: Estates, monkeypatch: pytest.MonkeyPatch, effect: type, next_command: Callable[[Operator], None]
) -> None:
    """Though logs have grown beyond its position since: where they had ended is recorded."""
    operator = left_behind(estates)
    ended_at(operator, effect, monkeypatch)
    operator.estate.live(30)
    next_command(operator)
    assert "elect-unclean" not in actions(operator)
    assert ("set-mirror-behind-election" in actions(operator)) == (effect is SetBehindElection)
    assert copier(operator).state == "RUNNING"
    goes_on_behind(operator)
    assert "release-mirror" in actions(operator)
    assert operator.plan is not None
    assert "mirror main → reserve" in operator.plan.facts["way"]
    again = go_on_unclean(operator) if next_command is failover else operator.lead_as_before("main")
    assert again.outcome == "nothing-to-do"


def test_a_mirror_that_stood_before_is_set_by_the_next_command_and_stands_on(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would begin anew whenever somebody resumes it."""
    operator = left_behind(estates)
    copier(operator).state, copier(operator).has_tasks = "STOPPED", False
    ended_at(operator, SetBehindElection, monkeypatch)
    failover(operator)
    assert copier(operator).stored[ORDERS] == cut(operator)[0] - 1
    assert copier(operator).state == "STOPPED"
    assert "resume-connectors" not in actions(operator)
    assert go_on_unclean(operator).outcome == "nothing-to-do"


def test_a_mirror_that_was_paused_is_said_to_be_stopped(estates: Estates) -> None:
    """Connect sets positions of a stopped connector only, and nobody else tells what became of the pause."""
    operator = left_behind(estates)
    copier(operator).state, copier(operator).has_tasks = "PAUSED", False
    assert go_on_unclean(operator).outcome == "ok"
    (said,) = (e.message for e in operator.events if e.step.startswith("set-mirror") and e.outcome)
    assert "the mirror main → reserve was paused, and is stopped now" in said


def test_a_topic_that_only_a_pattern_names_is_cut_with_its_mirror_stopped(estates: Estates) -> None:
    """MirrorMaker copies what a pattern matches, be it in the file or not."""
    text = Path(FILE).read_text(encoding="utf-8")
    operator = estates.at_work(
        parse_topology(text.replace("[orders, narrow], replicas", '["orders.*", narrow], replicas'))
    )
    main = operator.estate.clusters["main"]
    main.create_topic("orders-eu", 1, 4, {"min.insync.replicas": "2"})
    operator.estate.live(5)
    log = main.topics["orders-eu"].logs[0]
    record = main.topics["orders"].logs[0].records[-1]
    assert record is not None
    for _ in range(20):
        main.append(TopicPartition("orders-eu", 0), record)
    operator.estate.live(5)
    log.isr = tuple(n for n in log.replicas if main.brokers[n].dc == "dc1")
    log.leader = log.isr[0]
    now_s = EPOCH_S + operator.estate.crew.now_s
    log.behind = {
        n: ReplicaEnd(log.epoch, log.end - 5, now_s - 1, 2.0)
        for n in log.replicas
        if main.brokers[n].dc == "dc2"
    }
    operator.estate.lose("dc1")
    operator.estate.live(12)
    assert go_on_unclean(operator).outcome == "ok"
    assert "stop-connectors" in actions(operator)
    assert cut(operator) == (15, 20)
    assert copier(operator).stored[TopicPartition("orders-eu", 0)] == 14


def test_a_cut_is_recorded_where_connect_knows_of_less_than_was_copied(estates: Estates) -> None:
    """A worker was killed before it told Connect how far it was; pairs of offsets tell what the target has."""
    operator = left_behind(estates)
    copied = operator.estate.clusters["reserve"].topics["main.orders"].logs[0].end
    copier(operator).stored[ORDERS] = 5
    copier(operator).state, copier(operator).has_tasks = "STOPPED", False
    assert go_on_unclean(operator).outcome == "ok"
    (choice,) = (event for event in operator.events if event.step == "put-longest-first" and event.outcome)
    ((_, _, _, _, end),) = choice.data["result"]["leaders"]
    assert cut(operator) == (end, copied)
    assert copier(operator).stored[ORDERS] == 5


def test_nobody_is_elected_where_workers_do_not_tell_of_the_mirror(estates: Estates) -> None:
    """Whether it copies is unknown."""
    operator = left_behind(estates)
    del operator.estate.workers["reserve"].connectors["main-to-reserve-source"]
    with pytest.raises(GateUnknownError, match="whether the mirror main → reserve runs is unknown"):
        go_on_unclean(operator)


def test_nobody_is_elected_where_an_engine_cannot_set_its_mirror_back(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has no steps for it."""
    operator = left_behind(estates)
    monkeypatch.setattr(MirrorMaker2, "why_not_shortened", MirrorEngine.why_not_shortened)
    with pytest.raises(GateRefusedError, match="cannot go on where its source gives up"):
        go_on_unclean(operator)


def left_unset(estates: Estates) -> Operator:
    """Leaders are elected, and the mirror was not set behind them."""
    operator = left_behind(estates)
    ended_at(operator, SetBehindElection, pytest.MonkeyPatch())
    return operator


def is_set_and_runs(operator: Operator) -> None:
    """And nothing is left of it."""
    assert copier(operator).state == "RUNNING"
    goes_on_behind(operator)
    assert go_on_unclean(operator).outcome == "nothing-to-do"


_REST = Story(left_unset, go_on_unclean, is_set_and_runs)


def test_killed_while_the_next_command_does_the_rest_it_is_gone_on_with(estates: Estates) -> None:
    """Before and after a sample of what it does."""
    for number, harm in sampled(estates, _REST, 3):
        gone_on_with(estates, _REST, number, harm)
