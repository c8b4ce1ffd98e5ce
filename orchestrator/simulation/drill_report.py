"""A drill's `report.json`, put together from what was done, measured and predicted."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.errors import AuditError, DcctlError, NotAsStatedError
from orchestrator.evidence.audit.result import AuditResult
from orchestrator.evidence.audit.verdict import judge, judge_moves
from orchestrator.evidence.report.recovery import objectives_part, recovery_part
from orchestrator.evidence.report.run_parts import (
    environment_part,
    first_record_moments,
    gate_part,
    phase_parts,
    plan_part,
    predicted_loss,
    predicted_part,
    responsible_part,
    step_part,
    versions_part,
)
from orchestrator.evidence.report.scope import rehearsal_limits
from orchestrator.runs.live.journal import about_this_process
from orchestrator.simulation.backend import backend_named, limits_of
from orchestrator.simulation.cases import DrillVerb
from orchestrator.simulation.state import DEFAULT_BACKEND
from orchestrator.simulation.workload.scenario import Scenario
from orchestrator.topology.model import Replication, Topology
from orchestrator.verbs.live.run_result import RunResult


@dataclass(frozen=True, slots=True)
class Mark:
    """One moment of the drill. Unix epoch seconds."""

    at_s: float
    name: str
    kind: Literal["phase", "fault", "event"] = "event"


NOBODY_ASKED = "nobody was asked: a rehearsal gives the command by itself"


@dataclass(frozen=True, slots=True)
class Loss:
    """One loss of the site. Unix epoch seconds; `verified`: it was seen to be gone."""

    at_s: float
    verified: bool


@dataclass(slots=True, kw_only=True)
class DrillFacts:
    """What a drill knows about itself; filled in as it goes. Times are Unix epoch seconds.

    `mirror`: the file's first one, if it has any. `fault_at_s`: the last of `losses`, and once all has
    ended that of `failover`; `fault_verified`: of all of them. `moves`: of a rehearsal there and back.
    """

    topology: Topology
    mirror: Replication | None
    scenario: Scenario
    case: str = ""
    sabotage: str | None
    verb: DrillVerb = "failover"
    backend: str = DEFAULT_BACKEND
    leaves: str = ""
    accepted_loss: int | None
    started_at_s: float
    lost_dc: str = ""
    fault_at_s: float | None = None
    fault_verified: bool | None = None
    detected_at_s: float | None = None
    losses: list[Loss] = field(default_factory=list)
    failover: RunResult | None = None
    moves: tuple[RunResult, ...] = ()
    is_drained: bool | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def main_mirror(self) -> Replication:
        """The file's first mirror. Raises `AuditError` where there is none."""
        if self.mirror is None:
            raise AuditError("drill", "the file has no mirror")
        return self.mirror

    def take_loss(self, *, verified: bool) -> None:
        """The site was killed at `fault_at_s`."""
        if self.fault_at_s is not None:
            self.losses.append(Loss(self.fault_at_s, verified))
        self.fault_verified = bool(self.losses) and all(loss.verified for loss in self.losses)


def assembled_report(facts: DrillFacts, audit: AuditResult, marks: Sequence[Mark]) -> dict[str, Any]:
    """The report of a drill that went to its end: the verdict comes from the audit, not from the run."""
    failover = facts.failover
    if failover is None:
        raise AuditError("drill", "there is no failover to judge")
    verdict, reasons = judge(
        audit,
        predicted_loss=predicted_loss(failover),
        source=facts.main_mirror.source,
        predicted_reread={name: cost.get("at_most") for name, cost in failover.predicted["reread"].items()},
        is_fault_verified=facts.fault_verified,
        is_drained=facts.is_drained,
    )
    if failover.outcome != "ok":
        reasons = [f"the {facts.verb} ended {failover.outcome}: {failover.reason}", *reasons]
        verdict = "unknown" if verdict == "valid" else verdict
    frame = frame_part(facts, marks)
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
        "responsible": responsible_part(failover, approval=NOBODY_ASKED),
        **_measured(facts, audit.parts()),
    }


def returned_report(facts: DrillFacts, audit: AuditResult, marks: Sequence[Mark]) -> dict[str, Any]:
    """The report of a rehearsal there and back: plan, gates and steps are those of the last way back."""
    failback = facts.failover
    if failback is None:
        raise AuditError("drill", "there is no failback to judge")
    verdict, reasons = judge_moves(audit, is_fault_verified=facts.fault_verified, is_drained=facts.is_drained)
    return {
        **frame_part(facts, marks),
        "verdict": verdict,
        "reasons": [*reasons, *facts.notes],
        "run_id": failback.run_id,
        "gates": [gate_part(gate) for gate in failback.gates],
        "steps": [step_part(step, failback) for step in failback.steps],
        "plan": plan_part(facts.topology, failback.plan, facts.accepted_loss),
        "responsible": responsible_part(failback, approval=NOBODY_ASKED),
        **_measured(facts, _with_stated_loss(audit.parts(), facts.moves)),
    }


def _with_stated_loss(parts: dict[str, Any], moves: Sequence[RunResult]) -> dict[str, Any]:
    """Each move that lost its source, beside what its plan had said would be lost at most."""
    at_most: dict[str, int | None] = {}
    for run in moves:
        bounds = [topic.get("at_most") for topic in run.predicted["loss"].values()]
        known = [bound for bound in bounds if bound is not None]
        at_most[run.run_id] = sum(known) if bounds and len(known) == len(bounds) else None
    rows = [
        {**move, "late_at_most": at_most.get(move["run_id"]) if move["verb"] == "failover" else None}
        for move in parts["moves"]
    ]
    return {**parts, "moves": rows}


def _measured(facts: DrillFacts, parts: dict[str, Any]) -> dict[str, Any]:
    """What was measured, in its own terms and in those of recovery, beside the objectives of the file."""
    recovery = recovery_part(parts, facts.main_mirror.source, facts.fault_at_s)
    objectives = objectives_part(facts.topology.failover.objectives, recovery, parts["rto"])
    return {**parts, "recovery": recovery, "objectives": objectives}


def stopped_report(
    facts: DrillFacts, error: DcctlError, gates: Sequence[Mapping[str, Any]], marks: Sequence[Mark]
) -> dict[str, Any]:
    """The report of a drill that was refused or stopped on the way, and why: nothing was proved.

    A command that did not end as stated is the opposite of a proof.
    """
    return {
        **frame_part(facts, marks),
        "verdict": "invalid" if isinstance(error, NotAsStatedError) else "unknown",
        "reasons": [f"{error.subject}: {error.problem}", *facts.notes],
        "rto": {"seconds": None},
        "objectives": objectives_part(facts.topology.failover.objectives, _NOTHING_MEASURED, {}),
        "gates": [gate_part(gate) for gate in gates],
    }


_NOTHING_MEASURED = {"rto_s": None, "rpo_records": None, "rpo_s": None}


def frame_part(facts: DrillFacts, marks: Sequence[Mark]) -> dict[str, Any]:
    """What a drill knows of itself, however it ended."""
    return {
        "format_version": 1,
        "topology": facts.topology.name,
        "scenario": facts.scenario.name,
        "case": facts.case,
        "backend": facts.backend,
        "versions": versions_part(facts.topology),
        "environment": environment_part(),
        "started_at": facts.started_at_s,
        "finished_at": time.time(),
        "seed": facts.scenario.seed,
        "sabotage": facts.sabotage,
        "simulation": True,
        "responsible": _began(facts),
        "does_not_prove": rehearsal_limits(
            facts.topology,
            backend_limits=limits_of(backend_named(facts.backend)),
            rate_records_per_s=facts.scenario.rate_records_per_s,
            mirror_stall_s=facts.scenario.mirror_stall_s if facts.verb != "return" and facts.mirror else 0.0,
            is_planned=facts.verb == "switchover",
            is_moved=facts.verb != "return",
            is_watched=facts.mirror is not None,
            returns=facts.verb in {"failback", "return"},
        ),
        "fault": _fault(facts),
        "faults": _faults(facts),
        "timeline": [{"at_s": mark.at_s, "name": mark.name, "kind": mark.kind} for mark in marks],
    }


def _began(facts: DrillFacts) -> dict[str, str]:
    """Who rehearsed, of a drill that came to no run."""
    by = about_this_process("drill", "")
    return {
        "who": by["who"],
        "host": by["host"],
        "command": f"drill, {facts.verb}",
        "approval": NOBODY_ASKED,
    }


def _faults(facts: DrillFacts) -> list[dict[str, Any]]:
    """Each loss of the site, in order; of a planned move that one."""
    if not facts.losses:
        return [fault] if (fault := _fault(facts)) is not None else []
    return [
        {"kind": "kill", "targets": [facts.lost_dc], "started_at": loss.at_s, "verified": loss.verified}
        for loss in facts.losses
    ]


def _fault(facts: DrillFacts) -> dict[str, Any] | None:
    if facts.fault_at_s is None:
        return None
    is_planned = facts.verb == "switchover"
    return {
        "kind": "planned move" if is_planned else "kill",
        "targets": [(facts.leaves or facts.main_mirror.source) if is_planned else facts.lost_dc],
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
