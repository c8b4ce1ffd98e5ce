"""Facts that steps write into the estate record, and leave in their results for an import."""

from __future__ import annotations

from typing import Any

from orchestrator.errors import DcctlError
from orchestrator.operations.estate_store import EstateRecord
from orchestrator.operations.run_session import RunSession
from orchestrator.planning.estate_record import Body, body_to_json
from orchestrator.planning.plan import Step


def record_of(session: RunSession, step: Step) -> EstateRecord:
    """Where this run writes. Raises `DcctlError` for a run that has no record."""
    if session.estate_record is None:
        raise DcctlError(f"step {step.id}", "this run has no estate record to write to")
    return session.estate_record


def fact_result(body: Body) -> dict[str, Any]:
    """The fact as a step's result has it: an import of the journal writes it from there."""
    return {"fact": body_to_json(body)}
