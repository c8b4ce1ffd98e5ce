"""What to do next: a pure function from where a run stands and what just happened to instructions.

The order is the design's: the intent goes to the journal, then the effect is made and verified, then
its outcome goes to the journal. After a crash, steps whose outcome the journal does not know are
looked at before anything is done. A failed step stops those that wait for it, and no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.engine.ports import StepOutcome
from orchestrator.engine.state import RunOutcome, RunState, Status
from orchestrator.planning.plan import EventKind, Outcome, RunEvent


@dataclass(frozen=True, slots=True)
class Begun:
    """The lock is held and the gates are ok; the run begins, or goes on after a crash."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The journal holds this record now."""

    record: RunEvent


@dataclass(frozen=True, slots=True)
class Attempted:
    """A step was performed and verified."""

    step: str
    found: StepOutcome
    seconds: float


@dataclass(frozen=True, slots=True)
class Checked:
    """A step that a crash left open was looked at."""

    step: str
    found: StepOutcome


@dataclass(frozen=True, slots=True)
class JournalLost:
    """The lock is lost or the journal cannot be written: nothing more may be begun."""

    reason: str


Event = Begun | Recorded | Attempted | Checked | JournalLost


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
    """Make the step's effect, and verify it."""

    step: str


@dataclass(frozen=True, slots=True)
class Check:
    """Look whether the step's effect is there already."""

    step: str


@dataclass(frozen=True, slots=True)
class End:
    """Nothing is left to do, or nothing more may be done."""

    outcome: RunOutcome
    reason: str


Instruction = Record | Perform | Check | End
Decision = tuple[RunState, tuple[Instruction, ...]]


def decide(state: RunState, event: Event) -> Decision:
    """The run's next state, and what the driver has to do now."""
    match event:
        case Begun():
            return _begin(state)
        case Recorded(record):
            return _after_record(state, record)
        case Attempted(step, found, seconds):
            return _record_outcome(state, step, found, {"seconds": round(seconds, 3)})
        case Checked(step, found):
            return _after_check(state, step, found)
        case JournalLost(reason):
            stopped = replace(state, stopped=state.stopped or reason, has_journal=False)
            # An announced step was never begun: its intent could not be written.
            for step in stopped.with_any("announced"):
                stopped = stopped.with_status(step, "waiting")
            return _go_on(stopped)


def _begin(state: RunState) -> Decision:
    instructions: list[Instruction] = []
    for step_id in state.with_any("unsettled"):
        if state.plan.step(step_id).verify is None:
            # Twice is as good as once: it is simply done again.
            state = state.with_status(step_id, "waiting")
        else:
            state = state.with_status(step_id, "checking")
            instructions.append(Check(step_id))
    return (state, tuple(instructions)) if instructions else _go_on(state)


def _after_record(state: RunState, record: RunEvent) -> Decision:
    if record.kind == "run-ended":
        return state, (End(state.outcome, state.reason),)
    if record.kind == "step-intent" and state.status(record.step) == "announced":
        return state.with_status(record.step, "running"), (Perform(record.step),)
    return _go_on(state)


def _after_check(state: RunState, step: str, found: StepOutcome) -> Decision:
    if found.outcome == "failed":  # surely not there: it is done like any other
        return _go_on(state.with_status(step, "waiting"))
    return _record_outcome(state, step, found, {"found_after_restart": True})


def _record_outcome(state: RunState, step: str, found: StepOutcome, data: Mapping[str, Any]) -> Decision:
    status: Status = found.outcome
    state = replace(
        state.with_status(step, status),
        messages={**state.messages, step: found.message},
        results={**state.results, step: found.result} if status == "ok" else state.results,
    )
    if not state.has_journal:
        return _go_on(state)
    data = {**data, "result": dict(found.result)} if found.result else data
    state, record = _numbered(
        state,
        Record("step-outcome", step=step, outcome=found.outcome, message=found.message, data=data),
    )
    return state, (record,)


def _go_on(state: RunState) -> Decision:
    """Announce all that is ready; end when nothing is under way and nothing can begin."""
    if state.with_any("checking"):
        return state, ()
    instructions: list[Instruction] = []
    if not state.stopped:
        for step in state.ready():
            announced = state.with_status(step.id, "announced")
            state, record = _numbered(announced, Record("step-intent", step=step.id))
            instructions.append(record)
    if instructions or state.is_busy:
        return state, tuple(instructions)
    if not state.has_journal:
        outcome: RunOutcome = "unknown" if state.outcome == "unknown" else "incomplete"
        return state, (End(outcome, state.reason),)
    state, record = _numbered(
        state, Record("run-ended", message=state.reason, data={"outcome": state.outcome})
    )
    return state, (record,)


def _numbered(state: RunState, record: Record) -> tuple[RunState, Record]:
    numbered = replace(record, sequence=state.next_sequence)
    return replace(state, next_sequence=state.next_sequence + 1), numbered
