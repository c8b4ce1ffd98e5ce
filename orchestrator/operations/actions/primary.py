"""Recording which side is primary, and taking that back."""

from __future__ import annotations

from time import time

from orchestrator.engine import Results, StepOutcome
from orchestrator.errors import DcctlError
from orchestrator.operations.alone import LocalPrimaries
from orchestrator.operations.primaries import PrimaryStore
from orchestrator.operations.run_session import RunSession
from orchestrator.planning.plan import Step


def record_primary(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Write the record, once."""
    _store(session, step).record(
        home=str(step.arguments["home"]),
        primary=str(step.arguments["primary"]),
        topics=list(step.arguments["topics"]),
        at_s=time(),
    )
    return StepOutcome("ok")


def primary_is_recorded(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """It is there, and says what the step says."""
    found = _store(session, step).find()
    if found is None:
        return StepOutcome("failed", "not recorded")
    if (found.primary, list(found.topics)) != (step.arguments["primary"], list(step.arguments["topics"])):
        return StepOutcome("unknown", f"recorded otherwise: {found.primary}, {len(found.topics)} topics")
    return StepOutcome("ok", f"{found.primary}, {len(found.topics)} topics", {"record": found.as_json()})


def forget_primary(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """Take the record away."""
    _store(session, step).forget()
    return StepOutcome("ok")


def primary_is_forgotten(session: RunSession, step: Step, _results: Results) -> StepOutcome:
    """It is away."""
    is_there = _store(session, step).find() is not None
    return StepOutcome("failed" if is_there else "ok", "still recorded" if is_there else "as before")


def _store(session: RunSession, step: Step) -> PrimaryStore | LocalPrimaries:
    if session.primaries is None:
        raise DcctlError(f"step {step.id}", "this run has no store for it")
    return session.primaries
