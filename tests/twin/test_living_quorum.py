"""Dead voters are taken out of a quorum that lives, in memory, and vote again once their site is back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from orchestrator.errors import GateRefusedError, GateUnknownError, UsageError
from orchestrator.topology.model import Nodes, Topology
from orchestrator.watch.cluster_status import cluster_status
from tests.twin.conftest import Estates
from tests.twin.crew import ProcessDied
from tests.twin.killing import Story, gone_on_with, sampled, taken_back
from tests.twin.operator import Operator
from tests.twin.record import Harm
from tests.twin.test_cluster_status import names, shown
from tests.twin.test_quorum import quorum
from tests.twin.test_site_loss import is_as_before, takes_writes

LAYOUTS = {"kraft": "topologies/stretched-2.5dc-kraft.yaml", "zookeeper": "topologies/stretched-2.5dc.yaml"}
BOTH = pytest.mark.parametrize("mode", LAYOUTS)
WORDS = {"lower_min_insync": ("all",), "drop_dead_voters": True}


def with_voters(*counts: int, **changed: str) -> Callable[[Topology], Topology]:
    """The only cluster with so many voters at each of its sites, which are dynamic."""

    def change(file: Topology) -> Topology:
        main = file.clusters["main"]
        key = "controllers" if main.metadata == "kraft" else "zookeepers"
        rows = tuple(
            Nodes(dc=row.dc, brokers=row.brokers, **{key: count})
            for row, count in zip(main.nodes, counts, strict=True)
        )
        return replace(file, clusters={"main": replace(main, nodes=rows, **{"voters": "dynamic", **changed})})

    return change


def lost(estates: Estates, mode: str, dc: str = "dc1", **changed: str) -> Operator:
    """A site is away with two of five voters, and three go on, which cannot spare one more."""
    operator = estates.at_work(LAYOUTS[mode], change=with_voters(2, 2, 1, **changed))
    operator.estate.lose(dc)
    operator.estate.live(12)
    return operator


def returned(estates: Estates, mode: str, **changed: str) -> Operator:
    """Its voters were taken out, and it is back."""
    operator = lost(estates, mode, **changed)
    assert operator.go_on_without("dc1", **WORDS).outcome == "ok"
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    return operator


def voting(operator: Operator) -> set[str]:
    """The sites of those that vote."""
    known = quorum(operator)
    return {known.voters[number].site for number in known.voting or ()}


def dead_are_out(operator: Operator) -> None:
    """Survivors decide by themselves, and any one of them can be spared."""
    assert voting(operator) == {"dc2", "witness"}
    assert quorum(operator).members() == quorum(operator).voting
    takes_writes(operator)


def all_vote(operator: Operator) -> None:
    """As before the loss."""
    known = quorum(operator)
    assert known.voting == frozenset(known.voters)
    assert known.members() == known.voting
    is_as_before(operator)
    takes_writes(operator)


@BOTH
def test_with_the_dead_ones_out_one_more_may_fail_and_all_vote_once_they_are_back(
    estates: Estates, mode: str
) -> None:
    """What it is for: without the word the next voter lost would have stopped everything."""
    operator = lost(estates, mode)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    assert operator.plan is not None
    before = [row["said"] for row in operator.plan.facts["margin"] if row["control_plane"]]
    assert any("a voter at dc2" in said for said in before)

    assert operator.go_on_without("dc1", **WORDS).outcome == "ok"
    assert "dead voters are taken out of its quorum" in operator.plan.way
    assert not [row for row in operator.plan.facts["margin"] if "a voter at dc2" in row["next"]]
    dead_are_out(operator)
    one = next(number for number, voter in quorum(operator).voters.items() if voter.site == "dc2")
    operator.estate.clusters["main"].set_controllers("gone", one)
    operator.estate.live(5)
    assert quorum(operator).members()
    operator.estate.clusters["main"].set_controllers("up", one)
    assert operator.go_on_without("dc1", **WORDS).outcome == "nothing-to-do"

    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    all_vote(operator)
    assert operator.lead_as_before("main").outcome == "nothing-to-do"


@BOTH
def test_status_counts_without_them_and_says_so(estates: Estates, mode: str) -> None:
    """Before each voter that is left is needed."""
    operator = lost(estates, mode)
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    found = cluster_status(operator.estate.topology, "main", servers=operator.estate.servers)
    assert found["quorum_without"] == []
    assert "a voter at dc2" in names(found)
    assert operator.go_on_without("dc1", **WORDS).outcome == "ok"
    found = cluster_status(operator.estate.topology, "main", servers=operator.estate.servers)
    assert found["quorum_without"] == ["dc1"]
    assert "a voter at dc2" not in names(found)
    assert "the metadata quorum is without dc1; dcctl failback FILE" in shown(found)


def test_groups_become_a_majority_and_are_groups_again(estates: Estates) -> None:
    """With a group less each of the others would still be needed: that would gain nothing."""
    operator = returned(estates, "zookeeper", quorum="hierarchical")
    assert not quorum(operator).is_grouped
    dead_are_out(operator)
    assert operator.lead_as_before("main").outcome == "ok"
    assert quorum(operator).is_grouped
    all_vote(operator)


@BOTH
def test_a_static_list_is_refused_with_the_reason(estates: Estates, mode: str) -> None:
    """By the file, and where the file is wrong about it."""
    operator = estates.at_work(LAYOUTS[mode])
    operator.estate.lose("dc1")
    operator.estate.live(12)
    with pytest.raises(UsageError, match="voters of main are a static list"):
        operator.go_on_without("dc1", **WORDS)
    operator = lost(estates, mode)
    for voter in quorum(operator).voters.values():
        voter.is_dynamic = False
    with pytest.raises(GateRefusedError, match="voters-droppable refused: by the files of"):
        operator.go_on_without("dc1", **WORDS)
    assert voting(operator) == {"dc1", "dc2", "witness"}


@BOTH
def test_what_would_gain_nothing_is_refused(estates: Estates, mode: str) -> None:
    """Of three voters one is lost: two are needed with it, and both without it."""
    operator = estates.at_work(LAYOUTS[mode], change=with_voters(1, 1, 1))
    operator.estate.lose("dc1")
    operator.estate.live(12)
    with pytest.raises(GateRefusedError, match="taking 1 voter of dc1 out gains main nothing"):
        operator.go_on_without("dc1", **WORDS)
    assert voting(operator) == {"dc1", "dc2", "witness"}


@BOTH
def test_whose_site_is_not_known_is_not_taken_out(estates: Estates, mode: str) -> None:
    """A host elsewhere that tells nothing may have the voter that would be taken for dead."""
    operator = lost(estates, mode)
    operator.estate.applications.reach["witness"] = "gone"
    with pytest.raises(GateUnknownError, match="voters-droppable unknown"):
        operator.go_on_without("dc1", **WORDS)
    operator.estate.applications.reach["witness"] = "up"
    operator.estate.clusters["main"].set_controllers("up", min(quorum(operator).voters))
    with pytest.raises(GateRefusedError, match="voters of main at dc1 take part"):
        operator.go_on_without("dc1", **WORDS)
    assert voting(operator) == {"dc1", "dc2", "witness"}


def test_over_two_sites_no_quorum_lives_that_could_change_its_voters(estates: Estates) -> None:
    """ZooKeeper's survivors are made one; KRaft's dynamic ones cannot be, which is said."""
    two = {"kraft": "topologies/stretched-2dc-kraft.yaml", "zookeeper": "topologies/stretched-2dc.yaml"}
    for mode, reason in (("kraft", "quorum-continues refused"), ("zookeeper", "voters-droppable refused")):
        operator = estates.at_work(two[mode], change=with_voters(3, 3))
        operator.estate.lose("dc1")
        operator.estate.live(12)
        with pytest.raises(GateRefusedError, match=reason):
            operator.go_on_without("dc1", **WORDS)


@BOTH
def test_a_voter_that_is_not_back_keeps_nothing_else_waiting_and_the_run_goes_on(
    estates: Estates, mode: str
) -> None:
    """Settings and leaders are as before; the others vote; once it is back the run comes to its end."""
    operator = returned(estates, mode)
    away = min(quorum(operator).voters)
    operator.estate.clusters["main"].set_controllers("gone", away)
    assert operator.lead_as_before("main").outcome == "incomplete"
    is_as_before(operator)
    assert quorum(operator).voting == frozenset(quorum(operator).voters) - {away}
    operator.estate.clusters["main"].set_controllers("up", away)
    assert operator.resume().outcome == "ok"
    all_vote(operator)


def test_a_voter_with_an_empty_disk_votes_with_the_log_that_it_has_now(estates: Estates) -> None:
    """KRaft knows voters by their directories."""
    operator = returned(estates, "kraft")
    for voter in quorum(operator).voters.values():
        voter.directory_id += "-anew" if voter.site == "dc1" else ""
    assert operator.lead_as_before("main").outcome == "ok"
    all_vote(operator)


@BOTH
def test_a_tie_breakers_voters_are_taken_out_and_kept_off_until_it_is_back(
    estates: Estates, mode: str
) -> None:
    """It has no broker: guards would keep its voters off, and without guards they tell that they are back."""
    operator = estates.at_work(LAYOUTS[mode], change=with_voters(2, 2, 2))
    operator.estate.lose("witness")
    operator.estate.live(12)
    assert operator.go_on_without("witness").outcome == "nothing-to-do"
    assert operator.go_on_without("witness", drop_dead_voters=True).outcome == "ok"
    assert voting(operator) == {"dc1", "dc2"}
    with pytest.raises(GateRefusedError, match="sites-returned refused: no server of main at witness"):
        operator.lead_as_before("main")
    operator.estate.bring_back("witness")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    all_vote(operator)


@BOTH
def test_a_second_site_is_lost_after_the_first_ones_voters_are_out(estates: Estates, mode: str) -> None:
    """Of 2 + 2 + 2 four vote, and two of these are left: it goes by who votes, not by the file.

    Nobody has tried to make a quorum of the survivors of an ensemble that can be reconfigured.
    """
    operator = estates.at_work(LAYOUTS[mode], change=with_voters(2, 2, 2))
    operator.estate.lose("dc1")
    operator.estate.live(12)
    assert operator.go_on_without("dc1", **WORDS).outcome == "ok"
    operator.estate.lose("witness")
    operator.estate.live(12)
    refused = "quorum-continues refused" if mode == "kraft" else "quorum-proven refused: .* static list"
    with pytest.raises(GateRefusedError, match=refused):
        operator.go_on_without("dc1", "witness", lower_min_insync=("all",))


def _dropped(estates: Estates, mode: str) -> Story:
    return Story(
        make=lambda _: lost(estates, mode),
        move=lambda operator: operator.go_on_without("dc1", **WORDS),
        is_done=dead_are_out,
        is_undone=is_as_before,
    )


def _added(estates: Estates, mode: str) -> Story:
    return Story(
        make=lambda _: returned(estates, mode),
        move=lambda operator: operator.lead_as_before("main"),
        is_done=all_vote,
    )


@BOTH
def test_killed_anywhere_while_voters_are_taken_out_it_goes_on(estates: Estates, mode: str) -> None:
    """At each doing, its journal included."""
    story = _dropped(estates, mode)
    for number, harm in sampled(estates, story, 1):
        gone_on_with(estates, story, number, harm)


@BOTH
def test_killed_anywhere_it_is_taken_back_but_for_the_dead_voters(estates: Estates, mode: str) -> None:
    """Settings are as before; who was taken out stays out, and votes again with the next failback."""
    story = _dropped(estates, mode)
    for number, harm in sampled(estates, story, 3):
        taken_back(estates, story, number, harm)


@BOTH
def test_killed_anywhere_while_all_vote_again_it_goes_on(estates: Estates, mode: str) -> None:
    """At each doing."""
    story = _added(estates, mode)
    for number, harm in sampled(estates, story, 1):
        gone_on_with(estates, story, number, harm)


@BOTH
def test_an_aborted_failover_leaves_its_site_free_and_failback_lets_all_vote(
    estates: Estates, mode: str
) -> None:
    """What stays of it is recorded."""
    operator = lost(estates, mode)
    operator.estate.record.harm_where(lambda entry: "voter" in entry.verb, "dies after")
    with pytest.raises(ProcessDied):
        operator.go_on_without("dc1", **WORDS)
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    assert operator.abort().outcome == "undone"
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    all_vote(operator)


def killed_at_a_drop(estates: Estates, mode: str, harm: Harm) -> Operator:
    """The process dies at the first change of the quorum, and another one takes its run back."""
    operator = lost(estates, mode)
    operator.estate.record.harm_where(lambda entry: "voter" in entry.verb, harm)
    with pytest.raises(ProcessDied):
        operator.go_on_without("dc1", **WORDS)
    operator.estate.record.heal()
    operator.estate.restart_dcctl()
    assert operator.abort().outcome == "undone"
    return operator


def margin_is_as_promised(operator: Operator, *, spares_one: bool) -> None:
    """A voter that `status` says can be spared is lost, and there is a quorum; and none it says cannot."""
    found = cluster_status(operator.estate.topology, "main", servers=operator.estate.servers)
    assert ("a voter at dc2" not in names(found)) == spares_one
    one = next(number for number, voter in quorum(operator).voters.items() if voter.site == "dc2")
    operator.estate.clusters["main"].set_controllers("gone", one)
    operator.estate.live(5)
    assert bool(quorum(operator).members()) == spares_one


@BOTH
def test_an_abort_before_any_voter_is_out_leaves_none_recorded(estates: Estates, mode: str) -> None:
    """What is recorded is what margin, failback and a later loss of another site go by."""
    operator = killed_at_a_drop(estates, mode, "dies before")
    found = cluster_status(operator.estate.topology, "main", servers=operator.estate.servers)
    assert found["quorum_without"] == []
    margin_is_as_promised(operator, spares_one=False)


@BOTH
def test_after_an_aborted_drop_the_other_site_may_be_lost(estates: Estates, mode: str) -> None:
    """The first one is back: its voters are voters, and go on with the witness."""
    operator = killed_at_a_drop(estates, mode, "dies before")
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    operator.estate.lose("dc2")
    operator.estate.live(12)
    assert operator.go_on_without("dc2", **WORDS).outcome == "ok"
    assert voting(operator) == {"dc1", "witness"}


def test_an_abort_with_one_of_two_voters_out_counts_the_other_one(estates: Estates) -> None:
    """KRaft takes out one at a time. The same word takes out the rest, and failback lets both vote."""
    operator = killed_at_a_drop(estates, "kraft", "dies after")
    assert len(quorum(operator).voting or ()) == len(quorum(operator).voters) - 1
    margin_is_as_promised(operator, spares_one=False)
    operator.estate.clusters["main"].set_controllers("up", 103)
    operator.estate.live(5)
    assert operator.go_on_without("dc1", **WORDS).outcome == "ok"
    dead_are_out(operator)
    margin_is_as_promised(operator, spares_one=True)
    operator.estate.clusters["main"].set_controllers("up", 103)
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    all_vote(operator)


def test_after_an_abort_with_one_of_two_out_the_other_site_is_needed(estates: Estates) -> None:
    """One of the first site's voters is back, and the other one does not vote: two of four are no majority."""
    operator = killed_at_a_drop(estates, "kraft", "dies after")
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    operator.estate.lose("dc2")
    operator.estate.live(12)
    assert not quorum(operator).members()
    with pytest.raises(GateRefusedError, match="quorum-continues refused"):
        operator.go_on_without("dc2", lower_min_insync=("all",))


def test_an_abort_with_all_of_them_out_says_so(estates: Estates) -> None:
    """ZooKeeper takes all at once."""
    operator = killed_at_a_drop(estates, "zookeeper", "dies after")
    found = cluster_status(operator.estate.topology, "main", servers=operator.estate.servers)
    assert found["quorum_without"] == ["dc1"]
    margin_is_as_promised(operator, spares_one=True)


def with_new_disks(operator: Operator) -> None:
    """The controllers of the lost site come back with empty disks."""
    for voter in quorum(operator).voters.values():
        voter.directory_id += "-anew" if voter.site == "dc1" else ""


def test_voters_on_new_disks_that_nobody_took_out_vote_again(estates: Estates) -> None:
    """The quorum has their lost logs as voters: these go, and those that there are come."""
    operator = lost(estates, "kraft")
    assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
    with_new_disks(operator)
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    assert operator.plan is not None
    assert operator.plan.facts["voters_unheard"] == [101, 102]
    assert "the quorum of main has not heard of voters 101, 102" in operator.plan.way
    all_vote(operator)
    assert operator.lead_as_before("main").outcome == "nothing-to-do"


def test_a_failback_that_does_nothing_else_sees_to_voters_on_new_disks(estates: Estates) -> None:
    """One that is merely down is named, and nobody waits for it."""
    operator = estates.at_work(LAYOUTS["kraft"], change=with_voters(2, 2, 1))
    operator.estate.clusters["main"].set_controllers("gone", 102)
    operator.estate.live(5)
    result = operator.lead_as_before("main")
    assert result.outcome == "nothing-to-do"
    assert "the quorum of main has not heard of voters 102" in result.reason
    quorum(operator).voters[102].directory_id += "-anew"
    operator.estate.clusters["main"].set_controllers("up", 102)
    operator.estate.live(5)
    assert operator.lead_as_before("main").outcome == "ok"
    all_vote(operator)


def test_killed_anywhere_while_lost_logs_are_replaced_it_goes_on(estates: Estates) -> None:
    """Between going and coming a voter is in nobody's set, and recorded."""

    def make(estates: Estates) -> Operator:
        operator = lost(estates, "kraft")
        assert operator.go_on_without("dc1", lower_min_insync=("all",)).outcome == "ok"
        with_new_disks(operator)
        operator.estate.bring_back("dc1")
        operator.estate.live(12)
        return operator

    story = Story(make=make, move=lambda operator: operator.lead_as_before("main"), is_done=all_vote)
    for number, harm in sampled(estates, story, 2):
        gone_on_with(estates, story, number, harm)


def test_with_one_site_dropped_and_another_forced_out_all_come_back(estates: Estates) -> None:
    """Files of those that voted last name four voters, and the topology file has six."""
    operator = estates.at_work(LAYOUTS["zookeeper"], change=with_voters(2, 2, 2))
    unproven = {"lower_min_insync": ("all",), "accept_unproven": True, "accept_margin": True}
    operator.estate.lose("dc1")
    operator.estate.live(12)
    assert operator.go_on_without("dc1", **WORDS).outcome == "ok"
    operator.estate.lose("witness")
    operator.estate.live(12)
    result = operator.go_on_without("dc1", "witness", **unproven)
    assert result.outcome == "ok", result.reason
    operator.estate.bring_back("dc1")
    operator.estate.bring_back("witness")
    operator.estate.live(12)
    result = operator.lead_as_before("main", accept_unproven=True)
    assert result.outcome == "ok", result.reason
    all_vote(operator)


def test_with_one_site_dropped_another_is_powered_off_and_all_come_back(estates: Estates) -> None:
    """The two voters that are left become a quorum; what is said of files goes by the four that voted."""
    operator = estates.at_work("topologies/stretched-3dc.yaml", change=with_voters(2, 2, 2))
    operator.estate.lose("dc1")
    operator.estate.live(12)
    assert operator.go_on_without("dc1", **WORDS).outcome == "ok"
    words = {"lower_min_insync": ("all",), "accept_unproven": True, "accept_margin": True}
    result = operator.evacuate("dc3", power_off=True, **words)
    assert result.outcome == "ok", result.reason
    takes_writes(operator)
    assert voting(operator) == {"dc2"}
    operator.estate.bring_back("dc1")
    operator.estate.live(12)
    result = operator.lead_as_before("main", accept_unproven=True)
    assert result.outcome == "ok", result.reason
    all_vote(operator)


@BOTH
def test_of_a_site_that_was_powered_off_voters_are_taken_out_by_the_next_failover(
    estates: Estates, mode: str
) -> None:
    """The site is off by then; nothing else is left to do. Failback brings back servers and voters."""
    operator = estates.at_work(LAYOUTS[mode], change=with_voters(2, 2, 1))
    assert operator.evacuate("dc1", power_off=True, lower_min_insync=("all",)).outcome == "ok"
    operator.estate.live(12)
    result = operator.go_on_without("dc1", **WORDS)
    assert result.outcome == "ok", result.reason
    dead_are_out(operator)
    operator.estate.live(12)
    assert operator.lead_as_before("main").outcome == "ok"
    all_vote(operator)
    assert operator.estate.services.off == set()
