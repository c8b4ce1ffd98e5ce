"""Installs a new simulation: its file, its secrets, and the configuration of every server on its host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import yaml

from orchestrator.adapters.java.formatting import InitialVoter, random_kafka_id
from orchestrator.estate.desired_topics import connect_topics, desired_topics
from orchestrator.simulation import servers, zookeepers
from orchestrator.simulation.addresses import OPERATOR, bootstrap
from orchestrator.simulation.backend import Host, ServerProgram, Storage
from orchestrator.simulation.completion import topology_text
from orchestrator.simulation.credentials import (
    ENSEMBLE_LOGIN,
    REST_LOGIN,
    SUPER_USERS,
    user_of,
    write_worker_secrets,
)
from orchestrator.simulation.estate import ConnectWorker, KafkaNode, Server, ZooKeeperNode
from orchestrator.simulation.folders import Folders
from orchestrator.simulation.running import Simulation
from orchestrator.simulation.tls import Issuer, write_rest_users
from orchestrator.simulation.workload.install import installed_programs
from orchestrator.topology.model import Cluster, Topology

_BROKER_HEAP_MB = 256
_CONTROLLER_HEAP_MB = 128
_CONNECT_HEAP_MB = 384
_ZOOKEEPER_HEAP_MB = 64


def host_variables(
    topology: Topology,
    dc: str,
    connection: Mapping[str, str],
    servers: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """What the inventory says of a site's host; of its clients, where others never work there.

    `servers`: the path of each one's configuration. In a file with one cluster no client is there before it
    is installed (`workload.install`): applications are moved there because a host has them.
    """
    found: dict[str, Any] = {**connection, "dc": dc}
    if servers:
        found["dcctl_servers"] = {name: {"unit": name, "config": config} for name, config in servers.items()}
    here = [] if topology.is_one_cluster else installed_programs(topology, dc)
    if len(here) < len(topology.consumers) + len(topology.producers):
        found["clients_on_host"] = here
    return found


def _configuration(server: KafkaNode | ZooKeeperNode) -> str:
    return "zoo.cfg" if isinstance(server, ZooKeeperNode) else "server.properties"


@dataclass(frozen=True, slots=True)
class Installer:
    """Installs the servers of one simulation.

    With an `issuer` they are reached by TLS alone, and `logins` are dcctl's passwords at what is not Kafka.
    """

    simulation: Simulation
    passwords: Mapping[str, str]
    issuer: Issuer | None = None
    logins: Mapping[str, str] = field(default_factory=dict)

    def write_all(self) -> None:
        """Everything but the Connect workers, which start later. Nothing runs yet."""
        simulation, folders = self.simulation, Folders(self.simulation.folder)
        folders.topology.write_text(topology_text(simulation.topology), encoding="utf-8")
        hosts = {
            dc: host_variables(simulation.topology, dc, site.ansible_variables, self._configurations(dc))
            for dc, site in simulation.sites.items()
        }
        folders.inventory.write_text(
            yaml.safe_dump({"all": {"hosts": hosts}}, sort_keys=False), encoding="utf-8"
        )
        mirrors = {user_of(cluster.mirror_principal) for cluster in simulation.topology.clusters.values()}
        write_worker_secrets(folders.worker_secrets, {user: self.passwords[user] for user in mirrors})
        if self.issuer:
            self.issuer.write_authority()
        for site in simulation.sites.values():
            for folder in ("checkpoints", "clients"):
                site.files.make_folder(folder)
        for name, cluster in simulation.topology.clusters.items():
            if cluster.metadata == "zookeeper":
                self._install_zookeeper_mode(name)
            else:
                self._install_kraft(name)
        self._install_coordination()

    def _configurations(self, dc: str) -> dict[str, str]:
        """Of each Kafka and ZooKeeper server at a site, but for Connect workers."""
        files, estate = self.simulation.machines.hosts[dc].files, self.simulation.estate
        servers: tuple[KafkaNode | ZooKeeperNode, ...] = (*estate.zookeepers, *estate.nodes)
        return {
            server.program: str(files.place(f"{server.program}/{_configuration(server)}"))
            for server in servers
            if server.dc == dc
        }

    def worker_program(self, worker: ConnectWorker) -> ServerProgram:
        """Write a Connect worker's files; returns what runs it."""
        topology, estate = self.simulation.topology, self.simulation.estate
        machines, files = self.simulation.machines, self._host(worker).files
        intervals = [m.offset_flush_interval_s for m in topology.replication if m.target == worker.cluster]
        rest: dict[str, str] = {}
        options: list[str] = []
        if self.issuer:
            users = {REST_LOGIN: self.logins[REST_LOGIN]}
            rest, options = write_rest_users(files, worker.program, users)
            rest |= self.issuer.rest(files, worker.program, self._known_as(worker))
        settings = servers.worker_properties(
            worker,
            bootstrap(estate, machines, worker.cluster, worker.dc),
            machines,
            replicas=self._connect_replicas(worker.cluster),
            offset_flush_interval_s=min(intervals, default=1.0),
            security=self._cluster(worker.cluster).mirror_client,
            rest=rest,
        )
        properties = f"{worker.program}/connect.properties"
        files.write(properties, servers.java_properties(settings))
        return ServerProgram(
            name=worker.program,
            role="connect",
            kafka=self._cluster(worker.cluster).kafka,
            properties=properties,
            heap_mb=_CONNECT_HEAP_MB,
            options=tuple(options),
            stop_timeout_s=15,
        )

    def _connect_replicas(self, cluster: str) -> int:
        """Of the topics that workers make for themselves: as many as an apply would want."""
        wanted = desired_topics(self.simulation.topology, cluster)
        own = next((wanted[name] for name in connect_topics(cluster).values() if name in wanted), None)
        return own.replicas if own else min(3, len(self.simulation.estate.brokers_of(cluster)))

    def _install_kraft(self, cluster: str) -> None:
        cluster_id = random_kafka_id()
        machines = self.simulation.machines
        voters = self.simulation.estate.controllers_of(cluster)
        initial = self._initial_voters(cluster)
        for node in self.simulation.estate.nodes_of(cluster):
            files, data = self._host(node).files, f"{node.program}/data"
            tls = self.issuer.kafka(files, node.program, self._known_as(node)) if self.issuer else {}
            closed, opened = (
                servers.kraft_properties(
                    node,
                    voters,
                    self._cluster(cluster),
                    machines,
                    data=files.place(data),
                    passwords=passwords,
                    tls=tls,
                )
                for passwords in (self._engine_passwords(), self.passwords)
            )
            storage = Storage(data, cluster_id, node.node_id, initial if node.is_controller else ())
            self._install_kafka(node, opened, closed=closed, storage=storage)

    def _initial_voters(self, cluster: str) -> tuple[InitialVoter, ...]:
        """With whom a dynamic quorum begins; the controllers themselves see to their addresses later."""
        if self._cluster(cluster).voters == "static":
            return ()
        at = self.simulation.machines
        return tuple(
            InitialVoter(
                voter.node_id,
                str(at.address(voter, "controller", seen_from=voter.dc)),
                random_kafka_id(),
            )
            for voter in self.simulation.estate.controllers_of(cluster)
        )

    def _install_zookeeper_mode(self, cluster: str) -> None:
        machines = self.simulation.machines
        ensemble = self.simulation.estate.zookeepers_of(cluster)
        is_hierarchical = self._cluster(cluster).quorum == "hierarchical"
        for server in ensemble:
            host, data = self._host(server), f"{server.program}/data"
            host.files.write(f"{data}/myid", f"{server.server_id}\n")
            dynamic = self._dynamic_members(server, ensemble, is_hierarchical=is_hierarchical)
            settings = zookeepers.ensemble_properties(
                server,
                ensemble,
                machines,
                is_hierarchical=is_hierarchical,
                data=host.files.place(data),
                dynamic=dynamic,
            )
            guard = self._site_guard(server, f"{server.program}/zoo.cfg")
            self._install_zookeeper(host, server.program, settings, site_guard=guard)
        for node in self.simulation.estate.nodes_of(cluster):
            closed, opened = (
                servers.zookeeper_mode_properties(
                    node,
                    zookeepers.client_addresses(node.dc, ensemble, machines),
                    self._cluster(cluster),
                    machines,
                    data=self._host(node).files.place(f"{node.program}/data"),
                    passwords=passwords,
                )
                for passwords in (self._engine_passwords(), self.passwords)
            )
            self._install_kafka(node, opened, closed=closed, storage=None)

    def _dynamic_members(
        self, server: ZooKeeperNode, ensemble: Sequence[ZooKeeperNode], *, is_hierarchical: bool
    ) -> zookeepers.DynamicMembers | None:
        """Write the members of an ensemble that can be reconfigured; None where it cannot."""
        if self._cluster(server.cluster).voters == "static":
            return None
        files, name = self._host(server).files, f"{server.program}/zoo.cfg.dynamic"
        lines = zookeepers.member_lines(
            server, ensemble, self.simulation.machines, is_hierarchical=is_hierarchical, is_dynamic=True
        )
        files.write(name, servers.java_properties(lines))
        digest = zookeepers.superuser_digest(ENSEMBLE_LOGIN, self.logins[ENSEMBLE_LOGIN])
        return zookeepers.DynamicMembers(files.place(name), digest)

    def _engine_passwords(self) -> dict[str, str]:
        """Of those who run the estate: all that a closed broker lets in."""
        clusters = self.simulation.topology.clusters.values()
        known = {*SUPER_USERS, *(user_of(cluster.mirror_principal) for cluster in clusters)}
        return {user: password for user, password in self.passwords.items() if user in known}

    def _install_kafka(
        self,
        node: KafkaNode,
        settings: Mapping[str, str],
        *,
        closed: Mapping[str, str],
        storage: Storage | None,
    ) -> None:
        host = self._host(node)
        properties, closed_properties = (f"{node.program}/{kind}.properties" for kind in ("server", "closed"))
        for file, its_settings in ((properties, settings), (closed_properties, closed)):
            host.files.write(file, servers.java_properties(its_settings), is_private=True)
        is_source = any(node.cluster == m.source for m in self.simulation.topology.replication)
        program = ServerProgram(
            name=node.program,
            role="kafka",
            kafka=self._cluster(node.cluster).kafka,
            properties=properties,
            heap_mb=_BROKER_HEAP_MB if node.is_broker else _CONTROLLER_HEAP_MB,
            storage=storage,
            guard=self._guard(node, properties, closed_properties) if node.is_broker and is_source else (),
            site_guard=self._site_guard(node, properties),
            # In ZooKeeper mode a broker that returns before its old session has expired finds its place
            # taken, and ends (`KafkaZkClient.CheckedEphemeral`).
            autorestart=self._cluster(node.cluster).metadata == "zookeeper",
            stop_timeout_s=20,
        )
        host.install([program])

    def _guard(self, node: KafkaNode, opened: str, closed: str) -> tuple[str, ...]:
        """Options of the guard that a host of an estate has in its broker's place."""
        files = self._host(node).files
        given = {
            "--file": str(self.simulation.topology_at(node.dc)),
            "--cluster": node.cluster,
            "--server": node.program,
            "--data": str(files.place(f"{node.program}/data")),
            "--open": str(files.place(opened)),
            "--closed": str(files.place(closed)),
        }
        return tuple(word for pair in given.items() for word in pair)

    def _site_guard(self, server: KafkaNode | ZooKeeperNode, config: str) -> tuple[str, ...]:
        """Options of the guard before a server of a cluster that lies at several sites; none elsewhere."""
        if len(self._cluster(server.cluster).datacenters) == 1:
            return ()
        given = {
            "--file": str(self.simulation.topology_at(server.dc)),
            "--cluster": server.cluster,
            "--site": server.dc,
            "--server": server.program,
            "--config": str(self._host(server).files.place(config)),
        }
        return tuple(word for pair in given.items() for word in pair)

    def _install_coordination(self) -> None:
        server, host = self.simulation.estate.coordination, self.simulation.coordination
        names = self._known_as(server)
        tls = self.issuer.zookeeper(host.files, server.program, names) if self.issuer else {}
        binding = self.simulation.machines.binding(server, "client", seen_from=OPERATOR)
        data = host.files.place(f"{server.program}/data")
        settings = zookeepers.coordination_properties(binding, data, tls)
        self._install_zookeeper(host, server.program, settings)

    def _install_zookeeper(
        self, host: Host, name: str, settings: Mapping[str, str], *, site_guard: tuple[str, ...] = ()
    ) -> None:
        properties = f"{name}/zoo.cfg"
        host.files.write(properties, servers.java_properties(settings))
        host.install(
            [
                ServerProgram(
                    name=name,
                    role="zookeeper",
                    kafka=None,
                    properties=properties,
                    heap_mb=_ZOOKEEPER_HEAP_MB,
                    site_guard=site_guard,
                )
            ]
        )

    def _cluster(self, name: str) -> Cluster:
        return self.simulation.topology.clusters[name]

    def _host(self, server: Server) -> Host:
        return self.simulation.machines.hosts[server.dc]

    def _known_as(self, server: Server) -> list[str]:
        """Every host by which somebody reaches it."""
        at = self.simulation.machines
        return [
            at.address(server, purpose, seen_from=place).host
            for place in (OPERATOR, *at.hosts)
            for purpose in server.purposes
        ]
