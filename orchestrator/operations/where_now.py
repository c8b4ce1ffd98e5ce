"""Where applications work while a run is not done, and what it holds: the last word of that run."""

from __future__ import annotations

from orchestrator import __version__
from orchestrator.engine import RunState
from orchestrator.moves.effects import MOVE_EFFECTS
from orchestrator.moves.held import Declared, held_in_words, still_held
from orchestrator.planning.plan import Step
from orchestrator.planning.primary import STEP as RECORD_PRIMARY


def where_now(state: RunState, effects: Declared = MOVE_EFFECTS) -> str:
    """One sentence by the journal; of a run that moves no primary only what it holds, empty for nothing.

    `effects`: those of whoever takes part in the run.
    """
    record = next((step for step in state.plan.steps if step.id == RECORD_PRIMARY), None)
    told = held_in_words(still_held(state, effects))
    if state.plan.dcctl_version != __version__:
        told = "what it holds that version tells, which began it"
    if record is None:
        return f"Held: {told}" if told else ""
    return f"Recorded as primary: {_primary(state, record)}; held: {told or 'nothing'}"


def _primary(state: RunState, record: Step) -> str:
    before, after = state.plan.source, str(record.arguments["primary"])
    if record.id not in state.begun or state.status(record.id, "undo") == "ok":
        return before
    if state.status(record.id) == "ok" and state.status(record.id, "undo") == "waiting":
        return after
    return f"{before} or {after}, dcctl status tells"
