"""Taking a run back: which effects are undone, in which order, and what stands for good. Pure.

Order: a step is undone only when everything that was built on it is gone. So the way back is the graph
of the plan turned around, and an effect that nothing can take back keeps all that it was built on.
"""

from __future__ import annotations

from orchestrator.runs.engine.state import RunOutcome, RunState
from orchestrator.runs.plan import Step


def steps_to_undo(state: RunState) -> tuple[Step, ...]:
    """Steps that were begun and have a compensation, in plan order; not those that a person leaves."""
    return tuple(
        step
        for step in state.plan.steps
        if step.compensation is not None and step.id in state.begun and step.id not in state.leave
    )


def standing(state: RunState) -> tuple[Step, ...]:
    """Irreversible steps that have, or may have, their effect: what a run taken back cannot undo."""
    return tuple(step for step in state.plan.steps if step.irreversible and step.id in state.effective)


def left_undone(state: RunState) -> tuple[Step, ...]:
    """Steps that could be taken back and are not, because a person lets them stand by name."""
    return tuple(
        step
        for step in state.plan.steps
        if step.compensation is not None
        and step.id in state.begun & state.leave
        and state.status(step.id, "undo") != "ok"
    )


def staying(state: RunState) -> tuple[Step, ...]:
    """Steps of whose effect something stands, or may, whether or not the run is taken back.

    With a reason in the plan, or by the word of a person. A step with an undo counts from its beginning.
    """
    return tuple(
        step
        for step in state.plan.steps
        if (step.irreversible or step.stays_because or (step.compensation and step.id in state.leave))
        and step.id in (state.begun if step.compensation else state.effective)
        and (step.stays_because or state.status(step.id, "undo") != "ok")
    )


def kept_by(state: RunState) -> dict[str, tuple[str, ...]]:
    """Steps that would be undone but for an irreversible one built on them: step -> what keeps it."""
    graph = _followers(state)
    found = {}
    for step in steps_to_undo(state):
        keepers = _after(graph, step.id).intersection(s.id for s in standing(state))
        if keepers - state.leave:
            found[step.id] = tuple(sorted(keepers))
    return found


def ready_to_undo(state: RunState) -> tuple[Step, ...]:
    """Steps whose compensation may begin: all that was built on them is gone, or is left by a person."""
    open_steps = {s.id for s in steps_to_undo(state) if state.status(s.id, "undo") != "ok"}
    in_the_way = open_steps | {s.id for s in standing(state) if s.id not in state.leave}
    graph = _followers(state)
    return tuple(
        step
        for step in steps_to_undo(state)
        if state.status(step.id, "undo") == "waiting" and not in_the_way & _after(graph, step.id)
    )


def undo_outcome(state: RunState) -> RunOutcome:
    """Of a run that is taken back."""
    if state.with_any("unknown", way="undo"):
        return "unknown"
    is_all = _is_all_gone(state) and not standing(state) and not left_undone(state)
    return "undone" if is_all else "incomplete"


def kept_effects(state: RunState) -> tuple[str, ...]:
    """Of a run that is taken back as far as was asked for: what a person has let stand."""
    stands = {step.id for step in standing(state)}
    is_done = bool(state.undoing) and _is_all_gone(state) and state.leave.issuperset(stands)
    stands |= {step.id for step in left_undone(state)}
    return tuple(step.id for step in state.plan.steps if step.id in stands) if is_done else ()


def _is_all_gone(state: RunState) -> bool:
    return all(state.status(step.id, "undo") == "ok" for step in steps_to_undo(state))


def _followers(state: RunState) -> dict[str, list[str]]:
    graph: dict[str, list[str]] = {step.id: [] for step in state.plan.steps}
    for step in state.plan.steps:
        for needed in step.depends_on:
            graph[needed].append(step.id)
    return graph


def _after(graph: dict[str, list[str]], step_id: str) -> set[str]:
    """Everything built on a step, near and far."""
    found: set[str] = set()
    open_ids = list(graph[step_id])
    while open_ids:
        current = open_ids.pop()
        if current not in found:
            found.add(current)
            open_ids += graph[current]
    return found
