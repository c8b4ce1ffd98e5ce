"""An estate made from a topology file: clusters, workers, applications, watchers, an ensemble; and its faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from orchestrator.adapters.probe import Listening
from orchestrator.adapters.zookeeper import Coordination as Ensemble
from orchestrator.applications.spark.ports import CheckpointFolders
from orchestrator.errors import ConnectError, CoordinationError
from orchestrator.mirrors.mirrormaker2.connectors import desired_connectors
from orchestrator.ports.servers import Kafka
from orchestrator.ports.voter_sets import VoterSets
from orchestrator.runs.holds import Hold
from orchestrator.runs.live.holds import HOLDS_PATH
from orchestrator.runs.live.servers import Servers
from orchestrator.runs.ports import port_of
from orchestrator.snapshot.watched import watched_clusters
from orchestrator.topology.loading import load_topology
from orchestrator.topology.model import Consumer, Coordination, Topology
from orchestrator.verbs.live.voter_sets import KraftVoters
from tests.twin.applications import Applications, TwinPlaybooks
from tests.twin.brokers import TwinAccess, TwinEachBroker, TwinLogEnds, TwinReplicaEnds
from tests.twin.checkpoints import TwinCheckpoints
from tests.twin.clusters import State, TwinCluster
from tests.twin.connect import TwinConnect, Workers
from tests.twin.crew import EPOCH_S, Crew, TwinClock, TwinThreads
from tests.twin.ensemble import TwinEnsemble
from tests.twin.guards import TwinGuards
from tests.twin.kafka import TwinKafka
from tests.twin.record import Record
from tests.twin.services import TwinServices
from tests.twin.voter_sets import TwinEnsembleVoters
from tests.twin.watching import TwinWatcher

_TICK_S = 0.5
P = TypeVar("P")


@dataclass
class TwinServers:
    """See `runs.live.servers.Servers`."""

    estate: TwinEstate
    clock: TwinClock
    threads: TwinThreads
    playbooks: TwinPlaybooks
    checkpoints: TwinCheckpoints

    def of_kind(self, port: type[P]) -> P:
        return port_of({CheckpointFolders: self.checkpoints}, port, "kinds of applications")

    def coordination(self, topology: Topology) -> Ensemble:
        if topology.coordination is None:
            raise CoordinationError("coordination", "the topology file names no ensemble")
        return self.estate.ensemble

    def kafka(
        self,
        topology: Topology,  # noqa: ARG002 - names are those of the file
        name: str,
        *,
        addresses: Iterable[str] | None = None,  # noqa: ARG002 - any broker that answers
    ) -> TwinKafka:
        return TwinKafka(*self._of(name))

    def access(
        self,
        topology: Topology,  # noqa: ARG002 - names are those of the file
        name: str,
        *,
        addresses: Iterable[str] | None = None,  # noqa: ARG002 - any broker that answers
        timeout_s: float = 10.0,
    ) -> TwinAccess:
        return TwinAccess(*self._of(name), timeout_s)

    def log_ends(self, topology: Topology, name: str, timeout_s: float) -> TwinLogEnds:  # noqa: ARG002
        return TwinLogEnds(*self._of(name), timeout_s)

    def replica_ends(self, topology: Topology, name: str, timeout_s: float) -> TwinReplicaEnds:  # noqa: ARG002
        return TwinReplicaEnds(*self._of(name))

    def voter_set(self, topology: Topology, name: str, kafka: Callable[[], Kafka]) -> VoterSets:
        if topology.clusters[name].metadata == "kraft":
            return KraftVoters(kafka)
        return TwinEnsembleVoters(self.estate.clusters[name], self.estate.record)

    def each_broker(self, topology: Topology, name: str) -> TwinEachBroker:  # noqa: ARG002
        return TwinEachBroker(*self._of(name))

    def connect(self, topology: Topology, name: str) -> TwinConnect:
        if not topology.clusters[name].connect:
            raise ConnectError(f"cluster {name}", "the topology file has no Connect workers for it")
        (address,) = topology.clusters[name].connect
        return TwinConnect(self.estate.workers_at[address], self.estate.record, self.estate.crew, name)

    def listening(self, addresses: Iterable[str], timeout_s: float) -> dict[str, Listening]:
        found: dict[str, Listening] = {}
        for address in addresses:
            state = self.estate.state_at(address)
            found[address] = {"up": "yes", "silent": "silent", "gone": "refused"}[state]  # type: ignore[assignment]
        if "silent" in found.values():
            self.estate.crew.pass_time(timeout_s)
        return found

    def _of(self, name: str) -> tuple[TwinCluster, Record, Crew]:
        return self.estate.clusters[name], self.estate.record, self.estate.crew


class TwinEstate:
    """Everything that a topology file describes, at work. `topology` is the file with its addresses."""

    def __init__(self, topology: Topology | Path, folder: Path) -> None:
        file = topology if isinstance(topology, Topology) else load_topology(topology)
        self.topology = completed(file, folder)
        self.crew = Crew(self._lives)
        self.record = Record(self.crew)
        self.clusters = {name: TwinCluster(self.topology, name) for name in file.clusters}
        self.workers = {
            name: Workers(self.clusters[name], self.clusters)
            for name, described in self.topology.clusters.items()
            if described.connect
        }
        self.workers_at = {self.topology.clusters[name].connect[0]: w for name, w in self.workers.items()}
        for mirror in self.topology.replication:
            if mirror.target in self.workers:
                made = desired_connectors(
                    self.topology,
                    mirror,
                    {},
                    {},
                    ",".join(self.topology.clusters[mirror.source].bootstrap),
                    ",".join(self.topology.clusters[mirror.target].bootstrap),
                )
                for name, config in made.items():
                    self.workers[mirror.target].add(name, config)
        self.applications = Applications(self.topology, self.clusters)
        self.services = TwinServices(self.clusters, self.record)
        self.ensemble = TwinEnsemble(self.record, self.crew)
        self.guards: list[TwinGuards] = []
        self.servers: Servers = TwinServers(
            self,
            TwinClock(self.crew),
            TwinThreads(self.crew),
            TwinPlaybooks(self.applications, self.services, self.record, self.crew),
            TwinCheckpoints(self.record, self.crew, self._is_readable),
        )
        self.watchers = [
            TwinWatcher(
                self.topology,
                watched,
                self.clusters,
                self.applications,
                self.ensemble,
                lambda name: TwinKafka(self.clusters[name], self.record, self.crew),
            )
            for watched in (watched_clusters(self.topology) if self.topology.replication else ())
        ]

    def guard(self, cluster: str) -> None:
        """From now on each broker of a cluster has a boot guard."""
        self.guards.append(TwinGuards(self.topology, self.clusters[cluster], self.ensemble))

    def live(self, seconds: float) -> None:
        """Let time pass with nobody of dcctl about."""
        while seconds > 0:
            tick_s = min(_TICK_S, seconds)
            self.crew.pass_time(tick_s)
            seconds -= tick_s

    def lose(self, dc: str, state: State = "gone", *, but_for_hosts: bool = False) -> None:
        """A site is gone, or answers nothing: its brokers, workers and hosts; `but_for_hosts` of servers."""
        self._set_site(dc, state)
        if but_for_hosts:
            self.services.reach[dc] = "up"

    def make_anew(self, cluster: str, topic: str) -> None:
        """Somebody deletes a topic and creates it again, and its groups begin at its beginning."""
        place = self.clusters[cluster]
        old = place.topics.pop(topic)
        place.create_topic(topic, len(old.logs), len(old.logs[0].replicas), old.config)
        for group in place.groups.values():
            group.members.clear()
            group.offsets |= {tp: 0 for tp in group.offsets if tp.topic == topic}

    def bring_back(self, dc: str, *, applications: bool = False) -> None:
        """The site comes back with its disks; its applications run again only where that is asked for."""
        for (at, _), client in self.applications.clients.items():
            if at == dc and not applications:
                self.applications.set_running(client, False, self.crew.now_s)
        self._set_site(dc, "up")

    def hold(self, scope: str, reason: str) -> None:
        """Somebody keeps dcctl's hands off a topology or a data centre."""
        hold = Hold(scope=scope, who="eve", host="her-own", reason=reason, at_s=EPOCH_S + self.crew.now_s)
        self.ensemble.write_json(f"{HOLDS_PATH}/{scope}", hold.as_json())

    def state_at(self, address: str) -> State:
        """What whoever connects to the address of a broker or a voter meets."""
        brokers = (b for cluster in self.clusters.values() for b in cluster.brokers.values())
        voters = (v for cluster in self.clusters.values() for v in cluster.quorum.voters.values())
        known = {broker.address: broker.state for broker in brokers}
        known |= {voter.address: voter.state if voter.is_started else "gone" for voter in voters}
        return known.get(address, "gone")

    def restart_dcctl(self) -> None:
        """After the process has died: its session expires, and another one may come."""
        self.ensemble.lose_locks()
        self.crew.live_again()

    def _set_site(self, dc: str, state: State) -> None:
        for name, cluster in self.clusters.items():
            here = [broker.number for broker in cluster.brokers.values() if broker.dc == dc]
            if here:
                cluster.set_brokers(state, *here)
            voters = [number for number, voter in cluster.quorum.voters.items() if voter.site == dc]
            if voters:
                cluster.set_controllers(state, *voters)
            workers = {row.dc for row in self.topology.clusters[name].nodes if row.connect_workers}
            if name in self.workers and workers == {dc}:
                self.workers[name].state = state
        self.applications.reach[dc] = state
        self.services.set_site(dc, state)

    def _is_readable(self, path: Path) -> bool:
        return all(self.applications.reach[dc] == "up" for dc in self.applications.reach if dc in path.parts)

    def _lives(self, seconds: float) -> None:
        now_s = self.crew.now_s
        for cluster in self.clusters.values():
            cluster.live(now_s)
        self.applications.live(now_s, seconds)
        for workers in self.workers.values():
            workers.live(now_s, seconds)
        for watcher in self.watchers:
            watcher.live(now_s)
        for guards in self.guards:
            guards.live(now_s)


def completed(topology: Topology, folder: Path) -> Topology:
    """The file with what a simulation would fill in: addresses, paths below `folder`, an ensemble."""

    def with_paths(consumer: Consumer) -> Consumer:
        home = topology.clusters[consumer.cluster].datacenters[0]
        mirror = next((m for m in topology.replication if m.source == consumer.cluster), None)
        away = topology.clusters[mirror.target].datacenters[0] if mirror else home
        return consumer.with_paths(
            lambda _: str(folder / home / "checkpoints" / consumer.name),
            lambda _: str(folder / away / "checkpoints" / consumer.name),
        )

    clusters = {}
    for name, cluster in topology.clusters.items():
        count = sum(row.brokers for row in cluster.nodes)
        clusters[name] = replace(
            cluster,
            bootstrap=tuple(f"{name}-{number}:9092" for number in range(1, count + 1)),
            connect=(f"http://{name}:8083",) if any(row.connect_workers for row in cluster.nodes) else (),
            client={"sasl.username": "operator"},
        )
    cooldown_s = topology.failover.quiet_after_move_s
    return replace(
        topology,
        clusters=clusters,
        consumers=tuple(map(with_paths, topology.consumers)),
        producers=tuple(
            replace(producer, principal=producer.principal or f"User:{producer.name}")
            for producer in topology.producers
        ),
        failover=replace(topology.failover, quiet_after_move_s=0.0 if cooldown_s is None else cooldown_s),
        coordination=Coordination(zookeeper="ensemble:2181"),
        inventory=str(folder / "inventory.yaml"),
    )
