"""What to do next: a pure function from where a run stands and what just happened to instructions.

The order is the design's: the intent goes to the journal, then the effect is made and verified, then
its outcome goes to the journal. After a crash, steps whose outcome the journal does not know are
looked at before anything is done. A failed step stops those that wait for it, and no others, unless
its definition says that the run is then taken back. On the way back the same order holds for each
compensation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.runs.engine.ports import StepOutcome
from orchestrator.runs.engine.state import NOT_WELL, RunOutcome, RunState, Status, Way, with_effect
from orchestrator.runs.engine.summary import run_outcome, run_reason
from orchestrator.runs.engine.undoing import kept_effects, ready_to_undo, standing, steps_to_undo
from orchestrator.runs.plan import EventKind, Outcome, RunEvent, Step


@dataclass(frozen=True, slots=True)
class Begun:
    """The lock is held and the gates are ok; the run begins, or goes on after a crash."""


@dataclass(frozen=True, slots=True)
class UndoAsked:
    """A person wants the run taken back. `leave` names the steps that may stay; of a run that is being taken
    back already, further ones.
    """

    reason: str
    leave: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Recorded:
    """The journal holds this record now."""

    record: RunEvent


@dataclass(frozen=True, slots=True)
class Attempted:
    """A step was performed, or compensated, and verified."""

    step: str
    found: StepOutcome
    seconds: float
    way: Way = "do"


@dataclass(frozen=True, slots=True)
class Checked:
    """A step that a crash left open was looked at."""

    step: str
    found: StepOutcome
    way: Way = "do"


@dataclass(frozen=True, slots=True)
class Overdue:
    """A step has not come back long after its deadline. It may still be at it, and nobody can end it."""

    step: str
    seconds: float
    way: Way = "do"


@dataclass(frozen=True, slots=True)
class JournalLost:
    """The lock is lost or the journal cannot be written: nothing more may be begun."""

    reason: str


Event = Begun | UndoAsked | Recorded | Attempted | Checked | Overdue | JournalLost


def halted(state: RunState, reason: str) -> RunState:
    """The run with nothing more to be begun, as a person wants it. What is under way goes to its end."""
    return replace(state, stopped=state.stopped or reason)


@dataclass(frozen=True, slots=True)
class Record:
    """Write this to the journal. The driver adds the time."""

    kind: EventKind
    sequence: int = 0
    step: str = ""
    outcome: Outcome | None = None
    message: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Perform:
    """Make the step's effect, or take it back, and verify that."""

    step: str
    way: Way = "do"


@dataclass(frozen=True, slots=True)
class Check:
    """Look whether the step's effect is there already, or gone."""

    step: str
    way: Way = "do"


@dataclass(frozen=True, slots=True)
class End:
    """Nothing is left to do, or nothing more may be done."""

    outcome: RunOutcome
    reason: str


Instruction = Record | Perform | Check | End
INTENTS: frozenset[EventKind] = frozenset({"step-intent", "undo-intent"})
Decision = tuple[RunState, tuple[Instruction, ...]]
_INTENT: Mapping[Way, EventKind] = {"do": "step-intent", "undo": "undo-intent"}
_OUTCOME: Mapping[Way, EventKind] = {"do": "step-outcome", "undo": "undo-outcome"}


def decide(state: RunState, event: Event) -> Decision:
    """The run's next state, and what the driver has to do now."""
    if isinstance(event, Attempted | Checked | Overdue):
        return _after_step(state, event)
    match event:
        case Begun():
            return _begin(state)
        case UndoAsked(reason, leave):
            if state.is_undo_asked and leave <= state.leave:
                return _begin(state)
            return _turn_back(state, state.undoing or reason, state.leave | leave, is_asked=True)
        case Recorded(record):
            return _after_record(state, record)
        case JournalLost(reason):
            stopped = replace(state, stopped=state.stopped or reason, has_journal=False)
            # An announced step was never begun: its intent could not be written.
            for way in ("do", "undo"):
                for step in stopped.with_any("announced", way=way):
                    stopped = stopped.with_status(step, "waiting", way)
            return _go_on(stopped)


def _after_step(state: RunState, event: Attempted | Checked | Overdue) -> Decision:
    step, way = event.step, event.way
    if (step, way) in state.overdue:
        return state, ()  # its outcome is in the journal: whoever goes on looks at it anew
    if isinstance(event, Overdue):
        late = replace(state, overdue=state.overdue | {(step, way)})
        said = f"has not answered for {event.seconds:.0f} s, and may still be running"
        return _record_outcome(late, step, StepOutcome("unknown", said), {"overdue": True}, way)
    if isinstance(event, Checked):
        return _after_check(state, step, event.found, way)
    return _record_outcome(state, step, event.found, {"seconds": round(event.seconds, 3)}, way)


def _begin(state: RunState) -> Decision:
    if not state.undoing and _why_turn(state, "unsettled"):
        # It had failed, and the run was about to be taken back, when the process died.
        return _go_on(state)
    instructions: list[Instruction] = []
    way = state.way
    for step_id in state.with_any("unsettled", way=way):
        step = state.plan.step(step_id)
        if (step.verify if way == "do" else step.verify_undone) is None:
            # Twice is as good as once: it is simply done again.
            state = state.with_status(step_id, "waiting", way)
        else:
            state = state.with_status(step_id, "checking", way)
            instructions.append(Check(step_id, way))
    if way == "undo":
        # What nothing can take back keeps what it was built on, so it is looked at whether it is there.
        for step in standing(state):
            if state.status(step.id) != "ok" and step.verify is not None:
                state = state.with_status(step.id, "checking")
                instructions.append(Check(step.id))
    return (state, tuple(instructions)) if instructions else _go_on(state)


def _after_record(state: RunState, record: RunEvent) -> Decision:
    step = record.step
    match record.kind:
        case "run-ended":
            return state, (End(run_outcome(state), run_reason(state)),)
        case "step-intent" if state.status(step) == "announced":
            begun = replace(state.with_status(step, "running"), begun=state.begun | {step})
            return begun, (Perform(step),)
        case "undo-intent" if state.status(step, "undo") == "announced":
            return state.with_status(step, "running", "undo"), (Perform(step, "undo"),)
        case "undo-started":
            return _begin(state)
        case _:
            return _go_on(state)


def _after_check(state: RunState, step: str, found: StepOutcome, way: Way) -> Decision:
    if found.outcome in ("failed", "partial"):  # surely not as wanted: it is done like any other
        if way == "do" and state.plan.step(step).irreversible:
            state = with_effect(state, step, found.outcome)
        return _go_on(state.with_status(step, "waiting", way))
    return _record_outcome(state, step, found, {"found_after_restart": True}, way)


def _record_outcome(
    state: RunState, step: str, found: StepOutcome, data: Mapping[str, Any], way: Way
) -> Decision:
    status: Status = found.outcome
    state = replace(state.with_status(step, status, way), messages={**state.messages, step: found.message})
    if way == "do":
        state = with_effect(state, step, found.outcome)
        if status == "ok":
            state = replace(state, results={**state.results, step: found.result})
    if not state.has_journal:
        return _go_on(state)
    data = {**data, "result": dict(found.result)} if found.result else data
    state, record = _numbered(
        state,
        Record(_OUTCOME[way], step=step, outcome=found.outcome, message=found.message, data=data),
    )
    return state, (record,)


def _go_on(state: RunState) -> Decision:
    """Announce all that is ready; end when nothing is under way and nothing can begin."""
    if state.with_any("checking") or state.with_any("checking", way="undo"):
        return state, ()
    why = "" if state.undoing or state.stopped else _why_turn(state, *NOT_WELL, "unsettled")
    if why and state.overdue:
        # What it is still at would come about behind the back of its own compensation.
        late = ", ".join(sorted(step for step, _ in state.overdue))
        state = replace(
            state, stopped=f"not rolled back by this process, in which {late} may still be running"
        )
    elif why:
        return (state, ()) if state.is_busy else _turn_back(state, why, frozenset())
    instructions: list[Instruction] = []
    if not state.stopped:
        for step in _ready(state):
            announced = state.with_status(step.id, "announced", state.way)
            state, record = _numbered(announced, Record(_INTENT[state.way], step=step.id))
            instructions.append(record)
    if instructions or state.is_busy:
        return state, tuple(instructions)
    outcome = run_outcome(state)
    if not state.has_journal:
        return state, (End("unknown" if outcome == "unknown" else "incomplete", run_reason(state)),)
    if state.is_ending:
        return state, ()
    state = replace(state, is_ending=True)
    data: dict[str, Any] = {"outcome": outcome}
    if state.undoing:
        data["stands"] = [step.id for step in standing(state)]
        data |= {"let_stand": list(kept_effects(state))} if kept_effects(state) else {}
    state, record = _numbered(state, Record("run-ended", message=run_reason(state), data=data))
    return state, (record,)


def _ready(state: RunState) -> tuple[Step, ...]:
    return ready_to_undo(state) if state.undoing else state.ready()


def _why_turn(state: RunState, *statuses: Status) -> str:
    """Why the run turns round by itself; empty if it does not.

    Only while nothing irreversible stands: beyond that there is but the way forward. A step that a crash
    left open counts only where its last word was that it did not end well.
    """
    if standing(state):
        return ""
    for step_id in state.with_any(*statuses):
        step = state.plan.step(step_id)
        is_told = state.status(step_id) != "unsettled" or step_id in state.messages
        if step.on_failure == "undo" and is_told and steps_to_undo(state):
            return f"{step_id} failed: {state.messages.get(step_id, '')}".rstrip(": ")
    return ""


def _turn_back(state: RunState, reason: str, leave: frozenset[str], *, is_asked: bool = False) -> Decision:
    reason = reason or "asked for"
    state = replace(state, undoing=reason, is_undo_asked=is_asked, leave=leave)
    data: dict[str, Any] = {"leave": sorted(leave)} if leave else {}
    data |= {"is_asked": True} if is_asked else {}
    state, record = _numbered(state, Record("undo-started", message=reason, data=data))
    return state, (record,)


def _numbered(state: RunState, record: Record) -> tuple[RunState, Record]:
    numbered = replace(record, sequence=state.next_sequence)
    return replace(state, next_sequence=state.next_sequence + 1), numbered
