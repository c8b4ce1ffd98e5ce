"""From running processes to serving clusters, running mirrors and watchers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial

from orchestrator.adapters.connect import ConnectCluster
from orchestrator.errors import DcctlError
from orchestrator.estate.desired import desired_estate
from orchestrator.estate.live.connections import connect_cluster
from orchestrator.moves.support import refuse_unsupported
from orchestrator.replication.engine import engine_of
from orchestrator.ports.program import Program
from orchestrator.replication.connectors import connector_names
from orchestrator.simulation.backend import Watch
from orchestrator.simulation.crew import Crew, OnProgress
from orchestrator.simulation.filling import create_access, create_topics
from orchestrator.simulation.installation import Installer
from orchestrator.simulation.readiness import (
    await_brokers,
    await_connectors,
    await_listening,
    await_worker,
    await_zookeeper,
    create_connector,
)
from orchestrator.simulation.running import Simulation

_TIMEOUT_S = 180.0


class Start:
    """Waits for all servers of a new simulation, and fills the clusters."""

    def __init__(
        self,
        simulation: Simulation,
        installer: Installer,
        overrides: Mapping[str, str],
        on_progress: OnProgress,
    ) -> None:
        self._simulation = simulation
        self._topology = simulation.topology
        self._estate = simulation.estate
        self._clients = simulation.backend.clients
        self._installer = installer
        self._overrides = overrides
        self._on_progress = on_progress
        self._crew = Crew("servers", on_progress, _TIMEOUT_S)
        self._wanted = desired_estate(self._topology).clusters

    def run(self) -> None:
        """Clusters, coordination and Connect workers side by side; then the mirrors."""
        self._crew.run(
            [*(partial(self._cluster, name) for name in self._topology.clusters), self._coordination]
        )
        self._crew = Crew("mirrors", self._on_progress, _TIMEOUT_S)
        targets = [name for name, wanted in self._wanted.items() if wanted.connectors]
        self._crew.run([partial(self._mirrors, target) for target in targets])

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
        cluster = self._simulation.cluster(name)
        create_access(self._topology, cluster)
        # The worker's principal has its rights now; its JVM starts while the topics are created.
        workers = self._estate.workers_of(name)
        for worker in workers:
            self._simulation.sites[worker.dc].add_programs([self._installer.worker_program(worker)])
        count = create_topics(self._topology, cluster, self._estate.brokers_of(name))
        self._crew.say(name, f"ready, {count} topics")
        for worker in workers:
            host = self._simulation.sites[worker.dc]
            await_worker(self._crew, name, asked, host.watch([worker.program]))

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

    def _mirrors(self, target: str) -> None:
        """Everything that the file wants to run on the workers of one cluster."""
        connect = self._connect(target)
        wanted = self._wanted[target].connectors
        sources = {
            engine_of(mirror).copier(mirror)
            for mirror in self._topology.replication
            if mirror.target == target
        }
        for name, connector in wanted.items():
            overrides = self._overrides if name in sources else {}
            create_connector(self._crew, connect, name, {**connector.config, **overrides})
        lacking = [name for name, connector in wanted.items() if connector.may_lack_tasks]
        await_connectors(self._crew, connect, list(wanted), may_lack_tasks=lacking)

    def _connect(self, cluster: str) -> ConnectCluster:
        return connect_cluster(self._topology, cluster)


def start_watchers(simulation: Simulation, on_progress: OnProgress) -> None:
    """Start one watcher for each cluster that is mirrored into, in that cluster's first data centre."""
    try:
        refuse_unsupported(simulation.topology, "watch")
    except DcctlError as error:
        on_progress("watcher", f"none runs: {error.problem}")
        return
    on_progress("watcher", "starting")
    homes: dict[str, list[str]] = {}
    for target in dict.fromkeys(mirror.target for mirror in simulation.topology.replication):
        homes.setdefault(simulation.topology.clusters[target].datacenters[0], []).append(target)
    for dc, targets in homes.items():
        file = str(simulation.topology_at(dc))
        watch = (sys.executable, "-m", "orchestrator.cli.main", "watch", file)
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
