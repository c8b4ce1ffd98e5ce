"""From running servers to serving clusters, an applied file, and watchers."""

from __future__ import annotations

import sys
from functools import partial

from orchestrator.errors import DcctlError
from orchestrator.estate.desired_acls import worker_acls
from orchestrator.estate.desired_topics import desired_topics
from orchestrator.moves.support import refuse_unsupported
from orchestrator.ports.admin_values import NewTopic
from orchestrator.ports.program import Program
from orchestrator.simulation.backend import Watch
from orchestrator.simulation.crew import Crew, OnProgress
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.installation import Installer
from orchestrator.simulation.readiness import (
    await_brokers,
    await_listening,
    await_made_ready,
    await_worker,
    await_zookeeper,
)
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.servers import INTERNAL_PARTITIONS, internal_topic
from orchestrator.snapshot.watched import watched_clusters
from orchestrator.topology.durability.shapes import OFFSETS_TOPIC
from orchestrator.watch.within_cluster.said import main_sites

_TIMEOUT_S = 180.0
_WATCH = (sys.executable, "-m", "orchestrator.cli.main", "watch")
# As Kafka makes it itself (`GroupCoordinator.groupMetadataTopicConfigs`).
_OFFSETS_CONFIG = {
    "cleanup.policy": "compact",
    "compression.type": "producer",
    "segment.bytes": str(100 * 1024 * 1024),
}


class Start:
    """Waits for all servers of a new simulation, and brings the clusters to what the file says."""

    def __init__(self, simulation: Simulation, installer: Installer, on_progress: OnProgress) -> None:
        self._simulation = simulation
        self._topology = simulation.topology
        self._estate = simulation.estate
        self._clients = simulation.backend.clients
        self._installer = installer
        self._on_progress = on_progress
        self._crew = Crew("servers", on_progress, _TIMEOUT_S)

    def run(self) -> None:
        """Clusters with their Connect workers and coordination side by side; then the product's own apply."""
        self._crew.run(
            [*(partial(self._cluster, name) for name in self._topology.clusters), self._coordination]
        )
        self._clients.apply(self._topology, Folders(self._simulation.folder).apply, self._on_progress)

    def _coordination(self) -> None:
        server, host = self._estate.coordination, self._simulation.coordination
        described = self._topology.coordination
        await_zookeeper(
            self._crew,
            "coordination",
            self._clients,
            self._simulation.address(server, "client"),
            [host.watch([server.program])],
            authority=described.ca_location if described else None,
        )
        self._crew.say("coordination", "ready")

    def _cluster(self, name: str) -> None:
        asked = self._clients.cluster(self._topology, name)
        watch = [self._watch(name, dc) for dc in self._topology.clusters[name].datacenters]
        await_brokers(self._crew, name, asked, len(self._estate.brokers_of(name)), watch)
        self._await_quorum(name, watch)
        rules, topics = worker_acls(self._topology, name), self._topics_beforehand(name)
        await_made_ready(self._crew, asked, rules, topics, watch)
        workers = self._estate.workers_of(name)
        for worker in workers:
            self._simulation.sites[worker.dc].add_programs([self._installer.worker_program(worker)])
        for worker in workers:
            host = self._simulation.sites[worker.dc]
            await_worker(self._crew, name, asked, host.watch([worker.program]))
        self._crew.say(name, "ready")

    def _topics_beforehand(self, name: str) -> dict[str, NewTopic]:
        """The topic of the groups' offsets: the first group does not wait until Kafka has made it."""
        durability = internal_topic(self._topology.clusters[name], OFFSETS_TOPIC)
        own = desired_topics(self._topology, name).get(OFFSETS_TOPIC)
        config = {**_OFFSETS_CONFIG, **(own.config if own else {})}
        topic = NewTopic(partitions=INTERNAL_PARTITIONS, replicas=durability.replicas, config=config)
        return {OFFSETS_TOPIC: topic}

    def _watch(self, name: str, dc: str) -> Watch:
        programs = [server.program for server in self._estate.servers_of(name) if server.dc == dc]
        return self._simulation.sites[dc].watch(programs)

    def _await_quorum(self, name: str, watch: list[Watch]) -> None:
        """A majority lets brokers serve; a rehearsal begins with every voter there."""
        address = self._simulation.address
        for server in self._estate.zookeepers_of(name):
            subject = f"{name}, {server.program}"
            await_zookeeper(self._crew, subject, self._clients, address(server, "client"), watch)
        for node in self._estate.controllers_of(name):
            subject = f"{name}, {node.program}"
            await_listening(self._crew, subject, self._clients, address(node, "controller"), watch)


def start_watchers(simulation: Simulation, on_progress: OnProgress) -> None:
    """Start one watcher for each cluster where applications would go, in that cluster's first data centre.

    Of a file with one cluster: one at each site that has brokers.
    """
    if simulation.topology.is_one_cluster:
        on_progress("watcher", "starting")
        (cluster,) = simulation.topology.clusters
        for dc in main_sites(simulation.topology, cluster):
            simulation.sites[dc].add_programs([_watcher_within(simulation, dc)])
        return
    if not simulation.topology.replication:
        return
    try:
        refuse_unsupported(simulation.topology, "watch")
    except DcctlError as error:
        on_progress("watcher", f"none runs: {error.problem}")
        return
    on_progress("watcher", "starting")
    homes: dict[str, list[str]] = {}
    places = [watched.kept_at for watched in watched_clusters(simulation.topology)]
    for target in dict.fromkeys(places):
        homes.setdefault(simulation.topology.clusters[target].datacenters[0], []).append(target)
    for dc, targets in homes.items():
        file = str(simulation.topology_at(dc))
        watch = (*_WATCH, file)
        programs = [
            Program(
                "watch" if len(targets) == 1 else f"watch-{target}",
                (*watch, "--target", target),
                autostart=True,
                autorestart=True,
            )
            for target in targets
        ]
        simulation.sites[dc].add_programs(programs)


def _watcher_within(simulation: Simulation, dc: str) -> Program:
    host = simulation.sites[dc]
    folder = host.files.place("watch/readings")
    words = (str(simulation.topology_at(dc)), "--at", dc, "--folder", str(folder))
    return Program("watch", (*_WATCH, *words), autostart=True, autorestart=True)
