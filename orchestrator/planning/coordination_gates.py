"""The conditions that lie in the ensemble: lock and journal at hand, and nobody's hold in the way."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.planning.holds import not_held
from orchestrator.planning.observation import CoordinationState, Part
from orchestrator.planning.plan import GateResult
from orchestrator.planning.situation import absent, gate_result
from orchestrator.topology.model import Topology


def coordination_gate(part: Part[CoordinationState]) -> GateResult:
    """Lock and journal are at hand."""
    limit = "the ensemble answers, and nobody else holds the lock"
    if part.value is None:
        return absent("coordination", part, limit)
    holder = part.value.holder
    return gate_result(
        "coordination",
        "refused" if holder else "ok",
        measured=part.source,
        limit=limit,
        reason=f"held by {holder}" if holder else "lock and journal are at hand",
        hint="wait for that run to end" if holder else "",
    )


def not_held_gate(part: Part[CoordinationState], topology: Topology, clusters: Iterable[str]) -> GateResult:
    """Nobody has put a hold on what is to be touched."""
    if part.value is None:
        return absent("not-held", part, "it is known that nobody keeps our hands off")
    return not_held(topology, clusters, part.value.holds, part.at_s)
