"""Leaving a sick site, killed at every point: gone on with, taken back, and overtaken while it slept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.runs.engine import StepOutcome
from orchestrator.runs.plan import Plan
from orchestrator.verbs.plans import plan_failover
from tests.runs.any_world import AnyWorld, kept
from tests.runs.crashes import ABORT, crash_everywhere, stall_everywhere
from tests.verbs.degraded_pictures import FILE, NO_CONTROLLER, PARTITIONS, REQUEST, left, picture

FENCED = plan_failover(FILE, picture(), REQUEST)
AWAY = {PARTITIONS[0]: "its leader, broker 3, does not answer"}
UNFENCED = plan_failover(
    FILE,
    picture(replace(left(brokers=1, unread=AWAY), controller=NO_CONTROLLER)),
    replace(REQUEST, accept_unfenced=True),
)
BOTH = pytest.mark.parametrize("plan", [FENCED, UNFENCED], ids=["fenced", "unfenced"])


@BOTH
def test_killed_anywhere_it_ends_as_if_undisturbed(plan: Plan) -> None:
    """Killed twice, at every point in its turn."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.effects == {step.id for step in plan.steps}

    assert crash_everywhere(plan, lambda: AnyWorld(plan=plan), check, second_every=61) > 100


@BOTH
def test_killed_anywhere_and_aborted_the_source_is_open_again_or_nothing_is_touched(plan: Plan) -> None:
    """Before the first client at the target all goes back, the fence too; after it nothing does."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.left == kept(world)
        assert world.left == set() or "stop-left" in world.left

    assert (
        crash_everywhere(plan, lambda: AnyWorld(plan=plan), check, second_every=79, second_undo=ABORT) > 100
    )


@pytest.mark.parametrize("step", ["deny", "stands-still", "drain", "account-loss"])
def test_what_does_not_end_well_is_taken_back_wherever_it_is_killed(step: str) -> None:
    """Still written, more left uncopied than allowed, nobody can say: the applications work on at the source."""

    def failing() -> AnyWorld:
        return AnyWorld(plan=FENCED, fails={step: StepOutcome("failed", "7 records are not copied")})

    def check(world: AnyWorld) -> None:
        assert (world.problems, world.left) == ([], set())
        assert world.records[-1].data["outcome"] == "undone"

    assert crash_everywhere(FENCED, failing, check, second_every=83) > 40


def test_a_process_that_slept_through_the_takeover_harms_nothing() -> None:
    """SIGSTOP at every point, another finishes, SIGCONT."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.effects == {step.id for step in FENCED.steps}
        assert {step for who, step in world.made_by if who.startswith("late")} <= world.in_flight

    assert stall_everywhere(FENCED, lambda: AnyWorld(plan=FENCED), check) > 50
