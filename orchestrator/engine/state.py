"""Where a run stands: rebuilt from its journal alone, then moved on by `decide`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from orchestrator.planning.plan import Outcome, Plan, RunEvent, Step

# waiting: not begun · announced: its intent goes to the journal · running · checking: being looked at
# before anything else is done · unsettled: the journal does not say that it is done · then the outcomes.
Status = Literal["waiting", "announced", "running", "checking", "unsettled", "ok", "failed", "unknown"]
IN_FLIGHT: frozenset[Status] = frozenset({"announced", "running", "checking"})
RunOutcome = Literal["ok", "incomplete", "unknown"]


@dataclass(frozen=True, slots=True)
class RunState:
    """One run. `stopped` is the reason why nothing more is begun; `has_journal` whether it can be written."""

    plan: Plan
    run_id: str
    next_sequence: int = 1
    statuses: Mapping[str, Status] = field(default_factory=dict)
    results: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    messages: Mapping[str, str] = field(default_factory=dict)
    stopped: str = ""
    has_journal: bool = True

    def status(self, step_id: str) -> Status:
        """Status of one step."""
        return self.statuses.get(step_id, "waiting")

    def with_status(self, step_id: str, status: Status) -> RunState:
        """The same run with one step moved on."""
        return replace(self, statuses={**self.statuses, step_id: status})

    def ready(self) -> tuple[Step, ...]:
        """Steps that may begin: not begun, and all that they wait for is done."""
        return tuple(
            step
            for step in self.plan.steps
            if self.status(step.id) == "waiting"
            and all(self.status(needed) == "ok" for needed in step.depends_on)
        )

    def with_any(self, *statuses: Status) -> tuple[str, ...]:
        """Ids of the steps in one of these statuses, in plan order."""
        return tuple(step.id for step in self.plan.steps if self.status(step.id) in statuses)

    @property
    def is_busy(self) -> bool:
        """Whether any step is under way."""
        return bool(IN_FLIGHT.intersection(self.statuses.values()))

    @property
    def outcome(self) -> RunOutcome:
        """Of the whole run: unknown over incomplete over ok."""
        if self.with_any("unknown"):
            return "unknown"
        return "ok" if len(self.with_any("ok")) == len(self.plan.steps) else "incomplete"

    @property
    def reason(self) -> str:
        """Why the run is not complete, in one sentence; empty when it is."""
        parts = [self.stopped] if self.stopped else []
        for step_id in self.with_any("unknown", "failed"):
            said = self.messages.get(step_id, "")
            parts.append(f"{step_id} {self.status(step_id)}" + (f": {said}" if said else ""))
        open_steps = self.with_any("waiting", "unsettled", "announced", "running", "checking")
        if open_steps:
            parts.append("not done: " + ", ".join(open_steps))
        return "; ".join(parts)


def state_from_journal(plan: Plan, run_id: str, records: Iterable[RunEvent]) -> RunState:
    """The run as its journal tells it. A step whose last record is not an ok outcome is unsettled."""
    statuses: dict[str, Status] = {}
    results: dict[str, Mapping[str, Any]] = {}
    last = 0
    for record in records:
        last = max(last, record.sequence)
        if record.kind == "step-intent":
            statuses[record.step] = "unsettled"
        elif record.kind == "step-outcome":
            statuses[record.step] = _settled(record.outcome)
            if record.outcome == "ok":
                results[record.step] = record.data.get("result", {})
    return RunState(plan, run_id, last + 1, statuses, results)


def _settled(outcome: Outcome | None) -> Status:
    return "ok" if outcome == "ok" else "unsettled"
