"""What a hold covers, and what the gate says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.errors import UsageError
from orchestrator.moves.fence import FenceRequest
from orchestrator.moves.fence_runbook import plan_fence
from orchestrator.ports.part import Part
from orchestrator.reconcile.planning import plan_reconcile
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.holds import Hold, hold_scope, standing_on
from orchestrator.runs.plan import Plan
from orchestrator.verbs.plans import plan_failback, plan_failover, plan_switchover
from tests.reconcile.estates import empty
from tests.verbs import failback_pictures, test_switchover
from tests.verbs.pictures import (
    ABSENT,
    NOW_S,
    REQUEST,
    observation,
    of_a_fence,
    part,
    topology,
    with_parts,
)

FILE = topology()


def a_hold(scope: str, **changes: object) -> Hold:
    hold = Hold(scope=scope, who="bob", reason="disks are being swapped", at_s=NOW_S - 60)
    return replace(hold, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("all", "all"),
        (FILE.name, f"topology:{FILE.name}"),
        (f"topology:{FILE.name}", f"topology:{FILE.name}"),
        ("dc:west", "dc:west"),
    ],
)
def test_a_scope_is_understood_by_its_short_name_too(said: str, meant: str) -> None:
    """And is kept under the full one."""
    assert hold_scope(said, FILE) == meant


@pytest.mark.parametrize("said", ["west", "dc:wset", "topology:other", "", "dc:", "everything"])
def test_a_scope_that_covers_nothing_is_a_usage_error(said: str) -> None:
    """A hold that holds nothing would be believed in."""
    with pytest.raises(
        UsageError, match="a hold covers one of these: all, topology:payments, dc:west, dc:east"
    ):
        hold_scope(said, FILE)
    if said == "west":
        with pytest.raises(UsageError, match="written dc:west"):
            hold_scope(said, FILE)


@pytest.mark.parametrize(
    ("scope", "clusters", "is_held"),
    [
        ("all", ["east"], True),
        ("topology:payments", ["east"], True),
        ("topology:other", ["east"], False),
        ("dc:east", ["east"], True),
        ("dc:west", ["east"], False),
        ("dc:west", ["west", "east"], True),
    ],
)
def test_a_hold_covers_its_scope_and_no_more(scope: str, clusters: list[str], *, is_held: bool) -> None:
    """A site that is not touched may be held by whom it likes."""
    assert bool(standing_on([a_hold(scope)], FILE, clusters, NOW_S)) is is_held


def test_an_expired_hold_holds_nothing() -> None:
    """To the second."""
    hold = a_hold("all", expires_at_s=NOW_S)
    assert standing_on([hold], FILE, ["east"], NOW_S - 0.1) == (hold,)
    assert standing_on([hold], FILE, ["east"], NOW_S) == ()


def plans(coordination: Part[CoordinationState]) -> dict[str, Plan]:
    """The plan of every verb in a world that is well but for what the ensemble says."""
    base = with_parts(observation(), coordination=coordination)
    back = failback_pictures.picture()
    state = coordination.value
    moved = replace(failback_pictures.AFTER_A_FAILOVER, holds=state.holds) if state else None
    back = with_parts(back, coordination=part(moved) if moved else coordination)
    fence = of_a_fence("east", coordination)
    return {
        "failover": plan_failover(FILE, base, REQUEST),
        "switchover": plan_switchover(
            FILE,
            with_parts(test_switchover.picture(), coordination=coordination),
            test_switchover.REQUEST,
        ),
        "failback": plan_failback(failback_pictures.topology(), back, failback_pictures.REQUEST),
        "fence": plan_fence(FILE, fence, FenceRequest(cluster="east")),
        "apply": plan_reconcile(FILE, empty(FILE), coordination=coordination),
    }


VERBS = ("failover", "switchover", "failback", "fence", "apply")


@pytest.mark.parametrize("verb", VERBS)
def test_every_writing_verb_is_refused_and_says_by_whom_and_why(verb: str) -> None:
    """And is open where nobody holds, or the hold is over."""
    held = part(CoordinationState("", holds=(a_hold("dc:east"), a_hold("all", who="ada", at_s=NOW_S))))
    (gate,) = (gate for gate in plans(held)[verb].gates if gate.id == "not-held")
    assert gate.outcome == "refused"
    assert gate.reason.startswith("dc:east is held by bob since 1970-01-01 00:15:43 UTC: disks are being")
    assert "all is held by ada" in gate.reason
    over = part(CoordinationState("", holds=(a_hold("all", expires_at_s=NOW_S - 1),)))
    assert {gate.id: gate.outcome for gate in plans(over)[verb].gates}["not-held"] == "ok"


@pytest.mark.parametrize("verb", VERBS)
def test_what_cannot_be_read_is_unknown(verb: str) -> None:
    """Nobody knows whether somebody holds it."""
    assert {gate.id: gate.outcome for gate in plans(ABSENT)[verb].gates}["not-held"] == "unknown"
