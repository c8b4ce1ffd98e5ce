"""The `report.json` of a drill with several active clusters, from what was done, measured and stated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from orchestrator.evidence.audit.inputs import seen_again_limit_s
from orchestrator.evidence.origins.judged import Judged, Measurements
from orchestrator.evidence.origins.moved import MoveFound, position_cost
from orchestrator.evidence.origins.pauses import longest, series_of
from orchestrator.evidence.origins.told import Origin
from orchestrator.evidence.report.recovery import objectives_part
from orchestrator.evidence.report.run_parts import (
    gate_part,
    phase_parts,
    plan_part,
    predicted_part,
    responsible_part,
    step_part,
)
from orchestrator.simulation.drill_report import (
    NOBODY_ASKED,
    DrillFacts,
    Mark,
    frame_part,
)
from orchestrator.topology.model import Consumer, Producer


def origins_report(facts: DrillFacts, judged: Judged, marks: Sequence[Mark]) -> dict[str, Any]:
    """The report of a drill that went to its end. Plan, gates and steps are those of the last move."""
    found, last = judged.measured, facts.failover
    losing = [run for run in facts.moves if run.predicted["loss"]] or list(facts.moves)
    parts: dict[str, Any] = {
        "clusters": _clusters(found),
        "moves": list(_moves(found)),
        "rto": _rto(found),
        "series": series_of(found.successes, _zero_s(facts, found)),
        "copies": list(_copies(found)),
        "readings": list(_readings(found)),
        "applications": list(_applications(found)),
        "consumers": list(_consumers(found)) if len(found.moves) == 1 else [],
    }
    recovery = _recovery(found, parts["rto"])
    of_run: dict[str, Any] = {}
    if last is not None:
        of_run = {
            "run_id": last.run_id,
            "phases": phase_parts(last),
            "predicted": predicted_part(losing[0]),
            "gates": [gate_part(gate) for gate in last.gates],
            "steps": [step_part(step, last) for step in last.steps],
            "plan": plan_part(facts.topology, last.plan, facts.accepted_loss),
            "responsible": responsible_part(last, approval=NOBODY_ASKED),
        }
    return {
        **frame_part(facts, marks),
        **of_run,
        "verdict": judged.verdict,
        "reasons": [*judged.reasons, *facts.notes],
        **parts,
        "recovery": recovery,
        "objectives": objectives_part(facts.topology.failover.objectives, recovery, parts["rto"]),
    }


def _recovery(found: Measurements, rto: Mapping[str, Any]) -> dict[str, Any]:
    """`recovery`: of several losses the worst. What arrived late was not there for whoever had gone away."""
    told, worst, oldest_s = found.told, 0, 0.0
    losses = {
        one.move.run_id: lost.at_s for one, lost in zip(_lossy(found), found.rehearsed.losses, strict=False)
    }
    for one in _lossy(found):
        gone = (*one.late, *one.missing)
        worst = max(worst, len(gone))
        first_s = min((told.acked[record].at_ms / 1000 for record in gone), default=None)
        if first_s is not None:
            oldest_s = max(oldest_s, losses[one.move.run_id] - first_s)
    holes = len({record for copy in found.compared.copies for record in copy.hole})
    return {
        "rto_s": rto["seconds"],
        "rpo_records": worst + holes,
        "rpo_s": None if holes else round(oldest_s, 3),
    }


def _lossy(found: Measurements) -> list[MoveFound]:
    return [one for one in found.moves if one.move.is_of_a_loss]


def _zero_s(facts: DrillFacts, found: Measurements) -> float:
    return facts.fault_at_s or min((window.begins_s for window in found.windows), default=facts.started_at_s)


def _clusters(found: Measurements) -> dict[str, Any]:
    """`clusters`: every topic where its records are produced, at the worst of the places that have them."""
    parts: dict[str, Any] = {}
    replays = {(one.cluster, one.topic): one for one in found.replays}
    by_origin: dict[Origin, list[Any]] = {}
    for copy in found.compared.copies:
        by_origin.setdefault(copy.origin, []).append(copy)
    for origin, copies in by_origin.items():
        twice = [replays.get((copy.cluster, copy.topic)) for copy in copies]
        parts.setdefault(origin.cluster, {"topics": {}})["topics"][origin.topic] = {
            "acked": max(copy.acked for copy in copies),
            "present": min(copy.present for copy in copies),
            "lost": {
                "tail": len({record for copy in copies for record in copy.tail}),
                "hole": len({record for copy in copies for record in copy.hole}),
            },
            "quarantined": None,
            "duplicates": sum(len(one.unexplained) for one in twice if one is not None),
            "reordered": sum(copy.reordered for copy in copies),
            "indeterminate": {"present": None, "absent": None},
            "resent_copies": sum(len(copy.resent) for copy in copies),
        }
    return parts


def _copies(found: Measurements) -> Iterator[dict[str, Any]]:
    replays = {(one.cluster, one.topic): one for one in found.replays}
    for copy in found.compared.copies:
        replay = replays.get((copy.cluster, copy.topic))
        yield {
            "origin": copy.origin.cluster,
            "topic": copy.origin.topic,
            "cluster": copy.cluster,
            "name": copy.topic,
            "acked": copy.acked,
            "present": copy.present,
            "tail": len(copy.tail),
            "hole": len(copy.hole),
            "twice": 0 if replay is None else len(replay.unexplained),
            "copied_again": 0 if replay is None else replay.explained,
            "copied_again_at_most": 0 if replay is None else replay.at_most,
            "sent_again": len(copy.resent),
            "reordered": copy.reordered,
        }


def _readings(found: Measurements) -> Iterator[dict[str, Any]]:
    consumers = {one.name: one for one in found.rehearsed.topology.consumers}
    late = frozenset(record for one in found.moves for again in one.again for record in again.late)
    for one in found.compared.readings:
        stated = [
            move.at_most(one.consumer)
            for move in found.moves
            if one.consumer in {again.consumer for again in move.again}
        ]
        uncommitted = found.uncommitted[one.consumer]
        again = [record for record in one.again if record not in uncommitted]
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
            "again": len(again),
            "again_at_most": _sum(stated) if stated else None,
            "late": sum(record in late for record in again),
            "uncommitted": sum(record in uncommitted for record in one.again),
            "repeated": len(one.repeated),
            "uncalled": len(one.uncalled),
        }


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _applications(found: Measurements) -> Iterator[dict[str, Any]]:
    """Each application in each loss, beside what `dcctl explain` says of it."""
    pauses = {(isinstance(one, Producer), one.name): found.pauses(one) for one in found.clients}
    begins = [window.begins_s for window in found.windows]
    each = len(found.rehearsed.topology.producers) + len(found.rehearsed.topology.consumers)
    for place, fate in enumerate(found.fates):
        number = place // each
        of_client = pauses.get((fate.kind == "producer", fate.name))
        window = begins.index(found.rehearsed.losses[number].at_s)
        yield {
            "loss": number + 1,
            "name": fate.name,
            "kind": fate.kind,
            "cluster": fate.cluster,
            "stated": fate.stated,
            "happened": fate.happened,
            "is_as_stated": fate.is_as_stated,
            "pause_s": None if of_client is None else of_client[window],
            "reason": fate.reason,
        }


def _consumers(found: Measurements) -> Iterator[dict[str, Any]]:
    """`consumers` of a rehearsal with one move: each position that it wrote, and why records came again."""
    consumers = {one.name: one for one in found.rehearsed.topology.consumers}
    (one,) = found.moves
    for placed, shift in one.shifts:
        cost = position_cost(found.told, one, placed, shift)
        yield {
            "name": placed.consumer,
            "kind": consumers[placed.consumer].kind,
            "source": one.move.source,
            "topic": placed.left.topic,
            "partition": placed.left.partition,
            "source_offset": placed.left_offset,
            "position_age_s": placed.age_s,
            "target_offset": placed.entered_offset,
            "target_topic": placed.entered.topic,
            "exact": placed.exact,
            "reread": {
                "map": cost.map,
                "position_age": cost.position_age,
                "uncommitted": cost.uncommitted,
            },
            "skipped": len(shift.skipped),
            "processed_but_lost": cost.processed_but_lost,
            "reason": placed.reason,
        }


def _moves(found: Measurements) -> Iterator[dict[str, Any]]:
    """`moves`, each with the longest pauses of those whom it took along."""
    for number, one in enumerate(found.moves):
        moved = [client for client in found.clients if one.move.moves(found.rehearsed.topology, client)]
        pauses = [
            longest([found.pauses(client)[number] for client in moved if isinstance(client, kind)])
            for kind in (Producer, Consumer)
        ]
        bounds = [bound.get("at_most") for bound in one.move.loss.values()]
        stated = _sum(bounds) if bounds and one.move.is_of_a_loss else None
        yield {**asdict(one.figures(*pauses)), "late_at_most": stated}


def _rto(found: Measurements) -> dict[str, Any]:
    """`rto`: of each client the longest that it got nothing done around any loss or move."""
    every = {one: longest(found.pauses(one)) for one in found.clients}
    producers = {one.name: pause for one, pause in every.items() if isinstance(one, Producer)}
    consumers = {one.name: pause for one, pause in every.items() if isinstance(one, Consumer)}
    return {
        "seconds": longest([*producers.values(), *consumers.values()]),
        "per_producer": producers,
        "per_consumer": consumers,
        "limit_s": seen_again_limit_s(found.rehearsed.topology),
    }
