"""Taking a fence away: not what keeps a second primary away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.moves.fence import FenceRequest
from orchestrator.moves.fence_runbook import plan_unfence
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.overrides import overrides
from orchestrator.runs.plan import GateResult
from orchestrator.runs.primaries import Primary
from tests.verbs.pictures import ABSENT, of_a_fence, part, topology

FILE = topology()
AT_EAST = Primary("east", 5.0, "r1-failover")
EVE = "eve: a test of one producer"


def gates(primaries: dict[tuple[str, str], Primary], **asked: str) -> dict[str, GateResult]:
    """The gates of `unfence`, with these records of who is primary."""
    picture = of_a_fence("west", part(CoordinationState("", primaries=primaries)))
    request = FenceRequest(cluster=asked.pop("cluster", "west"), **asked)  # type: ignore[arg-type]
    return {gate.id: gate for gate in plan_unfence(FILE, picture, request).gates}


@pytest.mark.parametrize(
    ("primaries", "outcome"),
    [
        ({}, "ok"),
        ({("west", "orders"): AT_EAST}, "refused"),
        ({("west", "orders"): Primary("west", 6.0, "r2-failback")}, "ok"),
        ({("north", "orders"): AT_EAST}, "ok"),
    ],
)
def test_applications_are_not_let_in_where_another_side_is_primary(
    primaries: dict[tuple[str, str], Primary], outcome: str
) -> None:
    """A failback that stopped on the way, or a switchover, holds the cluster by the very same rules."""
    gate = gates(primaries)["primary-here"]
    assert gate.outcome == outcome
    if outcome == "refused":
        assert "primary elsewhere: orders at east (r1-failover)" in gate.reason
        assert "dcctl failback" in gate.hint


def test_somebody_may_answer_for_it_and_that_is_kept() -> None:
    """As an override, like any other."""
    gate = gates({("west", "orders"): AT_EAST}, acknowledge=EVE)["primary-here"]
    assert (gate.outcome, f"acknowledged by {EVE}" in gate.reason) == ("ok", True)
    (override,) = overrides(FenceRequest(cluster="west", by="ada", acknowledge=EVE).as_json())
    assert (override.option, override.more["owner"]) == ("--acknowledge", "eve")


def test_a_standby_that_was_fenced_by_hand_is_opened_by_hand() -> None:
    """Its own topics are none of the moved ones."""
    assert gates({("west", "orders"): AT_EAST}, cluster="east")["primary-here"].outcome == "ok"


def test_where_nobody_can_tell_it_is_unknown() -> None:
    """Nothing is changed then."""
    picture = of_a_fence("west", ABSENT)
    plan = plan_unfence(FILE, picture, replace(FenceRequest(cluster="west"), acknowledge=EVE))
    assert {gate.id: gate.outcome for gate in plan.gates}["primary-here"] == "unknown"
