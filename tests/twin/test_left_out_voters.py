"""The quorum is lost with a site, and the host of one survivor does not answer; in memory.

Of a hierarchical quorum two of three are enough. What they decide may not depend on the third, whatever that does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from orchestrator.errors import GateRefusedError
from orchestrator.moves.within_cluster.quorum.effects import FormQuorum
from orchestrator.moves.within_cluster.quorum.stopping import StopVoters, VotersStopped
from orchestrator.runs.effect import Effect, Outcome, Running
from orchestrator.runs.plan import GateResult
from orchestrator.topology.model import Topology
from orchestrator.watch.cluster_status import cluster_status
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.killing import Story, each, gone_on_with, sampled, taken_back
from tests.twin.operator import Operator
from tests.twin.test_quorum import LAYOUTS, is_whole, quorum, stands_as_lost, stood_alone, texts
from tests.twin.test_site_loss import takes_writes
from tests.twin.voters import TwinVoter

HERE = (4, 5, 6)
ALL = ("all",)


def lost(
    estates: Estates, out: int = 6, *, runs: bool = True, change: Callable[[Topology], Topology] = lambda f: f
) -> Operator:
    """One site of two is away, and nobody tells of this voter elsewhere."""
    operator = estates.at_work(LAYOUTS["zookeeper"], change=change)
    operator.estate.lose("dc1")
    operator.estate.live(12)
    voter = voter_of(operator, out)
    voter.is_told = False
    quorum(operator).set_started(voter, runs)
    return operator


def voter_of(operator: Operator, number: int) -> TwinVoter:
    """By its id."""
    return quorum(operator).voters[number]


def there(operator: Operator, **words: bool) -> None:
    """Writes go on without the site."""
    assert operator.go_on_without("dc1", lower_min_insync=ALL, **words).outcome == "ok"


def returned(estates: Estates) -> Operator:
    """Writes went on, and the site is back with its disks and its old files; the host still does not answer."""
    operator = lost(estates)
    there(operator)
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    return operator


def gate(operator: Operator, gate_id: str) -> GateResult:
    """Of the last plan."""
    assert operator.plan is not None
    return next(one for one in operator.plan.gates if one.id == gate_id)


def goes_on_without(operator: Operator, out: int = 6) -> None:
    """The other two are the whole quorum, and all is written."""
    stood_alone(operator)
    assert quorum(operator).members() == {*HERE} - {out}
    takes_writes(operator)


@pytest.mark.parametrize("runs", [True, False], ids=["runs", "is dead"])
@pytest.mark.parametrize("out", HERE)
def test_two_of_three_become_the_quorum_and_the_third_is_named(
    estates: Estates, out: int, runs: bool
) -> None:
    """Whoever it is: its file stays, and so does whatever runs there. What the next failure stops is said."""
    operator = lost(estates, out, runs=runs)
    before = voter_of(operator, out).text
    there(operator)
    assert operator.plan is not None
    names = ", ".join(f"zookeeper-{number}" for number in HERE if number != out)
    assert f"become its whole metadata quorum, without voter {out} of dc2" in operator.plan.way
    assert operator.plan.facts["voters_left_out"] == {"dc2": [out]}
    present = gate(operator, "voters-present")
    assert (present.outcome, present.reason) == (
        "ok",
        f"hosts tell of every voter of main at dc2 but for voter {out} of dc2 (host-of-zookeeper-{out}: no route to "
        f"host): {names} are a majority of each group that is left, so they have all that is committed, and the "
        "others can decide nothing; one more that fails stops it",
    ), present
    assert (
        "the loss of a voter at dc2 would stop changes of metadata" in gate(operator, "margin-after").reason
    )
    goes_on_without(operator, out)
    assert (voter_of(operator, out).text, voter_of(operator, out).runs) == (before, runs)
    again = operator.go_on_without("dc1", lower_min_insync=ALL)
    assert again.outcome == "nothing-to-do", again.reason


def test_the_margin_is_none_until_failback_also_where_the_host_answers_again(estates: Estates) -> None:
    """It runs, and has no vote."""
    operator = lost(estates)
    there(operator)
    voter_of(operator, 6).is_told = True
    found = cluster_status(operator.estate.topology, "main", servers=operator.estate.servers)
    assert (found["control_plane"], found["voters_left_out"]) == ("continues", {"dc2": [6]})
    assert any("a voter at dc2" in one["said"] and one["control_plane"] for one in found["margin"])
    assert operator.go_on_without("dc1", lower_min_insync=ALL).outcome == "nothing-to-do"
    goes_on_without(operator)


def test_a_voter_with_an_empty_disk_is_left_out(estates: Estates) -> None:
    """Its host tells of it: there is nothing that it could bring along. It takes part once all are one quorum."""
    operator = lost(estates)
    empty = voter_of(operator, 6)
    empty.is_told, empty.epoch, empty.end = True, 0, 0
    there(operator)
    assert "(zookeeper-6 has no metadata)" in gate(operator, "voters-present").reason
    goes_on_without(operator)
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    quorum(operator).elect()
    is_whole(operator)


def test_a_voter_that_is_dead_is_started_with_the_rest_where_its_host_answers(estates: Estates) -> None:
    """Three of three take part: nothing is left out for a process."""
    operator = lost(estates, runs=False)
    voter_of(operator, 6).is_told = True
    there(operator)
    assert gate(operator, "voters-present").reason == "hosts tell of every voter of main at dc2"
    assert quorum(operator).members() == {*HERE}
    assert operator.plan is not None
    assert operator.plan.facts["voters_left_out"] == {}


def test_with_two_that_nobody_tells_of_everything_is_held(estates: Estates) -> None:
    """One of three may lack what the other two had decided with the lost site."""
    operator = lost(estates)
    voter_of(operator, 5).is_told = False
    with pytest.raises(
        GateRefusedError, match="voters-present unknown: host-of-zookeeper-5: no route to host"
    ):
        operator.go_on_without("dc1", lower_min_insync=ALL)
    stands_as_lost(operator)


def test_a_plain_majority_has_no_reserve(estates: Estates) -> None:
    """Four of six had to agree: of the survivors one alone may have the newest change."""

    def plain(file: Topology) -> Topology:
        return replace(file, clusters={"main": replace(file.clusters["main"], quorum="majority")})

    operator = lost(estates, change=plain)
    with pytest.raises(GateRefusedError, match="voters-present unknown: host-of-zookeeper-6: no route"):
        operator.go_on_without("dc1", lower_min_insync=ALL)
    stands_as_lost(operator)


def test_files_without_groups_have_no_reserve_whatever_the_topology_file_says(estates: Estates) -> None:
    """Servers go by their own files."""
    operator = lost(estates)
    for number in HERE:
        voter = voter_of(operator, number)
        voter.text = voter.text.replace("group.", "#group.")
    with pytest.raises(GateRefusedError, match="voters-present unknown"):
        operator.go_on_without("dc1", lower_min_insync=ALL)


def test_who_has_the_newest_change_of_two_leads(estates: Estates) -> None:
    """Whatever the third has beyond that was never committed."""
    for newest in (4, 5):
        operator = lost(estates)
        voter_of(operator, newest).end += 7
        voter_of(operator, 6).end += 9
        there(operator)
        goes_on_without(operator)
        assert voter_of(operator, newest).leads


@pytest.mark.parametrize("is_told", [True, False], ids=["answers", "still silent"])
def test_all_are_one_quorum_again_whether_or_not_its_host_answers(estates: Estates, is_told: bool) -> None:
    """Files as before; who was left out takes part as soon as it runs, behind all others."""
    operator = returned(estates)
    stood_alone(operator)
    voter_of(operator, 6).is_told = is_told
    assert operator.lead_as_before("main").outcome == "ok"
    said = "" if is_told else " but for voter 6 of dc2 (host-of-zookeeper-6: no route to host), whose file"
    assert gate(operator, "voters-present").reason.startswith(
        f"hosts tell of every voter of main at dc1, dc2{said}"
    )
    is_whole(operator)
    assert operator.plan is not None
    assert operator.plan.facts["voters_left_out"] == ({} if is_told else {"dc2": [6]})
    assert ("one quorum again but for voter 6 of dc2" in operator.plan.facts["when_done"]) is not is_told
    voter_of(operator, 6).is_told = True
    assert operator.lead_as_before("main").outcome == "nothing-to-do"


def test_on_the_way_back_every_other_voter_is_waited_for(estates: Estates) -> None:
    """A survivor that decided has to answer, and so has the returned site."""
    for missing in (5, 2):
        operator = returned(estates)
        voter_of(operator, missing).is_told = False
        with pytest.raises(GateRefusedError, match=f"host-of-zookeeper-{missing}"):
            operator.lead_as_before("main")
        goes_on_without(operator)


def cut_short(monkeypatch: pytest.MonkeyPatch, effect: type[Effect[Any]], act: Callable[[], object]) -> None:
    """The process dies as it is about to do this."""

    def dies(_self: object, _run: object) -> NoReturn:
        raise ProcessDied

    with monkeypatch.context() as patched:
        patched.setattr(effect, "perform", dies)
        with pytest.raises(ProcessDied):
            act()


def begun_and_back(estates: Estates, monkeypatch: pytest.MonkeyPatch) -> Operator:
    """Two were to be the quorum, and are not yet; everybody is back, and the one left out has more than they."""
    operator = lost(estates)
    voter_of(operator, 6).end += 9
    cut_short(monkeypatch, FormQuorum, lambda: operator.go_on_without("dc1", lower_min_insync=ALL))
    operator.estate.restart_dcctl()
    voter_of(operator, 6).is_told = True
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    return operator


def test_a_power_off_goes_on_with_those_that_are_recorded(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was left out has its old file still: with it the quorum would have two lists."""
    operator = begun_and_back(estates, monkeypatch)
    operator.evacuate("dc1", power_off=True, lower_min_insync=ALL, accept_margin=True)
    assert quorum(operator).members() == {4, 5}
    there(operator)
    assert operator.lead_as_before("main").outcome == "ok"
    is_whole(operator)


def test_a_way_back_is_taken_back_though_the_host_answers_again(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The survivors name two voters, and who was left out all six: only those that are started count."""
    operator = returned(estates)
    voter_of(operator, 6).is_told = True
    stop = StopVoters.perform

    def dies_at_survivors(self: StopVoters, run: Running) -> Outcome[VotersStopped]:
        if run.step_id != "stop-returned-voters":
            raise ProcessDied
        return stop(self, run)

    with monkeypatch.context() as patched:
        patched.setattr(StopVoters, "perform", dies_at_survivors)
        with pytest.raises(ProcessDied):
            operator.lead_as_before("main")
    operator.estate.restart_dcctl()
    assert operator.abort().outcome == "undone"
    goes_on_without(operator)


def test_what_one_that_was_left_out_has_alone_holds_no_way_back(
    estates: Estates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was never committed: it begins behind all others, and is not what they are measured by."""
    operator = begun_and_back(estates, monkeypatch)
    assert operator.lead_as_before("main").outcome == "ok"
    assert quorum(operator).members() == frozenset(quorum(operator).voters)


def killed(operator: Operator, nth: int) -> None:
    """The process dies before its doing of that number."""
    operator.estate.record.harm_nth(nth, "dies before")
    with pytest.raises(ProcessDied):
        operator.go_on_without("dc1", lower_min_insync=ALL)
    operator.estate.record.heal()
    operator.estate.restart_dcctl()


def test_a_host_that_answers_in_the_middle_changes_nothing_of_who_takes_part(estates: Estates) -> None:
    """A run is gone on with as it was begun, also by somebody who asks anew."""
    whole = lost(estates)
    first = whole.estate.record.count
    there(whole)
    for nth in range(0, whole.estate.record.count - first, 4):
        for goes_on in (Operator.resume, lambda o: o.go_on_without("dc1", lower_min_insync=ALL)):
            operator = lost(estates)
            killed(operator, nth)
            voter_of(operator, 6).is_told = True
            before = texts(operator)["zookeeper-6"]
            if not operator.has_begun:
                continue
            assert goes_on(operator).outcome in {"ok", "nothing-to-do"}, nth
            stood_alone(operator)
            takes_writes(operator)
            if voter_of(operator, 6).text == before:
                goes_on_without(operator)


STORIES = {
    "there": Story(
        lost, lambda o: o.go_on_without("dc1", lower_min_insync=ALL), goes_on_without, stands_as_lost
    ),
    "back": Story(returned, lambda o: o.lead_as_before("main"), is_whole, stood_alone),
}


@pytest.mark.parametrize("way", STORIES)
def test_killed_on_its_way_it_is_gone_on_with_or_taken_back(estates: Estates, way: str) -> None:
    """Before and after a sample of what it does."""
    for number, harm in sampled(estates, STORIES[way], 9):
        gone_on_with(estates, STORIES[way], number, harm)
        taken_back(estates, STORIES[way], number, harm)


@pytest.mark.drills
@pytest.mark.parametrize("way", STORIES)
def test_killed_anywhere_it_is_gone_on_with_or_taken_back(estates: Estates, way: str) -> None:
    """Before and after whatever it does."""
    for number, harm in each(estates, STORIES[way]):
        gone_on_with(estates, STORIES[way], number, harm)
        taken_back(estates, STORIES[way], number, harm)
