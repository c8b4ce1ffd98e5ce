"""What a gate says where its measurement is missing: unknown, why, and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.moves.request import SwitchoverRequest
from orchestrator.ports.part import Part
from orchestrator.runs.plan import GateResult
from orchestrator.verbs.plans import plan_failover, plan_switchover
from tests.verbs import pictures
from tests.verbs.test_switchover import picture

# Without Connect's offsets the bound of the loss is wider, and may refuse.
_NO_PARTS = {"mirror_offsets"}
_PARTS = sorted(pictures.PARTS - _NO_PARTS)
ABSENT: Part[Any] = Part("cluster east", pictures.NOW_S, None, "no answer", "start its brokers")
# These only make figures tighter.
_CLOSES_NOTHING = {"earlier_ends", "by_time"}


def closed(gates: tuple[GateResult, ...]) -> dict[str, GateResult]:
    return {gate.id: gate for gate in gates if gate.outcome != "ok"}


@pytest.mark.parametrize("missing", _PARTS)
def test_whatever_is_missing_is_unknown_and_told_with_its_hint(missing: str) -> None:
    """Never refused, never taken for right: each gate that rests on it names whoever gave no answer."""
    seen = pictures.with_parts(pictures.observation(), **{missing: ABSENT})
    found = closed(plan_failover(pictures.topology(), seen, pictures.REQUEST).gates)
    assert bool(found) == (missing not in _CLOSES_NOTHING)
    for gate in found.values():
        assert gate.outcome == "unknown"
        assert gate.reason == "cluster east: no answer"
        assert gate.hint.startswith("start its brokers")


@pytest.mark.parametrize("missing", ["samples", "offset_map", "log_ends"])
def test_positions_that_nobody_could_place_are_not_all_placed(missing: str) -> None:
    """Without these there is no position at all, which must not read as every position has its place."""
    both = picture()
    seen = pictures.with_parts(both, **{missing: ABSENT})
    plan = plan_switchover(pictures.topology(), seen, SwitchoverRequest(to="east"))
    assert closed(plan.gates)["positions-known"].reason == "cluster east: no answer"
    alone = pictures.with_parts(pictures.observation(), **{missing: ABSENT})
    gates = closed(plan_failover(pictures.topology(), alone, pictures.REQUEST).gates)
    assert gates["map-complete"].reason == "cluster east: no answer"


def test_only_a_failover_is_offered_to_go_on_without_the_ensemble() -> None:
    """No other verb can."""
    both = picture()
    planned = plan_switchover(
        pictures.topology(), pictures.with_parts(both, coordination=ABSENT), SwitchoverRequest(to="east")
    )
    lost = pictures.with_parts(pictures.observation(), coordination=ABSENT)
    failed_over = plan_failover(pictures.topology(), lost, pictures.REQUEST)
    assert "--without-coordination" in closed(failed_over.gates)["coordination"].hint
    assert "--without-coordination" not in closed(planned.gates)["coordination"].hint


def test_a_part_without_a_hint_has_one_all_the_same() -> None:
    """Whoever gave no answer is named."""
    seen = pictures.with_parts(
        pictures.observation(), topics=Part("cluster east", pictures.NOW_S, None, "no answer")
    )
    gates = closed(plan_failover(pictures.topology(), seen, pictures.REQUEST).gates)
    assert gates["target-topics"].hint == "make cluster east reachable from this machine, and try again"
