"""Where applications work while a move is not done, and what it holds: the last word of its run."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.engine import RunState
from orchestrator.planning.plan import Step
from orchestrator.planning.primary import STEP as RECORD_PRIMARY

_NAMED = 3
_STOPS = frozenset({"stop-clients", "stop-left-clients"})


def where_now(state: RunState) -> str:
    """One sentence by the journal; empty for a run that moves no primary."""
    record = next((step for step in state.plan.steps if step.action == RECORD_PRIMARY), None)
    if record is None:
        return ""
    primary = _primary(state, record)
    held = [*_stopped(state), *_denied(state)]
    return f"Recorded as primary: {primary}; held: {'; '.join(held) or 'nothing'}"


def _primary(state: RunState, record: Step) -> str:
    before, after = state.plan.source, str(record.arguments["primary"])
    if record.id not in state.begun or state.status(record.id, "undo") == "ok":
        return before
    if state.status(record.id) == "ok" and state.status(record.id, "undo") == "waiting":
        return after
    return f"{before} or {after}, dcctl status tells"


def _stopped(state: RunState) -> Iterable[str]:
    """Clients that were stopped, or may have been, and are not known to have been started since."""
    at_work = {
        client
        for step in state.plan.steps
        if step.action == "start-clients" and state.status(step.id) == "ok"
        for client in step.arguments["clients"]
    }
    stopped = dict.fromkeys(
        str(client)
        for step in state.plan.steps
        if step.action in _STOPS and _may_stand(state, step)
        for client in step.arguments["clients"]
        if client not in at_work
    )
    if stopped:
        names = list(stopped)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        yield f"{', '.join(names[:_NAMED])}{more} stopped"


def _denied(state: RunState) -> Iterable[str]:
    """Clusters with rules of this run's fence."""
    lifted = {
        (step.arguments["cluster"], tuple(rule))
        for step in state.plan.steps
        if step.action == "lift-rules" and state.status(step.id) == "ok"
        for rule in step.arguments["rules"]
    }
    clusters = dict.fromkeys(
        str(step.arguments["cluster"])
        for step in state.plan.steps
        if step.action == "deny"
        and _may_stand(state, step)
        and any((step.arguments["cluster"], tuple(rule)) not in lifted for rule in step.arguments["rules"])
    )
    if clusters:
        yield f"applications denied at {', '.join(clusters)}"


def _may_stand(state: RunState, step: Step) -> bool:
    return step.id in state.effective and state.status(step.id, "undo") != "ok"
