"""A move that is done, and of which only its last looks are open: what that means for the next move. Pure."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.runs.coordination_state import EarlierRun
from orchestrator.runs.gate import gate_result
from orchestrator.runs.plan import GateResult, Plan, Step
from orchestrator.runs.word import by_word
from orchestrator.topology.verbs import MOVING_VERBS
from orchestrator.wording import listed

OPEN_STANDBY = "open-standby"


def pending_verifications(plan: Plan, done: Collection[str]) -> tuple[str, ...]:
    """Steps of a move that are not `done`, where none of them moves anything any more; otherwise empty."""
    left = [step for step in plan.steps if step.id not in done]
    is_moved = plan.verb in MOVING_VERBS and all(_only_looks(step) for step in left)
    return tuple(step.id for step in left) if is_moved else ()


def _only_looks(step: Step) -> bool:
    """Also what follows on the looks: the file's own last playbook, and a standby to be opened."""
    return step.phase in ("verify", "follow-up") or step.id == OPEN_STANDBY


def how_to_end(run: EarlierRun) -> str:
    """How a run is ended of which only looks are open."""
    hint, said = f"dcctl resume {run.run_id} FILE", by_word(run.run_id, run.waits_for)
    return f"{hint}, or {said}" if said else hint


def how_to_pass(run: EarlierRun) -> str:
    """How another move passes it."""
    hint = f'{how_to_end(run)}; or go on without that verification: --acknowledge "OWNER: comment"'
    if OPEN_STANDBY not in run.looks:
        return hint
    return f"{hint}, and dcctl unfence FILE --cluster {run.source}: applications are still denied there"


def is_by_word(run: EarlierRun, target: str) -> bool:
    """Whether a person's word lets a move to `target` begin though this run is not through."""
    return bool(run.let_stand) or (bool(run.looks) and run.target != target)


def not_seen_gate(run: EarlierRun, acknowledged: str, measured: str, limit: str) -> GateResult:
    """Of `needed`, for a move that leads elsewhere: the earlier one has moved everything."""
    stands = f"run {run.run_id} has moved all to {run.target}, but has not completed {listed(run.looks)}"
    if run.not_seen:
        stands += f" (not seen: {listed(run.not_seen)})"
    if acknowledged:
        return gate_result("needed", "ok", measured, limit, f"{stands}; acknowledged by {acknowledged}")
    return gate_result("needed", "refused", measured, limit, stands, how_to_pass(run))
