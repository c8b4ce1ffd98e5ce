"""What cannot be simulated is refused before anything is started, with a way out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import SimulationError
from orchestrator.simulation.limits import refuse_unsupported
from orchestrator.simulation.processes.machine import needed_memory_mb, refuse_small_machine
from orchestrator.topology.model import Nodes, Topology
from tests.simulation.layouts import kraft_2dc, stretched, zookeeper_2dc


def test_stretched_clusters_of_both_modes_are_accepted(topology: Topology) -> None:
    """So is what the example says."""
    for accepted in (topology, zookeeper_2dc(), kraft_2dc(), kraft_2dc(combined=True)):
        refuse_unsupported(accepted)


def test_what_cannot_be_simulated_is_refused_by_name(topology: Topology) -> None:
    """A mirror without a worker; more brokers than this machine's ports and names are made for."""
    mirror = replace(topology.replication[0], source="east", target="west")
    refused = {
        "connect_workers": replace(topology, replication=(mirror,)),
        "120 brokers": stretched(Nodes(dc="a", brokers=120, controllers=3)),
    }
    for expected, changed in refused.items():
        with pytest.raises(SimulationError, match=expected):
            refuse_unsupported(changed)


def test_a_machine_that_is_too_small_is_told_beforehand(tmp_path: Path) -> None:
    """Forty brokers here would end by the kernel's choice of victims."""
    small, large = zookeeper_2dc(), stretched(Nodes(dc="a", brokers=90, controllers=90))
    assert needed_memory_mb(small) < 3_000
    refuse_small_machine(small, tmp_path)
    with pytest.raises(SimulationError, match="MB of memory"):
        refuse_small_machine(
            replace(large, clusters=dict.fromkeys("abcdefgh", large.clusters["main"])), tmp_path
        )
