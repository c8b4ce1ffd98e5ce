"""A person's hold in the middle of a run: wherever it is put, nothing more is begun, and nothing is lost."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from orchestrator.errors import CoordinationError
from orchestrator.runs.engine import Ports, RunEnd, UndoAsked, run_plan
from orchestrator.runs.plan import Plan
from tests.runs.any_world import AnyWorld
from tests.runs.crashes import ABORT, InlineExecutor
from tests.runs.test_failover_crashes import PLAN as FAILOVER
from tests.verbs.test_switchover import PLAN as SWITCHOVER


@dataclass
class HeldWorld(AnyWorld):
    """A hold is put at the point `held_at`; 0 for never, and `unreadable` where nobody can tell."""

    held_at: int = 0
    unreadable: bool = False

    def reason(self) -> str:
        if self.unreadable:
            raise CoordinationError("coordination", "no answer")
        return "all is held by bob: stop" if 0 < self.held_at <= self.points else ""


def run_held(plan: Plan, world: HeldWorld, undo: UndoAsked | None = None) -> RunEnd:
    world.holder = world.process = "process-1"
    ports = Ports(world, world, world, world, world)
    return run_plan(plan, "run-1", ports, records=tuple(world.records), undo=undo, executor=InlineExecutor())


@pytest.mark.parametrize("plan", [FAILOVER, SWITCHOVER], ids=["failover", "switchover"])
def test_held_anywhere_it_begins_nothing_more_and_goes_on_later(plan: Plan) -> None:
    """Stopped there or back, the journal has no gap, and the end is that of an undisturbed run."""
    undisturbed = HeldWorld(plan=plan)
    assert run_held(plan, undisturbed).outcome == "ok"
    for held_at in range(1, undisturbed.points + 1):
        world = HeldWorld(plan=plan, held_at=held_at)
        end = run_held(plan, world)
        held_from = next((r.sequence for r in world.records if r.kind == "run-ended"), 0)
        if end.outcome != "ok":
            assert end.outcome == "incomplete"
            assert "held by bob" in end.reason
            assert held_from == len(world.records)
        else:
            assert world.effects == undisturbed.effects, "the hold came after the last step had begun"
        world.held_at = 0
        if end.outcome != "ok":
            assert run_held(plan, world).outcome == "ok"
        assert world.problems == []
        assert world.effects == undisturbed.effects
        numbers = [record.sequence for record in world.records]
        assert numbers == list(range(1, len(numbers) + 1))


def test_held_while_it_is_taken_back_it_stops_there_too() -> None:
    """What is not undone is named, and undone once nobody holds it."""
    first = HeldWorld(plan=SWITCHOVER, held_at=20)
    run_held(SWITCHOVER, first)
    begun = set(first.left)
    assert begun
    end = run_held(SWITCHOVER, first, ABORT)
    assert end.outcome == "incomplete"
    assert "held by bob" in end.reason
    assert first.left == begun
    first.held_at = 0
    assert run_held(SWITCHOVER, first).outcome == "undone"
    assert first.left == set()


def test_where_nobody_can_tell_nothing_is_begun() -> None:
    """An unreadable hold is no leave."""
    world = HeldWorld(plan=FAILOVER, unreadable=True)
    end = run_held(FAILOVER, world)
    assert end.outcome == "incomplete"
    assert "whether somebody has put a hold on it is unknown" in end.reason
    assert world.effects == set()
