"""Where applications work while a run is not done, and what it holds: the last word of that run."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.engine import RunState
from orchestrator.operations.actions.declaring import Declaration, Held, declaration_of
from orchestrator.operations.actions.failback_table import FAILBACK_TABLE
from orchestrator.planning.plan import Step
from orchestrator.planning.primary import STEP as RECORD_PRIMARY

_NAMED = 3


def where_now(state: RunState) -> str:
    """One sentence by the journal; of a run that moves no primary only what it holds, empty for nothing."""
    record = next((step for step in state.plan.steps if step.id == RECORD_PRIMARY), None)
    told = "; ".join(_in_words(_held(state)))
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


def _held(state: RunState) -> list[Held]:
    """What steps of the run keep from working, or may, and none is known to have freed since."""
    freed = {
        _freed_by_name(held)
        for step in state.plan.steps
        if state.status(step.id) == "ok" and state.status(step.id, "undo") == "waiting"
        for held in _declared(step).frees(step)
    }
    return [
        held
        for step in state.plan.steps
        if step.id in state.effective and state.status(step.id, "undo") != "ok"
        for held in _declared(step).holds(step)
        if _freed_by_name(held) not in freed
    ]


def _freed_by_name(held: Held) -> tuple[object, ...]:
    """A client that was started anywhere works; a rule holds at its own cluster."""
    return ("stopped", held.what) if held.kind == "stopped" else ("denied", held.cluster, held.what)


def _in_words(held: Iterable[Held]) -> Iterable[str]:
    held = list(held)
    clients = list(dict.fromkeys(str(found.what) for found in held if found.kind == "stopped"))
    if clients:
        more = f" and {len(clients) - _NAMED} more" if len(clients) > _NAMED else ""
        yield f"{', '.join(clients[:_NAMED])}{more} stopped"
    clusters = dict.fromkeys(found.cluster for found in held if found.kind == "denied")
    if clusters:
        yield f"applications denied at {', '.join(clusters)}"


def _declared(step: Step) -> Declaration:
    """Beside the action: those of any verb that keeps applications off are in this table."""
    return declaration_of(FAILBACK_TABLE.perform.get(step.action))
