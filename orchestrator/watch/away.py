"""Who works elsewhere while others are at home, for `status`."""

from __future__ import annotations

from orchestrator.runs.coordination_state import CoordinationState, away
from orchestrator.topology.model import Topology


def away_in_parts(
    topology: Topology, state: CoordinationState | None, home: str, other: str
) -> dict[str, str]:
    """By application of `home` the run that took it to `other`; empty where they were never moved apart."""
    known = away(() if state is None else state.runs, home, other)
    if not known.is_in_parts:
        return {}
    names = [one.name for one in topology.producers_of(home)]
    names += [one.name for one in topology.consumers_of(home)]
    return {name: run_id for name in names if (run_id := known.by(name))}
