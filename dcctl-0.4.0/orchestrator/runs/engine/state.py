"""Where a run stands: rebuilt from its journal alone, then moved on by `decide`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from orchestrator.runs.plan import Outcome, Plan, RunEvent, Step

# waiting: not begun · announced: its intent goes to the journal · running · checking: being looked at
# before anything else is done · unsettled: the journal does not say that it is done · then the outcomes.
Status = Literal["waiting", "announced", "running", "checking", "unsettled"] | Outcome
NOT_WELL: tuple[Outcome, ...] = ("failed", "partial", "unknown")
IN_FLIGHT: frozenset[Status] = frozenset({"announced", "running", "checking"})
# Each step is gone through one way (its effect is made) and maybe, later, the other (it is taken back).
Way = Literal["do", "undo"]
RunOutcome = Literal["ok", "incomplete", "unknown", "undone"]


@dataclass(frozen=True, slots=True)
class RunState:
    """One run. `stopped` is the reason why nothing more is begun; `has_journal` whether it can be written,
    `is_ending` whether its last record has been asked for.

    `undoing` is why the run is being taken back (empty: it goes forward), `is_undo_asked` whether a person
    wants it to be, `leave` the steps that a person said may stay. `begun` are the steps ever begun,
    `effective` those of whose effect anything may stand, `partial` those of which it was seen that some of it
    stands and not all. `overdue` are attempts of this process that have not come back.
    """

    plan: Plan
    run_id: str
    next_sequence: int = 1
    statuses: Mapping[str, Status] = field(default_factory=dict)
    undo_statuses: Mapping[str, Status] = field(default_factory=dict)
    results: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    messages: Mapping[str, str] = field(default_factory=dict)
    begun: frozenset[str] = frozenset()
    effective: frozenset[str] = frozenset()
    partial: frozenset[str] = frozenset()
    overdue: frozenset[tuple[str, Way]] = frozenset()
    undoing: str = ""
    is_undo_asked: bool = False
    leave: frozenset[str] = frozenset()
    stopped: str = ""
    has_journal: bool = True
    is_ending: bool = False

    @property
    def way(self) -> Way:
        """Which way the run goes now."""
        return "undo" if self.undoing else "do"

    def status(self, step_id: str, way: Way = "do") -> Status:
        """Status of one step, on its way there or back."""
        return (self.statuses if way == "do" else self.undo_statuses).get(step_id, "waiting")

    def with_status(self, step_id: str, status: Status, way: Way = "do") -> RunState:
        """The same run with one step moved on."""
        if way == "undo":
            return replace(self, undo_statuses={**self.undo_statuses, step_id: status})
        return replace(self, statuses={**self.statuses, step_id: status})

    def ready(self) -> tuple[Step, ...]:
        """Steps that may begin: not begun, and all that they wait for is done."""
        return tuple(
            step
            for step in self.plan.steps
            if self.status(step.id) == "waiting"
            and all(self.status(needed) == "ok" for needed in step.depends_on)
        )

    def with_any(self, *statuses: Status, way: Way = "do") -> tuple[str, ...]:
        """Ids of the steps in one of these statuses, in plan order."""
        return tuple(step.id for step in self.plan.steps if self.status(step.id, way) in statuses)

    @property
    def is_busy(self) -> bool:
        """Whether any step is under way, there or back."""
        under_way = {*self.statuses.values(), *self.undo_statuses.values()}
        return bool(IN_FLIGHT.intersection(under_way))


def state_from_journal(plan: Plan, run_id: str, records: Iterable[RunEvent]) -> RunState:
    """The run as its journal tells it. A step whose last record is not an ok outcome is unsettled."""
    state = RunState(plan, run_id)
    last = 0
    for record in records:
        last = max(last, record.sequence)
        state = _replayed(state, record)
    return replace(state, next_sequence=last + 1)


def _replayed(state: RunState, record: RunEvent) -> RunState:
    step = record.step
    match record.kind:
        case "step-intent":
            # Until an outcome tells otherwise it may have had its effect.
            messages = {name: said for name, said in state.messages.items() if name != step}
            return replace(
                state.with_status(step, "unsettled"),
                begun=state.begun | {step},
                effective=state.effective | {step},
                messages=messages,
            )
        case "step-outcome":
            return _with_outcome(state, record)
        case "undo-started":
            return replace(
                state,
                undoing=record.message or "asked for",
                is_undo_asked=bool(record.data.get("is_asked")),
                leave=frozenset(record.data.get("leave", ())),
            )
        case "undo-intent":
            return state.with_status(step, "unsettled", "undo")
        case "undo-outcome":
            return state.with_status(step, "ok" if record.outcome == "ok" else "unsettled", "undo")
        case _:
            return state


def _with_outcome(state: RunState, record: RunEvent) -> RunState:
    step = record.step
    state = with_effect(
        replace(state, messages={**state.messages, step: record.message}), step, record.came_to
    )
    if record.outcome == "ok":
        state = replace(state, results={**state.results, step: record.data.get("result", {})})
        return state.with_status(step, "ok")
    return state.with_status(step, "unsettled")


def with_effect(state: RunState, step: str, outcome: Outcome | None) -> RunState:
    """What of a step's effect may stand, by what its last attempt, or look, came to."""
    return replace(
        state,
        effective=state.effective - {step} if outcome == "failed" else state.effective | {step},
        partial=state.partial | {step} if outcome == "partial" else state.partial - {step},
    )
