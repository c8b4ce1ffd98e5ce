"""The planned move's plan: order, gates, and what happens to it when it is killed or taken back."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest

from orchestrator.applications.spark.checkpoints import SeenCheckpoint
from orchestrator.errors import UsageError
from orchestrator.moves.request import SwitchoverRequest
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun
from orchestrator.runs.engine import StepOutcome
from orchestrator.runs.plan import Plan, plan_from_json, to_json
from orchestrator.snapshot.observation import AccessState, SourceProbe
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.verbs.plans import plan_switchover
from tests.runs.any_world import AnyWorld, kept
from tests.runs.crashes import ABORT, crash_everywhere, stall_everywhere
from tests.verbs.known_names import assert_all_known
from tests.verbs.pictures import (
    ABSENT,
    GROUPS,
    MIRROR,
    MIRRORED,
    checkpoint_at,
    observation,
    of,
    part,
    topology,
    with_cluster,
    with_parts,
)

FILE = topology()
REQUEST = SwitchoverRequest(to="east", by="ada", reason="maintenance")


def picture() -> Snapshot:
    """Both sides well, the mirror at its end, each group a little behind."""
    partitions = source_partitions(FILE, MIRROR)
    topics = of(observation(), "topics").value or {}
    probe = SourceProbe({"west:1": "yes"}, "", "id-west")
    access = part(AccessState("StandardAuthorizer", None, "User:operator"))
    base = with_cluster(
        observation(),
        "west",
        probe=part(probe),
        topics=part({name: topics[name] for name in MIRROR.topics}),
        log_ends=part(dict.fromkeys(partitions, LogEnd(0, MIRRORED))),
        committed=part({group: dict.fromkeys(partitions, 98_000) for group in GROUPS}),
        access=access,
    )
    return with_cluster(base, "east", access=access)


PLAN = plan_switchover(FILE, picture(), REQUEST)


def closed(plan: Plan) -> dict[str, str]:
    return {gate.id: gate.outcome for gate in plan.gates if gate.outcome != "ok"}


def needs(plan: Plan, step: str) -> set[str]:
    """Everything that a step waits for, near and far."""
    found: set[str] = nx.ancestors(plan.graph(), step)
    return found


def test_a_healthy_pair_may_be_switched_and_the_plan_survives_its_file() -> None:
    """It predicts no loss and nothing read again."""
    assert closed(PLAN) == {}
    assert plan_from_json(to_json(PLAN)) == PLAN
    assert all(loss["at_most"] == 0 for loss in PLAN.predicted.loss.values())


def test_every_name_in_the_plan_is_known_to_the_runner() -> None:
    """Every step is an effect whose arguments fit."""
    assert_all_known(PLAN)


def test_everything_that_can_be_undone_comes_before_anything_that_cannot() -> None:
    """One point of no return, and a failure before it takes the run back."""
    for step in PLAN.steps:
        if step.irreversible:
            before = needs(PLAN, step.id)
            undoable = {s.id for s in PLAN.steps if s.compensation is not None}
            assert undoable <= before
            assert all(
                PLAN.step(s).on_failure == "undo" for s in before if PLAN.step(s).action != "record-rules"
            )


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("deny-writing", "stop-producers"),
        ("stands-still", "deny-writing"),
        ("drain", "stands-still"),
        ("stop-mirror", "drain"),
        ("all-arrived", "stop-mirror"),
        ("translate-positions", "record-positions"),
        ("record-positions", "stop-consumers"),
        ("deny-reading", "stop-consumers"),
        ("copy-revenue", "stop-queries"),
        ("relocate-revenue", "copy-revenue"),
        ("start-producers", "all-arrived"),
        ("start-producers", "thaw"),
        ("start-consumers", "write-offsets"),
    ],
)
def test_order(later: str, earlier: str) -> None:
    """Nothing is promoted that is not drained, nothing recorded that still moves."""
    assert earlier in needs(PLAN, later)


def test_consumers_keep_their_rights_until_they_are_stopped() -> None:
    """A group that may no longer commit when it is stopped would read again what it has processed."""
    (deny_writing,) = (step for step in PLAN.steps if step.id == "deny-writing")
    assert {rule[1] for rule in deny_writing.arguments["rules"]} == {"WRITE"}
    (deny_reading,) = (step for step in PLAN.steps if step.id == "deny-reading")
    assert {tuple(rule[1:4]) for rule in deny_reading.arguments["rules"]} == {
        ("READ", "DENY", "TOPIC"),
        ("READ", "DENY", "GROUP"),
    }
    assert all(rule[0] != FILE.clusters["west"].mirror_principal for rule in deny_writing.arguments["rules"])


def test_each_gate_refuses_what_it_is_there_for() -> None:
    """And what cannot be measured is unknown."""
    well = picture()
    sick = {
        name: replace(state, leaders=(-1, *state.leaders[1:]))
        for name, state in (well.cluster("west").topics.value or {}).items()
    }
    stopped = dict.fromkeys(of(well, "connectors").value or {}, "STOPPED")
    no_authorizer = part(AccessState("", frozenset()))
    above = part(AccessState("x", frozenset({str(FILE.producers[0].principal or "User:checkout")})))
    cases = {
        ("source-healthy", "refused"): with_cluster(well, "west", topics=part(sick)),
        ("source-healthy", "unknown"): with_cluster(well, "west", topics=ABSENT),
        ("mirror-lag", "unknown"): with_cluster(well, "west", log_ends=ABSENT),
        ("positions-known", "unknown"): with_cluster(well, "west", committed=ABSENT),
        ("fenceable", "refused"): with_cluster(well, "west", access=no_authorizer),
        ("fenceable", "unknown"): with_cluster(well, "west", access=ABSENT),
        ("mirror-running", "refused"): with_parts(well, connectors=part(stopped)),
    }
    for (gate, outcome), case in cases.items():
        assert closed(plan_switchover(FILE, case, REQUEST)).get(gate) == outcome, gate
    queries: dict[str, tuple[SeenCheckpoint, str | None]] = {
        "of a topic without a copy": (checkpoint_at({TopicPartition("currency-rates", 0): 7}), "refused"),
        "in RocksDB": (replace(checkpoint_at({}), unjudged=("state/0/0/8.zip",)), "unknown"),
        "copied once it has stopped": (SeenCheckpoint(problem="there is no copy of its checkpoint"), None),
    }
    for name, (seen, outcome) in queries.items():
        copied = with_parts(well, checkpoints=part({"revenue": seen}))
        assert closed(plan_switchover(FILE, copied, REQUEST)).get("queries") == outcome, name
    super_user = plan_switchover(FILE, with_cluster(well, "west", access=above), REQUEST)
    assert closed(super_user) == {"fenceable": "refused"}


def test_a_connector_that_a_drain_does_not_need_is_not_said_to_run() -> None:
    """The gate names those that it has judged, and `measured` tells the other as it is."""
    states = {
        name: "FAILED" if name.endswith("-checkpoint") else state
        for name, state in (of(picture(), "connectors").value or {}).items()
    }
    plan = plan_switchover(FILE, with_parts(picture(), connectors=part(states)), REQUEST)
    gate = next(gate for gate in plan.gates if gate.id == "mirror-running")
    assert gate.outcome == "ok"
    assert "-checkpoint" not in gate.reason
    assert "west-to-east-checkpoint FAILED" in str(gate.measured)


def test_an_open_run_is_finished_first_and_a_done_one_is_not_repeated() -> None:
    """Also where it was a failover that moved the applications."""

    def after(verb: str, outcome: str) -> Plan:
        runs = (EarlierRun("r1", verb, "west", "east", 1.0, outcome),)
        return plan_switchover(
            FILE, with_parts(picture(), coordination=part(CoordinationState("", runs))), REQUEST
        )

    assert closed(after("switchover", "incomplete")) == {"needed": "refused"}
    assert after("failover", "ok").facts["done_by"] == "r1"
    assert closed(after("switchover", "undone")) == {}


def test_a_target_that_no_mirror_leads_to_is_a_usage_error() -> None:
    """With what there is."""
    with pytest.raises(UsageError, match="west → east"):
        plan_switchover(FILE, picture(), replace(REQUEST, to="west"))


def test_killed_anywhere_it_ends_as_if_undisturbed() -> None:
    """Killed twice, at every point in its turn."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.effects == {step.id for step in PLAN.steps}

    assert crash_everywhere(PLAN, lambda: AnyWorld(plan=PLAN), check, second_every=29) > 100


def test_killed_anywhere_and_aborted_producers_write_at_the_source_or_nothing_is_touched() -> None:
    """Before the promotion all goes back; after it nothing does."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.left == kept(world)
        assert world.left == set() or "stop-producers" in world.left

    assert (
        crash_everywhere(PLAN, lambda: AnyWorld(plan=PLAN), check, second_every=37, second_undo=ABORT) > 100
    )


def test_a_drain_that_does_not_finish_is_undone_wherever_it_is_killed() -> None:
    """The producers write at the source again."""

    def failing() -> AnyWorld:
        return AnyWorld(plan=PLAN, fails={"drain": StepOutcome("failed", "7 records are not copied")})

    def check(world: AnyWorld) -> None:
        assert (world.problems, world.left) == ([], set())
        assert world.records[-1].data["outcome"] == "undone"

    assert crash_everywhere(PLAN, failing, check, second_every=23) > 100


def test_a_process_that_slept_through_the_takeover_harms_nothing() -> None:
    """SIGSTOP at every point, another finishes, SIGCONT."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.effects == {step.id for step in PLAN.steps}
        assert {step for who, step in world.made_by if who.startswith("late")} <= world.in_flight

    assert stall_everywhere(PLAN, lambda: AnyWorld(plan=PLAN), check) > 50
