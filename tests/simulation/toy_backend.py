"""A back end in memory: servers are records with state and addresses, files lie in a temporary folder.

It is found as a user's would be, by an entry point of the group `dcctl.backends`. The operator sees its servers at
other addresses than its data centres do, so that whatever mixes the two up is noticed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.errors import ClusterError, SimulationError
from orchestrator.ports.admin_values import NewTopic
from orchestrator.ports.program import Program
from orchestrator.simulation.addresses import OPERATOR, Address
from orchestrator.simulation.backend import FaultKind, ServerProgram
from orchestrator.simulation.estate import COORDINATION, Estate, Server, endpoint_name, planned_estate
from orchestrator.simulation.local_files import LocalFiles
from orchestrator.simulation.state import History, between
from orchestrator.topology.model import Topology
from orchestrator.values import Acl, TopicPartition

_INSIDE, _OUTSIDE = 9_000, 39_000


@dataclass(slots=True)
class ToyServer:
    """One program of a host, as it was installed and as it is."""

    program: Program | ServerProgram
    state: str = "STOPPED"

    @property
    def starts_with_its_host(self) -> bool:
        return isinstance(self.program, ServerProgram) or self.program.autostart


@dataclass(slots=True)
class ToyFiles(LocalFiles):
    """A folder that cannot be reached while its host is lost."""

    host: ToyHost

    def __init__(self, folder: Path, host: ToyHost) -> None:
        LocalFiles.__init__(self, folder)
        self.host = host

    @property
    def can_be_reached(self) -> bool:
        return self.host.state != "killed"


@dataclass(slots=True)
class ToyHost:
    """See `backend.Host`."""

    name: str
    folder: Path
    history: History
    state: str = "down"
    servers: dict[str, ToyServer] = field(default_factory=dict)

    @property
    def files(self) -> ToyFiles:
        return ToyFiles(self.folder, self)

    @property
    def ansible_variables(self) -> Mapping[str, str]:
        return {"ansible_connection": "toy", "service_manager": "toy"}

    def install(self, programs: Sequence[Program | ServerProgram]) -> None:
        for program in programs:
            if isinstance(program, ServerProgram):
                assert self.files.read(program.properties)
            self.servers[program.name] = ToyServer(program)

    def add_programs(self, programs: Sequence[Program | ServerProgram]) -> None:
        self._require_up()
        self.install(programs)
        self._start_all()

    def start(self, names: Sequence[str]) -> None:
        self._require_up()
        self._put(names, "RUNNING")

    def stop(self, names: Sequence[str]) -> None:
        self._require_up()
        self._put(names, "STOPPED")

    def states(self) -> dict[str, str]:
        return {name: one.state for name, one in self.servers.items()} if self.state == "up" else {}

    def kill(self, names: Sequence[str] | None = None) -> None:
        self._do("kill", names, "killed", "EXITED")

    def pause(self, names: Sequence[str] | None = None) -> None:
        self._do("pause", names, "paused", "PAUSED")

    def resume(self, names: Sequence[str] | None = None) -> None:
        self._do("resume", names, "up", "RUNNING")

    def restart(self) -> None:
        self.state = "up"
        self._start_all()
        self._tell("restart", self.name)

    def watch(self, names: Sequence[str], may_start_again: Collection[str] = ()) -> ToyWatch:
        return ToyWatch(self, names)

    def switch_on(self) -> None:
        self.state = "up"
        self._start_all()

    def _start_all(self) -> None:
        self._put([name for name, one in self.servers.items() if one.starts_with_its_host], "RUNNING")

    def _do(self, kind: str, names: Sequence[str] | None, of_host: str, of_server: str) -> None:
        if names is None:
            self.state = of_host
        elif idle := [name for name in names if self.servers[name].state in {"STOPPED", "EXITED"}]:
            raise SimulationError(self.name, f"no process to {kind} of {', '.join(idle)}")
        self._put(list(self.servers) if names is None else names, of_server)
        for target in [self.name] if names is None else [f"{self.name}/{name}" for name in names]:
            self._tell(kind, target)

    def _put(self, names: Sequence[str], state: str) -> None:
        for name in names:
            self.servers[name].state = state

    def _tell(self, kind: str, target: str) -> None:
        self.history.record(kind, target, started_at_s=time.time(), verified=True)

    def _require_up(self) -> None:
        if self.state != "up":
            raise SimulationError(f"toy {self.name}", f"is {self.state}")


@dataclass(slots=True)
class ToyWatch:
    """See `backend.Watch`."""

    host: ToyHost
    names: Sequence[str]

    def check(self) -> None:
        for name in self.names:
            if self.host.servers[name].state == "EXITED":
                raise SimulationError(f"toy {self.host.name}, {name}", "died")


@dataclass(slots=True)
class ToyMachines:
    """See `backend.Machines`."""

    hosts: dict[str, ToyHost]
    estate: Estate
    history: History
    marker: Mapping[str, str] = field(default_factory=dict)
    parted: set[tuple[str, str]] = field(default_factory=set)

    def address(self, server: Server, purpose: str, *, seen_from: str) -> Address:
        number = list(self.estate.endpoints()).index(endpoint_name(server, purpose))
        if seen_from == OPERATOR:
            return Address("toy.outside", _OUTSIDE + number)
        return Address(f"{server.program}.{server.dc}", _INSIDE)

    def binding(self, server: Server, purpose: str, *, seen_from: str) -> Address:
        """One port for each that is seen otherwise: a broker has two listeners."""
        return Address("0.0.0.0", _INSIDE + (1 if seen_from == OPERATOR else 0))  # noqa: S104

    def prepare(self, estate: Estate, on_progress: Callable[[str, str], None]) -> None:
        on_progress("toy", f"{len(estate.endpoints())} addresses")
        for host in self.hosts.values():
            host.files.make_folder("")

    def switch_on(self) -> None:
        for host in self.hosts.values():
            host.switch_on()

    def partition(self, here: str, there: str, *, one_way: bool) -> None:
        self.parted |= {(here, there)} if one_way else {(here, there), (there, here)}
        self.history.record("partition", between(here, there), started_at_s=time.time(), verified=True)

    def heal(self, here: str, there: str) -> None:
        self.parted -= {(here, there), (there, here)}
        self.history.record("heal", between(here, there), started_at_s=time.time(), verified=True)

    def reap(self) -> None:
        """Nothing has ended."""

    def at(self, address: Address) -> ToyServer | None:
        """The server that the operator reaches there, if it runs."""
        for server, purpose in self.estate.endpoints().values():
            if self.address(server, purpose, seen_from=OPERATOR) == address:
                host = self.hosts[server.dc]
                found = host.servers.get(server.program)
                return found if found and host.state == "up" and found.state == "RUNNING" else None
        return None


@dataclass(slots=True)
class ToyCluster:
    """See `clients.ClusterClient`."""

    backend: ToyBackend
    topology: Topology
    name: str

    def brokers(self) -> frozenset[int]:
        estate = planned_estate(self.topology)
        here = {str(self._address(node)): node.node_id for node in estate.brokers_of(self.name)}
        # By the addresses of the file, as any client of the cluster finds it.
        found = [one for one in self.topology.clusters[self.name].bootstrap if self.backend.reached(one)]
        if not found:
            raise ClusterError(f"cluster {self.name}", "no broker answers")
        return frozenset(here[one] for one in found)

    def not_in_sync(self) -> Sequence[TopicPartition]:
        return ()

    def connect_problem(self) -> str:
        urls = self.topology.clusters[self.name].connect
        return "" if all(self.backend.reached(url.partition("://")[2]) for url in urls) else "refused"

    def make_ready(self, rules: Collection[Acl], topics: Mapping[str, NewTopic]) -> None:
        assert self.brokers()
        if self.backend.refusals:
            raise self.backend.refusals.pop()
        self.backend.made.extend(topics)

    def _address(self, node: Server) -> Address:
        (machines,) = (
            one for one in self.backend.running.values() if one.estate == planned_estate(self.topology)
        )
        return machines.address(node, "client", seen_from=OPERATOR)


@dataclass(slots=True)
class ToyBackend:
    """See `backend.Backend`. It pauses nothing."""

    name: str = "toy"
    faults: frozenset[FaultKind] = frozenset({"kill", "partition"})
    running: dict[Path, ToyMachines] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    refusals: list[ClusterError] = field(default_factory=list)
    """What topics are refused with, once each."""
    applied: list[Topology] = field(default_factory=list)

    @property
    def clients(self) -> Any:
        return self

    def machines(
        self, folder: Path, topology: Topology, history: History, ports: Mapping[str, int]
    ) -> ToyMachines:
        if folder not in self.running:
            homes = {
                COORDINATION: folder / "coordination",
                **{dc: folder / dc for dc in topology.datacenters},
            }
            hosts = {name: ToyHost(name, home, history) for name, home in homes.items()}
            self.running[folder] = ToyMachines(hosts, planned_estate(topology), history)
        return self.running[folder]

    def end(self, folder: Path) -> None:
        self.running.pop(folder, None)

    def is_running(self, folder: Path) -> bool:
        return folder in self.running

    def strays(self) -> Collection[Path]:
        return list(self.running)

    # What dcctl asks of the servers: `clients.Clients`.

    def cluster(self, topology: Topology, name: str) -> ToyCluster:
        return ToyCluster(self, topology, name)

    def apply(self, topology: Topology, folder: Path, on_progress: Callable[[str, str], None]) -> None:
        self.applied.append(topology)

    def is_listening(self, address: Address) -> bool:
        return bool(self.reached(str(address)))

    def zookeeper_mode(self, address: Address, authority: str | None = None) -> str:
        return "standalone" if self.reached(str(address)) else ""

    def reached(self, address: str) -> bool:
        host, _, port = address.rpartition(":")
        return any(machines.at(Address(host, int(port))) for machines in self.running.values())


TOY = ToyBackend()
