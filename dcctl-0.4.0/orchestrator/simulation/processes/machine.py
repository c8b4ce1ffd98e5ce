"""Whether this machine is large enough for all servers of a simulation."""

from __future__ import annotations

import shutil
from pathlib import Path

import psutil

from orchestrator.errors import SimulationError
from orchestrator.topology.model import Topology

# Formatted nodes, indexes and logs of a rehearsal with some hundred thousand records.
_NEEDED_DISK_BYTES = 1_000_000_000
# Resident size of each kind of server soon after its start, measured with the heaps that it gets.
_RESIDENT_MB = {"brokers": 320, "controllers": 200, "zookeepers": 115, "connect_workers": 420}


def needed_memory_mb(topology: Topology) -> int:
    """Memory that all servers of a topology take soon after their start."""
    rows = [row for cluster in topology.clusters.values() for row in cluster.nodes]
    return sum(size * getattr(row, kind) for row in rows for kind, size in _RESIDENT_MB.items())


def refuse_small_machine(topology: Topology, folder: Path) -> None:
    """Raise `SimulationError` where memory, or the disk under `folder`, is too small for all servers."""
    needed_mb, available_mb = needed_memory_mb(topology), psutil.virtual_memory().available / 2**20
    if needed_mb > available_mb:
        raise SimulationError(
            f"topology {topology.name}",
            f"its servers need about {needed_mb:,} MB of memory; {available_mb:,.0f} MB are available",
            "end other programs or simulations (`dcctl sim down --all`), or rehearse with fewer servers",
        )
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_DISK_BYTES:
        raise SimulationError(
            str(folder),
            f"the disk has {free / 1e6:,.0f} MB left; a simulation needs {_NEEDED_DISK_BYTES / 1e6:,.0f} MB",
            "free some, or set DCCTL_STATE_DIR to a folder on another disk",
        )
