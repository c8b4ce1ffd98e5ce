"""What a failover would do, cost and refuse if the source of a mirror were lost now, as `status` tells it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from orchestrator.errors import DcctlError
from orchestrator.moves.participants import Participants
from orchestrator.moves.request import FailoverRequest
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.runs.plan import GateResult, Plan
from orchestrator.snapshot.snapshot import Snapshot
from orchestrator.topology.model import Consumer, Topology
from orchestrator.verbs.plans import plan_failover


def plan_if_lost(
    topology: Topology, seen: Snapshot, request: FailoverRequest, feed: MirrorRef, them: Participants
) -> Plan:
    """A failover's own plan. Along a mirror whose engine only copies it is refused, and foretells nothing."""
    try:
        them.engine(topology, feed)
    except DcctlError as refusal:
        return Plan(
            verb="failover",
            topology=topology.name,
            source=feed.source,
            target=feed.target,
            request=request.as_json(),
            created_at_s=seen.at_s,
            expires_at_s=seen.at_s,
            topology_digest="",
            observed={},
            gates=(GateResult(**not_movable(refusal)),),
            steps=(),
        )
    return plan_failover(topology, seen, request, them=them)


def not_movable(refusal: DcctlError) -> dict[str, Any]:
    """As a gate: a failover ends with this error before it has any."""
    return {
        "id": "movable",
        "outcome": "refused",
        "measured": refusal.subject,
        "limit": "every kind of application and the mirror's engine take part in moves",
        "reason": f"{refusal.subject} {refusal.problem}",
        "hint": refusal.hint,
    }


def would_refuse(plan: Plan) -> list[dict[str, Any]]:
    """Gates of that plan that are closed, but those that a person's word about the outage would open."""
    return [
        {
            "id": gate.id,
            "outcome": gate.outcome,
            "measured": gate.measured,
            "limit": gate.limit,
            "reason": gate.reason,
            "hint": gate.hint,
        }
        for gate in plan.gates
        # Not whether it is down: that speaks of a failover being asked for.
        if gate.outcome != "ok" and not gate.of_outage
    ]


def loss_told(plan: Plan) -> dict[str, Any]:
    """What would be lost by it; null where that is not known."""
    at_most = [topic.get("at_most") for topic in plan.predicted.loss.values()]
    is_known = bool(at_most) and None not in at_most
    return {
        "topics": {name: dict(loss) for name, loss in plan.predicted.loss.items()},
        "at_most": sum(records or 0 for records in at_most) if is_known else None,
        "seconds_at_most": plan.facts.get("loss_seconds_at_most"),
        "budget": plan.facts.get("budget"),
    }


def groups_told(consumers: Iterable[Consumer], plan: Plan) -> list[dict[str, Any]]:
    """What those of these consumers that are groups would go on from, and read again."""
    found = []
    for consumer in consumers:
        if not consumer.groups:
            continue
        rows = [row for row in plan.facts.get("translations", []) if row["group"] == consumer.group_id]
        ages = [row["position_age_s"] for row in rows if row["source_offset"] is not None]
        found.append(
            {
                "group": consumer.group_id,
                "consumer": consumer.name,
                "position_age_s": None if None in ages else max(ages, default=None),
                "partitions": len(rows),
                "exact": sum(row["exact"] for row in rows),
                "reread": dict(plan.predicted.reread.get(consumer.name, {})),
                "without_translation": [
                    f"{row['topic']}-{row['partition']}: {row['reason']}"
                    for row in rows
                    if row["target_offset"] is None
                ],
            }
        )
    return found
