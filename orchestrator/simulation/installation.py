"""Writes a new simulation to disk: secrets, configuration, formatted storage and programs of every server."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from orchestrator.adapters.java import commands, formatting
from orchestrator.adapters.java.runtime import KafkaRuntime
from orchestrator.adapters.supervisor import Program
from orchestrator.guards.live import boot_guard
from orchestrator.simulation import servers, zookeepers
from orchestrator.simulation.credentials import REST_LOGIN, SUPER_USERS, user_of, write_worker_secrets
from orchestrator.simulation.estate import ConnectWorker, Estate, KafkaNode, Server
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.inventory import inventory_text
from orchestrator.simulation.limits import refuse_small_machine
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.tls import Issuer, write_rest_users
from orchestrator.topology.loading import dump_topology
from orchestrator.topology.model import Cluster

_BROKER_HEAP_MB = 256
_CONTROLLER_HEAP_MB = 128
_CONNECT_HEAP_MB = 384
_ZOOKEEPER_HEAP_MB = 64
ZOOKEEPER = "zookeeper"


@dataclass(frozen=True, slots=True)
class Runtimes:
    """Kafka of each cluster's version, and the one that brings ZooKeeper."""

    of_clusters: Mapping[str, KafkaRuntime]
    zookeeper: KafkaRuntime


@dataclass(frozen=True, slots=True)
class Installer:
    """Writes the servers of one simulation. With an `issuer` they are reached by TLS alone, and `logins` are
    dcctl's passwords at what is not Kafka."""

    simulation: Simulation
    estate: Estate
    runtimes: Runtimes
    passwords: Mapping[str, str]
    issuer: Issuer | None = None
    logins: Mapping[str, str] = field(default_factory=dict)

    def write_all(self) -> None:
        """Everything but the Connect workers' programs, which start later. Nothing runs yet."""
        folders = Folders(self.simulation.folder)
        refuse_small_machine(self.simulation.topology, folders.root)
        text = yaml.safe_dump(dump_topology(self.simulation.topology), sort_keys=False, allow_unicode=True)
        folders.topology.write_text(text, encoding="utf-8")
        configurations = {
            dc: str(site.supervisor.configuration) for dc, site in self.simulation.sites.items()
        }
        folders.inventory.write_text(inventory_text(configurations, sys.executable), encoding="utf-8")
        mirrors = {
            user_of(cluster.mirror_principal) for cluster in self.simulation.topology.clusters.values()
        }
        write_worker_secrets(folders.worker_secrets, {user: self.passwords[user] for user in mirrors})
        if self.issuer:
            self.issuer.write_authority()
        for site in self.simulation.sites.values():
            site.supervisor.prepare()
            (site.folder / "checkpoints").mkdir()
            (site.folder / "clients").mkdir()
        for name, cluster in self.simulation.topology.clusters.items():
            if cluster.metadata == "zookeeper":
                self._write_zookeeper_mode(name)
            else:
                self._write_kraft(name)
        self._write_coordination()

    def worker_program(self, worker: ConnectWorker) -> Program:
        """Write a Connect worker's files; returns the program that runs it."""
        topology = self.simulation.topology
        folder = self._folder(worker)
        folder.mkdir()
        intervals = [m.offset_flush_interval_s for m in topology.replication if m.target == worker.cluster]
        properties = folder / "connect.properties"
        rest: dict[str, str] = {}
        options: list[str] = []
        if self.issuer:
            rest, options = write_rest_users(folder, {REST_LOGIN: self.logins[REST_LOGIN]})
            rest |= self.issuer.rest(folder)
        settings = servers.worker_properties(
            worker,
            topology.clusters[worker.cluster].bootstrap,
            replicas=min(3, len(self.estate.brokers_of(worker.cluster))),
            offset_flush_interval_s=min(intervals, default=1.0),
            security=self._cluster(worker.cluster).mirror_client,
            rest=rest,
        )
        properties.write_text(servers.java_properties(settings), encoding="utf-8")
        runtime = self.runtimes.of_clusters[worker.cluster]
        command, environment = commands.server_command(
            runtime,
            "connect",
            properties=properties,
            logs=folder / "logs",
            heap_mb=_CONNECT_HEAP_MB,
            options=options,
        )
        return Program(worker.program, tuple(command), environment, autostart=True, stop_timeout_s=15)

    def _write_kraft(self, cluster: str) -> None:
        cluster_id = formatting.random_kafka_id()
        runtime = self.runtimes.of_clusters[cluster]
        voters = self.estate.controllers_of(cluster)
        for node in self.estate.nodes_of(cluster):
            data = self._folder(node) / "data"
            formatting.format_storage(runtime, data, cluster_id=cluster_id, node_id=node.node_id)
            tls = self.issuer.kafka(self._folder(node)) if self.issuer else {}
            closed, opened = (
                servers.kraft_properties(
                    node, voters, self._cluster(cluster), data=data, passwords=passwords, tls=tls
                )
                for passwords in (self._engine_passwords(), self.passwords)
            )
            self._write_kafka(node, opened, data=data, closed=closed)

    def _write_zookeeper_mode(self, cluster: str) -> None:
        ensemble = self.estate.zookeepers_of(cluster)
        is_hierarchical = self._cluster(cluster).quorum == "hierarchical"
        for server in ensemble:
            data = self._folder(server) / "data"
            data.mkdir(parents=True)
            (data / "myid").write_text(f"{server.server_id}\n", encoding="ascii")
            settings = zookeepers.ensemble_properties(
                server, ensemble, is_hierarchical=is_hierarchical, data=data
            )
            program = self._zookeeper_program(server.program, self._folder(server), settings)
            self.simulation.sites[server.dc].supervisor.write_programs([program])
        for node in self.estate.nodes_of(cluster):
            self._folder(node).mkdir()
            data = self._folder(node) / "data"
            closed, opened = (
                servers.zookeeper_mode_properties(
                    node,
                    zookeepers.client_addresses(node.dc, ensemble),
                    self._cluster(cluster),
                    data=data,
                    passwords=passwords,
                )
                for passwords in (self._engine_passwords(), self.passwords)
            )
            self._write_kafka(node, opened, data=data, closed=closed)

    def _engine_passwords(self) -> dict[str, str]:
        """Of those who run the estate: all that a closed broker lets in."""
        clusters = self.simulation.topology.clusters.values()
        known = {*SUPER_USERS, *(user_of(cluster.mirror_principal) for cluster in clusters)}
        return {user: password for user, password in self.passwords.items() if user in known}

    def _write_kafka(
        self, node: KafkaNode, settings: Mapping[str, str], *, data: Path, closed: Mapping[str, str]
    ) -> None:
        folder = self._folder(node)
        properties, closed_properties = folder / "server.properties", folder / "closed.properties"
        for file, its_settings in ((properties, settings), (closed_properties, closed)):
            file.touch(mode=0o600)
            file.write_text(servers.java_properties(its_settings), encoding="utf-8")
        command, environment = commands.server_command(
            self.runtimes.of_clusters[node.cluster],
            "kafka",
            properties=properties,
            logs=folder / "logs",
            heap_mb=_BROKER_HEAP_MB if node.is_broker else _CONTROLLER_HEAP_MB,
        )
        if node.is_broker and any(node.cluster == m.source for m in self.simulation.topology.replication):
            command = self._guarded(node, command, properties, closed_properties, data)
        program = Program(
            node.program,
            tuple(command),
            environment,
            autostart=True,
            # In ZooKeeper mode a broker that returns before its old session has expired finds its place
            # taken, and ends (`KafkaZkClient.CheckedEphemeral`).
            autorestart=self._cluster(node.cluster).metadata == "zookeeper",
            stop_timeout_s=20,
        )
        self.simulation.sites[node.dc].supervisor.write_programs([program])

    def _guarded(
        self, node: KafkaNode, command: list[str], opened: Path, closed: Path, data: Path
    ) -> list[str]:
        """The broker's command behind the guard that a host of an estate has in its place."""
        given = {
            "--file": str(self.simulation.topology_path),
            "--cluster": node.cluster,
            "--server": node.program,
            "--data": str(data),
            "--open": str(opened),
            "--closed": str(closed),
        }
        options = [word for pair in given.items() for word in pair]
        words = [boot_guard.PLACE if word == str(opened) else word for word in command]
        return [sys.executable, "-m", boot_guard.__name__, *options, "--", *words]

    def _write_coordination(self) -> None:
        self.simulation.coordination.prepare()
        folder = self.simulation.coordination.folder / ZOOKEEPER
        folder.mkdir()
        tls = self.issuer.zookeeper(folder) if self.issuer else {}
        settings = zookeepers.coordination_properties(self.estate.zookeeper_port, folder / "data", tls)
        program = self._zookeeper_program(ZOOKEEPER, folder, settings)
        self.simulation.coordination.write_programs([program])

    def _zookeeper_program(self, name: str, folder: Path, settings: Mapping[str, str]) -> Program:
        properties = folder / "zoo.cfg"
        properties.write_text(servers.java_properties(settings), encoding="utf-8")
        command, environment = commands.server_command(
            self.runtimes.zookeeper,
            "zookeeper",
            properties=properties,
            logs=folder / "logs",
            heap_mb=_ZOOKEEPER_HEAP_MB,
        )
        return Program(name, tuple(command), environment, autostart=True)

    def _cluster(self, name: str) -> Cluster:
        return self.simulation.topology.clusters[name]

    def _folder(self, server: Server) -> Path:
        return self.simulation.sites[server.dc].folder / server.program
