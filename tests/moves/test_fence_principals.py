"""A fence of a few: it waits for the logs that nobody else may write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.moves.fence import FenceRequest
from orchestrator.moves.fence_runbook import plan_fence
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.plan import Plan
from orchestrator.topology.model import Topology
from tests.verbs.pictures import of_a_fence, part, topology

FILE = topology()
CHECKOUT, SETTLEMENT = "User:checkout", "User:settlement"


def shared() -> Topology:
    """The producer of payments writes orders as well."""
    checkout, settlement = FILE.producers
    return replace(FILE, producers=(checkout, replace(settlement, topics=("payments", "orders"))))


def fence(file: Topology, *principals: str, consumers: bool = False) -> Plan:
    picture = of_a_fence("west", part(CoordinationState("")))
    return plan_fence(file, picture, FenceRequest(cluster="west", principals=principals, consumers=consumers))


def awaited(plan: Plan) -> list[str]:
    """Topics whose logs have to stand still."""
    return [name for step in plan.steps if step.id == "stands-still" for name in step.arguments["topics"]]


@pytest.mark.parametrize(
    ("file", "principals", "topics"),
    [
        (FILE, (), ["orders", "payments"]),
        (FILE, (CHECKOUT,), ["orders"]),
        (FILE, (CHECKOUT, SETTLEMENT), ["orders", "payments"]),
        (shared(), (CHECKOUT,), []),
        (shared(), (SETTLEMENT,), ["payments"]),
        (shared(), (CHECKOUT, SETTLEMENT), ["orders", "payments"]),
        (shared(), (), ["orders", "payments"]),
    ],
)
def test_no_log_has_to_stand_still_that_others_may_write(
    file: Topology, principals: tuple[str, ...], topics: list[str]
) -> None:
    """Their records would have the fence rolled back, though nobody of those who are fenced wrote one."""
    assert awaited(fence(file, *principals)) == topics


def test_what_is_not_watched_is_said() -> None:
    """Where others write as well, that the principal writes no more is known from the rules alone."""
    deny, standing = fence(shared(), SETTLEMENT).steps[1:]
    assert deny.title.endswith("; others write orders as well: there only the rules are verified")
    assert "no log of payments at west grows" in standing.title
    deny, standing = fence(FILE).steps[1:]
    assert "others write" not in deny.title
    assert "no log at west grows" in standing.title


def test_who_only_reads_is_kept_off_without_a_wait_for_writers() -> None:
    """No log has to stand still for it."""
    assert awaited(fence(FILE, "User:billing", consumers=True)) == []
