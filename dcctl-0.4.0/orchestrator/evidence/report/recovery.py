"""Recovery time and recovery point of a run, and whether the objectives of its topology file were met.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.topology.model import Objectives


def recovery_part(parts: Mapping[str, Any], source: str, fault_at_s: float | None) -> dict[str, Any]:
    """`recovery` of the report, from its `clusters`, `rto` and `moves`; `source`: the cluster that was left.

    Of moves there and back those that lost their source count: what had not been copied then was not there
    for whoever worked at the other side, although it arrived later.
    """
    if parts["moves"]:
        return _of_moves(parts)
    topics = parts["clusters"].get(source, {}).get("topics", {}).values()
    lost = [topic["lost"][kind] for topic in topics for kind in ("tail", "hole")]
    records = None if not lost or None in lost else sum(lost)
    oldest = [topic["oldest_lost_at_s"] for topic in topics if topic.get("oldest_lost_at_s") is not None]
    seconds: float | None = 0.0 if records == 0 else None
    if records and oldest and fault_at_s is not None:
        # What was acknowledged while the site was being killed is as old as the fault.
        seconds = round(max(0.0, fault_at_s - min(oldest)), 3)
    return {"rto_s": _longest(parts["rto"]), "rpo_records": records, "rpo_s": seconds}


def _of_moves(parts: Mapping[str, Any]) -> dict[str, Any]:
    moves = parts["moves"]
    pauses = [move[key] for move in moves for key in ("pause_s", "consumer_pause_s")]
    late = [move["late"] for move in moves if move["verb"] == "failover"]
    missing = [
        topic["lost"]["hole"]
        for cluster in parts["clusters"].values()
        for topic in cluster["topics"].values()
    ]
    is_known = bool(late) and None not in late and None not in missing
    records = max(late) + max(missing, default=0) if is_known else None
    return {
        "rto_s": None if None in pauses else max(pauses, default=None),
        "rpo_records": records,
        "rpo_s": 0.0 if records == 0 else None,
    }


def _longest(rto: Mapping[str, Any]) -> float | None:
    """None where one client was not seen again: what the others took says nothing of it."""
    clients = {**rto.get("per_producer", {}), **rto.get("per_consumer", {})}
    return None if None in clients.values() else rto["seconds"]


def objectives_part(
    objectives: Objectives | None, recovery: Mapping[str, Any], rto: Mapping[str, Any]
) -> dict[str, Any]:
    """`objectives` of the report: a key for each that the file states. Missed is no reason for a verdict.

    A client that was waited for longer than the objective, and never seen again, has missed it without a
    figure.
    """
    if objectives is None:
        return {}
    stated = {
        "rto_s": objectives.rto_s,
        "rpo_records": objectives.rpo_records,
        "rpo_s": objectives.rpo_s,
    }
    found = {}
    for name, objective in stated.items():
        if objective is None:
            continue
        measured = recovery[name]
        clients = {**rto.get("per_producer", {}), **rto.get("per_consumer", {})}
        is_given_up = name == "rto_s" and None in clients.values() and (rto.get("limit_s") or 0) >= objective
        if measured is None:
            outcome = "missed" if is_given_up else "not measured"
        else:
            outcome = "met" if measured <= objective else "missed"
        found[name] = {"objective": float(objective), "measured": measured, "outcome": outcome}
    return found
