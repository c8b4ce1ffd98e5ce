"""The engine on a small plan: order, failures beside each other, the lock, and crashes at every point."""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import dataclass, field, replace

import pytest

from orchestrator.adapters.clock import SystemClock
from orchestrator.errors import CoordinationError, GateRefusedError
from orchestrator.runs.engine import Ports, Results, RunEnd, StepOutcome, run_plan
from orchestrator.runs.plan import GateResult, Plan, RunEvent, Step
from tests.runs.crashes import CrashingJournal, crash_everywhere, run_inline


@dataclass
class World(CrashingJournal):
    """Effects that survive a crash of the orchestrator, and steps that go wrong on demand."""

    effects: list[str] = field(default_factory=list)
    fails: dict[str, StepOutcome] = field(default_factory=dict)
    raises: dict[str, str] = field(default_factory=dict)
    cancelled: int = 0

    def perform(self, step: Step, results: Results) -> StepOutcome:
        assert set(step.depends_on) <= set(results), "a step began before what it waits for"
        self.point()
        if step.id in self.fails:
            return self.fails[step.id]
        self.effects.append(step.id)
        self.point()
        if step.id in self.raises:
            raise CoordinationError(step.id, self.raises[step.id])
        return StepOutcome("ok", result={"of": step.id})

    def verify(self, step: Step, _results: Results) -> StepOutcome:
        self.point()
        done = step.id in self.effects
        return StepOutcome("ok" if done else "failed", result={"of": step.id} if done else {})

    def compensate(self, step: Step, _results: Results) -> StepOutcome:
        raise AssertionError(f"{step.id} has no compensation")

    verify_undone = compensate

    def cancel(self) -> None:
        self.cancelled += 1


def a_step(step_id: str, *needed: str, verify: str | None = "look") -> Step:
    return Step(id=step_id, phase="fence", title=step_id, action="do", depends_on=needed, verify=verify)


def a_plan(*steps: Step, outcome: str = "ok") -> Plan:
    gate = GateResult(id="g", outcome=outcome, measured="", limit="", reason="")  # type: ignore[arg-type]
    return Plan(
        verb="failover",
        topology="t",
        source="west",
        target="east",
        request={},
        created_at_s=0,
        expires_at_s=60,
        topology_digest="",
        observed={},
        gates=(gate,),
        steps=steps,
    )


DIAMOND = a_plan(
    a_step("a"), a_step("b", "a"), a_step("measure", "a", verify=None), a_step("d", "b", "measure")
)


def test_each_step_is_journalled_before_and_after() -> None:
    """The intent stands in the journal before the effect, the outcome after it."""
    world = World()
    assert run_inline(DIAMOND, world).outcome == "ok"
    for step in ("a", "b", "d"):
        kinds = [record.kind for record in world.records if record.step == step]
        assert kinds == ["step-intent", "step-outcome"]
    assert world.effects == ["a", "b", "measure", "d"]
    assert [record.sequence for record in world.records] == list(range(1, len(world.records) + 1))


def test_independent_steps_run_side_by_side_in_threads() -> None:
    """The same outcome with real threads."""
    world = World()
    wide = a_plan(*(a_step(f"s{number}") for number in range(20)))
    assert run_inline(wide, world, threads=True).outcome == "ok"
    assert len(world.effects) == 20


def test_a_failed_step_stops_those_that_wait_for_it_and_no_others() -> None:
    """What can still be done is done; the run says what was not."""
    world = World(fails={"b": StepOutcome("failed", "no")})
    end = run_inline(DIAMOND, world)
    assert end.outcome == "incomplete"
    assert world.effects == ["a", "measure"]
    assert "b failed: no" in end.reason
    assert "not done: d" in end.reason


def test_an_error_after_the_effect_is_no_failure() -> None:
    """The verification decides, not the error."""
    world = World(raises={"a": "connection lost"})
    assert run_inline(DIAMOND, world).outcome == "ok"


def test_a_disk_that_takes_no_more_ends_a_step_and_not_the_process() -> None:
    """An error of the operating system is judged like any other: by what can be seen of the step."""

    def full(*_: object) -> StepOutcome:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "/mnt/west/checkpoints")

    world = World()
    world.verify = full  # type: ignore[method-assign]
    end = run_inline(a_plan(a_step("a")), world)
    assert end.outcome == "unknown"
    assert "/mnt/west/checkpoints: Read-only file system" in end.reason


def test_an_unknown_outcome_is_never_success() -> None:
    """Unknown is the run's outcome too, whatever else went well."""
    world = World(fails={"b": StepOutcome("failed", "?")})
    world.verify = lambda *_: StepOutcome("unknown", "cannot tell")  # type: ignore[method-assign]
    end = run_inline(a_plan(a_step("a"), a_step("b")), world)
    assert end.outcome == "unknown"


def test_a_plan_with_a_refused_gate_is_not_run_inline() -> None:
    """Nothing is written and nothing is done."""
    for outcome in ("refused", "unknown"):
        world = World()
        with pytest.raises(GateRefusedError):
            run_inline(replace(DIAMOND, gates=a_plan(outcome=outcome).gates), world)
        assert (world.effects, world.records) == ([], [])


def test_nothing_is_begun_after_the_lock_is_lost() -> None:
    """The step in flight ends; no further one begins, and the run says why."""
    world = World()
    perform = world.perform

    def losing(step: Step, results: Results) -> StepOutcome:
        if step.id == "a":
            world.holders[0]("the session has expired")
        return perform(step, results)

    world.perform = losing  # type: ignore[method-assign]
    end = run_inline(DIAMOND, world)
    assert end.outcome == "incomplete"
    assert world.effects == ["a"]
    assert "the session has expired" in end.reason
    assert world.cancelled


def test_a_lost_lock_ends_what_is_under_way() -> None:
    """Another may hold the lock by now: a step that waits is told at once, not at its own end."""
    world = World()
    told = threading.Event()
    world.cancel = told.set  # type: ignore[method-assign]

    def waiting(step: Step, results: Results) -> StepOutcome:
        world.holders[0]("the session has expired")
        return StepOutcome("failed", "interrupted" if told.wait(10) else f"{step.id} was never told")

    world.perform = waiting  # type: ignore[method-assign]
    end = run_inline(a_plan(a_step("a")), world, threads=True)
    assert "a failed: interrupted" in end.reason


def test_a_journal_that_cannot_be_written_stops_the_run_inline() -> None:
    """Without its intent in the journal no step begins."""
    world = World()
    append = world.append

    def failing(record: RunEvent) -> None:
        if record.step == "b":
            raise CoordinationError("journal", "gone")
        append(record)

    world.append = failing  # type: ignore[method-assign]
    end = run_inline(DIAMOND, world)
    assert end.outcome == "incomplete"
    assert "b" not in world.effects
    assert "journal: gone" in end.reason
    assert world.cancelled


def test_an_interruption_cancels_what_waits_and_goes_up() -> None:
    """Ctrl-C ends the run soon; the journal holds all that a resumed run needs."""
    world = World()
    cancelled: list[bool] = []
    world.cancel = lambda: cancelled.append(True)  # type: ignore[method-assign]

    def interrupt(record: RunEvent) -> None:
        if record.step == "b":
            raise KeyboardInterrupt

    ports = Ports(world, world, world, world)
    with pytest.raises(KeyboardInterrupt):
        run_plan(DIAMOND, "run-1", ports, on_event=interrupt)
    assert cancelled
    assert run_inline(DIAMOND, world).outcome == "ok"
    assert sorted(world.effects) == ["a", "b", "d", "measure"]


def test_a_crash_at_any_point_and_again_in_the_resumed_run_changes_nothing() -> None:
    """Before and after each effect and each record: resumed, the end is that of an undisturbed run."""

    def check(world: World) -> None:
        assert set(world.effects) == {"a", "b", "measure", "d"}
        for step in ("a", "b", "d"):
            assert world.effects.count(step) == 1, "an effect was made twice"
        assert world.records[-1].kind == "run-ended"
        assert world.records[-1].data["outcome"] == "ok"

    assert crash_everywhere(DIAMOND, World, check) > 300


def test_nobody_who_listens_ends_no_run() -> None:
    """A pipe that is closed while the run is told: the journal has it, and the run goes to its end."""
    world = World()
    world.holder = world.process = "process-1"

    def tell(_: RunEvent) -> None:
        raise BrokenPipeError

    end = run_plan(DIAMOND, "run-1", Ports(world, world, world, world), on_event=tell)
    assert end.outcome == "ok"
    assert [record.kind for record in world.records][-1] == "run-ended"
    assert world.cancelled == 0


def test_a_journal_that_breaks_in_an_unheard_of_way_begins_nothing_more() -> None:
    """What is not known to be written counts as not written."""
    world = World()
    written = world.append

    def append(record: RunEvent) -> None:
        if record.step == "b":
            raise RuntimeError("connection dropped")
        written(record)

    world.append = append  # type: ignore[method-assign]
    end = run_inline(DIAMOND, world)
    assert end.outcome == "incomplete"
    assert "RuntimeError: connection dropped" in end.reason
    assert "b" not in world.effects
    world.append = written  # type: ignore[method-assign]
    assert run_inline(DIAMOND, world).outcome == "ok"


class Hanging(World):
    """One step hangs until it is let go, as a call to a mount whose server is gone."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self.step = step
        self.let_go = threading.Event()

    def perform(self, step: Step, results: Results) -> StepOutcome:
        if step.id == self.step and not self.let_go.is_set():
            self.let_go.wait(60)
            return StepOutcome("ok", "too late")
        return super().perform(step, results)


def test_a_step_that_never_comes_back_is_unknown_and_the_run_ends_without_it() -> None:
    """What does not wait for it is done; it is looked at when the run is gone on with."""
    world = Hanging("b")
    end = _in_threads(DIAMOND, world)
    assert end.outcome == "unknown"
    assert "b unknown: has not answered for 0 s, and may still be running" in end.reason
    assert world.effects == ["a", "measure"]
    assert world.cancelled == 1, "what it is at may be told to write no more"
    world.let_go.set()
    assert run_inline(DIAMOND, world).outcome == "ok"
    assert [record.sequence for record in world.records] == list(range(1, len(world.records) + 1))


def test_a_run_is_not_taken_back_under_a_step_that_may_still_be_at_it() -> None:
    """Its effect would come about behind its own compensation: another process takes it back."""
    freeze = replace(
        a_step("freeze", verify=None), compensation="undo", on_failure="undo", verify_undone=None
    )
    world = Hanging("freeze")
    end = _in_threads(a_plan(freeze), world)
    assert end.outcome == "unknown"
    assert "not rolled back by this process, in which freeze may still be running" in end.reason
    assert not [record for record in world.records if record.kind.startswith("undo")]
    world.let_go.set()
    world.compensate = lambda *_: StepOutcome("ok")  # type: ignore[method-assign]
    assert run_inline(a_plan(freeze), world).outcome == "undone"


def _in_threads(plan: Plan, world: Hanging) -> RunEnd:
    """Patience with all but the one that hangs."""
    world.holder = world.process = "process-1"
    ports = Ports(
        world, world, world, SystemClock(), patience_s=lambda step: 0.05 if step.id == world.step else 60.0
    )
    try:
        return run_plan(plan, "run-1", ports, records=tuple(world.records))
    finally:
        world.holder = ""
