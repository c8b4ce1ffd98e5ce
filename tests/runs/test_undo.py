"""Taking a run back: order, what stands, turning round by itself, and crashes on the way back."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import GateRefusedError
from orchestrator.runs.engine import Results, StepOutcome, UndoAsked, kept_by, standing, state_from_journal
from orchestrator.runs.live.refusals import refuse_unless_undoable
from orchestrator.runs.plan import Outcome, Plan, Step
from tests.runs.any_world import AnyWorld, kept
from tests.runs.crashes import ABORT, crash_everywhere, kinds_of, run_inline, run_until, stall_everywhere
from tests.runs.test_engine import a_plan


def a_step(step_id: str, *needed: str, irreversible: bool = False, on_failure: str = "stop") -> Step:
    return Step(
        id=step_id,
        phase="fence",
        title=step_id,
        action="do",
        depends_on=needed,
        verify="is-there",
        compensation=None if irreversible else "undo",
        verify_undone=None if irreversible else "is-gone",
        irreversible=irreversible,
        on_failure=on_failure,  # type: ignore[arg-type]
    )


MEASURE = Step(id="measure", phase="fence", title="measure", action="do", depends_on=("freeze",))
# A move in small: everything up to the drain can be taken back, the promotion cannot.
MOVE = a_plan(
    a_step("freeze"),
    MEASURE,
    a_step("drain", "measure", on_failure="undo"),
    a_step("translate", "drain"),
    a_step("promote", "translate", irreversible=True),
    a_step("beside", "freeze"),
)


def a_world(plan: Plan = MOVE, **fails: StepOutcome) -> AnyWorld:
    return AnyWorld(plan=plan, fails=fails)


def test_an_abort_undoes_what_was_done_in_reverse_order() -> None:
    """Each compensation is journalled before and after, and what was built last goes first."""
    world = a_world(translate=StepOutcome("failed", "no"))
    assert run_inline(MOVE, world).outcome == "incomplete"
    end = run_inline(MOVE, world, undo=ABORT)
    assert (end.outcome, world.left, world.problems) == ("undone", set(), [])
    undone = [record.step for record in world.records if record.kind == "undo-outcome"]
    assert undone.index("translate") < undone.index("drain") < undone.index("freeze")
    assert list(kinds_of(world.records, "drain"))[-2:] == ["undo-intent", "undo-outcome"]
    assert world.records[-1].data == {"outcome": "undone", "stands": []}


def test_what_cannot_be_undone_keeps_what_it_was_built_on_and_is_named() -> None:
    """Beside it everything else goes."""
    world = a_world()
    assert run_inline(MOVE, world).outcome == "ok"
    end = run_inline(MOVE, world, undo=ABORT)
    assert end.outcome == "incomplete"
    assert world.left == {"freeze", "drain", "translate", "promote"}
    assert "cannot be rolled back: promote" in end.reason
    assert "kept because those rest on it: drain, freeze, translate" in end.reason
    state = state_from_journal(MOVE, "run-1", world.records)
    assert [step.id for step in standing(state)] == ["promote"]
    assert set(kept_by(state)) == {"freeze", "drain", "translate"}


def test_a_person_may_leave_by_name_what_cannot_be_undone() -> None:
    """Then the rest is taken back from under it; the journal names what stands, and does not call it undone."""
    world = a_world()
    run_inline(MOVE, world)
    world.plan = None  # nobody notices that something is undone under what stands: it was asked for
    end = run_inline(MOVE, world, undo=UndoAsked("rather so", frozenset({"promote"})))
    assert end.outcome == "incomplete"
    assert "left in place on request: promote" in end.reason
    assert "cannot be rolled back" not in end.reason
    assert world.effects == {"measure", "promote"}
    told = world.records[-1].data
    assert (told["outcome"], told["stands"], told["let_stand"]) == ("incomplete", ["promote"], ["promote"])


def test_what_may_stand_is_only_told_once_all_else_is_gone() -> None:
    """A compensation that fails is what the run is incomplete for."""
    world = a_world()
    run_inline(MOVE, world)
    world.plan = None
    world.compensate = lambda _step, _results: StepOutcome("failed", "no answer")  # type: ignore[method-assign]
    end = run_inline(MOVE, world, undo=UndoAsked("rather so", frozenset({"promote"})))
    assert end.outcome == "incomplete"
    assert "let_stand" not in world.records[-1].data


@pytest.mark.parametrize("outcome", ["failed", "partial", "unknown"])
def test_a_run_turns_round_by_itself_where_the_step_says_so(outcome: str) -> None:
    """A drain that does not come to its end: the freeze is taken back."""
    world = a_world(drain=StepOutcome("failed", "still 7 records behind"))
    if outcome == "partial":
        world.fails, world.halves = {}, {"drain"}
    if outcome == "unknown":
        looked_at = world.verify
        world.fails["drain"] = cannot_tell = StepOutcome("unknown", "no answer")
        world.verify = lambda step, _: cannot_tell if step.id == "drain" else looked_at(step, {})  # type: ignore[method-assign]
    end = run_inline(MOVE, world)
    assert (end.outcome, world.left) == ("undone", set())
    assert end.reason.startswith("drain failed")


def test_beyond_the_point_of_no_return_no_run_turns_round() -> None:
    """A failure there leaves the run to be resumed."""
    plan = replace(MOVE, steps=(*MOVE.steps, a_step("last", "promote", on_failure="undo")))
    world = a_world(plan, last=StepOutcome("failed", "no"))
    end = run_inline(plan, world)
    assert end.outcome == "incomplete"
    assert "promote" in world.left


def test_a_compensation_that_fails_keeps_what_lies_before_it_and_can_be_tried_again() -> None:
    """It is unknown on the way back, too."""
    world = a_world(translate=StepOutcome("failed", "no"))
    run_inline(MOVE, world)
    world.verify_undone = lambda *_: StepOutcome("unknown", "cannot tell")  # type: ignore[method-assign]
    end = run_inline(MOVE, world, undo=ABORT)
    assert end.outcome == "unknown"
    assert "undoing translate unknown: cannot tell" in end.reason
    assert "not undone: freeze, drain" in end.reason
    del world.verify_undone
    assert run_inline(MOVE, world).outcome == "undone", "a run that is taken back goes on with that"
    assert world.left == set()


def test_crashes_everywhere_in_a_run_and_its_abort() -> None:
    """At whatever point the run died, and its abort after it: what can go is gone."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.left == kept(world)
        assert world.records[-1].data["outcome"] == ("incomplete" if world.left else "undone")

    assert crash_everywhere(MOVE, a_world, check, second_undo=ABORT) > 300


def test_crashes_everywhere_in_a_run_that_turns_round() -> None:
    """Killed twice, a run that turns round by itself ends as one that was left alone."""

    def check(world: AnyWorld) -> None:
        assert (world.problems, world.left) == ([], set())
        assert world.records[-1].data["outcome"] == "undone"

    def failing() -> AnyWorld:
        return a_world(drain=StepOutcome("failed", "too slow"))

    assert crash_everywhere(MOVE, failing, check) > 300


def test_a_process_that_slept_through_the_loss_of_its_lock_does_at_most_what_was_in_flight() -> None:
    """Wherever it was stopped: another finishes the run, and the first makes no effect that it began later."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.effects == {step.id for step in MOVE.steps}
        late = [step for who, step in world.made_by if who.startswith("late")]
        assert set(late) <= world.in_flight
        assert len(late) == len(set(late))

    assert stall_everywhere(MOVE, a_world, check) > 20


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any order of steps: measurements, effects that can be undone, and such that cannot."""
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 7))):
        needed = tuple(step.id for step in steps if draw(st.booleans()))
        step = a_step(
            f"s{number}",
            *needed,
            irreversible=draw(st.integers(0, 4)) == 0,
            on_failure=draw(st.sampled_from(["stop", "undo"])),
        )
        if draw(st.integers(0, 3)) == 0:
            step = replace(step, verify=None, compensation=None, verify_undone=None, irreversible=False)
        steps.append(step)
    return a_plan(*steps)


@given(plan=plans(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_any_plan_killed_anywhere_resumes_or_goes_back(plan: Plan, data: st.DataObject) -> None:
    """Any graph, any failing step, two crashes and an abort: order holds, and the end is the right one."""
    failing = data.draw(st.sampled_from([None, *(step.id for step in plan.steps)]))
    is_half = data.draw(st.booleans())
    world = a_world(plan, **({failing: StepOutcome("failed", "no")} if failing and not is_half else {}))
    world.halves = {failing} if failing and is_half else set()
    run_until(plan, world, data.draw(st.integers(1, 60)))
    is_abort = data.draw(st.booleans())
    run_until(plan, world, data.draw(st.integers(1, 60)), ABORT if is_abort else None)
    run_until(plan, world, -1, ABORT if is_abort else None)
    assert world.problems == []
    outcome = world.records[-1].data["outcome"]
    if is_abort:
        assert world.left == kept(world)
    elif outcome == "undone":
        assert world.left == set()
    elif failing is None:
        assert outcome == "ok"
        assert world.effects == {step.id for step in plan.steps}


def a_half(step: str, plan: Plan = MOVE) -> AnyWorld:
    """One step comes about in part."""
    return AnyWorld(plan=plan, halves={step})


def test_what_nothing_takes_back_stands_also_in_part() -> None:
    """It is no failure, of which nothing stands: an abort keeps what it was built on, here and later."""
    world = a_half("promote")
    end = run_inline(MOVE, world)
    assert end.outcome == "incomplete"
    assert end.reason == "promote partial: still there: bob; lifted: ada"
    state = state_from_journal(MOVE, "run-1", world.records)
    assert [step.id for step in standing(state)] == ["promote"]
    assert [step.id for step in standing(end.state)] == ["promote"]
    with pytest.raises(
        GateRefusedError,
        match=r"cannot be rolled back any more: since .* steps were done that cannot be undone: promote",
    ):
        refuse_unless_undoable(state, world.records, frozenset(), "nothing is held")
    end = run_inline(MOVE, world, undo=ABORT)
    assert end.outcome == "incomplete"
    assert "cannot be rolled back: promote" in end.reason
    assert world.left == {"freeze", "drain", "translate", "promote"}


def test_what_stands_in_part_may_be_let_stand_by_name() -> None:
    """As what stands whole."""
    world = a_half("promote")
    run_inline(MOVE, world)
    refuse_unless_undoable(
        state_from_journal(MOVE, "run-1", world.records),
        world.records,
        frozenset({"promote"}),
        "nothing is held",
    )
    world.plan = None  # nobody notices that something is undone under what stands: it was asked for
    end = run_inline(MOVE, world, undo=UndoAsked("rather so", frozenset({"promote"})))
    assert (end.outcome, world.effects) == ("incomplete", {"measure", "promote"})
    assert world.records[-1].data["let_stand"] == ["promote"]


def test_what_stands_in_part_is_completed_when_the_run_goes_on() -> None:
    """It is looked at, and done again; also where it cannot be looked at."""
    blind = a_plan(*(replace(step, verify=None) for step in MOVE.steps))
    for plan, half in itertools.product((MOVE, blind), ("freeze", "promote")):
        world = a_half(half, plan)
        assert run_inline(plan, world).outcome == "incomplete"
        world.halves.clear()
        world.effects.discard(half)
        assert run_inline(plan, world).outcome == "ok"
        assert world.effects == {step.id for step in plan.steps}


def test_what_was_done_in_part_is_taken_back() -> None:
    """Compensated like what was done as a whole; the journal has the word for it."""
    for verify in ("is-there", None):
        plan = a_plan(*(replace(step, verify=verify) for step in MOVE.steps))
        world = a_half("translate", plan)
        assert run_inline(plan, world).outcome == "incomplete"
        (told,) = [r for r in world.records if (r.kind, r.step) == ("step-outcome", "translate")]
        assert (told.outcome, told.message) == ("partial", "still there: bob; lifted: ada")
        assert run_inline(plan, world, undo=ABORT).outcome == "undone"
        assert (world.left, world.problems) == (set(), [])


def test_a_run_that_only_notes_what_was_done_in_part_has_done_what_it_was_for() -> None:
    """And says of which step not all is done."""
    noted = replace(a_step("tell", "promote"), on_failure="note", compensation=None)
    plan = replace(MOVE, steps=(*MOVE.steps, noted))
    end = run_inline(plan, a_half("tell", plan))
    assert (end.outcome, end.reason) == ("ok", "tell partial: still there: bob; lifted: ada")


@pytest.mark.parametrize("seen", ["failed", "partial"])
def test_what_was_taken_back_in_part_is_taken_back_again(seen: Outcome) -> None:
    """Until then the run is incomplete, and what it was built on stays. What was tried is never nothing."""
    world = a_world(translate=StepOutcome("failed", "no"))
    run_inline(MOVE, world)
    half = StepOutcome("partial", "still there: bob")
    world.compensate = lambda *_: half  # type: ignore[method-assign]
    world.verify_undone = lambda *_: replace(half, outcome=seen)  # type: ignore[method-assign]
    end = run_inline(MOVE, world, undo=ABORT)
    assert end.outcome == "incomplete"
    assert "undoing translate partial: still there: bob" in end.reason
    assert "not undone: freeze, drain" in end.reason
    del world.compensate, world.verify_undone
    assert (run_inline(MOVE, world).outcome, world.left) == ("undone", set())


@pytest.mark.parametrize("before", ["failed", "unknown"])
def test_a_journal_that_called_it_otherwise_is_read_as_partial(before: Outcome) -> None:
    """Earlier it was failed or unknown, with a mark beside it."""
    world = a_half("promote")
    run_inline(MOVE, world)
    (told,) = [r for r in world.records if (r.kind, r.step) == ("step-outcome", "promote")]
    earlier = replace(told, outcome=before, data={**told.data, "in_part": True})
    records = [earlier if record == told else record for record in world.records]
    assert state_from_journal(MOVE, "run-1", records) == state_from_journal(MOVE, "run-1", world.records)


@pytest.mark.parametrize("half", ["freeze", "drain", "promote", "beside"])
def test_crashes_everywhere_in_a_run_of_which_one_step_is_done_in_part(half: str) -> None:
    """Resumed and aborted: what can go is gone, and what stands in part keeps what it was built on."""

    def check(world: AnyWorld) -> None:
        assert world.problems == []
        assert world.records[-1].data["outcome"] == ("undone" if half == "drain" else "incomplete")
        assert half == "drain" or half in world.left

    def check_undone(world: AnyWorld) -> None:
        assert (world.problems, world.left) == ([], kept(world))
        assert world.records[-1].data["outcome"] == ("incomplete" if world.left else "undone")

    assert crash_everywhere(MOVE, lambda: a_half(half), check, second_every=7) > 20
    assert crash_everywhere(MOVE, lambda: a_half(half), check_undone, second_every=7, second_undo=ABORT) > 20


class StuckWorld(AnyWorld):
    """One effect does not go."""

    stuck = "drain"

    def compensate(self, step: Step, results: Results) -> StepOutcome:
        if step.id == self.stuck:
            return StepOutcome("failed", "somebody works with it")
        return super().compensate(step, results)


def test_what_cannot_be_taken_back_may_be_let_stand_once_that_was_tried() -> None:
    """The rest then goes from under it; the run says what stands, and is not called undone."""
    world = StuckWorld(plan=MOVE, fails={"promote": StepOutcome("failed", "no")})
    assert run_inline(MOVE, world).outcome == "incomplete"
    untried = state_from_journal(MOVE, "run-1", world.records)
    with pytest.raises(GateRefusedError, match="need no --leave, because they can be rolled back: drain"):
        refuse_unless_undoable(untried, world.records, frozenset({"drain"}), "nothing is held")
    end = run_inline(MOVE, world, undo=ABORT)
    assert end.outcome == "incomplete"
    assert "undoing drain failed: somebody works with it" in end.reason
    assert world.left == {"freeze", "drain"}
    state = state_from_journal(MOVE, "run-1", world.records)
    refuse_unless_undoable(state, world.records, frozenset({"drain"}), "nothing is held")
    world.plan = None  # nobody notices that something is undone under what stands: it was asked for
    end = run_inline(MOVE, world, undo=UndoAsked("ada", frozenset({"drain"})))
    assert end.outcome == "incomplete"
    assert "left in place on request: drain" in end.reason
    assert world.records[-1].data["let_stand"] == ["drain"]
    assert world.effects == {"drain", "measure"}
    again = run_inline(MOVE, world)
    assert again.outcome == "incomplete"
    assert world.effects == {"drain", "measure"}
