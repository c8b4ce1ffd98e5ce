"""Recording which side is primary, and taking that back."""

from __future__ import annotations

from orchestrator.engine import Results, StepOutcome
from orchestrator.operations.actions.facts import fact_result, record_of
from orchestrator.operations.run_session import RunSession
from orchestrator.planning.estate_record import PrimaryMoved
from orchestrator.planning.plan import Step


def record_primary(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Write the fact, once."""
    record_of(session, step).write(_wanted(step))
    return StepOutcome("ok")


def primary_is_recorded(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """It is there, and says what the step says."""
    found, wanted = record_of(session, step).find(PrimaryMoved), _wanted(step)
    if found is None:
        return StepOutcome("failed", "not recorded")
    if found != wanted:
        return StepOutcome("unknown", f"recorded otherwise: {found.primary}, {len(found.topics)} topics")
    return StepOutcome("ok", f"{found.primary}, {len(found.topics)} topics", fact_result(found))


def forget_primary(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Withdraw the fact; what was recorded before counts again."""
    record_of(session, step).withdraw(PrimaryMoved)
    return StepOutcome("ok")


def primary_is_forgotten(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """It does not hold any more."""
    is_there = record_of(session, step).find(PrimaryMoved) is not None
    return StepOutcome("failed" if is_there else "ok", "still recorded" if is_there else "as before")


def _wanted(step: Step) -> PrimaryMoved:
    arguments = step.arguments
    return PrimaryMoved(
        home=str(arguments["home"]), primary=str(arguments["primary"]), topics=tuple(arguments["topics"])
    )
