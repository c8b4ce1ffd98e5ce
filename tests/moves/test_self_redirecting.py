"""A producer that moves itself in each verb's plan: fenced as all others, kept off until it may come, waited for."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest

from orchestrator.moves.ends import RecordEarlyEnds, RecordLandingEnds
from orchestrator.moves.primary_gate import STEP as RECORD_PRIMARY
from orchestrator.runs.engine import StepOutcome
from orchestrator.runs.plan import Plan
from orchestrator.snapshot.observation import AccessState
from orchestrator.topology.model import Topology
from orchestrator.verbs.plans import plan_failback, plan_failover, plan_switchover
from orchestrator.verbs.registration import EFFECTS
from tests.runs.any_world import AnyWorld
from tests.runs.crashes import crash_everywhere, run_inline
from tests.verbs import failback_pictures, test_switchover
from tests.verbs.degraded_pictures import FILE as SICK_FILE
from tests.verbs.degraded_pictures import REQUEST as SICK_REQUEST
from tests.verbs.degraded_pictures import picture as sick_picture
from tests.verbs.known_names import assert_all_known
from tests.verbs.pictures import REQUEST, observation, part, topology, with_cluster


def self_redirecting(file: Topology, *names: str) -> Topology:
    known = file.producers
    return replace(
        file, producers=tuple(replace(p, moved_by="itself") if p.name in names else p for p in known)
    )


FILE = self_redirecting(topology(), "checkout")
FAILOVER = plan_failover(FILE, observation(), REQUEST)
SWITCHOVER = plan_switchover(FILE, test_switchover.picture(), test_switchover.REQUEST)
FAILBACK = plan_failback(
    self_redirecting(failback_pictures.topology(), "checkout"),
    failback_pictures.picture(),
    failback_pictures.REQUEST,
)
PLANNED = pytest.mark.parametrize("plan", [SWITCHOVER, FAILBACK], ids=["switchover", "failback"])


DEGRADED = plan_failover(self_redirecting(SICK_FILE, "checkout"), sick_picture(), SICK_REQUEST)


def needs(plan: Plan, step: str) -> set[str]:
    found: set[str] = nx.ancestors(plan.graph(), step)
    return found


def landing_ends(plan: Plan) -> RecordLandingEnds:
    found = EFFECTS.effect(plan.step("record-landing-ends"))
    assert isinstance(found, RecordLandingEnds)
    return found


def rules(plan: Plan, step: str) -> set[str]:
    """Principals that a step denies writing, or lets write again."""
    rows = plan.step(step).arguments["rules"]
    return {principal for principal, operation, *_ in rows if operation == "WRITE"}


@PLANNED
def test_a_planned_move_keeps_it_off_the_target_until_that_is_primary(plan: Plan) -> None:
    """Denied at the source it might turn up at the target before its records there are drained."""
    assert all(gate.outcome == "ok" for gate in plan.gates)
    assert plan.step("keep-off").arguments["cluster"] == plan.target
    assert rules(plan, "keep-off") == {"User:checkout"}
    assert "keep-off" in needs(plan, "deny-writing")
    assert {"record-landing-ends", RECORD_PRIMARY} <= needs(plan, "let-in")
    assert rules(plan, "let-in") == {"User:checkout"}
    assert rules(plan, "thaw") == {"User:settlement"}
    assert "let-in" in needs(plan, "producers-write")


@PLANNED
def test_it_is_denied_at_the_source_and_neither_stopped_nor_started(plan: Plan) -> None:
    """Fenced as all others."""
    assert rules(plan, "deny-writing") == {"User:checkout", "User:settlement"}
    for step in plan.steps:
        assert "producer-checkout" not in step.arguments.get("clients", ())


@pytest.mark.parametrize("plan", [SWITCHOVER, FAILBACK, DEGRADED], ids=["switchover", "failback", "sick"])
def test_letting_it_in_is_behind_everything_that_can_be_taken_back(plan: Plan) -> None:
    """It may write at once."""
    assert plan.step("let-in").irreversible
    undoable = {step.id for step in plan.steps if step.compensation is not None}
    # The group sync asks the sick side for one group after the other: nobody waits for it.
    assert undoable - needs(plan, "let-in") <= ({"stop-group-sync"} if plan is DEGRADED else set())
    assert all(plan.step(step).on_failure == "undo" for step in needs(plan, "let-in") if plan is DEGRADED)


def test_a_target_without_an_authorizer_refuses_the_planned_move() -> None:
    """Nothing could keep it off there. Without such a producer nobody asks."""
    picture = with_cluster(test_switchover.picture(), "east", access=part(AccessState("", None, "")))
    (gate,) = (g for g in plan_switchover(FILE, picture, test_switchover.REQUEST).gates if g.outcome != "ok")
    assert (gate.id, gate.outcome, gate.measured) == ("fenceable-target", "refused", "no authorizer")
    assert plan_switchover(topology(), picture, test_switchover.REQUEST).is_allowed


def test_a_failover_does_not_pass_over_what_it_has_written_before_the_decision() -> None:
    """It may have been at the target for minutes: in its topics the loss counts, not the decision."""
    landing = landing_ends(FAILOVER)
    assert (landing.early, landing.is_since_unknown) == (("orders",), False)
    for plan in (SWITCHOVER, FAILBACK):
        assert not plan.step("record-landing-ends").arguments.get("early"), "there it is kept off"


def test_leaving_a_sick_site_begins_where_the_log_starts() -> None:
    """It was lost at no moment: such a producer may have moved an hour ago."""
    landing = landing_ends(DEGRADED)
    assert (landing.early, landing.is_since_unknown) == (("orders",), True)
    assert landing_ends(plan_failover(SICK_FILE, sick_picture(), SICK_REQUEST)).early == ()


def test_leaving_a_sick_site_keeps_it_off_the_target_until_that_is_primary() -> None:
    """Taken back, nothing of it is to be found there."""
    assert rules(DEGRADED, "keep-off") == rules(DEGRADED, "let-in") == {"User:checkout"}
    assert DEGRADED.step("keep-off").arguments["cluster"] == DEGRADED.target
    assert "keep-off" in needs(DEGRADED, "deny")
    assert RECORD_PRIMARY in needs(DEGRADED, "let-in")
    assert "keep-off" in needs(DEGRADED, "let-in")
    assert "let-in" in needs(DEGRADED, "producers-write")
    assert "before-roaming" not in {step.id for step in DEGRADED.steps}


def test_what_cannot_be_kept_off_the_target_is_counted_and_named() -> None:
    """A sick site is left all the same."""
    seen = with_cluster(sick_picture(), "east", access=part(AccessState("", None, "")))
    plan = plan_failover(self_redirecting(SICK_FILE, "checkout"), seen, SICK_REQUEST)
    assert plan.is_allowed
    assert "keep-off" not in {step.id for step in plan.steps}
    assert "let-in" not in {step.id for step in plan.steps}
    early = EFFECTS.effect(plan.step("before-roaming"))
    assert isinstance(early, RecordEarlyEnds)
    assert early.topics == ("orders",)
    assert plan.step("before-roaming").compensation == RecordEarlyEnds.NAME
    assert "before-roaming" in needs(plan, "deny")
    world = AnyWorld(plan=plan, fails={"drain": StepOutcome("failed", "7 records are not copied")})
    run_inline(plan, world)
    done = [(record.kind, record.step) for record in world.records]
    assert done.index(("undo-outcome", "deny")) < done.index(("undo-outcome", "before-roaming"))
    assert (world.problems, world.left) == ([], set())


def test_killed_anywhere_leaving_a_sick_site_lets_it_in_at_the_end() -> None:
    """Kept off, let in, and never both."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.effects == {step.id for step in DEGRADED.steps}

    assert crash_everywhere(DEGRADED, lambda: AnyWorld(plan=DEGRADED), check, second_every=449) > 100


def test_killed_anywhere_such_a_move_comes_to_the_same_end() -> None:
    """Also between its being kept off and let in."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.effects == {step.id for step in SWITCHOVER.steps}

    assert crash_everywhere(SWITCHOVER, lambda: AnyWorld(plan=SWITCHOVER), check, second_every=449) > 100


def test_taken_back_it_may_write_at_the_source_again_and_was_never_let_in() -> None:
    """The move fails when it is drained."""
    world = AnyWorld(plan=SWITCHOVER, fails={"drain": StepOutcome("failed", "7 records are not copied")})
    run_inline(SWITCHOVER, world)
    done = {(record.kind, record.step) for record in world.records}
    assert ("step-intent", "let-in") not in done
    assert {("undo-outcome", "keep-off"), ("undo-outcome", "deny-writing")} <= done


@pytest.mark.parametrize(
    "plan", [FAILOVER, SWITCHOVER, FAILBACK, DEGRADED], ids=["failover", "switchover", "failback", "sick"]
)
def test_every_name_in_the_plan_is_known_to_the_runner(plan: Plan) -> None:
    """Every step is an effect whose arguments fit."""
    assert_all_known(plan)
