"""The topology that a command is about: the file that was named, or the simulation that runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.topology.model import Topology


def given_topology(file: Path | None) -> Topology:
    """Load `file`; without one take the topology of the only running simulation."""
    from orchestrator.topology.loading import load_topology

    if file is not None:
        return load_topology(file)
    from orchestrator.simulation.running import open_simulation

    return open_simulation().topology
