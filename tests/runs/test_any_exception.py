"""An exception out of any effect, verification or way back, of any verb: told where, and gone on from.

Each step of each verb's own plan raises once at each place where its code may; whatever it is (a KeyError, a
corrupt record, an error of our own), it is that step's alone.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, get_args

import pytest

from orchestrator.errors import ClusterError
from orchestrator.runs.engine import Results, RunEnd, StepOutcome
from orchestrator.runs.plan import Plan, Step
from orchestrator.snapshot.observation import AccessState
from orchestrator.topology.hooks import Hooks
from orchestrator.topology.model import Topology
from orchestrator.verbs.plans import plan_failback, plan_failover, plan_switchover
from tests.moves import test_ways
from tests.moves.test_fence_crashes import fence_plan
from tests.moves.test_leaders import evacuation_plan, leaders_plan, put_back_plan, site_loss_plan
from tests.moves.test_runbook import plan_of
from tests.reconcile.test_apply_crashes import a_changing_world
from tests.runs.any_world import AnyWorld, kept
from tests.runs.crashes import ABORT, run_inline
from tests.verbs import degraded_pictures, failback_pictures, pictures, test_switchover
from tests.verbs.known_names import OF_MOVES

Place = Literal["before the effect", "after the effect", "looking"]
PLACES: tuple[Place, ...] = get_args(Place)
ERRORS = (KeyError("currency-rates"), zlib.error("incorrect header check"), ClusterError("east", "boom"))


HOOKS = Hooks(pre_failover="hooks/pre.yml", post_failover="hooks/post.yml")


def _moving_itself(file: Topology) -> Topology:
    """Its first producer moves itself."""
    first, *others = file.producers
    return replace(file, producers=(replace(first, moved_by="itself"), *others))


@cache
def plans() -> Mapping[str, Plan]:
    """One of each verb, and of what changes its steps: together they have every effect of a move."""
    file = pictures.topology()
    self_redirecting = _moving_itself(file)
    picture = test_switchover.picture()
    return {
        "failover": plan_failover(file, pictures.observation(), pictures.REQUEST),
        "sick": plan_failover(degraded_pictures.FILE, degraded_pictures.picture(), degraded_pictures.REQUEST),
        "open": plan_failover(
            replace(_moving_itself(degraded_pictures.FILE), hooks=HOOKS),
            pictures.with_cluster(
                degraded_pictures.picture(), "east", access=pictures.part(AccessState("", None, ""))
            ),
            degraded_pictures.REQUEST,
        ),
        "switchover": plan_switchover(file, picture, test_switchover.REQUEST),
        "roaming": plan_switchover(self_redirecting, picture, test_switchover.REQUEST),
        "failback": plan_failback(file, failback_pictures.picture(), failback_pictures.REQUEST),
        "along": plan_of(test_ways.between_copies().book),
        "centre lost": plan_of(test_ways.a_group_whose_place_is_gone().book),
        "site home": plan_of(test_ways.home_from_the_other_site().book),
        "within": plan_of(test_ways.switched(test_ways.within_one_cluster("whole")).book),
        "fence": fence_plan("fence"),
        "unfence": fence_plan("unfence"),
        "leaders": leaders_plan(),
        "evacuate": evacuation_plan(),
        "put-back": put_back_plan(),
        "site-loss": site_loss_plan(),
        "apply": a_changing_world().plan(),
    }


VERBS = (
    "failover",
    "sick",
    "open",
    "switchover",
    "roaming",
    "failback",
    "along",
    "centre lost",
    "site home",
    "within",
    "fence",
    "unfence",
    "leaders",
    "evacuate",
    "put-back",
    "site-loss",
    "apply",
)


@dataclass
class Raising(AnyWorld):
    """One step raises, at one place, on the way there or back."""

    step: str = ""
    place: Place = "looking"
    way: Literal["do", "undo"] = "do"
    error: Exception | None = None
    raised: int = 0

    def _raise(self, step: Step, place: Place, way: str) -> None:
        if self.error is not None and (step.id, place, way) == (self.step, self.place, self.way):
            self.raised += 1
            raise self.error

    def perform(self, step: Step, results: Results) -> StepOutcome:
        self._raise(step, "before the effect", "do")
        found = super().perform(step, results)
        self._raise(step, "after the effect", "do")
        return found

    def verify(self, step: Step, results: Results) -> StepOutcome:
        self._raise(step, "looking", "do")
        return super().verify(step, results)

    def compensate(self, step: Step, results: Results) -> StepOutcome:
        self._raise(step, "before the effect", "undo")
        found = super().compensate(step, results)
        self._raise(step, "after the effect", "undo")
        return found

    def verify_undone(self, step: Step, results: Results) -> StepOutcome:
        self._raise(step, "looking", "undo")
        return super().verify_undone(step, results)


def cases(plan: Plan, way: Literal["do", "undo"]) -> Iterator[Raising]:
    """A world for each place; the errors take turns."""
    errors = itertools.cycle(ERRORS)
    for step in plan.steps:
        check = step.verify if way == "do" else step.verify_undone
        if way == "undo" and step.compensation is None:
            continue
        for place in PLACES:
            if place != "looking" or check is not None:
                yield Raising(plan=plan, step=step.id, place=place, way=way, error=next(errors))


def assert_told(world: Raising, end: RunEnd) -> None:
    """It happened, the run's end says where and what, and the journal is whole."""
    assert world.raised
    assert [record.sequence for record in world.records] == list(range(1, len(world.records) + 1))
    assert world.records[-1].kind == "run-ended"
    assert world.holder == ""
    assert world.problems == []
    assert world.step in end.reason
    assert "currency-rates" in end.reason or "incorrect header" in end.reason or "boom" in end.reason


def built_on(plan: Plan, step: str) -> set[str]:
    """Steps that wait for one, near and far."""
    found = {step}
    while more := {s.id for s in plan.steps if found & set(s.depends_on)} - found:
        found |= more
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_on_the_way_there_it_ends_no_other_step_and_the_run_can_be_gone_on_with(verb: str) -> None:
    """Unless the plan itself takes the run back for it. Resumed without the error, all is done."""
    plan = plans()[verb]
    everything = {step.id for step in plan.steps}
    for world in cases(plan, "do"):
        end, step = run_inline(plan, world), plan.step(world.step)
        if world.place == "after the effect" and step.verify is not None:
            assert end.outcome == "ok", "what can be looked at is judged by what is seen"
            assert world.effects == everything
            continue
        assert_told(world, end)
        if end.outcome == "undone":
            assert step.on_failure == "undo"
            assert world.left == set()
            continue
        expected = {"ok"} if step.on_failure == "note" else {"unknown", "incomplete"}
        assert end.outcome in expected
        assert world.effects >= everything - built_on(plan, step.id)
        if end.outcome == "ok":
            continue
        world.error = None
        assert run_inline(plan, world).outcome == "ok"
        assert world.effects == everything
        assert world.problems == []


@pytest.mark.parametrize("verb", VERBS)
def test_on_the_way_there_it_can_be_aborted_as_well(verb: str) -> None:
    """What can go goes; what nothing rolls back stays, with all that it was built on."""
    plan = plans()[verb]
    for world in cases(plan, "do"):
        if run_inline(plan, world).outcome in ("ok", "undone"):
            continue
        world.error = None
        run_inline(plan, world, undo=ABORT)
        assert world.left == kept(world)
        assert world.problems == []


@pytest.mark.parametrize("verb", VERBS)
def test_on_the_way_back_it_ends_no_other_compensation_and_can_be_gone_on_with(verb: str) -> None:
    """The promotion, or the last step, fails; the run is aborted, and one compensation raises."""
    plan = plans()[verb]
    standing = next((step.id for step in plan.in_order() if step.irreversible), plan.in_order()[-1].id)
    for world in cases(plan, "undo"):
        # Nothing irreversible comes about, so that everything can go.
        world.fails = {
            step.id: StepOutcome("failed", "not today")
            for step in plan.steps
            if step.irreversible or step.id == standing
        }
        first = run_inline(plan, world)
        end = first if first.state.undoing else run_inline(plan, world, undo=ABORT)
        step = plan.step(world.step)
        if not world.raised:
            assert step.id not in first.state.begun
            continue
        is_gone = world.place == "after the effect" or step.id in world.fails
        if is_gone and world.place != "looking" and step.verify_undone is not None:
            assert end.outcome == "undone", "what can be looked at is judged by what is seen"
            continue
        assert_told(world, end)
        assert end.outcome in ("unknown", "incomplete")
        needs = {s.id for s in plan.steps if step.id in built_on(plan, s.id)}
        assert world.left <= needs, "only what it is built on waits for it"
        world.error = None
        assert run_inline(plan, world).outcome == "undone"
        assert world.left == set()
        assert world.problems == []


# Of parts of a site, of groups at both sites, and of sites that have each other's applications:
# tests/twin/test_parts_killed.py, test_routes_killed.py
OF_OTHER_LAYOUTS = {
    "record-passed",
    "see-members",
    "pause-members",
    "resume-members",
    "see-fits",
    "set-mirror-behind-election",
}


def test_every_place_of_every_verb_has_its_turn() -> None:
    """The sweeps above are not empty, and leave out no effect of a move."""
    assert set(VERBS) == set(plans())
    named = {step.action for plan in plans().values() for step in plan.steps}
    assert {effect.NAME for effect in OF_MOVES} - named == OF_OTHER_LAYOUTS
    for plan in plans().values():
        assert {world.place for world in cases(plan, "do")} == set(PLACES)
        back = set(PLACES) if any(step.is_taken_back for step in plan.steps) else set()
        assert {world.place for world in cases(plan, "undo")} == back
