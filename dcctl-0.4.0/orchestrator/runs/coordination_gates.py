"""The conditions that lie in the ensemble: lock and journal at hand, and nobody's hold in the way."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.ports.part import Part
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.gate import absent, asked_again, gate_result
from orchestrator.runs.holds import not_held
from orchestrator.runs.plan import GateResult
from orchestrator.topology.model import Topology

GIVEN_UP = "the run has no lock: another dcctl elsewhere may act at the same time"


@asked_again("always")
def coordination_gate(part: Part[CoordinationState], *, is_given_up: bool = False) -> GateResult:
    """Lock and journal are at hand. `is_given_up`: a person goes on without them, if they are away."""
    limit = "the ensemble answers, and nobody else holds the lock"
    if part.value is None:
        return absent("coordination", part, limit)
    if is_given_up:
        return _given_up(part.source, part.value)
    holder = part.value.holder
    return gate_result(
        "coordination",
        "refused" if holder else "ok",
        measured=part.source,
        limit=limit,
        reason=f"the lock is held by {holder}"
        if holder
        else "lock and journal are available, and nobody else holds the lock",
        hint="wait until that run has ended" if holder else "",
    )


def _given_up(source: str, state: CoordinationState) -> GateResult:
    limit = "the ensemble does not answer: only then may a run do without it"
    if not state.alone:
        reason = "the ensemble answers: there is no need to do without it"
        hint = "leave out --without-coordination; runs made without the ensemble are imported by "
        hint += "dcctl history FILE --import JOURNAL"
        return gate_result("coordination", "refused", source, limit, reason, hint)
    copy = f"the copy of the estate record here ends at fact {state.newest_fact}"
    if state.newest_fact is None:
        copy = f"no copy of the estate record is here ({state.copy_problem or 'no fact was copied'})"
    reason = f"{GIVEN_UP}; its journal is a file of this machine; {copy}"
    return gate_result("coordination", "ok", state.alone, limit, reason)


@asked_again("always")
def not_held_gate(part: Part[CoordinationState], topology: Topology, clusters: Iterable[str]) -> GateResult:
    """Nobody has put a hold on what is to be touched."""
    if part.value is None:
        return absent("not-held", part, "the holds are known, and none is in the way")
    if part.value.alone:
        reason = "holds lie in the ensemble, which does not answer: whether there is one is unknown"
        return gate_result(
            "not-held", "ok", "not known", "a person goes on without knowing the holds", reason
        )
    return not_held(topology, clusters, part.value.holds, part.at_s)
