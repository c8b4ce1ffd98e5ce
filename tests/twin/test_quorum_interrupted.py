"""What somebody does who does not simply go on with a run about the quorum that was interrupted; in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from orchestrator.errors import GateRefusedError, GateUnknownError
from orchestrator.ports.voters import VotersSeen
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.verbs.live.voter_hosts import HostsOfVoters
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.operator import Operator
from tests.twin.record import Entry
from tests.twin.test_quorum import (
    BOTH,
    LAYOUTS,
    goes_on_alone,
    is_whole,
    lost,
    quorum,
    returned,
    stood_alone,
    texts,
)
from tests.twin.test_site_loss import KEY
from tests.twin.voters import TwinQuorum

ALL = ("all",)


def there(operator: Operator) -> RunResult:
    """The survivors become the whole quorum."""
    return operator.go_on_without("dc1", lower_min_insync=ALL)


def back(operator: Operator) -> RunResult:
    """All voters are one again."""
    return operator.lead_as_before("main")


def killed(operator: Operator, move: Callable[[Operator], RunResult], verb: str, nth: int) -> None:
    """The process dies just before the `nth` doing of that kind."""
    seen = 0

    def is_it(entry: Entry) -> bool:
        nonlocal seen
        seen += entry.verb == verb
        return entry.verb == verb and seen == nth

    operator.estate.record.harm_where(is_it, "dies before")
    with pytest.raises(ProcessDied):
        move(operator)
    operator.estate.record.heal()
    operator.estate.restart_dcctl()


@BOTH
@pytest.mark.parametrize("at", [("change file", 2), ("start voter", 1)])
def test_who_asks_anew_and_rolls_that_back_starts_nobody_who_stood_still(
    estates: Estates, mode: str, at: tuple[str, int]
) -> None:
    """With one list short and one long each could find a majority of its own; with all lists long again the
    voter that lags could lead together with returned ones, of which no guard holds any.
    """
    operator = returned(estates, mode)
    one_has_more(operator)
    killed(operator, back, *at)
    operator.estate.lose("dc1")
    operator.estate.live(12)
    killed(operator, there, "stop voter", 3)
    starts_nobody_and_is_gone_on_with(operator)


@BOTH
@pytest.mark.parametrize(
    "at", [("change file", 2), ("start voter", 1), ("start voter", 2), ("start voter", 5)]
)
def test_what_was_begun_on_the_way_back_can_be_left_standing_and_gone_on_with(
    estates: Estates, mode: str, at: tuple[str, int]
) -> None:
    """Nobody is started then, neither with short lists nor with long ones: the same command does it all."""
    operator = returned(estates, mode)
    one_has_more(operator)
    killed(operator, back, *at)
    assert operator.abort(leave=("restore-quorum",)).outcome == "incomplete"
    operator.estate.live(12)
    stood_alone(operator)
    assert back(operator).outcome == "ok"
    is_whole(operator)


@BOTH
@pytest.mark.parametrize(
    "at", [("stop voter", 3), ("change file", 1), ("change file", 2), ("start voter", 1), ("start voter", 3)]
)
def test_all_voters_become_one_however_far_the_survivors_had_come(
    estates: Estates, mode: str, at: tuple[str, int]
) -> None:
    """The site is back before that was recorded: nobody has to turn it off again.

    What one survivor alone had was committed once it had begun with another one, and not before.
    """
    operator = lost(estates, mode)
    if at == ("start voter", 3):
        one_has_more(operator)
    killed(operator, there, *at)
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert back(operator).outcome == "ok"
    is_whole(operator)


def starts_nobody_and_is_gone_on_with(operator: Operator) -> None:
    """Nobody of them ran before the last run, which is rolled back; the command, given again, goes on."""
    assert operator.abort().outcome == "undone"
    assert not any(voter.runs for voter in quorum(operator).voters.values() if voter.site == "dc2")
    stood_alone(operator)
    assert there(operator).outcome == "ok"
    goes_on_alone(operator)


def one_has_more(operator: Operator) -> None:
    """The newest changes are on one survivor alone, which is the last by number."""
    ours = [voter for voter in quorum(operator).voters.values() if voter.site == "dc2"]
    max(ours, key=lambda voter: voter.number).end += 5


@BOTH
def test_a_quorum_that_is_still_to_be_formed_is_started_by_no_undo(estates: Estates, mode: str) -> None:
    """All files are short already: any two would begin, and cut off what the third has alone."""
    operator = lost(estates, mode)
    one_has_more(operator)
    killed(operator, there, "start voter", 1)
    operator.estate.live(12)
    killed(operator, there, "stop voter", 1)
    starts_nobody_and_is_gone_on_with(operator)


@BOTH
def test_who_ran_in_the_middle_of_a_change_is_not_started_by_an_undo(estates: Estates, mode: str) -> None:
    """One had begun: together with whoever comes back it could lead, and lack what another one has."""
    operator = lost(estates, mode)
    one_has_more(operator)
    killed(operator, there, "start voter", 2)
    operator.estate.live(12)
    killed(operator, there, "stop voter", 3)
    result = operator.abort()
    assert result.outcome == "incomplete"
    assert "not started: a change of the quorum is not complete" in result.reason
    stood_alone(operator)
    assert there(operator).outcome == "ok"
    goes_on_alone(operator)


@BOTH
def test_a_second_attempt_that_is_not_begun_does_not_deny_the_first_one(
    estates: Estates, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost voter takes connections just then: files are changed all the same, and nothing rolls that back."""
    operator = lost(estates, mode)
    one_has_more(operator)
    killed(operator, there, "start voter", 1)
    with monkeypatch.context() as patched:
        patched.setattr(HostsOfVoters, "answering", lambda _, addresses: tuple(addresses[:1]))
        result = operator.resume()
    assert result.outcome == "incomplete"
    assert "take connections" in result.reason
    assert "changed already: resume once those are off" in result.reason
    with pytest.raises(GateRefusedError, match="cannot be rolled back any more"):
        operator.abort()
    assert operator.resume().outcome == "ok"
    goes_on_alone(operator)


@BOTH
def test_a_formed_quorum_stays_recorded_whatever_is_left_standing(estates: Estates, mode: str) -> None:
    """Otherwise nobody could put the files back."""
    operator = lost(estates, mode)
    killed(operator, there, "start voter", 2)
    with pytest.raises(GateRefusedError, match="cannot be rolled back any more"):
        operator.abort()
    operator.abort(leave=("form-quorum",))
    stood_alone(operator)
    assert there(operator).outcome == "ok"
    goes_on_alone(operator)
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert back(operator).outcome == "ok"
    is_whole(operator)


@BOTH
def test_a_site_that_is_lost_again_on_its_way_back_is_left_once_more(estates: Estates, mode: str) -> None:
    """Some files are put back already."""
    for verb, nth in (("change file", 2), ("start voter", 1), ("start voter", 4)):
        operator = returned(estates, mode)
        killed(operator, back, verb, nth)
        operator.estate.lose("dc1")
        operator.estate.live(12)
        assert there(operator).outcome == "ok", (verb, nth)
        goes_on_alone(operator)
        operator.estate.bring_back("dc1")
        operator.estate.live(12)
        assert back(operator).outcome == "ok"
        is_whole(operator)


@BOTH
def test_where_no_broker_answers_without_the_quorum_it_is_put_back_first(estates: Estates, mode: str) -> None:
    """The run that was interrupted knows its way on."""
    operator = returned(estates, mode)
    operator.estate.clusters["main"].is_silent_without_quorum = True
    killed(operator, back, "start voter", 1)
    assert operator.resume().outcome == "ok"
    is_whole(operator)


@BOTH
def test_where_its_brokers_are_dead_those_of_the_returned_site_run_once_the_quorum_is_whole(
    estates: Estates, mode: str
) -> None:
    """All of the surviving site are gone for good; guards hold the others, and this command alone lets them run."""
    operator = returned(estates, mode)
    main = operator.estate.clusters["main"]
    main.set_brokers("gone", *main.brokers)
    operator.estate.live(12)
    assert back(operator).outcome == "ok"
    assert quorum(operator).members() == frozenset(quorum(operator).voters)
    with pytest.raises(GateUnknownError, match="sites-returned unknown"):
        back(operator)
    main.set_brokers("up", *(number for number, one in main.brokers.items() if one.dc == "dc1"))
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome in {"ok", "incomplete"}
    stood_alone(operator)


@BOTH
def test_a_way_back_that_is_left_before_any_file_is_put_back_leaves_the_survivors_the_quorum(
    estates: Estates, mode: str
) -> None:
    """And a second one that is rolled back starts them again."""
    operator = returned(estates, mode)
    killed(operator, back, "change file", 1)
    assert operator.abort(leave=("restore-quorum",)).outcome in {"undone", "incomplete"}
    operator.estate.live(12)
    goes_on_alone(operator)
    killed(operator, back, "stop voter", 5)
    assert operator.abort().outcome == "undone"
    operator.estate.live(12)
    goes_on_alone(operator)
    assert back(operator).outcome == "ok"
    is_whole(operator)


@BOTH
@pytest.mark.parametrize("at", [("stop voter", 6), ("change file", 2), ("start voter", 1)])
def test_asked_anew_where_no_broker_answers_without_the_quorum_no_more_is_done(
    estates: Estates, mode: str, at: tuple[str, int]
) -> None:
    """All voters had been stopped; the same command does the rest once brokers answer."""
    operator = returned(estates, mode)
    operator.estate.clusters["main"].is_silent_without_quorum = True
    killed(operator, back, *at)
    assert back(operator).outcome == "ok"
    assert operator.plan is not None
    assert operator.plan.way == "Make all voters of main one quorum again, and no more yet: no broker answers"
    assert back(operator).outcome == "ok"
    is_whole(operator)


@BOTH
def test_lost_again_where_no_broker_answers_its_survivors_run_first(estates: Estates, mode: str) -> None:
    """All of them had been stopped on the way back: without a quorum nobody would ever answer."""
    operator = returned(estates, mode)
    operator.estate.clusters["main"].is_silent_without_quorum = True
    killed(operator, back, "stop voter", 6)
    operator.estate.lose("dc1")
    operator.estate.live(12)
    assert there(operator).outcome == "ok"
    assert there(operator).outcome in {"ok", "nothing-to-do"}
    goes_on_alone(operator)


@BOTH
def test_whoever_was_started_meanwhile_is_stopped_before_its_file_changes(
    estates: Estates, mode: str
) -> None:
    """A host was rebooted, say: it runs with the file that it had."""
    operator = lost(estates, mode)
    killed(operator, there, "change file", 2)
    for voter in quorum(operator).voters.values():
        if voter.site == "dc2":
            quorum(operator).set_started(voter, is_started=True)
    assert operator.resume().outcome == "ok"
    goes_on_alone(operator)


@BOTH
def test_every_voter_runs_in_the_end_also_where_a_topic_cannot_be_written(
    estates: Estates, mode: str
) -> None:
    """The file does not know the topic, so the plan did not lower it; a second look does."""
    operator = lost(estates, mode)
    operator.estate.clusters["main"].create_topic("other", 2, 4, {KEY: "3"})
    assert there(operator).outcome == "incomplete"
    assert all(voter.runs for voter in quorum(operator).voters.values() if voter.site == "dc2")
    assert there(operator).outcome == "ok"
    goes_on_alone(operator)


def test_a_voter_that_does_not_run_is_started_by_a_second_look(estates: Estates) -> None:
    """Two of three are a quorum without any margin."""
    operator = lost(estates, "kraft")
    assert there(operator).outcome == "ok"
    voter = quorum(operator).voters[105]
    quorum(operator).set_started(voter, is_started=False)
    assert there(operator).outcome == "ok"
    assert voter.runs
    assert there(operator).outcome == "nothing-to-do"


def test_a_lost_voter_that_answers_keeps_the_others_from_being_started(estates: Estates) -> None:
    """An unattached voter may vote for it: its log may be no further."""
    operator = lost(estates, "kraft")
    killed(operator, there, "start voter", 3)
    operator.estate.clusters["main"].set_controllers("up", 101)
    with pytest.raises(GateRefusedError, match="lost-site-off refused"):
        operator.resume()
    stood_alone(operator)


@BOTH
def test_voters_that_listen_late_are_awaited_where_they_are_started_again(
    estates: Estates, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server takes connections some seconds after its service manager has started it."""
    operator = lost(estates, mode)
    killed(operator, there, "stop voter", 2)
    none_listens(monkeypatch, "dc2", "start")
    assert operator.abort().outcome == "undone"


@BOTH
def test_voters_that_their_guards_hold_are_not_awaited(
    estates: Estates, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Returned ones, as long as the quorum without them stands. Their services were up, and are again."""
    operator = returned(estates, mode)
    none_listens(monkeypatch, "dc1", "start", "read")
    killed(operator, back, "stop voter", 4)
    assert operator.abort().outcome == "undone"
    stood_alone(operator)


def none_listens(monkeypatch: pytest.MonkeyPatch, site: str, *told_by: str) -> None:
    """By these questions to its hosts."""
    for question in told_by:
        monkeypatch.setattr(HostsOfVoters, question, _held(getattr(HostsOfVoters, question), site))


def _held(asked: Callable[..., VotersSeen], site: str) -> Callable[..., VotersSeen]:
    """No voter of the site takes connections."""

    def seen(*args: object, **kwargs: object) -> VotersSeen:
        found = asked(*args, **kwargs)
        voters = {
            name: replace(voter, runs=False) if voter.site == site else voter
            for name, voter in found.voters.items()
        }
        return replace(found, voters=voters)

    return seen


@BOTH
def test_what_a_formed_quorum_rests_on_can_be_left_standing(estates: Estates, mode: str) -> None:
    """A topic takes no writes, and the person lets the quorum stand: its voters run, and go on doing so."""
    operator = lost(estates, mode)
    operator.estate.clusters["main"].create_topic("other", 2, 4, {KEY: "3"})
    operator.estate.record.harm_where(lambda entry: entry.step == "lower-min-insync", "fails")
    assert there(operator).outcome == "incomplete"
    operator.estate.record.heal()
    assert operator.abort(leave=("form-quorum",)).outcome == "incomplete"
    said = [event.message for event in operator.events if event.step == "stop-voters"][-1]
    assert said.startswith("started again")
    stood_alone(operator)


@BOTH
def test_who_asks_anew_knows_the_lost_voters_though_files_are_short_already(
    estates: Estates, mode: str
) -> None:
    """The other survivors are not started while one of them answers."""
    operator = lost(estates, mode)
    killed(operator, there, "start voter", 1)
    assert there(operator).outcome == "ok"
    assert operator.plan is not None
    lost_ones = {step.id: step.arguments["lost"] for step in operator.plan.steps if "lost" in step.arguments}
    assert lost_ones["start-rest"] == lost_ones["form-quorum"] != []


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (
            "same id",
            "controller-104 and controller-105 have the same id|controller-105 and controller-104 have",
        ),
        ("not itself", "does not name itself, voter 104"),
        ("empty", "controller-104 has no metadata in its log"),
        ("combined", "controller-104 is a broker as well"),
    ],
)
def test_voters_that_are_not_who_they_should_be_hold_everything(
    estates: Estates, what: str, said: str
) -> None:
    """The counts fit all the same."""
    operator = lost(estates, "kraft")
    voter = quorum(operator).voters[104]
    match what:
        case "same id":
            quorum(operator).voters[105].claims = 104
        case "not itself":
            voter.text = voter.text.replace("104@voter-104", "107@voter-107")
        case "empty":
            voter.epoch, voter.end = -1, 0
        case _:
            voter.is_broker = True
    before = texts(operator)
    with pytest.raises(GateRefusedError, match=said):
        there(operator)
    assert texts(operator) == before


@BOTH
def test_silent_brokers_and_voters_that_are_led_are_not_told_to_be_without_a_quorum(
    estates: Estates, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lost site is out of reach from here alone, say: nothing is stopped, whatever is attested."""
    operator = estates.at_work(LAYOUTS[mode])
    monkeypatch.setattr(TwinQuorum, "elect", lambda _: None)
    leader = next(voter for voter in quorum(operator).voters.values() if voter.leads)
    away = "dc1" if leader.site == "dc2" else "dc2"
    operator.estate.lose(away)
    for broker in operator.estate.clusters["main"].brokers.values():
        broker.state = "silent"
    before = texts(operator)
    with pytest.raises(GateUnknownError, match="reachable unknown"):
        operator.go_on_without(away, lower_min_insync=ALL)
    assert texts(operator) == before
