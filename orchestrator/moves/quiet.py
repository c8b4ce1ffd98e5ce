"""The gate `not-flapping`: moves that follow each other too soon want somebody's word."""

from __future__ import annotations

from orchestrator.ports.part import Part
from orchestrator.runs.coordination_state import CoordinationState, EarlierRun
from orchestrator.runs.gate import absent, gate_result
from orchestrator.runs.plan import GateResult
from orchestrator.topology.model import Topology
from orchestrator.topology.verbs import MOVING_VERBS


def not_flapping(
    part: Part[CoordinationState], topology: Topology, now_s: float, acknowledged: str
) -> GateResult:
    """No move of this topology has ended just now, or somebody answers for the next one.

    Applications that were moved are still warming up, and two operators who each see their own side sick
    would move them to and fro.
    """
    quiet_s = topology.failover.quiet_s
    limit = f"{_minutes(quiet_s)} of quiet after a move"
    if part.value is None:
        return absent("not-flapping", part, limit)
    newest = _newest_done(part.value)
    if newest is None:
        return gate_result("not-flapping", "ok", "no earlier move", limit, "nothing was moved yet")
    age_s = max(0.0, now_s - (newest.ended_at_s or newest.started_at_s))
    measured = f"{newest.verb} {newest.source} → {newest.target} {_minutes(age_s)} ago ({newest.run_id})"
    if age_s >= quiet_s:
        return gate_result("not-flapping", "ok", measured, limit, "it is long enough ago")
    if acknowledged:
        return gate_result("not-flapping", "ok", measured, limit, f"acknowledged by {acknowledged}")
    return gate_result(
        "not-flapping",
        "refused",
        measured,
        limit,
        "moved again so soon, applications go to and fro instead of working",
        'once whoever owns them agrees: --acknowledge "OWNER: comment"',
    )


def _newest_done(state: CoordinationState) -> EarlierRun | None:
    """The newest move of any that is done. An open one is for the gate `needed`: it is gone on with."""
    moves = [run for run in state.runs if run.verb in MOVING_VERBS and run.outcome == "ok"]
    return moves[-1] if moves else None


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
