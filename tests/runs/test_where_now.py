"""Where applications work while a move is not done, by its journal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import pytest

from orchestrator.moves.clients import StopClients
from orchestrator.runs import where_now as telling
from orchestrator.runs.engine import RunState, state_from_journal
from orchestrator.runs.plan import EventKind, Outcome, Plan, RunEvent, Step
from orchestrator.runs.registry import Registry
from orchestrator.verbs.plans import plan_failover, plan_switchover
from orchestrator.verbs.registration import EFFECTS
from tests.moves.test_fence_crashes import fence_plan
from tests.runs.test_any_exception import plans
from tests.runs.test_uncoordinated import nothing_found
from tests.verbs import degraded_pictures, test_switchover
from tests.verbs.pictures import topology

where_now = partial(telling.where_now, effects=EFFECTS)
PLAN = plan_switchover(topology(), test_switchover.picture(), test_switchover.REQUEST)
IDS = [step.id for step in PLAN.in_order()]


def state(*records: tuple[str, EventKind, Outcome | None], plan: Plan = PLAN) -> RunState:
    """After these records."""
    events = [
        RunEvent(
            run_id="r",
            sequence=number,
            kind=kind,
            at_s=1.0,
            step=step,
            outcome=outcome,
            data={"result": nothing_found(plan.step(step)).result} if outcome == "ok" else {},
        )
        for number, (step, kind, outcome) in enumerate(records, start=1)
    ]
    return state_from_journal(plan, "r", events)


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
    assert said.endswith(f"applications maybe denied at {PLAN.source}")
    back = (("stop-producers", "undo-intent", None), ("stop-producers", "undo-outcome", "ok"))
    assert where_now(state(*done("stop-producers"), *back)).endswith("held: nothing")


@pytest.mark.parametrize("verb", ["failover", "sick", "switchover", "roaming", "failback"])
def test_every_move_tells_which_side_is_primary(verb: str) -> None:
    """Whatever else its step looks at before it records that."""
    plan = plans()[verb]
    assert where_now(state(plan=plan)).startswith(f"Recorded as primary: {plan.source}; held: ")
    assert where_now(state(*done("record-primary"), plan=plan)).startswith(
        f"Recorded as primary: {plan.target}; held: "
    )


def test_the_record_of_the_primary_decides() -> None:
    """Known to be written, begun only, and forgotten."""
    record = "record-primary"
    assert f"primary: {PLAN.target};" in where_now(state(*done(record)))
    begun = where_now(state((record, "step-intent", None)))
    assert f"primary: {PLAN.source} or {PLAN.target}, dcctl status FILE tells" in begun
    forgotten = state(*done(record), (record, "undo-outcome", "ok"))
    assert f"primary: {PLAN.source};" in where_now(forgotten)


def test_clients_that_were_started_there_are_not_held() -> None:
    """Of those that were stopped."""
    assert where_now(state(*done("stop-producers", "start-producers"))).endswith("held: nothing")


def test_denials_are_told_of_whichever_verb_has_made_them() -> None:
    """Leaving a sick site denies by another action than a planned move, and a fence moves no primary."""
    sick = plan_failover(degraded_pictures.FILE, degraded_pictures.picture(), degraded_pictures.REQUEST)
    heard = state(*done("deny"), plan=sick)
    heard = replace(heard, results={"deny": {"heard": [1, 2, 3], "silent": []}})
    assert where_now(heard).endswith("; held: applications denied at west")
    said = where_now(state(*done("stop-left"), ("deny", "step-intent", None), plan=sick))
    assert said.endswith(" stopped; applications maybe denied at west")
    fence = fence_plan("fence")
    assert where_now(state(*done("deny"), plan=fence)) == "Held: applications denied at west"
    back = (("deny", "undo-intent", None), ("deny", "undo-outcome", "ok"))
    assert where_now(state(*done("deny"), *back, plan=fence)) == ""


def test_every_step_that_denies_says_so_whatever_its_action() -> None:
    """A new verb with an action of its own cannot leave it out."""
    for verb, plan in plans().items():
        for step in plan.steps:
            if step.action.startswith("deny"):
                assert "denied at" in where_now(state(*done(step.id), plan=plan)), (verb, step.id)
            if "clients" in step.arguments and step.action.startswith("stop-") and not _astray(step):
                assert " stopped" in where_now(state(*done(step.id), plan=plan)), (verb, step.id)


def _astray(step: Step) -> bool:
    """Whether those who are stopped work elsewhere."""
    return bool(step.arguments.get("are_astray"))


@pytest.mark.parametrize(
    ("outcome", "held"), [("ok", True), ("failed", False), ("partial", True), ("unknown", True)]
)
def test_a_client_of_which_nobody_knows_whether_it_was_stopped_may_be(outcome: Outcome, held: bool) -> None:
    """A stop that reached some of its hosts is not told as if it had reached none, nor as if all."""
    ended: tuple[str, EventKind, Outcome] = ("stop-producers", "step-outcome", outcome)
    said = where_now(state(("stop-producers", "step-intent", None), ended))
    assert (" stopped" in said) is held
    assert (" maybe stopped" in said) is (outcome in ("partial", "unknown"))


def test_clients_that_were_started_in_part_are_held_as_long_as_not_all_are() -> None:
    """Whoever was stopped may still be."""
    partial: tuple[str, EventKind, Outcome] = ("start-producers", "step-outcome", "partial")
    begun: tuple[str, EventKind, Outcome | None] = ("start-producers", "step-intent", None)
    assert where_now(state(*done("stop-producers"), begun, partial)).endswith(" stopped")


def test_what_a_step_of_a_package_that_is_not_there_holds_is_not_known() -> None:
    """It is not told as nothing, nor the rest as all of it; what has not begun, or is taken back, holds nothing."""
    others = Registry(*(effect for effect in EFFECTS if effect is not StopClients))
    stop = next(step.id for step in PLAN.steps if step.action == StopClients.NAME)
    away = "is not known here: no package that is installed brings it"
    told = f"Recorded as primary: {PLAN.source}; held: "
    assert telling.where_now(state(), others) == f"{told}nothing"
    assert telling.held_rows(state(), others) == []
    stopped = state(*done(stop))
    assert telling.where_now(stopped, others) == f"{told}what step {stop} holds {away}"
    assert telling.held_rows(stopped, others) is None
    denied = state(*done(stop), ("deny-writing", "step-intent", None))
    assert "maybe denied at west; what step" in telling.where_now(denied, others)
    back = state(*done(stop), (stop, "undo-intent", None), (stop, "undo-outcome", "ok"))
    assert telling.where_now(back, others) == f"{told}nothing"
    assert telling.held_unknown(back, others) == ""
