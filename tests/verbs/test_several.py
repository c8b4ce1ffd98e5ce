"""Several failovers of one command: what they end with together, and what each is held against."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import (
    DcctlError,
    DeclinedError,
    GateRefusedError,
    GateUnknownError,
    IncompleteError,
    LockHeldError,
    LockLostError,
    OutcomeUnknownError,
    TopologyError,
)
from orchestrator.runs.plan import Plan, Predicted
from orchestrator.verbs.live.run_result import RunResult
from orchestrator.verbs.live.several import EndedMove, error_of_all, run_together
from tests.runs.test_any_exception import plans

PLAN = plans()["failover"]
REFUSED, UNKNOWN = GateRefusedError("a", "b"), GateUnknownError("a", "b")
HELD, DECLINED = LockHeldError("a", "b"), DeclinedError("a", "b")


def result(outcome: Any, plan: Plan = PLAN) -> RunResult:
    return RunResult(
        run_id="r1",
        outcome=outcome,
        reason="it is so",
        source=plan.source,
        target=plan.target,
        started_at_s=1.0,
        decided_at_s=2.0,
        ended_at_s=3.0,
        plan={"topology": plan.topology, "verb": plan.verb},
        gates=(),
        predicted={},
        folder=str(Path()),
    )


OF_RESULT: dict[str, DcctlError | None] = {
    "ok": None,
    "nothing-to-do": None,
    "unknown": OutcomeUnknownError("a", "b"),
    "incomplete": IncompleteError("a", "b"),
    "undone": DcctlError("a", "b"),
}


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        (["ok", "incomplete"], 6),
        (["incomplete", "unknown"], 7),
        (["ok", REFUSED], 6),
        (["ok", "undone"], 6),
        (["undone", REFUSED], 1),
        (["undone", "undone"], 1),
        ([HELD, "undone"], 1),
        ([REFUSED, "incomplete"], 6),
        ([UNKNOWN, REFUSED], 7),
        (["nothing-to-do", REFUSED], 4),
        ([UNKNOWN, HELD], 7),
        ([HELD, HELD], 5),
        ([DECLINED, DECLINED], 8),
        ([TopologyError("a", ["b"]), HELD], 1),
        ([REFUSED, LockLostError("a", "b")], 6),
        ([TopologyError("a", ["b"])], 1),
    ],
)
def test_the_status_tells_whether_anything_was_changed(ends: list[Any], status: int) -> None:
    """Unknown, then half done, then rolled back; a refusal only where nothing was changed by any of them."""
    moves = [
        EndedMove(plan=PLAN, result=result(end)) if isinstance(end, str) else EndedMove(plan=PLAN, error=end)
        for end in ends
    ]
    errors = [OF_RESULT[end] if isinstance(end, str) else end for end in ends]
    error = error_of_all(moves, errors)
    assert error.exit_status == status
    assert f"{errors.count(None)} of {len(ends)} done" in error.problem


def priced(at_most: int, seen_s: float, allowed: int) -> Plan:
    """A plan whose gates are open, of an outage that began at `seen_s`."""
    return replace(
        PLAN,
        gates=(),
        request={"accept_loss": allowed},
        predicted=Predicted(loss={"orders": {"expected": 0, "at_most": at_most}}, reread={}, seconds=1.0),
        facts={"source_last_seen_at_s": seen_s},
    )


@pytest.mark.parametrize(
    ("fresh", "problem"),
    [
        (priced(10, 1e9, 30), ""),
        (priced(21, 1e9, 30), "at most 31 records would be lost in all of them together"),
        (priced(10, 1e9 + 60, 30), "may have answered since it was approved that it is down"),
    ],
)
def test_each_is_held_against_what_was_approved_for_all(fresh: Plan, problem: str) -> None:
    """The outage, and the loss of all; a price that has grown within it is asked about."""
    approved = [priced(10, 1e9, 30), priced(10, 1e9, 30)]
    asked: list[Plan] = []

    def second(approve: Any) -> RunResult:
        if not approve(fresh):
            raise DECLINED
        return result("ok")

    def ask(plan: Plan) -> bool:
        asked.append(plan)
        return True

    ended: list[EndedMove] = []
    run_together(
        [lambda _: result("ok"), second], approved, ask=lambda _: True, approve=ask, on_end=ended.append
    )
    error = ended[1].error
    assert (problem in error.problem) if error is not None else not problem
    assert asked == []


def test_a_price_that_has_grown_within_what_is_allowed_is_asked_about() -> None:
    """Once, about that one."""
    approved, asked = [priced(10, 1e9, 90)], []

    def run(approve: Any) -> RunResult:
        assert approve(priced(20, 1e9, 90))
        return result("ok")

    def ask(plan: Plan) -> bool:
        asked.append(plan.predicted.loss["orders"]["at_most"])
        return True

    run_together([run], approved, ask=lambda _: True, approve=ask, on_end=lambda _: None)
    assert asked == [20]
