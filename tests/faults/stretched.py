"""A stretched cluster of real servers, and what those of one site do while dcctl is ended on its way."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.simulation.bring_up import simulation_up
from orchestrator.simulation.estate import Server
from orchestrator.simulation.running import Simulation
from orchestrator.topology.model import Topology
from tests.drill.rehearsal import processes_of
from tests.faults.estate import Estate
from tests.layouts.test_quorum_forced import topology_of

LOST = ("--attest-down", "dc1", "--lower-min-insync", "all", "--yes")
_LOOK_S = 0.1


@contextmanager
def stretched(state: Path, monkeypatch: pytest.MonkeyPatch, layout: str | Topology) -> Iterator[Estate]:
    """One cluster over several sites, without applications; afterwards nothing runs, and its logs are kept."""
    monkeypatch.setenv("DCCTL_STATE_DIR", str(state))
    estate = Estate(state)
    try:
        simulation_up(topology_of(layout) if isinstance(layout, str) else layout, watch=False)
        yield estate
    finally:
        estate.command("sim", "down", "--all", "--yes", "--keep-files")
        assert processes_of(state) == []


def servers_at(simulation: Simulation, dc: str) -> list[Server]:
    """Brokers and voters of the one cluster there."""
    (cluster,), estate = simulation.topology.clusters, simulation.estate
    every: list[Server] = [*estate.zookeepers_of(cluster), *estate.controllers_of(cluster)]
    every += estate.brokers_of(cluster)
    return list({server.program: server for server in every if server.dc == dc}.values())


class Serving:
    """When servers of a site take connections: by server the last time, in Unix time. Asked all the time."""

    def __init__(self, simulation: Simulation, dc: str) -> None:
        self.last_s: dict[str, float] = {}
        self._addresses = {
            server.program: simulation.address(server, server.purposes[0])
            for server in servers_at(simulation, dc)
        }
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Serving:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_S):
            for program, address in self._addresses.items():
                try:
                    socket.create_connection((address.host, address.port), timeout=_LOOK_S).close()
                except OSError:
                    continue
                self.last_s[program] = time.time()
