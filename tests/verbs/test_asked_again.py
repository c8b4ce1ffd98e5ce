"""A person who thinks for long approves what they were shown: a price that has grown meanwhile is shown as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import time

import pytest

from orchestrator.errors import DeclinedError, GateRefusedError
from orchestrator.runs.live.history import run_records, run_rows
from orchestrator.runs.plan import Plan, Predicted
from orchestrator.verbs.live import apply_procedure as procedure
from orchestrator.verbs.live.apply import run_apply
from orchestrator.verbs.live.real_servers import RealServers
from orchestrator.verbs.registration import EFFECTS
from tests.reconcile.layouts import active_active
from tests.reconcile.memory_run import Rehearsal, rehearse
from tests.verbs.some_servers import ClockAt

Prices = Callable[[list[int]], Rehearsal]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Prices:
    """An estate in which each look shows the next price, and every plan but the last is old at once."""

    def make(prices: list[int]) -> Rehearsal:
        rehearsal = rehearse(monkeypatch, tmp_path, active_active())
        real = procedure.ReconcileProcedure.plan
        left = list(prices)

        def plan(made: procedure.ReconcileProcedure, picture: procedure.ReconcileSnapshot) -> Plan:
            found = real(made, picture)
            price = left.pop(0) if len(left) > 1 else left[0]
            loss = {"orders": {"at_most": price}}
            expires_at_s = found.expires_at_s if len(left) == 1 and price == prices[-1] else 0.0
            return replace(found, predicted=Predicted(loss=loss), expires_at_s=expires_at_s)

        monkeypatch.setattr(procedure.ReconcileProcedure, "plan", plan)
        return rehearsal

    return make


def shown(plan: Plan) -> int | None:
    """The price that the question is about."""
    return plan.predicted.loss["orders"]["at_most"]


def test_an_answer_after_a_night_is_held_against_the_world_of_the_morning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A plan file may wait for a day; a picture that a person has thought about is looked at again."""
    estate = rehearse(monkeypatch, tmp_path, active_active())
    assert run_apply(estate.topology).outcome == "ok"
    estate.set_by_hand("west", "orders", min_insync_replicas="1")
    slept_s = 0.0

    clock = ClockAt(lambda: time() + slept_s)
    monkeypatch.setattr(procedure.ReconcileProcedure, "servers", RealServers(clock=clock))

    def approve(_: Plan) -> bool:
        nonlocal slept_s
        slept_s = 8 * 3600.0
        estate.set_by_hand("west", "orders", retention_ms="5")
        return True

    with pytest.raises(
        GateRefusedError, match="since the plan was made these have changed: west/topic orders"
    ):
        run_apply(estate.topology, approve=approve)
    assert estate.clusters["west"].picture.topics["orders"].config["min.insync.replicas"] == "1"


def test_what_has_grown_is_asked_about_again_and_kept(world: Prices) -> None:
    """Both answers stand in the journal."""
    asked: list[int | None] = []

    def approve(plan: Plan) -> bool:
        asked.append(shown(plan))
        return True

    estate = world([120, 180])
    end = run_apply(estate.topology, approve=approve)
    assert asked == [120, 180]
    assert end.outcome == "ok"
    (again,) = (r for r in run_records(estate.topology, end.run_id) if r.kind == "gates")
    assert "records lost of orders: at most 180, approved were 120" in again.message


def test_declined_the_second_time_nothing_was_changed(world: Prices) -> None:
    """And it says what had grown."""
    answers = [True, False]
    estate = world([120, 180])
    with pytest.raises(DeclinedError, match="declined: records lost of orders: at most 180"):
        run_apply(estate.topology, approve=lambda _: answers.pop(0))
    assert estate.clusters["west"].picture.topics == {}
    assert [row["outcome"] for row in run_rows(estate.topology, EFFECTS)] == ["declined"]


def test_what_has_not_grown_is_not_asked_about_again(world: Prices) -> None:
    """Nobody is asked twice for the same, or less."""
    asked: list[int | None] = []

    def approve(plan: Plan) -> bool:
        asked.append(shown(plan))
        return True

    assert run_apply(world([120, 90]).topology, approve=approve).outcome == "ok"
    assert asked == [120]
