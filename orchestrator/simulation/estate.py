"""Which servers a topology needs on this machine, each with its ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator.topology.model import Cluster, Nodes, Topology

HOST = "127.0.0.1"

# Controllers of their own count from 101, so that their numbers tell them from brokers in every log.
FIRST_CONTROLLER = 101


@dataclass(frozen=True, slots=True)
class KafkaNode:
    """One Kafka process: a broker, a KRaft controller, or both. A role that it lacks has no port."""

    cluster: str
    dc: str
    node_id: int
    client_port: int | None
    controller_port: int | None

    @property
    def is_broker(self) -> bool:
        """Whether clients connect to it."""
        return self.client_port is not None

    @property
    def is_controller(self) -> bool:
        """Whether it is a voter of the metadata quorum."""
        return self.controller_port is not None

    @property
    def program(self) -> str:
        """Name under which its site's supervisor knows it."""
        return f"{'broker' if self.is_broker else 'controller'}-{self.node_id}"


@dataclass(frozen=True, slots=True)
class ZooKeeperNode:
    """One ZooKeeper server of a cluster's own ensemble, with its weight in a hierarchical quorum."""

    cluster: str
    dc: str
    server_id: int
    client_port: int
    peer_port: int
    election_port: int
    weight: int = 1

    @property
    def program(self) -> str:
        """Name under which its site's supervisor knows it."""
        return f"zookeeper-{self.server_id}"


@dataclass(frozen=True, slots=True)
class ConnectWorker:
    """One Connect worker, which runs mirrors into its cluster."""

    cluster: str
    dc: str
    number: int
    port: int

    @property
    def program(self) -> str:
        """Name under which its site's supervisor knows it."""
        return f"connect-{self.number}"


Server = KafkaNode | ZooKeeperNode | ConnectWorker


@dataclass(frozen=True, slots=True)
class Estate:
    """Every server of a simulation, with its ports. `zookeeper_port` is the coordination's."""

    nodes: tuple[KafkaNode, ...]
    zookeepers: tuple[ZooKeeperNode, ...]
    workers: tuple[ConnectWorker, ...]
    zookeeper_port: int

    def nodes_of(self, cluster: str) -> tuple[KafkaNode, ...]:
        """The Kafka processes of one cluster."""
        return tuple(node for node in self.nodes if node.cluster == cluster)

    def brokers_of(self, cluster: str) -> tuple[KafkaNode, ...]:
        """Those of them that are brokers."""
        return tuple(node for node in self.nodes_of(cluster) if node.is_broker)

    def controllers_of(self, cluster: str) -> tuple[KafkaNode, ...]:
        """Those of them that vote in the metadata quorum (KRaft)."""
        return tuple(node for node in self.nodes_of(cluster) if node.is_controller)

    def zookeepers_of(self, cluster: str) -> tuple[ZooKeeperNode, ...]:
        """The ZooKeeper servers of one cluster."""
        return tuple(node for node in self.zookeepers if node.cluster == cluster)

    def workers_of(self, cluster: str) -> tuple[ConnectWorker, ...]:
        """The Connect workers of one cluster."""
        return tuple(worker for worker in self.workers if worker.cluster == cluster)

    def servers_of(self, cluster: str) -> tuple[KafkaNode | ZooKeeperNode, ...]:
        """What has to run before a cluster serves."""
        return (*self.zookeepers_of(cluster), *self.nodes_of(cluster))

    def bootstrap(self, cluster: str) -> tuple[str, ...]:
        """Client addresses of one cluster."""
        return tuple(f"{HOST}:{node.client_port}" for node in self.brokers_of(cluster))

    def connect(self, cluster: str, scheme: str = "http") -> tuple[str, ...]:
        """REST addresses of one cluster's workers."""
        return tuple(f"{scheme}://{HOST}:{worker.port}" for worker in self.workers_of(cluster))

    def named_ports(self) -> dict[str, int]:
        """Every port by what it is for: `west/broker-1/client`, `coordination/zookeeper`, …"""
        ports = {"coordination/zookeeper": self.zookeeper_port}
        servers: tuple[Server, ...] = (*self.zookeepers, *self.nodes, *self.workers)
        for server in servers:
            for purpose, port in _ports(server).items():
                ports[f"{server.dc}/{server.program}/{purpose}"] = port
        return ports


def _ports(server: Server) -> dict[str, int]:
    match server:
        case KafkaNode():
            ports = {"client": server.client_port, "controller": server.controller_port}
            return {purpose: port for purpose, port in ports.items() if port is not None}
        case ZooKeeperNode():
            return {
                "client": server.client_port,
                "peer": server.peer_port,
                "election": server.election_port,
            }
        case ConnectWorker():
            return {"rest": server.port}


def port_count(topology: Topology) -> int:
    """How many ports the simulation of a topology needs."""
    rows = [row for cluster in topology.clusters.values() for row in cluster.nodes]
    return 1 + sum(row.brokers + row.controllers + 3 * row.zookeepers + row.connect_workers for row in rows)


def planned_estate(topology: Topology, ports: Sequence[int]) -> Estate:
    """The servers of a topology, given `port_count(topology)` ports.

    Numbers start at 1 in each cluster, or after those of a cluster that shares a data centre with it:
    inside a site every program's name is its own.
    """
    planner = _Planner(iter(ports))
    for name, cluster in topology.clusters.items():
        planner.add(name, cluster)
    return Estate(tuple(planner.nodes), tuple(planner.zookeepers), tuple(planner.workers), next(planner.free))


@dataclass(slots=True)
class _Planner:
    """Numbers servers and hands out ports, row by row."""

    free: Iterator[int]
    nodes: list[KafkaNode] = field(default_factory=list)
    zookeepers: list[ZooKeeperNode] = field(default_factory=list)
    workers: list[ConnectWorker] = field(default_factory=list)
    _counts: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, name: str, cluster: Cluster) -> None:
        """Plan every server of one cluster."""
        numbers: dict[str, int] = {}
        for dc in cluster.datacenters:
            for kind, number in self._counts.get(dc, {}).items():
                numbers[kind] = max(numbers.get(kind, 0), number)
        for row in cluster.nodes:
            self._add_row(name, cluster, row, numbers)
        for dc in cluster.datacenters:
            self._counts[dc] = self._counts.get(dc, {}) | numbers

    def _add_row(self, name: str, cluster: Cluster, row: Nodes, numbers: dict[str, int]) -> None:
        def number(kind: str) -> int:
            numbers[kind] = numbers.get(kind, 0) + 1
            return numbers[kind]

        combined = min(row.brokers, row.controllers) if cluster.is_combined else 0
        for index in range(row.brokers):
            client, controller = next(self.free), next(self.free) if index < combined else None
            self.nodes.append(KafkaNode(name, row.dc, number("broker"), client, controller))
        for _ in range(row.controllers - combined):
            node_id = FIRST_CONTROLLER - 1 + number("controller")
            self.nodes.append(KafkaNode(name, row.dc, node_id, None, next(self.free)))
        for _ in range(row.zookeepers):
            three = next(self.free), next(self.free), next(self.free)
            self.zookeepers.append(
                ZooKeeperNode(name, row.dc, number("zookeeper"), *three, row.zookeeper_weight)
            )
        for _ in range(row.connect_workers):
            self.workers.append(ConnectWorker(name, row.dc, number("worker"), next(self.free)))
