"""Which servers a topology needs, and where each of them stands. Pure, and the same for all back ends."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.topology.model import Cluster, Nodes, Topology

COORDINATION = "coordination"
"""The host of the ensemble for lock and journal, outside all data centres."""

# Controllers of their own count from 101, so that their numbers tell them from brokers in every log.
FIRST_CONTROLLER = 101


@dataclass(frozen=True, slots=True)
class KafkaNode:
    """One Kafka server: a broker, a KRaft controller, or both. `rack` is empty where the file names none."""

    cluster: str
    dc: str
    node_id: int
    is_broker: bool
    is_controller: bool
    rack: str = ""

    @property
    def program(self) -> str:
        """Name under which its host knows it."""
        return f"{'broker' if self.is_broker else 'controller'}-{self.node_id}"

    @property
    def purposes(self) -> tuple[str, ...]:
        """What it has an address for."""
        roles = {"client": self.is_broker, "controller": self.is_controller}
        return tuple(purpose for purpose, has_role in roles.items() if has_role)


@dataclass(frozen=True, slots=True)
class ZooKeeperNode:
    """One ZooKeeper server of a cluster's own ensemble, with its weight in a hierarchical quorum."""

    cluster: str
    dc: str
    server_id: int
    weight: int = 1
    rack: str = ""

    @property
    def program(self) -> str:
        """Name under which its host knows it."""
        return f"zookeeper-{self.server_id}"

    @property
    def purposes(self) -> tuple[str, ...]:
        """What it has an address for."""
        return ("client", "peer", "election")


@dataclass(frozen=True, slots=True)
class ConnectWorker:
    """One Connect worker, which runs mirrors into its cluster."""

    cluster: str
    dc: str
    number: int
    rack: str = ""

    @property
    def program(self) -> str:
        """Name under which its host knows it."""
        return f"connect-{self.number}"

    @property
    def purposes(self) -> tuple[str, ...]:
        """What it has an address for."""
        return ("rest",)


@dataclass(frozen=True, slots=True)
class CoordinationServer:
    """The single ZooKeeper server that keeps lock and journal. Its host is `COORDINATION`."""

    dc: str = COORDINATION
    program: str = "zookeeper"
    rack: str = ""
    purposes: tuple[str, ...] = ("client",)


Server = KafkaNode | ZooKeeperNode | ConnectWorker | CoordinationServer


@dataclass(frozen=True, slots=True)
class Estate:
    """Every server of a simulation."""

    nodes: tuple[KafkaNode, ...]
    zookeepers: tuple[ZooKeeperNode, ...]
    workers: tuple[ConnectWorker, ...]
    coordination: CoordinationServer = field(default_factory=CoordinationServer)

    def nodes_of(self, cluster: str) -> tuple[KafkaNode, ...]:
        """The Kafka servers of one cluster."""
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

    def endpoints(self) -> dict[str, tuple[Server, str]]:
        """Every server and purpose that needs an address, by name: `west/broker-1/client`, …"""
        servers: tuple[Server, ...] = (*self.zookeepers, *self.nodes, *self.workers)
        named = {
            endpoint_name(server, purpose): (server, purpose)
            for server in servers
            for purpose in server.purposes
        }
        first: dict[str, tuple[Server, str]] = {
            endpoint_name(self.coordination, "client"): (self.coordination, "client")
        }
        return first | named


def endpoint_name(server: Server, purpose: str) -> str:
    """How an address is called where addresses are listed."""
    if isinstance(server, CoordinationServer):
        return f"{server.dc}/{server.program}"
    return f"{server.dc}/{server.program}/{purpose}"


def planned_estate(topology: Topology) -> Estate:
    """The servers of a topology.

    Numbers start at 1 in each cluster, or after those of a cluster that shares a data centre with it:
    inside a site every program's name is its own.
    """
    planner = _Planner()
    for name, cluster in topology.clusters.items():
        planner.add(name, cluster)
    return Estate(tuple(planner.nodes), tuple(planner.zookeepers), tuple(planner.workers))


@dataclass(slots=True)
class _Planner:
    """Numbers servers, row by row."""

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

        def node(number: int, *, is_broker: bool, is_controller: bool) -> KafkaNode:
            return KafkaNode(name, row.dc, number, is_broker, is_controller, rack)

        combined, rack = min(row.brokers, row.controllers) if cluster.is_combined else 0, row.rack or ""
        for index in range(row.brokers):
            self.nodes.append(node(number("broker"), is_broker=True, is_controller=index < combined))
        for _ in range(row.controllers - combined):
            node_id = FIRST_CONTROLLER - 1 + number("controller")
            self.nodes.append(node(node_id, is_broker=False, is_controller=True))
        for _ in range(row.zookeepers):
            own = number("zookeeper")
            self.zookeepers.append(ZooKeeperNode(name, row.dc, own, row.zookeeper_weight, rack))
        for _ in range(row.connect_workers):
            self.workers.append(ConnectWorker(name, row.dc, number("worker"), rack))
