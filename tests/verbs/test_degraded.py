"""Leaving a sick site: every partial state, what it allows, what it would cost, and what it has cost."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest

from orchestrator.errors import UsageError
from orchestrator.moves.losses import account_loss, loss_in_words, losses_to_json
from orchestrator.moves.request import FailoverRequest, mirror_to_fail_over
from orchestrator.runs.overrides import overrides
from orchestrator.runs.plan import GateOutcome, Plan, plan_from_json, to_json
from orchestrator.snapshot.observation import AccessState
from orchestrator.snapshot.partial_view import PartialView, answering, places_of
from orchestrator.snapshot.samples import CheckpointCopy, Round, SampleHistory
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Failover, MaxLoss
from orchestrator.values import BrokerView, PartitionPlace, TopicPartition
from orchestrator.verbs.plans import plan_failover
from tests.verbs.degraded_pictures import FILE, NO_CONTROLLER, PARTITIONS, REQUEST, left, picture
from tests.verbs.known_names import assert_all_known
from tests.verbs.pictures import (
    ABSENT,
    GROUPS,
    LOST_AT_S,
    MIRROR,
    MIRRORED,
    NOW_S,
    RATE,
    history,
    part,
    with_cluster,
    with_parts,
    written,
)

FIRST = PARTITIONS[0]
OUT_OF_REACH = {FIRST: "its leader, broker 3, does not answer"}


def plan(
    seen: Snapshot | None = None, request: FailoverRequest = REQUEST, max_loss: MaxLoss | None = None
) -> Plan:
    file = FILE if max_loss is None else replace(FILE, failover=Failover(max_loss=max_loss))
    return plan_failover(file, seen or picture(), request)


def closed(of: Plan) -> dict[str, GateOutcome]:
    return {gate.id: gate.outcome for gate in of.gates if gate.outcome != "ok"}


def said(of: Plan, gate_id: str) -> str:
    (gate,) = (gate for gate in of.gates if gate.id == gate_id)
    return f"{gate.outcome} {gate.reason} | {gate.measured} | {gate.hint}"


def needs(of: Plan, step: str) -> set[str]:
    found: set[str] = nx.ancestors(of.graph(), step)
    return found


WITH = plan()


def test_a_sick_site_may_be_left_and_the_plan_survives_its_file() -> None:
    """One broker of three is away: it is named, and everything else goes on."""
    assert closed(WITH) == {}
    assert plan_from_json(to_json(WITH)) == WITH
    assert "west:3 does not answer" in said(WITH, "source-sick")


def _well() -> PartialView:
    return left(brokers=3, in_sync=3)


def _no_quorum() -> PartialView:
    return replace(left(brokers=1, unread=OUT_OF_REACH), controller=NO_CONTROLLER)


STATES: dict[str, tuple[PartialView, dict[str, GateOutcome], str]] = {
    "wholly well": (_well(), {"source-sick": "refused"}, "dcctl switchover FILE --to east"),
    "a broker away, all led anew": (left(), {}, "west:3 does not answer"),
    "a partition without an answer": (left(unread=OUT_OF_REACH), {}, "its leader, broker 3, does not answer"),
    "all brokers answer, one partition has no leader": (
        left(brokers=3, unread={FIRST: "it has no leader"}),
        {},
        "it has no leader",
    ),
    "all answer, too few in sync": (
        left(brokers=3, in_sync=1),
        {},
        "1 replica in sync, min.insync.replicas is 2",
    ),
    "all answer, no controller": (
        replace(_well(), controller=NO_CONTROLLER),
        {"fenceable": "refused"},
        "no controller",
    ),
    "no quorum": (_no_quorum(), {"fenceable": "refused"}, "no controller"),
    "nothing answers": (
        replace(left(brokers=0), controller=NO_CONTROLLER, committed={}),
        {"source-sick": "refused", "fenceable": "refused"},
        "--attest-down west",
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_each_state_of_a_source_is_judged_by_name(state: str) -> None:
    """Only the gates that are about it are closed, and they say what to do."""
    found, gates, words = STATES[state]
    made = plan(picture(found))
    assert closed(made) == gates
    assert words in said(made, "source-sick")


def test_what_could_not_be_looked_at_is_unknown() -> None:
    """Neither well nor sick."""
    seen = with_cluster(picture(), "west", left=ABSENT)
    assert closed(plan(seen)) == {"source-sick": "unknown", "fenceable": "unknown"}
    made = plan(picture(replace(left(), access=ABSENT)))
    assert closed(made) == {"fenceable": "unknown"}
    assert not made.is_allowed


def test_somebody_else_s_word_is_not_enough_and_down_is_not_sick() -> None:
    """Each option speaks of its own state."""
    assert closed(plan(request=replace(REQUEST, sick=())))["attested"] == "refused"
    with pytest.raises(UsageError, match="not both"):
        mirror_to_fail_over(FILE, replace(REQUEST, attested=("west",)))
    with pytest.raises(UsageError, match="--attest-degraded south"):
        mirror_to_fail_over(FILE, replace(REQUEST, sick=("south",)))


def test_what_cannot_be_fenced_needs_a_person_s_word_of_its_own() -> None:
    """Then nobody is denied, and only what stands still is gone on with."""
    accepted = replace(REQUEST, accept_unfenced=True)
    without = plan(picture(_no_quorum()), accepted)
    assert closed(without) == {}
    assert "which a person accepts: access rules cannot be written" in said(without, "fenceable")
    actions = {step.action for step in without.steps}
    assert "deny-left" not in actions
    assert without.step("stands-still").arguments["rules"] == []
    options = [row.option for row in overrides(without.request)]
    assert options == ["--attest-sick", "--accept-unfenced"]
    # Where it can be fenced it is, whatever was accepted.
    assert "deny" in {step.id for step in plan(request=accepted).steps}
    super_user = replace(left(), access=part(AccessState("x", frozenset({str(FILE.producers[0].principal)}))))
    assert closed(plan(picture(super_user))) == {"fenceable": "refused"}
    assert closed(plan(picture(super_user), accepted)) == {}


def test_every_name_in_the_plan_is_known_to_the_runner() -> None:
    """Every step is an effect whose arguments fit."""
    for made in (WITH, plan(picture(_no_quorum()), replace(REQUEST, accept_unfenced=True))):
        assert_all_known(made)


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("deny", "stop-left"),
        ("deny", "record-rules"),
        ("stands-still", "deny"),
        ("drain", "stands-still"),
        ("record-landing-ends", "drain"),
        ("stop-mirror", "drain"),
        ("account-loss", "record-mirrored-ends"),
        ("record-positions", "deny"),
        ("translate-positions", "record-positions"),
        ("relocate-revenue", "copy-revenue"),
        ("record-primary", "account-loss"),
        ("record-primary", "write-offsets"),
        ("start-producers", "write-offsets"),
    ],
)
def test_order(later: str, earlier: str) -> None:
    """Nothing is counted before it stands still, nobody started before all is counted."""
    assert earlier in needs(WITH, later)


def test_everything_before_the_first_client_can_be_taken_back() -> None:
    """One point of no return; the group sync alone, which asks the sick side, is not waited for."""
    for step in WITH.steps:
        if step.irreversible:
            before = needs(WITH, step.id)
            undoable = {s.id for s in WITH.steps if s.compensation is not None}
            assert undoable - before <= {"stop-group-sync"}
            assert all(WITH.step(s).on_failure == "undo" for s in before)


def test_what_is_read_costs_what_is_not_copied_yet_and_nothing_once_drained() -> None:
    """From the live ends: 500 behind in each partition now, none expected to be lost."""
    for name, loss in WITH.predicted.loss.items():
        count = len([tp for tp in PARTITIONS if tp.topic == name])
        assert loss == {"at_least": 0, "expected": 0, "at_most": 500 * count}
    made = plan(with_parts(picture(), connectors=part({"west-to-east-source": "STOPPED"})))
    assert all(loss["expected"] == loss["at_most"] for loss in made.predicted.loss.values())


def test_what_is_not_read_is_estimated_from_the_samples() -> None:
    """Up to now, because nobody can say since when it does not write."""
    made = plan(picture(left(unread=OUT_OF_REACH)))
    newest_s = LOST_AT_S - 0.5
    behind = 500 * (len([tp for tp in PARTITIONS if tp.topic == FIRST.topic]) - 1)
    loss = made.predicted.loss[FIRST.topic]
    alone = written(newest_s) + (NOW_S - newest_s) * RATE - MIRRORED
    assert alone <= loss["at_most"] - behind <= alone + RATE
    assert loss["at_least"] == 0


def test_what_is_neither_read_nor_sampled_is_unknown_to_the_budget() -> None:
    """An unknown loss is no loss of zero."""
    made = plan(with_parts(picture(left(unread=OUT_OF_REACH)), samples=part(SampleHistory())))
    assert closed(made)["loss-within-budget"] == "unknown"
    assert "at_most" not in made.predicted.loss[FIRST.topic]


def test_the_drain_gives_up_beyond_what_is_allowed() -> None:
    """The file's budget, or what a person accepts in its place."""
    assert plan(max_loss=MaxLoss(records=7)).step("drain").arguments["allowed_records"] == 7
    assert closed(plan(max_loss=MaxLoss(records=7))) == {"loss-within-budget": "refused"}
    accepted = plan(max_loss=MaxLoss(records=7), request=replace(REQUEST, accept_loss=9_000))
    assert closed(accepted) == {}
    assert accepted.step("drain").arguments["allowed_records"] == 9_000
    assert plan(max_loss=MaxLoss(seconds=60)).step("drain").arguments["allowed_records"] is None


def test_a_group_that_answers_is_known_to_the_moment() -> None:
    """However old the watcher's word on it is."""
    found = replace(left(), committed={GROUPS[0]: {}, **left().committed})
    rows = plan(picture(found)).facts["translations"]
    assert {row["position_age_s"] for row in rows} == {0.0}


def test_a_group_that_is_silent_is_as_old_as_it_was_when_it_fell_silent() -> None:
    """Not as old as the decision: what it did since is not better known by refusing."""
    silent = GROUPS[0]
    found = replace(left(), committed={g: at for g, at in left().committed.items() if g != silent})
    missed = Round(
        watcher="w",
        begun_at_s=LOST_AT_S,
        ended_at_s=LOST_AT_S + 0.5,
        outcome="partial",
        missed={f"group {silent}": LOST_AT_S - 0.5},
    )
    late = replace(missed, begun_at_s=NOW_S - 0.1, ended_at_s=NOW_S)
    seen = picture(found)
    samples = history(missed, late, silent_since_s=LOST_AT_S)
    seen = with_parts(seen, samples=part(samples))
    rows = [row for row in plan(seen).facts["translations"] if row["group"] == silent]
    assert {row["position_age_s"] for row in rows} == {1.0}
    assert samples.unseen_since_s(GROUPS[1]) is None


def test_a_checkpoint_that_can_be_read_is_copied_once_more_and_needs_not_be_fresh() -> None:
    """One that cannot is as old as its copy."""

    def after(problem: str) -> Plan:
        old = CheckpointCopy(
            watcher="w", query="revenue", at_s=NOW_S - 2, batch=9, source_batch=9, problem=problem
        )
        samples = part(history(old, silent_since_s=LOST_AT_S))
        return plan(with_parts(picture(), samples=replace(samples, at_s=NOW_S + 20)))

    late = {"watcher-alive": "refused"}
    assert closed(after("")) == late
    assert closed(after("no such folder")) == late | {"checkpoints-copied": "refused"}


def test_leaders_are_believed_who_say_it_of_themselves() -> None:
    """A broker that has not heard of the election names the dead one."""
    stale = BrokerView(1, {1: "a", 3: "c"}, 1, {FIRST: PartitionPlace(3, (1, 2, 3))})
    own = BrokerView(2, {1: "a", 2: "b"}, 1, {FIRST: PartitionPlace(2, (1, 2))})
    unheard = TopicPartition("never", 0)
    found = places_of([stale, own], [FIRST, unheard])
    assert (found[FIRST].leader, found[FIRST].in_sync, found[FIRST].problem) == (2, 2, "")
    assert places_of([stale], [FIRST])[FIRST].problem == "its leader, broker 3, does not answer"
    assert "no broker that answers knows" in found[unheard].problem
    nobody = BrokerView(1, {}, -1, {FIRST: PartitionPlace(-1, ())})
    assert places_of([nobody], [FIRST])[FIRST].problem == "it has no leader"
    assert answering({"b:1": own, "a:1": stale}) == {1: "a:1", 2: "b:1"}


def test_the_account_is_a_number_or_says_why_it_is_none() -> None:
    """Per partition; and what acks other than all leave open is not called zero."""
    read = {tp: 0 for tp in PARTITIONS if tp != FIRST} | {PARTITIONS[1]: 12}
    found = account_loss(
        FILE, MIRROR, not_copied=read, unread={str(FIRST): "its leader is away"}, is_whole=False
    )
    assert (found[FIRST].lost, found[FIRST].reason) == (None, "its leader is away")
    assert (found[PARTITIONS[1]].lost, found[PARTITIONS[2]].lost) == (12, 0)
    words = loss_in_words(losses_to_json(found))
    assert words == f"12 records lost in {len(PARTITIONS) - 1} partitions; unknown in 1: {FIRST}"
    assert loss_in_words({}) == ""
    weak = replace(FILE, producers=tuple(replace(p, acks="1") for p in FILE.producers))
    hidden = account_loss(weak, MIRROR, not_copied=read, unread={}, is_whole=False)
    assert {row.lost for row in hidden.values()} == {None}
    assert "has acks other than all" in hidden[PARTITIONS[1]].reason
    assert account_loss(weak, MIRROR, not_copied=read, unread={}, is_whole=True)[PARTITIONS[1]].lost == 12
    unsure = account_loss(FILE, MIRROR, not_copied=read, unread={}, is_whole=True, problem="no answer")
    assert (unsure[PARTITIONS[1]].lost, unsure[PARTITIONS[1]].reason) == (None, "at most 12: no answer")
    assert unsure[PARTITIONS[2]].lost == 0
