"""Where applications work while a move is not done, by its journal."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.engine import RunState, state_from_journal
from orchestrator.operations.where_now import where_now
from orchestrator.planning.plan import EventKind, Outcome, RunEvent
from orchestrator.planning.switchover import plan_switchover
from tests.planning import test_switchover
from tests.planning.pictures import topology

PLAN = plan_switchover(topology(), test_switchover.picture(), test_switchover.REQUEST)
IDS = [step.id for step in PLAN.in_order()]


def state(*records: tuple[str, EventKind, Outcome | None]) -> RunState:
    """After these records."""
    events = [
        RunEvent(run_id="r", sequence=number, kind=kind, at_s=1.0, step=step, outcome=outcome)
        for number, (step, kind, outcome) in enumerate(records, start=1)
    ]
    return state_from_journal(PLAN, "r", events)


def done(*steps: str) -> Iterable[tuple[str, EventKind, Outcome | None]]:
    """Begun and ended well."""
    for step in steps:
        yield step, "step-intent", None
        yield step, "step-outcome", "ok"


def test_before_anything_is_done_nothing_is_held() -> None:
    """All works where it worked."""
    assert where_now(state()) == f"Recorded as primary: {PLAN.source}; held: nothing"


def test_what_is_stopped_and_denied_is_held_until_it_is_taken_back() -> None:
    """Also what may have been: its end was not seen."""
    said = where_now(state(*done("stop-producers"), ("deny-writing", "step-intent", None)))
    assert said.startswith(f"Recorded as primary: {PLAN.source}; held: ")
    assert "stopped; " in said
    assert said.endswith(f"applications denied at {PLAN.source}")
    back = (("stop-producers", "undo-intent", None), ("stop-producers", "undo-outcome", "ok"))
    assert where_now(state(*done("stop-producers"), *back)).endswith("held: nothing")


def test_the_record_of_the_primary_decides() -> None:
    """Known to be written, begun only, and forgotten."""
    record = "record-primary"
    assert f"primary: {PLAN.target};" in where_now(state(*done(record)))
    begun = where_now(state((record, "step-intent", None)))
    assert f"primary: {PLAN.source} or {PLAN.target}, dcctl status tells" in begun
    forgotten = state(*done(record), (record, "undo-outcome", "ok"))
    assert f"primary: {PLAN.source};" in where_now(forgotten)


def test_clients_that_were_started_there_are_not_held() -> None:
    """Of those that were stopped."""
    assert where_now(state(*done("stop-producers", "start-producers"))).endswith("held: nothing")
