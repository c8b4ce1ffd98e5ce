"""A run looks before each step whether somebody holds what it touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.adapters.zookeeper import Coordination
from orchestrator.ports.clock import Clock
from orchestrator.runs.live.holds import holds_in_the_way
from orchestrator.runs.live.run import Run
from orchestrator.runs.plan import Plan
from orchestrator.topology.model import Topology


@dataclass(frozen=True, slots=True)
class HoldBrake:
    """The engine's port to the holds: see `runs.engine.ports.Brake`."""

    coordination: Coordination
    topology: Topology
    clusters: tuple[str, ...]
    clock: Clock

    def reason(self) -> str:
        """The holds that are in the way now."""
        return holds_in_the_way(self.coordination, self.topology, self.clusters, self.clock)


def brake_of(run: Run[Any], plan: Plan, clock: Clock) -> HoldBrake | None:
    """The brake of a run; none where it goes on without the ensemble, in which the holds lie."""
    if run.is_alone:
        return None
    return HoldBrake(run.coordination, run.topology, clusters_of(plan, run.topology), clock)


def clusters_of(plan: Plan, topology: Topology) -> tuple[str, ...]:
    """The clusters that a plan touches: of a move both, of an apply all."""
    return tuple(name for name in (plan.source, plan.target) if name) or tuple(topology.clusters)
