"""Whether a run can still be taken back, and in words what stands where it cannot. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from orchestrator.ports.clock import utc_text
from orchestrator.runs.engine import RunState, standing
from orchestrator.runs.plan import RunEvent, Step
from orchestrator.wording import listed

_LISTED = 3


@dataclass(frozen=True, slots=True)
class ForGood:
    """A step that stands, `surely` or maybe, and that nothing takes back.

    `since_s`: Unix epoch seconds; `because`: why nothing does.
    """

    step: str
    title: str
    since_s: float
    because: str
    surely: bool


def _in_the_way(state: RunState, leave: Collection[str]) -> tuple[Step, ...]:
    """Irreversible steps that keep a run from being taken back; none where it is being taken back already.

    One that can be looked at is looked at first: the journal alone may not know that it never happened.
    """
    if state.undoing:
        return ()
    return tuple(
        step
        for step in standing(state)
        if step.id not in leave
        and (step.verify is None or state.status(step.id) == "ok" or step.id in state.partial)
    )


def stands_for_good(
    state: RunState, records: Sequence[RunEvent], leave: Collection[str] = ()
) -> tuple[ForGood, ...]:
    """What keeps the run from being taken back, the oldest first; empty where it can be.

    `leave`: ids of steps that a person lets stand.
    """
    steps = _in_the_way(state, leave)
    since_s: dict[str, float] = {}
    for record in records:
        if record.kind in ("step-intent", "step-outcome"):
            since_s[record.step] = record.at_s
    rows = (
        ForGood(
            step=step.id,
            title=step.title,
            since_s=since_s.get(step.id, 0.0),
            because=step.stays_because,
            surely=state.status(step.id) == "ok" or step.id in state.partial,
        )
        for step in steps
    )
    return tuple(sorted(rows, key=lambda row: row.since_s))


def stands_in_words(rows: Sequence[ForGood]) -> str:
    """`since 2026-01-31 11:00:43 UTC steps were done that cannot be undone: Start the producers at east`."""
    since = utc_text(min(row.since_s for row in rows))
    titles = listed((row.title for row in rows), _LISTED, separator="; ")
    because = listed(dict.fromkeys(row.because for row in rows if row.because), _LISTED, separator="; ")
    done = "were" if any(row.surely for row in rows) else "may have been"
    told = f"since {since} steps {done} done that cannot be undone: {titles}"
    return told + (f" ({because})" if because else "")


def ways_out(run_id: str, rows: Sequence[ForGood]) -> str:
    """How a run is ended that stopped on the way: both ways, or why only one is left.

    `rows`: see `stands_for_good`.
    """
    resume = f"dcctl resume {run_id} FILE"
    if not rows:
        return f"{resume}, or dcctl abort {run_id} FILE"
    return f"{resume}; the run can only go forward: {stands_in_words(rows)}"
