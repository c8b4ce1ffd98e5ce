"""Which rehearsal a case is, by what its file's layout declares."""

from __future__ import annotations

from orchestrator.simulation.active_drill import ActiveDrill
from orchestrator.simulation.cases import SEVERAL_AT_WORK, Case, is_stretched
from orchestrator.simulation.drill import Drill
from orchestrator.simulation.return_drill import ReturnDrill
from orchestrator.simulation.stretched_drill import StretchedDrill
from orchestrator.topology.model import Topology


def rehearsal_of(topology: Topology, case: Case) -> type[Drill]:
    """Where several clusters are at work, records are judged by their origin; else over the one mirror, or
    within the one cluster.
    """
    if is_stretched(topology):
        return StretchedDrill
    if topology.is_laid_out(SEVERAL_AT_WORK):
        return ActiveDrill
    return ReturnDrill if case.verb == "failback" else Drill
