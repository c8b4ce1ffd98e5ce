"""A drill's `report.json`, put together from what was done, measured and predicted."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.errors import AuditError, DcctlError
from orchestrator.evidence.audit.result import AuditResult
from orchestrator.evidence.audit.verdict import judge, judge_moves
from orchestrator.evidence.report.run_parts import (
    environment_part,
    first_record_moments,
    gate_part,
    phase_parts,
    plan_part,
    predicted_loss,
    predicted_part,
    step_part,
    versions_part,
)
from orchestrator.simulation.state import DEFAULT_BACKEND
from orchestrator.simulation.workload.scenario import Scenario
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.verbs import MovingVerb
from orchestrator.verbs.live.run_result import RunResult


@dataclass(frozen=True, slots=True)
class Mark:
    """One moment of the drill. Unix epoch seconds."""

    at_s: float
    name: str
    kind: Literal["phase", "fault", "event"] = "event"


@dataclass(slots=True, kw_only=True)
class DrillFacts:
    """What a drill knows about itself; filled in as it goes. Times are Unix epoch seconds."""

    topology: Topology
    mirror: Replication
    scenario: Scenario
    sabotage: str | None
    verb: MovingVerb = "failover"
    backend: str = DEFAULT_BACKEND
    accepted_loss: int | None
    started_at_s: float
    lost_dc: str = ""
    fault_at_s: float | None = None
    fault_verified: bool | None = None
    detected_at_s: float | None = None
    failover: RunResult | None = None
    is_drained: bool | None = None
    notes: list[str] = field(default_factory=list)


def assembled_report(facts: DrillFacts, audit: AuditResult, marks: Sequence[Mark]) -> dict[str, Any]:
    """The report of a drill that went to its end: the verdict comes from the audit, not from the run."""
    failover = facts.failover
    if failover is None:
        raise AuditError("drill", "there is no failover to judge")
    verdict, reasons = judge(
        audit,
        predicted_loss=predicted_loss(failover),
        source=facts.mirror.source,
        predicted_reread={name: cost.get("at_most") for name, cost in failover.predicted["reread"].items()},
        is_fault_verified=facts.fault_verified,
        is_drained=facts.is_drained,
    )
    if failover.outcome != "ok":
        reasons = [f"the {facts.verb} ended {failover.outcome}: {failover.reason}", *reasons]
        verdict = "unknown" if verdict == "valid" else verdict
    frame = _frame(facts, marks)
    return {
        **frame,
        "timeline": [*frame["timeline"], *first_record_moments(failover)],
        "verdict": verdict,
        "reasons": [*reasons, *facts.notes],
        "run_id": failover.run_id,
        "phases": _phases(facts, failover),
        "predicted": predicted_part(failover),
        "gates": [gate_part(gate) for gate in failover.gates],
        "steps": [step_part(step, failover) for step in failover.steps],
        "plan": plan_part(facts.topology, failover.plan, facts.accepted_loss),
        **audit.parts(),
    }


def returned_report(facts: DrillFacts, audit: AuditResult, marks: Sequence[Mark]) -> dict[str, Any]:
    """The report of a rehearsal there and back: plan, gates and steps are those of the last way back."""
    failback = facts.failover
    if failback is None:
        raise AuditError("drill", "there is no failback to judge")
    verdict, reasons = judge_moves(audit, is_fault_verified=facts.fault_verified, is_drained=facts.is_drained)
    return {
        **_frame(facts, marks),
        "verdict": verdict,
        "reasons": [*reasons, *facts.notes],
        "run_id": failback.run_id,
        "gates": [gate_part(gate) for gate in failback.gates],
        "steps": [step_part(step, failback) for step in failback.steps],
        "plan": plan_part(facts.topology, failback.plan, facts.accepted_loss),
        **audit.parts(),
    }


def stopped_report(
    facts: DrillFacts, error: DcctlError, gates: Sequence[Mapping[str, Any]], marks: Sequence[Mark]
) -> dict[str, Any]:
    """The report of a drill that was refused or stopped on the way: nothing was proved, and it says why."""
    return {
        **_frame(facts, marks),
        "verdict": "unknown",
        "reasons": [f"{error.subject}: {error.problem}", *facts.notes],
        "rto": {"seconds": None},
        "gates": [gate_part(gate) for gate in gates],
    }


def _frame(facts: DrillFacts, marks: Sequence[Mark]) -> dict[str, Any]:
    return {
        "format_version": 1,
        "topology": facts.topology.name,
        "scenario": facts.scenario.name,
        "backend": facts.backend,
        "versions": versions_part(facts.topology),
        "environment": environment_part(),
        "started_at": facts.started_at_s,
        "finished_at": time.time(),
        "seed": facts.scenario.seed,
        "sabotage": facts.sabotage,
        "fault": _fault(facts),
        "timeline": [{"at_s": mark.at_s, "name": mark.name, "kind": mark.kind} for mark in marks],
    }


def _fault(facts: DrillFacts) -> dict[str, Any] | None:
    if facts.fault_at_s is None:
        return None
    is_planned = facts.verb == "switchover"
    return {
        "kind": "planned move" if is_planned else "kill",
        "targets": [facts.mirror.source if is_planned else facts.lost_dc],
        "started_at": facts.fault_at_s,
        "verified": facts.fault_verified,
    }


def _phases(facts: DrillFacts, failover: RunResult) -> list[Mapping[str, Any]]:
    """The run's phases; detection counts from the fault to the watcher's own notice of it."""
    if facts.detected_at_s is None or facts.fault_at_s is None:
        return phase_parts(failover)
    seconds = facts.detected_at_s - facts.fault_at_s
    detect = {"name": "detect", "seconds": round(seconds, 3), "started_at_s": facts.fault_at_s}
    return [detect, *phase_parts(failover)]
