"""The way back as a plan: order, gates, and what happens to it when it is killed or taken back."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest

from orchestrator.errors import UsageError
from orchestrator.moves.request import FailbackRequest, mirror_to_fail_back
from orchestrator.replication.engine import MirrorSettings
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.replication.truncations import Truncation
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun
from orchestrator.runs.engine import StepOutcome
from orchestrator.runs.plan import Plan, plan_from_json, to_json
from orchestrator.snapshot.observation import AccessState
from orchestrator.snapshot.rejoining import compare_rejoining, last_copied
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.verbs.plans import plan_failback
from tests.replication.mirror_model import build
from tests.runs.any_world import AnyWorld, kept
from tests.runs.crashes import ABORT, crash_everywhere, run_inline, stall_everywhere
from tests.verbs import pictures
from tests.verbs.failback_pictures import AFTER_A_FAILOVER, END, REQUEST, picture, topology
from tests.verbs.known_names import assert_all_known
from tests.verbs.pictures import (
    ABSENT,
    AHEAD,
    MIRROR,
    MIRRORED,
    part,
    with_cluster,
    with_mirror,
    with_parts,
)

FILE = topology()
PLAN = plan_failback(FILE, picture(), REQUEST)
ORDERS = TopicPartition("orders", 0)


def closed(plan: Plan) -> dict[str, str]:
    return {gate.id: gate.outcome for gate in plan.gates if gate.outcome != "ok"}


def needs(plan: Plan, step: str) -> set[str]:
    """Everything that a step waits for, near and far."""
    found: set[str] = nx.ancestors(plan.graph(), step)
    return found


def test_a_primary_that_is_back_with_its_disks_may_take_over_and_the_tail_is_late_not_lost() -> None:
    """It predicts no loss, says how much is still to arrive, and survives its file."""
    assert closed(PLAN) == {}
    assert (PLAN.source, PLAN.target) == ("east", "west")
    assert plan_from_json(to_json(PLAN)) == PLAN
    assert all(loss["at_most"] == 0 for loss in PLAN.predicted.loss.values())
    assert PLAN.facts["late_records"]["orders-0"] == END - MIRRORED


def test_every_name_in_the_plan_is_known_to_the_runner() -> None:
    """Every step is an effect whose arguments fit."""
    assert_all_known(PLAN)


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("compare-returned", "hold-returned"),
        ("resume-mirror", "set-mirror-offsets"),
        ("resume-reverse", "set-reverse-offsets"),
        ("set-reverse-offsets", "create-reverse"),
        ("stop-producers", "tail-arrives"),
        ("stop-producers", "caught-up"),
        ("pause-mirror", "tail-arrives"),
        ("translate-positions", "record-positions"),
        ("translate-positions", "record-mirror-end"),
        ("translate-positions", "all-arrived"),
        ("thaw", "write-offsets"),
        ("start-producers", "thaw"),
        ("mirror-goes-on", "record-mirror-end"),
        ("open-standby", "start-producers"),
        ("open-standby", "start-consumers"),
    ],
)
def test_order(later: str, earlier: str) -> None:
    """Standby first, then the move; nothing is promoted that is not drained and translated."""
    assert earlier in needs(PLAN, later)


def test_the_standby_is_open_for_the_next_failover_whoever_was_seen() -> None:
    """Only producers that go where they want are seen at the primary before they may come back."""
    assert not {"producers-write", "consumers-progress", "queries-progress"} & needs(PLAN, "open-standby")
    first, *others = FILE.producers
    self_redirecting = replace(FILE, producers=(replace(first, moved_by="itself"), *others))
    needed = needs(plan_failback(self_redirecting, picture(), REQUEST), "open-standby")
    assert {"let-in", "producers-write"} <= needed


def test_the_group_sync_of_the_demoted_direction_is_off_until_it_is_over() -> None:
    """A stale commit at the old side could move a group at the new one."""
    (before,) = (step for step in PLAN.steps if step.id == "resume-mirror")
    assert not any("checkpoint" in name for name in before.arguments["connectors"])
    pause = PLAN.step("pause-mirror")
    assert pause.arguments["connectors"] == ["west-to-east-source"]
    assert pause.title.startswith("Stop the source connector of the mirror west → east"), "no other one"
    assert "start-consumers" not in needs(PLAN, "resume-mirror")


def test_applications_at_the_standby_are_let_be_until_the_primary_has_caught_up() -> None:
    """Everything that touches them waits for both mirrors, and can be taken back up to the promotion."""
    for step in PLAN.steps:
        if step.irreversible:
            undoable = {s.id for s in PLAN.steps if s.compensation is not None}
            assert undoable <= needs(PLAN, step.id)


def test_who_holds_the_returned_side_never_opens_it_by_going_back() -> None:
    """Taken back, the primary stays held: the other side is primary."""
    assert PLAN.step("hold-returned").compensation is None


def _earlier(outcome: str, source: str = "east", target: str = "west") -> CoordinationState:
    run = EarlierRun(
        run_id="failback-1",
        verb="failback",
        source=source,
        target=target,
        started_at_s=pictures.NOW_S,
        outcome=outcome,
    )
    return CoordinationState("", (*AFTER_A_FAILOVER.runs, run))


def test_each_gate_refuses_what_it_is_there_for() -> None:
    """And what cannot be measured is unknown."""
    well = picture()
    short = {tp: LogEnd(0, MIRRORED - 5, 1) for tp in well.cluster("west").log_ends.value or {}}
    old_epoch = {tp: LogEnd(0, END, 0) for tp in well.cluster("west").log_ends.value or {}}
    anew = {
        name: replace(s, topic_id="another") for name, s in (well.cluster("west").topics.value or {}).items()
    }
    no_authorizer = part(AccessState("", frozenset()))
    cases = {
        ("moved-away", "refused"): with_parts(well, coordination=part(CoordinationState(""))),
        ("needed", "refused"): with_parts(well, coordination=part(_earlier("incomplete"))),
        ("same-topics", "refused"): with_cluster(well, "west", topics=part(anew)),
        ("same-topics", "unknown"): replace(well, past=ABSENT),
        ("returned-log", "refused"): with_cluster(well, "west", log_ends=part(short)),
        ("returned-log", "unknown"): with_mirror(well, AHEAD, read=ABSENT),
        ("standby-healthy", "unknown"): with_cluster(well, "east", topics=ABSENT),
        ("mirror-there", "refused"): with_mirror(well, AHEAD.other_way, states=part({})),
        ("mirror-trusted", "refused"): with_mirror(well, AHEAD, settings=part(MirrorSettings({}, True))),
        ("mirror-trusted", "refused", "the one back"): with_mirror(
            well, AHEAD.other_way, settings=part(MirrorSettings({"errors.tolerance": "all"}, False))
        ),
        ("mirror-trusted", "unknown"): with_mirror(well, AHEAD, settings=ABSENT),
        ("mirror-trusted", "unknown", "who wrote the copies"): with_mirror(well, AHEAD, samples=ABSENT),
        ("positions-known", "unknown"): with_cluster(well, "east", committed=ABSENT),
        ("fenceable", "refused"): with_cluster(well, "east", access=no_authorizer),
        ("fenceable-returned", "unknown"): with_cluster(well, "west", access=ABSENT),
        ("coordination", "unknown"): with_parts(well, coordination=ABSENT),
    }
    for (gate, outcome, *_), case in cases.items():
        assert closed(plan_failback(FILE, case, REQUEST)).get(gate) == outcome, gate
    wrong = with_cluster(well, "west", log_ends=part(old_epoch))
    if any(end.leader_epoch > 0 for end in pictures.history().newest_ends().values()):
        assert closed(plan_failback(FILE, wrong, REQUEST)) == {"returned-log": "refused"}


def test_a_shorter_log_is_accepted_by_the_number_of_its_records() -> None:
    """What is missing is counted, and somebody has to accept just that much."""
    well = picture()
    logs = well.cluster("west").log_ends.value or {}
    short = with_cluster(well, "west", log_ends=part({tp: LogEnd(0, MIRRORED - 5, 1) for tp in logs}))
    plan = plan_failback(FILE, short, REQUEST)
    missing = sum(loss["at_most"] for loss in plan.predicted.loss.values())
    assert missing >= 5 * len(logs)
    accepted = replace(REQUEST, accept_loss=missing)
    assert closed(plan_failback(FILE, short, accepted)) == {}


def test_a_spark_query_is_brought_back_behind_both_maps() -> None:
    """It is stopped, its checkpoint copied whole, and made anew once both mirrors stand."""
    needed = needs(PLAN, "relocate-revenue")
    assert {"stop-queries", "copy-revenue", "record-mirror-end", "all-arrived"} <= needed
    assert "relocate-revenue" in needs(PLAN, "start-queries")


def test_a_query_whose_checkpoint_cannot_be_read_keeps_everything_where_it_is() -> None:
    """Nobody would know where it has to go on."""
    unread = with_parts(picture(), checkpoints=ABSENT)
    assert closed(plan_failback(FILE, unread, REQUEST)) == {"queries": "unknown"}


def test_a_query_that_will_surely_not_be_relocated_is_refused_before_anybody_is_stopped() -> None:
    """By the plan of the relocation itself; what nobody can judge is unknown."""
    copies = dict.fromkeys(source_copies(), 97000)
    rates = TopicPartition("currency-rates", 0)
    other = {"revenue": pictures.checkpoint_at({**copies, rates: 7})}
    plan = plan_failback(FILE, with_parts(picture(), checkpoints=part(other)), REQUEST)
    assert closed(plan) == {"queries": "refused"}
    (gate,) = (gate for gate in plan.gates if gate.id == "queries")
    assert "currency-rates is not copied by the mirror west → east" in gate.reason
    rocks = {"revenue": replace(pictures.checkpoint_at(copies), unjudged=("state/0/0/8.zip",))}
    plan = plan_failback(FILE, with_parts(picture(), checkpoints=part(rocks)), REQUEST)
    assert closed(plan) == {"queries": "unknown"}


def source_copies() -> list[TopicPartition]:
    """The mirrored partitions at the standby."""
    return [MIRROR.mirrored(tp) for tp in source_partitions(FILE, MIRROR)]


def test_done_already_there_is_nothing_to_do() -> None:
    """The primary has taken over by an earlier run."""
    well = picture()
    done = with_parts(well, coordination=part(_earlier("ok")))
    assert plan_failback(FILE, done, REQUEST).facts["done_by"] == "failback-1"


def test_a_primary_that_nothing_is_mirrored_from_is_a_mistake() -> None:
    """Named with what there is."""
    with pytest.raises(UsageError, match="west → east"):
        mirror_to_fail_back(FILE, "north")
    assert mirror_to_fail_back(FILE).source == "west"
    assert FailbackRequest(**REQUEST.as_json()) == REQUEST


def test_the_returned_log_against_what_had_been_read_of_it() -> None:
    """A tail, a shorter log, an empty one, a purged one, and one whose end was seen further."""
    found = {
        "tail": (LogEnd(0, 120), 99, 120),
        "short": (LogEnd(0, 90), 99, 100),
        "empty": (LogEnd(0, 0), 99, 100),
        "purged": (LogEnd(130, 150), 99, 150),
        "lost": (LogEnd(0, 100), 99, 110),
    }
    tps = {name: TopicPartition(name, 0) for name in found}
    rejoining = compare_rejoining(
        tps.values(),
        home={tps[name]: log for name, (log, _, _) in found.items()},
        copied=dict.fromkeys(tps.values(), LogEnd(0, 100)),
        last_read={tps[name]: read for name, (_, read, _) in found.items()},
        left={tps[name]: LogEnd(0, seen) for name, (_, _, seen) in found.items()},
        epoch_ends={},
        known_truncations={tps["short"]: (Truncation(50, 60),)},
        truncations_since_departure={},
    )
    assert rejoining.tail == {tps["tail"]: 20, tps["purged"]: 20}
    assert rejoining.set_offsets == {tps["short"]: 89, tps["empty"]: None}
    assert rejoining.target_only == {tps["short"]: 10, tps["empty"]: 100}
    assert rejoining.gap == {tps["purged"]: 30}
    assert rejoining.missing == {tps["lost"]: 10}
    assert rejoining.truncations == {
        tps["short"]: (Truncation(50, 60), Truncation(90, 100)),
        tps["empty"]: (Truncation(0, 100),),
    }
    assert rejoining.lost_records == 150


def test_a_stored_position_that_lags_behind_the_copies_hides_no_cut() -> None:
    """Killed, the mirror had copied up to 9,600 and stored 9,400; the log came back with 9,500 records."""
    tp = TopicPartition("orders", 0)
    home, copied = {tp: LogEnd(0, 9_500)}, {tp: LogEnd(0, 9_600)}
    syncs = build([(0, 0), (9_599, 9_599)], partition=tp)
    read = last_copied([tp], stored={tp: 9_399}, offset_map=syncs, known_truncations={})
    rejoining = compare_rejoining(
        [tp],
        home=home,
        copied=copied,
        last_read=read,
        left={},
        epoch_ends={},
        known_truncations={},
        truncations_since_departure={},
    )
    assert rejoining.target_only == {tp: 100}
    assert rejoining.truncations == {tp: (Truncation(9_500, 9_600),)}
    assert rejoining.set_offsets == {tp: 9_499}


def test_what_was_copied_before_an_earlier_cut_tells_nothing_of_the_log_since() -> None:
    """The log was cut at 9,500 before, and 20 records have been copied since."""
    tp = TopicPartition("orders", 0)
    syncs = build([(0, 0), (9_599, 9_599), (9_500, 9_600), (9_519, 9_619)], partition=tp)
    truncations = {tp: (Truncation(9_500, 9_600),)}
    assert last_copied([tp], stored={tp: 9_510}, offset_map=syncs, known_truncations=truncations) == {
        tp: 9_519
    }
    assert last_copied([tp], stored={}, offset_map=build([]), known_truncations={}) == {}


def test_killed_anywhere_and_resumed_it_ends_as_if_undisturbed() -> None:
    """Killed twice, at every point in its turn: in order, nothing twice, and everything done."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.effects == {step.id for step in PLAN.steps}
        assert world.records[-1].data["outcome"] == "ok"

    assert crash_everywhere(PLAN, lambda: AnyWorld(plan=PLAN), check, second_every=449) > 200


def test_killed_anywhere_and_taken_back_what_can_go_is_gone() -> None:
    """Before the promotion applications are at work at the standby again; after it nothing is half."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.left == kept(world)

    worlds = crash_everywhere(PLAN, lambda: AnyWorld(plan=PLAN), check, second_every=451, second_undo=ABORT)
    assert worlds > 200


def test_stopped_for_long_and_overtaken_it_does_no_harm() -> None:
    """At most the call in flight takes effect, and whoever took over ends the run."""

    def check(world: AnyWorld) -> None:
        assert [p for p in world.problems if "twice" not in p] == []

    assert stall_everywhere(PLAN, lambda: AnyWorld(plan=PLAN), check) > 100


@pytest.mark.parametrize("step", ["tail-arrives", "caught-up", "create-reverse"])
def test_a_standby_that_cannot_catch_up_costs_applications_nothing(step: str) -> None:
    """The run stops before it touches them, and can be gone on with."""
    world = AnyWorld(plan=PLAN, fails={step: StepOutcome("failed", "too far behind")})
    end = run_inline(PLAN, world)
    assert end.outcome == "incomplete"
    assert not {"stop-producers", "stop-consumers", "deny-writing"} & world.effects


@pytest.mark.parametrize("step", ["drain", "all-arrived", "translate-positions", "record-mirror-end"])
def test_what_fails_on_the_way_over_is_taken_back(step: str) -> None:
    """Producers write at the standby again, and the mirror stands where it may go on."""
    world = AnyWorld(plan=PLAN, fails={step: StepOutcome("failed", "no")})
    end = run_inline(PLAN, world)
    assert end.outcome == "undone"
    assert not {"stop-producers", "deny-writing", "thaw", "start-producers"} & world.effects
