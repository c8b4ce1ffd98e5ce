"""A simulation that is there: its sites, its topology, and how its clients get in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property, partial
from pathlib import Path

from orchestrator.adapters.kafka import KafkaCluster
from orchestrator.errors import CoordinationError, SimulationError
from orchestrator.moves.within_cluster.margin import decides_with
from orchestrator.runs.estate_record import Fact
from orchestrator.runs.live.coordination import coordination_connection
from orchestrator.runs.live.estate_record import written_facts
from orchestrator.runs.within_clusters import QUORUM_FACTS, SITE_FACTS, Quorum, quorums, sites_off
from orchestrator.simulation.addresses import OPERATOR, Address, bootstrap
from orchestrator.simulation.backend import Backend, Host, Machines, backend_named
from orchestrator.simulation.completion import topology_completed, topology_text
from orchestrator.simulation.credentials import librdkafka_client, user_of
from orchestrator.simulation.crew import Crew, OnProgress
from orchestrator.simulation.estate import COORDINATION, Estate, Server, planned_estate
from orchestrator.simulation.folders import Folders, simulations_folder
from orchestrator.simulation.readiness import (
    await_brokers,
    await_in_sync,
    await_listening,
    await_worker,
)
from orchestrator.simulation.state import History, SimulationState, read_state
from orchestrator.simulation.teardown import take_down
from orchestrator.simulation.tls import authority_file
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Topology
from orchestrator.topology.verbs import put_back_command

_ENDED = frozenset({"EXITED", "FATAL"})
# Among the files of a host whose programs see other addresses than the operator does.
_OWN_FILE = "topology.yaml"


class Simulation:
    """Simulated data centres, as they stand in one simulation's folder."""

    def __init__(self, folder: Path, topology: Topology) -> None:
        folders = Folders(folder)
        self.name = folder.name
        self.folder = folder
        self.topology = topology
        self.topology_path = folders.topology
        self.ledgers = folders.ledgers
        self.history = History(folders.history)
        state = self.state
        self.backend: Backend = backend_named(state.backend)
        self.machines: Machines = self.backend.machines(folder, topology, self.history, state.ports)
        self.sites: Mapping[str, Host] = {
            dc: host for dc, host in self.machines.hosts.items() if dc != COORDINATION
        }
        self.coordination: Host = self.machines.hosts[COORDINATION]

    @cached_property
    def estate(self) -> Estate:
        """Every server, where it was planned to stand."""
        return planned_estate(self.topology)

    @property
    def state(self) -> SimulationState:
        """What the simulation says about itself, read anew."""
        return read_state(Folders(self.folder).state)

    def site(self, dc: str) -> Host:
        """One data centre. Raises `SimulationError` for one that the topology does not have."""
        if dc not in self.sites:
            raise SimulationError(
                f"data centre {dc}",
                f"is not in simulation {self.name}",
                f"it has: {', '.join(self.sites)}",
            )
        return self.sites[dc]

    def meant(self, target: str) -> tuple[Host, list[str] | None]:
        """The host, and the program or those of the rack that `DC/NAME` means, or None for a data centre.

        Raises `SimulationError` for what there is not.
        """
        dc, _, program = target.partition("/")
        host = self.site(dc)
        if not program:
            return host, None
        servers = (server for server, _ in self.estate.endpoints().values() if server.dc == dc)
        here = {server.program: server.rack for server in servers}
        if rack := [own for own, stands_in in here.items() if stands_in == program]:
            return host, rack
        known = sorted({*here, *filter(None, here.values())} | host.states().keys())
        if program not in known:
            raise SimulationError(
                f"program {target}",
                f"is not in simulation {self.name}",
                f"{dc} has: {', '.join(known)}",
            )
        return host, [program]

    def cluster(self, name: str) -> KafkaCluster:
        """A connection to one cluster as the operator."""
        described = self.topology.clusters[name]
        return KafkaCluster(name, described.bootstrap, described.client, site_of=described.site_of)

    def address(self, server: Server, purpose: str) -> Address:
        """Where dcctl reaches a server."""
        return self.machines.address(server, purpose, seen_from=OPERATOR)

    def topology_at(self, dc: str) -> Path:
        """The file for programs of dcctl's in a data centre: with the addresses as they are seen there."""
        own, outside = (
            topology_completed(
                self.topology, self.estate, self.machines, Folders(self.folder), seen_from=place
            )
            for place in (dc, OPERATOR)
        )
        if own == outside:
            return self.topology_path
        files = self.site(dc).files
        files.write(_OWN_FILE, topology_text(own))
        return files.place(_OWN_FILE)

    def client_properties(self, cluster: str, principal: str, seen_from: str = OPERATOR) -> dict[str, str]:
        """librdkafka properties for a client of `cluster`: addresses, and the password of "User:x" or "x".

        The addresses are those for a client at the place `seen_from`. Raises `SimulationError` for a
        principal that the simulation does not know.
        """
        user = user_of(principal)
        file = Folders(self.folder).secrets / user
        try:
            password = file.read_text(encoding="ascii")
        except OSError:
            known = ", ".join(sorted(entry.name for entry in file.parent.glob("*")))
            raise SimulationError(
                f"principal User:{user}", f"has no password in simulation {self.name}", f"known are: {known}"
            ) from None
        return {
            "bootstrap.servers": ",".join(bootstrap(self.estate, self.machines, cluster, seen_from)),
            **librdkafka_client(user, password, authority_file(self.topology, Folders(self.folder))),
        }

    def partition(self, here: str, there: str, *, one_way: bool = False) -> None:
        """See `Machines.partition`. Raises `SimulationError` for places that there are not."""
        self._refuse_places(here, there)
        self.machines.partition(here, there, one_way=one_way)

    def heal(self, here: str, there: str) -> None:
        """See `Machines.heal`. Raises `SimulationError` for places that there are not."""
        self._refuse_places(here, there)
        self.machines.heal(here, there)

    def _refuse_places(self, here: str, there: str) -> None:
        known = (*self.machines.hosts, OPERATOR)
        wrong = [place for place in (here, there) if place not in known]
        if wrong or here == there:
            problem = "is no place of it" if wrong else "cannot be parted from itself"
            raise SimulationError(
                f"{wrong[0] if wrong else here} in simulation {self.name}",
                problem,
                f"its places: {', '.join(sorted(known))}",
            )

    def await_site(self, dc: str, on_progress: OnProgress, timeout_s: float = 120.0) -> dict[str, str]:
        """Wait until the brokers and Connect workers of a data centre that was restarted serve again.

        All replicas on living brokers are in sync then. Returns the clusters that cannot serve there yet, and
        why: of stretched ones guards may hold the servers, or the quorum needs another site that is not up.
        Raises `SimulationError` if a server has died, or after `timeout_s`.
        """
        crew = Crew(dc, on_progress, timeout_s)
        live = [site for site in self.sites if self.sites[site].state == "up"]
        here = [name for name, cluster in self.topology.clusters.items() if dc in cluster.datacenters]
        facts = self._facts()
        off, formed = sites_off(facts), quorums(facts)
        waiting = {
            name: "has no quorum before another site is up"
            for name in here
            if not decides_with(self.topology, name, live, formed.get(name, Quorum()))
        }
        waiting |= {
            name: f"is held by its guards: {put_back_command(name)}"
            for name in here
            if dc in off.get(name, ())
        }
        can_serve = [name for name in here if name not in waiting]
        crew.run([partial(self._await_cluster, crew, name, dc, live) for name in can_serve])
        return waiting

    def _facts(self) -> tuple[Fact, ...]:
        """What the ensemble has of sites that are off and of quorums; none where nobody tells."""
        coordination = coordination_connection(self.topology)
        try:
            coordination.open()
            return written_facts(coordination, self.topology.name, (*SITE_FACTS, *QUORUM_FACTS))
        except CoordinationError:
            return ()
        finally:
            coordination.close()

    def _await_cluster(self, crew: Crew, name: str, dc: str, live: Collection[str]) -> None:
        """Of a stretched cluster only what is switched on is waited for."""
        cluster, host = self.topology.clusters[name], self.sites[dc]
        brokers = [node for node in self.estate.brokers_of(name) if node.dc in live]
        own = [server.program for server in self.estate.servers_of(name) if server.dc == dc]
        # In ZooKeeper mode a broker ends and starts again until its old session has expired.
        restless = [node.program for node in brokers] if cluster.metadata == "zookeeper" else []
        watch = [host.watch(own, may_start_again=restless)]
        clients = self.backend.clients
        asked = clients.cluster(self.topology, name)
        for node in brokers:
            # Until its old session has expired, the cluster takes the dead broker for a living one.
            if node.dc == dc:
                subject = f"{name}, {node.program}"
                await_listening(crew, subject, clients, self.address(node, "client"), watch)
        await_brokers(crew, name, asked, len(brokers), watch)
        await_in_sync(crew, name, asked, watch)
        workers = [worker.program for worker in self.estate.workers_of(name) if worker.dc == dc]
        if workers:
            # A worker gives up where the brokers that start beside it take longer than it waits for them.
            ended = [worker for worker in workers if host.states().get(worker) in _ENDED]
            if ended:
                host.start(ended)
            await_worker(crew, name, asked, host.watch(workers))

    def down(self, *, keep_files: bool = False) -> Path | None:
        """End everything; returns where the files were moved to with `keep_files`."""
        kept = take_down(self.folder, keep_files=keep_files)
        self.machines.reap()
        return kept


def open_simulation(name: str | None = None) -> Simulation:
    """A simulation that is running: the one called `name`, or the only one there is.

    Raises `SimulationError` where there is none, or several and no name.
    """
    names = simulation_names()
    if name is None:
        if len(names) != 1:
            raise SimulationError(
                "simulation",
                f"{len(names)} are running: {', '.join(names)}"
                if names
                else "no topology file was named, and none is running here",
                "say which one: --name NAME" if names else "`dcctl sim up FILE` brings one up",
            )
        name = names[0]
    if name not in names:
        raise SimulationError(
            f"simulation {name}",
            "there is none of this name",
            f"running are: {', '.join(names)}" if names else "`dcctl sim up FILE` brings one up",
        )
    folder = simulations_folder() / name
    stage = read_state(Folders(folder).state).stage
    if stage != "running":
        raise SimulationError(
            f"simulation {name}", f"is {stage}", "wait until it is up, or remove it: `dcctl sim down`"
        )
    return Simulation(folder, load_topology(Folders(folder).topology))


def simulation_names() -> list[str]:
    """Names of all simulations that have a folder, running or half gone."""
    folder = simulations_folder()
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir()) if folder.exists() else []
