"""Which gates each verb has: made by its own planning, from a picture in which nothing is missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from orchestrator.moves.fence import FenceRequest
from orchestrator.moves.fence_runbook import plan_fence, plan_unfence
from orchestrator.moves.request import SwitchoverRequest
from orchestrator.moves.within_cluster.leaders import plan_leaders
from orchestrator.moves.within_cluster.requests import LeadersRequest
from orchestrator.ports.part import Part
from orchestrator.runs.coordination_state import CoordinationState
from orchestrator.runs.plan import Plan
from orchestrator.snapshot.observation import AccessState
from orchestrator.verbs.plans import plan_failback, plan_failover, plan_switchover
from tests.reconcile.estates import as_described, planned
from tests.verbs import failback_pictures, pictures
from tests.verbs.pictures import part


def plans() -> Iterable[Plan]:
    """One plan of each verb that has gates."""
    topology, seen = pictures.topology(), pictures.observation()
    access = part(AccessState("StandardAuthorizer", None))
    none: Part[Any] = part({})
    both = pictures.with_cluster(seen, "west", topics=none, log_ends=none, committed=none, access=access)
    fence = pictures.of_a_fence("west", part(CoordinationState("")))
    request = FenceRequest(cluster="west")
    yield plan_failover(topology, seen, pictures.REQUEST)
    yield plan_switchover(topology, both, SwitchoverRequest(to="east"))
    yield plan_failback(failback_pictures.topology(), failback_pictures.picture(), failback_pictures.REQUEST)
    yield plan_fence(topology, fence, request)
    yield plan_unfence(topology, fence, request)
    yield plan_leaders(topology, fence, LeadersRequest(cluster="west"))
    yield planned(topology, as_described(topology))


def gates_of() -> dict[str, tuple[str, ...]]:
    """Gate ids by verb, in the order in which they are shown."""
    return {plan.verb: tuple(gate.id for gate in plan.gates) for plan in plans()}
