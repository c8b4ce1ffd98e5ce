"""A drill's `report.json`, put together from what was done, measured and predicted."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, Literal

import psutil

from orchestrator import __version__
from orchestrator.adapters.java.detection import find_java
from orchestrator.audit.result import AuditResult, Finding
from orchestrator.audit.round_trip import TopicFigures
from orchestrator.audit.verdict import judge
from orchestrator.errors import AuditError, DcctlError
from orchestrator.operations.failover import FailoverResult
from orchestrator.simulation.workload.scenario import Scenario
from orchestrator.topology.model import Replication, Topology

_GIB = 2**30


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
    verb: Literal["failover", "switchover", "failback"] = "failover"
    accepted_loss: int | None
    started_at_s: float
    lost_dc: str = ""
    fault_at_s: float | None = None
    fault_verified: bool | None = None
    detected_at_s: float | None = None
    failover: FailoverResult | None = None
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
    return {
        **_frame(facts, marks),
        "verdict": verdict,
        "reasons": [*reasons, *facts.notes],
        "run_id": failover.run_id,
        "phases": _phases(facts, failover),
        "predicted": _predicted(failover),
        "gates": [_gate(gate) for gate in failover.gates],
        "steps": [_step(step, failover) for step in failover.steps],
        "plan": _plan(facts, failover.plan),
        **audit.parts(),
    }


def returned_report(
    facts: DrillFacts,
    topics: Mapping[str, Mapping[str, TopicFigures]],
    moves: Sequence[Mapping[str, Any]],
    findings: Sequence[Finding],
    marks: Sequence[Mark],
) -> dict[str, Any]:
    """The report of a rehearsal there and back: plan, gates and steps are those of the last way back."""
    failback = facts.failover
    if failback is None:
        raise AuditError("drill", "there is no failback to judge")
    found = [*findings]
    if not facts.is_drained:
        found.append(Finding("unknown", "not everything had been read when the audit began"))
    if not facts.fault_verified:
        found.append(Finding("unknown", "it was not verified that the fault took effect"))
    invalid = [finding.reason for finding in found if finding.verdict == "invalid"]
    unknown = [finding.reason for finding in found if finding.verdict == "unknown"]
    pauses = [move["pause_s"] for move in moves]
    return {
        **_frame(facts, marks),
        "verdict": "invalid" if invalid else "unknown" if unknown else "valid",
        "reasons": [*invalid, *unknown, *facts.notes],
        "run_id": failback.run_id,
        "rto": {"seconds": None if None in pauses else max(pauses, default=None)},
        "clusters": {
            cluster: {"topics": {name: _returned_topic(figures) for name, figures in by_topic.items()}}
            for cluster, by_topic in topics.items()
        },
        "moves": list(moves),
        "gates": [_gate(gate) for gate in failback.gates],
        "steps": [_step(step, failback) for step in failback.steps],
        "plan": _plan(facts, failback.plan),
    }


def _returned_topic(figures: TopicFigures) -> dict[str, Any]:
    return {
        "acked": figures.acked,
        "present": figures.acked - figures.missing,
        "lost": {"tail": 0, "hole": figures.missing},
        "quarantined": None,
        "duplicates": figures.duplicates,
        "reordered": figures.reordered,
        "indeterminate": {"present": None, "absent": None},
        "resent_copies": figures.resent_copies,
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
        "gates": [_gate(gate) for gate in gates],
    }


def predicted_loss(failover: FailoverResult) -> dict[str, dict[str, Any]]:
    """Per topic: the bounds, and what they rest on."""
    grounds = failover.plan["facts"].get("loss_rests_on", {})
    return {
        topic: {**bounds, **grounds.get(topic, {})} for topic, bounds in failover.predicted["loss"].items()
    }


def _frame(facts: DrillFacts, marks: Sequence[Mark]) -> dict[str, Any]:
    return {
        "format_version": 1,
        "topology": facts.topology.name,
        "scenario": facts.scenario.name,
        "backend": "process",
        "versions": _versions(facts.topology),
        "environment": {
            "cores": psutil.cpu_count(),
            "memory_gib": round(psutil.virtual_memory().total / _GIB, 1),
            "system": platform.platform(terse=True),
        },
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


def _versions(topology: Topology) -> dict[str, str]:
    kafka = ", ".join(dict.fromkeys(cluster.kafka for cluster in topology.clusters.values()))
    return {
        "dcctl": __version__,
        "kafka": kafka,
        "spark": version("pyspark"),
        "python": platform.python_version(),
        "java": str(find_java().major),
        "confluent-kafka": version("confluent-kafka"),
    }


def _phases(facts: DrillFacts, failover: FailoverResult) -> list[Mapping[str, Any]]:
    """The run's phases; detection counts from the fault to the watcher's own notice of it.

    What the run itself calls detection is its look at the world before deciding: it belongs to deciding.
    """
    own = {phase["name"]: phase for phase in failover.phases}
    phases: list[Mapping[str, Any]] = []
    if facts.detected_at_s is not None and facts.fault_at_s is not None:
        seconds = facts.detected_at_s - facts.fault_at_s
        phases.append({"name": "detect", "seconds": round(seconds, 3), "started_at_s": facts.fault_at_s})
    decided = failover.decided_at_s - failover.started_at_s
    phases.append({"name": "decide", "seconds": round(decided, 3), "started_at_s": failover.started_at_s})
    rest = [phase for name, phase in own.items() if name not in ("detect", "decide")]
    return [*phases, *rest]


def _predicted(failover: FailoverResult) -> dict[str, Any]:
    loss = {
        topic: bounds
        for topic, bounds in predicted_loss(failover).items()
        if {"expected", "at_most"} <= bounds.keys()
    }
    reread = {
        name: {key: cost.get(key) for key in ("map", "position_age", "at_most")}
        for name, cost in failover.predicted["reread"].items()
    }
    return {
        "source": failover.source,
        "loss": loss,
        "reread": reread,
        "seconds": failover.predicted["seconds"],
    }


def _gate(gate: Mapping[str, Any]) -> dict[str, Any]:
    return {key: gate[key] for key in ("id", "outcome", "measured", "limit", "reason", "hint")}


def _step(step: Mapping[str, Any], failover: FailoverResult) -> dict[str, Any]:
    actions = {planned["id"]: planned["action"] for planned in failover.plan["steps"]}
    return {
        "id": step["id"],
        "phase": step["phase"],
        "action": actions[step["id"]],
        "description": step["title"],
        "outcome": "skipped" if step["outcome"] == "not done" else step["outcome"],
        "started_at_s": step["started_at_s"],
        "seconds": step["seconds"],
        "detail": step["message"],
    }


def _plan(facts: DrillFacts, plan: Mapping[str, Any]) -> dict[str, Any]:
    budget = facts.topology.failover.max_loss
    return {
        "description": [step["title"] for step in plan["steps"]],
        "loss_budget": {"records": budget.records, "seconds": budget.seconds},
        "accepted_loss": facts.accepted_loss,
    }
