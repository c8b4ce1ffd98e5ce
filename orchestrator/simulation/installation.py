"""Writes a new simulation to disk: secrets, configuration, formatted storage and programs of every server."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from orchestrator.adapters.java import commands, formatting
from orchestrator.adapters.java.runtime import KafkaRuntime
from orchestrator.adapters.supervisor import Program
from orchestrator.errors import SimulationError
from orchestrator.simulation import servers
from orchestrator.simulation.credentials import MIRROR
from orchestrator.simulation.estate import ConnectWorker, Estate, KafkaNode
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.inventory import inventory_text
from orchestrator.simulation.running import Simulation
from orchestrator.topology.loading import dump_topology

_BROKER_HEAP_MB = 256
_CONNECT_HEAP_MB = 384
_ZOOKEEPER_HEAP_MB = 64
ZOOKEEPER = "zookeeper"
# Formatted nodes, indexes and logs of a rehearsal with some hundred thousand records.
_NEEDED_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Runtimes:
    """Kafka of each cluster's version, and the one that brings ZooKeeper."""

    of_clusters: Mapping[str, KafkaRuntime]
    zookeeper: KafkaRuntime


@dataclass(frozen=True, slots=True)
class Installer:
    """Writes the servers of one simulation."""

    simulation: Simulation
    estate: Estate
    runtimes: Runtimes
    passwords: Mapping[str, str]

    def write_all(self) -> None:
        """Everything but the Connect workers' programs, which start later. Nothing runs yet."""
        folders = Folders(self.simulation.folder)
        _refuse_small_disk(folders.root)
        text = yaml.safe_dump(dump_topology(self.simulation.topology), sort_keys=False, allow_unicode=True)
        folders.topology.write_text(text, encoding="utf-8")
        configurations = {
            dc: str(site.supervisor.configuration) for dc, site in self.simulation.sites.items()
        }
        folders.inventory.write_text(inventory_text(configurations, sys.executable), encoding="utf-8")
        for site in self.simulation.sites.values():
            site.supervisor.prepare()
            (site.folder / "checkpoints").mkdir()
            (site.folder / "clients").mkdir()
        for name in self.simulation.topology.clusters:
            self._write_nodes(name)
        self._write_zookeeper()

    def worker_program(self, worker: ConnectWorker) -> Program:
        """Write a Connect worker's files; returns the program that runs it."""
        topology = self.simulation.topology
        folder = self._folder(worker)
        folder.mkdir()
        secret = folder / "mirror.properties"
        secret.touch(mode=0o600)
        secret.write_text(f"password={self.passwords[MIRROR]}\n", encoding="ascii")
        intervals = [m.offset_flush_interval_s for m in topology.replication if m.target == worker.cluster]
        properties = folder / "connect.properties"
        settings = servers.worker_properties(
            worker,
            topology.clusters[worker.cluster].bootstrap,
            replicas=min(3, len(self.estate.nodes_of(worker.cluster))),
            offset_flush_interval_s=min(intervals, default=1.0),
            folder=folder,
        )
        properties.write_text(servers.java_properties(settings), encoding="utf-8")
        runtime = self.runtimes.of_clusters[worker.cluster]
        command, environment = commands.server_command(
            runtime, "connect", properties=properties, logs=folder / "logs", heap_mb=_CONNECT_HEAP_MB
        )
        return Program(worker.program, tuple(command), environment, autostart=True, stop_timeout_s=15)

    def worker_secret(self, worker: ConnectWorker) -> str:
        """Reference to the mirror's password, for configurations that this worker runs."""
        return servers.worker_secret(self._folder(worker))

    def _write_nodes(self, cluster: str) -> None:
        cluster_id = formatting.random_kafka_id()
        runtime = self.runtimes.of_clusters[cluster]
        peers = self.estate.nodes_of(cluster)
        for node in peers:
            folder = self._folder(node)
            folder.mkdir()
            formatting.format_storage(runtime, folder / "data", cluster_id=cluster_id, node_id=node.node_id)
            settings = servers.node_properties(
                node,
                peers,
                self.simulation.topology.clusters[cluster],
                data=folder / "data",
                passwords=self.passwords,
            )
            properties = folder / "server.properties"
            properties.touch(mode=0o600)
            properties.write_text(servers.java_properties(settings), encoding="utf-8")
            command, environment = commands.server_command(
                runtime, "kafka", properties=properties, logs=folder / "logs", heap_mb=_BROKER_HEAP_MB
            )
            program = Program(node.program, tuple(command), environment, autostart=True, stop_timeout_s=20)
            self.simulation.sites[node.dc].supervisor.write_programs([program])

    def _write_zookeeper(self) -> None:
        self.simulation.coordination.prepare()
        folder = self.simulation.coordination.folder / ZOOKEEPER
        folder.mkdir()
        properties = folder / "zoo.cfg"
        settings = servers.zookeeper_properties(self.estate.zookeeper_port, folder / "data")
        properties.write_text(servers.java_properties(settings), encoding="utf-8")
        command, environment = commands.server_command(
            self.runtimes.zookeeper,
            "zookeeper",
            properties=properties,
            logs=folder / "logs",
            heap_mb=_ZOOKEEPER_HEAP_MB,
        )
        program = Program(ZOOKEEPER, tuple(command), environment, autostart=True)
        self.simulation.coordination.write_programs([program])

    def _folder(self, server: KafkaNode | ConnectWorker) -> Path:
        return self.simulation.sites[server.dc].folder / server.program


def _refuse_small_disk(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_BYTES:
        raise SimulationError(
            str(folder),
            f"the disk has {free / 1e6:,.0f} MB left; a simulation needs {_NEEDED_BYTES / 1e6:,.0f} MB",
            "free some, or set DCCTL_STATE_DIR to a folder on another disk",
        )
