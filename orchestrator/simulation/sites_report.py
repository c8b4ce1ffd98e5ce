"""The `report.json` of a drill of one cluster over several sites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from orchestrator.evidence.audit.inputs import seen_again_limit_s
from orchestrator.evidence.origins.compared import CopyFigures
from orchestrator.evidence.origins.pauses import longest, series_of
from orchestrator.evidence.report.recovery import objectives_part
from orchestrator.evidence.report.run_parts import (
    gate_part,
    phase_parts,
    plan_part,
    predicted_part,
    responsible_part,
    step_part,
)
from orchestrator.evidence.sites.judged import SitesJudged, SitesMeasured, pause_of
from orchestrator.simulation.drill_report import NOBODY_ASKED, DrillFacts, Mark, frame_part
from orchestrator.topology.model import Consumer, Producer


def sites_report(facts: DrillFacts, judged: SitesJudged, marks: Sequence[Mark]) -> dict[str, Any]:
    """The report of a drill that went to its end. Plan, gates and steps are those of the first command."""
    found, first = judged.measured, facts.failover
    rto = _rto(found)
    recovery = _recovery(found, rto)
    of_run: dict[str, Any] = {}
    if first is not None:
        of_run = {
            "run_id": first.run_id,
            "phases": phase_parts(first),
            "predicted": predicted_part(first),
            "gates": [gate_part(gate) for gate in first.gates],
            "steps": [step_part(step, first) for step in first.steps],
            "plan": plan_part(facts.topology, first.plan, facts.accepted_loss),
            "responsible": responsible_part(first, approval=NOBODY_ASKED),
        }
    return {
        **frame_part(facts, marks),
        **of_run,
        "verdict": judged.verdict,
        "reasons": [*judged.reasons, *facts.notes],
        "clusters": _clusters(found),
        "rto": rto,
        "series": series_of(found.successes, facts.fault_at_s or facts.started_at_s),
        "copies": list(_copies(found)),
        "readings": list(_readings(found)),
        "statements": [{**asdict(one), "is_as_stated": one.is_as_stated} for one in found.statements],
        "recovery": recovery,
        "objectives": objectives_part(facts.topology.failover.objectives, recovery, rto),
    }


def _recovery(found: SitesMeasured, rto: Mapping[str, Any]) -> dict[str, Any]:
    """`recovery`: what is missing in the end, of all losses together."""
    missing = [record for copy in found.compared.copies for record in found.missing(copy.topic)]
    first_s = min((found.told.acked[record].at_ms / 1000 for record in missing), default=None)
    lost_s = max((gone.at_s for gone in found.rehearsed.gone), default=0.0)
    return {
        "rto_s": rto["seconds"],
        "rpo_records": len(missing),
        "rpo_s": 0.0 if first_s is None else round(max(0.0, lost_s - first_s), 3),
    }


def _clusters(found: SitesMeasured) -> dict[str, Any]:
    """`clusters`: every topic of the one."""
    topics = {
        copy.topic: {
            "acked": copy.acked,
            "present": copy.present,
            "lost": _lost(found, copy),
            "quarantined": None,
            "duplicates": len(copy.twice),
            "reordered": copy.reordered,
            "indeterminate": {"present": None, "absent": None},
            "resent_copies": len(copy.resent),
        }
        for copy in found.compared.copies
    }
    return {found.rehearsed.cluster: {"topics": topics}}


def _lost(found: SitesMeasured, copy: CopyFigures) -> dict[str, int]:
    """What a lost leader alone had lay behind all that others had, though the log has gone on since."""
    hole = sum(not found.may_be_missing(record) for record in copy.hole)
    return {"tail": len(copy.tail) + len(copy.hole) - hole, "hole": hole}


def _copies(found: SitesMeasured) -> Iterator[dict[str, Any]]:
    for copy in found.compared.copies:
        yield {
            "origin": copy.origin.cluster,
            "topic": copy.origin.topic,
            "cluster": copy.cluster,
            "name": copy.topic,
            "acked": copy.acked,
            "present": copy.present,
            **_lost(found, copy),
            "twice": len(copy.twice),
            "copied_again": 0,
            "copied_again_at_most": 0,
            "sent_again": len(copy.resent),
            "reordered": copy.reordered,
        }


def _readings(found: SitesMeasured) -> Iterator[dict[str, Any]]:
    consumers = {one.name: one for one in found.rehearsed.topology.consumers}
    for one in found.compared.readings:
        uncommitted = found.uncommitted[one.consumer]
        yield {
            "consumer": one.consumer,
            "kind": consumers[one.consumer].kind,
            "cluster": consumers[one.consumer].cluster,
            "origin": one.origin.cluster,
            "topic": one.origin.topic,
            "expected": one.expected,
            "read": one.read,
            "lost": len(one.lost),
            "skipped": len(one.skipped),
            "again": sum(record not in uncommitted for record in one.again),
            "again_at_most": 0,
            "late": 0,
            "uncommitted": sum(record in uncommitted for record in one.again),
            "repeated": len(one.repeated),
            "uncalled": len(one.uncalled),
        }


def _rto(found: SitesMeasured) -> dict[str, Any]:
    """`rto`: of each client the longest that it got nothing done while a site was away or came back."""
    every = [(one, pause_of(found, one)) for one in found.clients]
    producers = {one.name: pause for one, pause in every if isinstance(one, Producer)}
    consumers = {one.name: pause for one, pause in every if isinstance(one, Consumer)}
    return {
        "seconds": longest([*producers.values(), *consumers.values()]),
        "per_producer": producers,
        "per_consumer": consumers,
        "limit_s": seen_again_limit_s(found.rehearsed.topology),
    }
