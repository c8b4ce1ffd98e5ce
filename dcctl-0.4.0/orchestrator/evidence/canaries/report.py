"""The report of a real run, measured by canaries: the format and the rules are those of a rehearsal's."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.errors import AuditError, ClusterError, UsageError
from orchestrator.evidence.audit.result import AuditResult, Verdict
from orchestrator.evidence.audit.run import run_audit
from orchestrator.evidence.audit.verdict import judge
from orchestrator.evidence.canaries.evidence import Asked, Evidence, canaries_of, take_evidence
from orchestrator.evidence.canaries.fault import Fault, fault_of
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
from orchestrator.evidence.report.scope import canary_limits, is_on_this_machine
from orchestrator.evidence.run_audit import audit_session
from orchestrator.moves.after_move import after_move
from orchestrator.moves.prediction import NOTHING_ESTIMATED, NOTHING_LOST
from orchestrator.replication.positions_back import reverse_mirror
from orchestrator.runs.plan import digest
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Replication, Topology
from orchestrator.topology.verbs import MOVING_VERBS
from orchestrator.verbs.live.run_result import RunResult

Tell = Callable[[str], None]
_AGREED = (
    "whoever gave the command agreed to its plan: at the question, by --yes or by a plan file. The"
    " journal does"
    " not say which"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What an audit of the canaries came to; without one, why."""

    verdict: Verdict
    reasons: Sequence[str]
    evidence: Evidence | None = None
    audit: AuditResult | None = None


def canary_report(
    topology: Topology,
    run: RunResult,
    asked: Asked,
    folder: Path,
    *,
    master: str = "local[*]",
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """The report of one run as plain data; ledgers and inputs of its audit are kept in `folder`.

    What cannot be measured makes the verdict unknown. Raises `UsageError` for a run that cannot be reported.
    """
    verb = str(run.plan["verb"])
    is_file_of_run = run.plan.get("topology_digest") in (None, digest(dump_topology(topology)))
    topology, mirror = _as_it_was_left(topology, run)
    fault = fault_of(run)
    measured = _measured(topology, mirror, run, asked, folder, fault, master, tell)
    verdict, reasons = measured.verdict, list(measured.reasons)
    if run.outcome != "ok":
        reasons.insert(0, f"the {verb} ended {run.outcome}: {run.reason}")
        verdict = "unknown" if verdict == "valid" else verdict
    if disagreement := fault.clocks_disagree(run):
        reasons.append(disagreement)
        verdict = "unknown" if verdict == "valid" else verdict
    parts = (measured.audit or AuditResult(rto={"seconds": None})).parts()
    recovery = recovery_part(parts, mirror.source, fault.at_s)
    canaries = _canaries_part(topology, mirror, measured)
    return {
        "format_version": 1,
        "topology": topology.name,
        "scenario": f"{verb}, measured by canaries",
        "backend": "estate",
        "versions": versions_part(topology),
        "environment": environment_part(),
        "started_at": run.started_at_s,
        "finished_at": time.time(),
        "seed": None,
        "run_id": run.run_id,
        "verdict": verdict,
        "reasons": reasons,
        "simulation": is_on_this_machine(topology),
        "responsible": responsible_part(run, approval=_AGREED, approved_by=str(run.by.get("who", ""))),
        "does_not_prove": canary_limits(
            topology,
            canaries=canaries["clients"],
            unmeasured=len(canaries["unmeasured_topics"]) + len(canaries["unmeasured_consumers"]),
            is_failover=verb == "failover",
            is_file_of_run=is_file_of_run,
        ),
        "fault": fault.as_json(),
        "faults": [fault.as_json()],
        "phases": [*fault.phases(run), *phase_parts(run)],
        "predicted": predicted_part(run)
        | ({"loss": _stated_loss(run, mirror)} if verb == "failback" else {}),
        "gates": [gate_part(gate) for gate in run.gates],
        "steps": [step_part(step, run) for step in run.steps],
        "plan": plan_part(topology, run.plan, run.plan["request"].get("accept_loss")),
        "timeline": [*fault.timeline(run), *first_record_moments(run)],
        "canaries": canaries,
        "recovery": recovery,
        "objectives": objectives_part(topology.failover.objectives, recovery, parts["rto"]),
        **parts,
    }


def _as_it_was_left(topology: Topology, run: RunResult) -> tuple[Topology, Replication]:
    """The topology and the mirror along which a run moved: before a way back, all worked at the standby."""
    verb = str(run.plan["verb"])
    mirror = topology.mirror(run.source, run.target)
    home = topology.mirror(run.target, run.source)
    if verb == "failback" and home is not None:
        return after_move(topology, home), reverse_mirror(home)
    if verb not in MOVING_VERBS or mirror is None:
        known = ", ".join(MOVING_VERBS)
        raise UsageError(f"run {run.run_id}", f"is a {verb} of {run.source}", f"reports are made of: {known}")
    return topology, mirror


def _stated_loss(run: RunResult, mirror: Replication) -> dict[str, dict[str, Any]]:
    """What was said of the topics of the run's source.

    The plan of a way back speaks of what the returned site itself lacks; of what the standby has taken since
    nothing may be lost, and nothing is estimated.
    """
    if run.plan["verb"] != "failback":
        return predicted_loss(run)
    return {topic: {**NOTHING_LOST, **NOTHING_ESTIMATED} for topic in mirror.topics}


def _measured(  # noqa: PLR0917 - all that a measurement is made of
    topology: Topology,
    mirror: Replication,
    run: RunResult,
    asked: Asked,
    folder: Path,
    fault: Fault,
    master: str,
    tell: Tell,
) -> Measured:
    canaries, own = canaries_of(topology, mirror)
    if not canaries.producers or not own.topics:
        reason = f"no producer of {mirror.source} is a canary whose topic is mirrored: nothing was measured"
        return Measured(verdict="unknown", reasons=[reason])
    try:
        evidence = take_evidence(topology, mirror, run, asked, folder, fault_at_s=fault.at_s, tell=tell)
        tell("comparing what was acknowledged with what is there and what was read")
        audit = _audited(evidence, folder, master)
    except (AuditError, ClusterError) as error:
        reason = f"the canaries could not be read: {error.subject}: {error.problem}"
        return Measured(verdict="unknown", reasons=[reason])
    readers = {consumer.name for consumer in canaries.consumers}
    verdict, reasons = judge(
        audit,
        predicted_loss={name: loss for name, loss in _stated_loss(run, mirror).items() if name in own.topics},
        source=mirror.source,
        predicted_reread={
            name: cost.get("at_most") for name, cost in run.predicted["reread"].items() if name in readers
        },
        is_fault_verified=fault.is_verified,
        is_drained=evidence.is_drained,
    )
    return Measured(verdict=verdict, reasons=reasons, evidence=evidence, audit=audit)


def _audited(evidence: Evidence, folder: Path, master: str) -> AuditResult:
    with tempfile.TemporaryDirectory(prefix="dcctl-audit-") as scratch:
        spark = audit_session(master, Path(scratch))
        try:
            found = run_audit(spark, evidence.inputs, keep=folder)
        finally:
            spark.stop()
    return replace(found, findings=(*evidence.findings, *found.findings))


def _canaries_part(topology: Topology, mirror: Replication, measured: Measured) -> dict[str, Any]:
    canaries, own = canaries_of(topology, mirror)
    clients = [*(one.name for one in canaries.producers), *(one.name for one in canaries.consumers)]
    consumers = topology.consumers_of(mirror.source)
    return {
        "clients": clients,
        "since": None if measured.evidence is None else measured.evidence.since_s,
        "unmeasured_topics": [topic for topic in mirror.topics if topic not in own.topics],
        "unmeasured_consumers": [consumer.name for consumer in consumers if not consumer.canary],
    }
