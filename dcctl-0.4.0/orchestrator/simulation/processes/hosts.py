"""All hosts of one simulation as processes of this machine, at ports of its loopback."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.adapters.ports import PortRegister
from orchestrator.adapters.processes import ProcessId, processes_with
from orchestrator.errors import SimulationError
from orchestrator.simulation.addresses import Address
from orchestrator.simulation.estate import COORDINATION, Estate, Server, endpoint_name
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.processes.java_servers import JavaServers
from orchestrator.simulation.processes.machine import refuse_small_machine
from orchestrator.simulation.processes.site import Site
from orchestrator.simulation.state import History
from orchestrator.topology.model import Topology

SIMULATION_VARIABLE = "DCCTL_SIMULATION"
"""Environment variable that every process of a simulation carries; its value is the simulation's folder."""

_SITE_VARIABLE = "DCCTL_SITE"
_COORDINATION_VARIABLE = "DCCTL_COORDINATION"
_LOOPBACK = "127.0.0.1"


class ProcessHosts:
    """See `backend.Machines`. Everybody sees a server at the same address."""

    def __init__(self, folder: Path, topology: Topology, history: History, ports: Mapping[str, int]) -> None:
        folders = Folders(folder)
        self._folder = folder
        self._topology = topology
        self._ports = dict(ports)
        self._java = JavaServers()
        self.marker: Mapping[str, str] = {SIMULATION_VARIABLE: str(folder)}

        def site(name: str, home: Path, more: Mapping[str, str], subject: str = "") -> Site:
            return Site(
                name,
                home,
                folders.away(name),
                marker={**self.marker, **more},
                history=history,
                java=self._java,
                ports=self._ports,
                subject=subject,
            )

        self.hosts: Mapping[str, Site] = {
            COORDINATION: site(
                COORDINATION, folders.coordination, {_COORDINATION_VARIABLE: "1"}, COORDINATION
            ),
            **{dc: site(dc, folders.site(dc), {_SITE_VARIABLE: dc}) for dc in topology.datacenters},
        }

    def address(self, server: Server, purpose: str, *, seen_from: str) -> Address:  # noqa: ARG002
        """See `Addresses`."""
        return Address(_LOOPBACK, self._ports[endpoint_name(server, purpose)])

    def binding(self, server: Server, purpose: str, *, seen_from: str) -> Address:
        """See `Addresses`."""
        return self.address(server, purpose, seen_from=seen_from)

    def prepare(self, estate: Estate, on_progress: Callable[[str, str], None]) -> None:
        """See `Machines`."""
        refuse_small_machine(self._topology, self._folder)
        self._java.get((cluster.kafka for cluster in self._topology.clusters.values()), on_progress)
        names = list(estate.endpoints())
        self._ports |= dict(zip(names, PortRegister().claim(self._folder, len(names)), strict=True))
        for host in self.hosts.values():
            host.supervisor.prepare()

    def switch_on(self) -> None:
        """See `Machines`; all supervisors start side by side."""
        supervisors = [host.supervisor for host in self.hosts.values()]
        for supervisor in supervisors:
            supervisor.launch()
        started = [supervisor.await_answer() for supervisor in supervisors]
        started_file(self._folder).write_text(json.dumps(started), encoding="utf-8")

    def partition(self, here: str, there: str, *, one_way: bool) -> None:  # noqa: ARG002
        """Cannot be done: see `ProcessBackend.faults`."""
        raise SimulationError(f"{here} and {there}", "share one loopback: they cannot be parted")

    def heal(self, here: str, there: str) -> None:
        """Nothing was ever parted."""

    def reap(self) -> None:
        """See `Machines`."""
        for host in self.hosts.values():
            host.supervisor.reap()


def started_file(folder: Path) -> Path:
    """Where the processes that were started first stand; what came later is found by its environment."""
    return folder / "processes.json"


def started_first(folder: Path) -> list[ProcessId]:
    """The supervisors of a simulation, as far as it is known."""
    try:
        found = json.loads(started_file(folder).read_text(encoding="utf-8"))
        return [ProcessId(*process) for process in found]
    except (OSError, ValueError, TypeError):
        return []


def processes_of(folder: Path) -> list[ProcessId]:
    """Every living process of the simulation in `folder`."""
    return processes_with({SIMULATION_VARIABLE: str(folder)})
