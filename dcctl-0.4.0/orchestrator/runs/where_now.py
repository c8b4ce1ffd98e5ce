"""Where applications work while a run is not done, and what a run holds: the last word of that run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from orchestrator.runs.earlier_results import primary_of_earlier
from orchestrator.runs.effect import Held
from orchestrator.runs.engine import RunState, standing, staying, steps_to_undo
from orchestrator.runs.held import Holdings, StillHeld, held_in_words, not_known, still_held
from orchestrator.runs.plan import STEPS_READ, Plan, Step
from orchestrator.wording import listed


def where_now(state: RunState, effects: Holdings) -> str:
    """One sentence by the journal; of a run that moves no primary only what it holds, empty for nothing.

    `effects`: those of whoever takes part in the run.
    """
    told = held_told(state, effects)
    primary = _primary(state, effects)
    if not primary:
        return f"Held: {told}" if told else ""
    stands = [step.title for step in standing(state) if step.id in state.leave]
    kept_effects = f"; left in place on request: {listed(stands)}" if stands else ""
    return f"Recorded as primary: {primary}; held: {told or 'nothing'}{kept_effects}"


def only_its_own_tells(plan: Plan) -> str:
    """Of what is not known here, for another version has made the plan: who knows it."""
    return f"only dcctl {plan.dcctl_version or '0.1.0 or older'}, which began the run, can say"


def held_rows(state: RunState, effects: Holdings) -> list[dict[str, Any]] | None:
    """What the run holds by its journal, for `--json`: a row each, with the fields of `Held` and `StillHeld`.

    None where that is not known here, see `held_unknown`.
    """
    if held_unknown(state, effects):
        return None
    return [
        {**asdict(one.held), "step": one.step, "surely": one.surely} for one in still_held(state, effects)
    ]


def held_unknown(state: RunState, effects: Holdings) -> str:
    """Why it is not known what the run holds, or not of all its steps; empty where it is known.

    Its steps are of another version, or of a package that is not there.
    """
    if not _is_read_here(state):
        return only_its_own_tells(state.plan)
    unknown = not_known(state, effects)
    if not unknown:
        return ""
    steps = f"step {unknown[0]} holds" if len(unknown) == 1 else f"steps {listed(unknown)} hold"
    return f"what {steps} is not known here: no package that is installed brings it"


def held_told(state: RunState, effects: Holdings) -> str:
    """What the run holds, and why that is not known, or not all; empty for nothing."""
    known = still_held(state, effects) if _is_read_here(state) else ()
    return "; ".join(filter(None, [held_in_words(known), held_unknown(state, effects)]))


def held_afterwards(state: RunState, effects: Holdings) -> str:
    """What a run still holds once all that can be taken back is; empty for nothing."""
    for step in steps_to_undo(state):
        state = state.with_status(step.id, "ok", "undo")
    return held_told(state, effects)


def rows_in_words(rows: Iterable[Mapping[str, Any]] | None) -> str:
    """What `held_rows` has found, in one line; empty for nothing."""
    return held_in_words(
        StillHeld(
            Held(row["subject"], row["state"], row["cluster"], row["told_as"]), row["step"], row["surely"]
        )
        for row in rows or ()
    )


def staying_rows(state: RunState) -> list[dict[str, str]]:
    """What stands of the run whether or not it is taken back, for `--json`: each step, its title, and why."""
    return [{"step": step.id, "title": step.title, "because": step.stays_because} for step in staying(state)]


def staying_in_words(rows: Iterable[Mapping[str, str]]) -> str:
    """What `staying_rows` has found, in one line, the first few; empty for nothing."""
    return listed(
        (row["title"] + (f" ({row['because']})" if row["because"] else "") for row in rows), separator="; "
    )


def _primary(state: RunState, effects: Holdings) -> str:
    """Which cluster is primary; of a run with several ways, for which topics each."""
    found: list[tuple[Step, str, str]] = []
    for step in state.plan.steps:
        if _is_read_here(state):
            for moved in effects.primaries(step):
                topics = listed(f"{name} of {moved.home}" for name in moved.topics)
                found.append((step, moved.primary, topics))
        elif primary := primary_of_earlier(step):
            found.append((step, primary, ""))
    if len(found) == 1:
        ((step, primary, _),) = found
        return _recorded(state, step, state.plan.source, primary)
    return ", ".join(f"{_recorded(state, step, 'as before', at)} for {topics}" for step, at, topics in found)


def _recorded(state: RunState, step: Step, before: str, after: str) -> str:
    if step.id not in state.begun or state.status(step.id, "undo") == "ok":
        return before
    if state.status(step.id) == "ok" and state.status(step.id, "undo") == "waiting":
        return after
    return f"{before} or {after}, dcctl status FILE tells"


def _is_read_here(state: RunState) -> bool:
    return state.plan.dcctl_version in STEPS_READ
