"""The process back end. See `simulation.backend.Backend`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.adapters.ports import PortRegister
from orchestrator.adapters.processes import end_all, values_carried
from orchestrator.adapters.supervisor import remove_socket
from orchestrator.errors import SimulationError
from orchestrator.simulation.backend import Backend, FaultKind
from orchestrator.simulation.clients import Clients, ServerClients
from orchestrator.simulation.processes.hosts import (
    SIMULATION_VARIABLE,
    ProcessHosts,
    processes_of,
    started_first,
)
from orchestrator.simulation.state import History
from orchestrator.topology.model import Topology

_END_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class ProcessBackend:
    """Needs only Python and Java. All servers share one machine and its loopback, so none can be parted."""

    name: str = "process"
    faults: frozenset[FaultKind] = frozenset({"kill", "pause"})
    clients: Clients = field(default_factory=ServerClients)
    limits: str = (
        "It is a simulation: every server, application and clock ran on one machine and over its loopback"
        " interface. There was no network between data centres, and no disk of your own."
    )

    def machines(
        self, folder: Path, topology: Topology, history: History, ports: Mapping[str, int]
    ) -> ProcessHosts:
        """See `Backend`."""
        return ProcessHosts(folder, topology, history, ports)

    def end(self, folder: Path) -> None:
        """See `Backend`."""
        first = started_first(folder)
        left = end_all(lambda: [*processes_of(folder), *first], _END_TIMEOUT_S)
        if left:
            pids = ", ".join(str(process.pid) for process in left)
            raise SimulationError(
                f"simulation {folder.name}", f"processes survived SIGKILL: {pids}", "look at them by hand"
            )
        for site in (*(folder / "sites").glob("*"), *(folder / "away").glob("*"), folder / "coordination"):
            home = folder / "sites" / site.name if site.parent.name == "away" else site
            remove_socket(home)
        PortRegister().release(folder)

    def is_running(self, folder: Path) -> bool:
        """See `Backend`."""
        return bool(processes_of(folder))

    def strays(self) -> Collection[Path]:
        """See `Backend`."""
        return [Path(value) for value in values_carried(SIMULATION_VARIABLE)]


PROCESSES: Backend = ProcessBackend()
