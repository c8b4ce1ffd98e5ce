"""A file's own playbooks around each verb: where they stand in the plan, and what their failure means."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import pytest

from orchestrator.moves.fence import FenceRequest
from orchestrator.moves.fence_runbook import plan_fence, plan_unfence
from orchestrator.reconcile.planning import plan_reconcile
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.engine import StepOutcome
from orchestrator.runs.hooks import RunHook
from orchestrator.runs.plan import Plan, plan_from_json, to_json
from orchestrator.topology.hooks import Hooks
from orchestrator.topology.model import Topology
from orchestrator.verbs.plans import plan_failback, plan_failover, plan_switchover
from orchestrator.verbs.registration import EFFECTS
from tests.reconcile.estates import empty
from tests.runs.any_world import AnyWorld, kept
from tests.runs.crashes import ABORT, crash_everywhere, run_inline
from tests.verbs import failback_pictures, test_switchover
from tests.verbs.pictures import REQUEST, observation, of_a_fence, part, topology

VERBS = ("failover", "switchover", "failback", "fence", "unfence", "apply")
EVERY = Hooks(**{f"{when}_{verb}": f"hooks/{when}.yml" for when in ("pre", "post") for verb in VERBS})


def hooked(file: Topology, hooks: Hooks = EVERY) -> Topology:
    return replace(file, hooks=hooks)


def plans() -> dict[str, Plan]:
    """Each verb's plan, of a file that has every hook."""
    file, ensemble = hooked(topology()), part(CoordinationState(""))
    fence = of_a_fence("east", ensemble)
    return {
        "failover": plan_failover(file, observation(), REQUEST),
        "switchover": plan_switchover(file, test_switchover.picture(), test_switchover.REQUEST),
        "failback": plan_failback(
            hooked(failback_pictures.topology()), failback_pictures.picture(), failback_pictures.REQUEST
        ),
        "fence": plan_fence(file, fence, FenceRequest(cluster="east")),
        "unfence": plan_unfence(file, fence, FenceRequest(cluster="east")),
        "apply": plan_reconcile(file, empty(file), coordination=ensemble),
    }


PLANS = plans()


@pytest.mark.parametrize("verb", VERBS)
def test_one_hook_is_before_everything_and_one_behind(verb: str) -> None:
    """And the runner knows them; the plan survives its file."""
    plan = PLANS[verb]
    others = {step.id for step in plan.steps} - {"pre-hook", "post-hook"}
    assert others
    assert nx.descendants(plan.graph(), "pre-hook") == others | {"post-hook"}
    assert nx.ancestors(plan.graph(), "post-hook") == others | {"pre-hook"}
    assert isinstance(EFFECTS.effect(plan.step("pre-hook")), RunHook)
    assert plan_from_json(to_json(plan)) == plan
    told = plan.step("pre-hook").arguments["variables"]
    assert (told["dcctl_verb"], told["dcctl_when"]) == (verb, "pre")


def test_a_file_without_hooks_has_no_such_steps() -> None:
    """And where nothing is to be applied, nobody is told of it."""
    assert not {"pre-hook", "post-hook"} & {step.id for step in test_switchover.PLAN.steps}


@pytest.mark.parametrize("verb", VERBS)
def test_a_pre_hook_that_fails_ends_the_run_with_nothing_done(verb: str) -> None:
    """It stands in nobody's way: the run counts as taken back."""
    world = AnyWorld(plan=PLANS[verb], fails={"pre-hook": StepOutcome("failed", "the cab is locked")})
    end = run_inline(PLANS[verb], world)
    assert end.outcome == "undone"
    assert "the cab is locked" in end.reason
    assert world.effects == set()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("how", ["failed", "unknown"])
def test_a_post_hook_that_fails_is_told_and_the_run_has_succeeded(verb: str, how: str) -> None:
    """What the run was for is done."""
    plan = PLANS[verb]
    world = AnyWorld(plan=plan, fails={"post-hook": StepOutcome(how, "pager is down")})  # type: ignore[arg-type]
    end = run_inline(plan, world)
    assert end.outcome == "ok"
    assert end.reason == f"post-hook {how}: pager is down"
    assert world.effects == {step.id for step in plan.steps} - {"post-hook"}
    assert world.records[-1].data["outcome"] == "ok"


def test_a_failing_step_is_not_hidden_by_a_failing_hook() -> None:
    """Only the hook's own failure is forgiven; behind a step that failed it never runs."""
    plan = PLANS["failover"]
    fails = {"write-offsets": StepOutcome("failed", "no"), "post-hook": StepOutcome("failed", "no")}
    end = run_inline(plan, AnyWorld(plan=plan, fails=fails))
    assert end.outcome == "incomplete"
    assert "post-hook" in end.reason.partition("not done:")[2]


@pytest.mark.parametrize("verb", ["failover", "switchover"])
@pytest.mark.parametrize("is_failing", [False, True])
def test_killed_anywhere_a_run_with_hooks_ends_as_if_undisturbed(verb: str, *, is_failing: bool) -> None:
    """Whether its last hook fails or not."""
    plan = PLANS[verb]
    fails = {"post-hook": StepOutcome("failed", "pager is down")} if is_failing else {}

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.effects == {step.id for step in plan.steps} - set(fails)
        assert world.records[-1].data["outcome"] == "ok"

    assert crash_everywhere(plan, lambda: AnyWorld(plan=plan, fails=dict(fails)), check, second_every=41) > 80


def test_killed_anywhere_and_aborted_nothing_stays_that_can_go() -> None:
    """With hooks as without."""
    plan = PLANS["switchover"]

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.left == kept(world)

    crash_everywhere(plan, lambda: AnyWorld(plan=plan), check, second_every=53, second_undo=ABORT)
