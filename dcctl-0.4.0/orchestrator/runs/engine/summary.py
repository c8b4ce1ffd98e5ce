"""How a run stands as a whole: its outcome, and the reason in a sentence. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.runs.engine.state import NOT_WELL, RunOutcome, RunState
from orchestrator.runs.engine.undoing import kept_by, left_undone, standing, steps_to_undo, undo_outcome
from orchestrator.wording import listed

_NAMED = 3


def run_outcome(state: RunState) -> RunOutcome:
    """Of the whole run: unknown over incomplete over ok (or, of one taken back, undone)."""
    if state.undoing:
        return undo_outcome(state)
    told = set(only_noted(state))
    if set(state.with_any("unknown")) - told:
        return "unknown"
    return "ok" if len({*state.with_any("ok"), *told}) == len(state.plan.steps) else "incomplete"


def only_noted(state: RunState) -> tuple[str, ...]:
    """Steps that did not end well, and of which that is only told."""
    return tuple(
        step_id for step_id in state.with_any(*NOT_WELL) if state.plan.step(step_id).on_failure == "note"
    )


def run_reason(state: RunState) -> str:
    """Why the run is not complete, or was taken back; empty when it is complete."""
    parts = [state.stopped] if state.stopped else []
    return "; ".join(parts + (_way_back(state) if state.undoing else _way_there(state)))


def _first(step_ids: Sequence[str]) -> str:
    """The first few and how many more: the journal has them all."""
    return listed(step_ids, _NAMED)


def _way_there(state: RunState) -> list[str]:
    parts = []
    for step_id in state.with_any(*NOT_WELL):
        said = state.messages.get(step_id, "")
        parts.append(f"{step_id} {state.status(step_id)}" + (f": {said}" if said else ""))
    open_steps = state.with_any("waiting", "unsettled", "announced", "running", "checking")
    if open_steps:
        parts.append("not done: " + _first(open_steps))
    return parts


def _way_back(state: RunState) -> list[str]:
    parts = [state.undoing]
    open_steps = []
    for step in steps_to_undo(state):
        status = state.status(step.id, "undo")
        if status in NOT_WELL:
            said = state.messages.get(step.id, "")
            parts.append(f"undoing {step.id} {status}" + (f": {said}" if said else ""))
        elif status != "ok":
            open_steps.append(step.id)
    if open_steps:
        parts.append("not undone: " + _first(open_steps))
    left = [step.id for step in (*standing(state), *left_undone(state)) if step.id in state.leave]
    parts += ["left in place on request: " + ", ".join(left)] if left else []
    stands = [step.id for step in standing(state) if step.id not in state.leave]
    if stands:
        kept = sorted(kept_by(state))
        parts.append("cannot be rolled back: " + ", ".join(stands))
        parts += ["kept because those rest on it: " + ", ".join(kept)] if kept else []
    return parts
