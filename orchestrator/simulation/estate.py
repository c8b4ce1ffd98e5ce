"""Which servers a topology needs on this machine, and the topology file completed with their addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from orchestrator.errors import SimulationError
from orchestrator.simulation.folders import Folders
from orchestrator.topology.model import Cluster, Consumer, Coordination, Topology

HOST = "127.0.0.1"
OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class KafkaNode:
    """One combined KRaft node: broker and controller in one process."""

    cluster: str
    dc: str
    node_id: int
    client_port: int
    controller_port: int

    @property
    def program(self) -> str:
        """Name under which its site's supervisor knows it."""
        return f"broker-{self.node_id}"


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


@dataclass(frozen=True, slots=True)
class Estate:
    """Every server of a simulation, with its ports."""

    nodes: tuple[KafkaNode, ...]
    workers: tuple[ConnectWorker, ...]
    zookeeper_port: int

    def nodes_of(self, cluster: str) -> tuple[KafkaNode, ...]:
        """The Kafka nodes of one cluster."""
        return tuple(node for node in self.nodes if node.cluster == cluster)

    def workers_of(self, cluster: str) -> tuple[ConnectWorker, ...]:
        """The Connect workers of one cluster."""
        return tuple(worker for worker in self.workers if worker.cluster == cluster)

    def bootstrap(self, cluster: str) -> tuple[str, ...]:
        """Client addresses of one cluster."""
        return tuple(f"{HOST}:{node.client_port}" for node in self.nodes_of(cluster))

    def connect(self, cluster: str) -> tuple[str, ...]:
        """REST addresses of one cluster's workers."""
        return tuple(f"http://{HOST}:{worker.port}" for worker in self.workers_of(cluster))

    def named_ports(self) -> dict[str, int]:
        """Every port by what it is for: `west/broker-1/client`, `coordination/zookeeper`, …"""
        ports = {"coordination/zookeeper": self.zookeeper_port}
        for node in self.nodes:
            ports[f"{node.dc}/{node.program}/client"] = node.client_port
            ports[f"{node.dc}/{node.program}/controller"] = node.controller_port
        for worker in self.workers:
            ports[f"{worker.dc}/{worker.program}/rest"] = worker.port
        return ports


def port_count(topology: Topology) -> int:
    """How many ports the simulation of a topology needs."""
    rows = [row for cluster in topology.clusters.values() for row in cluster.nodes]
    return 1 + sum(2 * row.brokers + row.connect_workers for row in rows)


def planned_estate(topology: Topology, ports: Sequence[int]) -> Estate:
    """The servers of a topology, given `port_count(topology)` ports."""
    free: Iterator[int] = iter(ports)
    nodes: list[KafkaNode] = []
    workers: list[ConnectWorker] = []
    for name, cluster in topology.clusters.items():
        node_id = number = 0
        for row in cluster.nodes:
            for _ in range(row.brokers):
                node_id += 1
                nodes.append(KafkaNode(name, row.dc, node_id, next(free), next(free)))
            for _ in range(row.connect_workers):
                number += 1
                workers.append(ConnectWorker(name, row.dc, number, next(free)))
    return Estate(tuple(nodes), tuple(workers), next(free))


def refuse_unsupported(topology: Topology) -> None:
    """Raise `SimulationError` for what the process back end cannot run, before anything is started."""
    homes: dict[str, str] = {}
    for name, cluster in topology.clusters.items():
        _refuse_cluster(name, cluster)
        for dc in cluster.datacenters:
            if dc in homes:
                raise SimulationError(
                    f"data centre {dc}",
                    f"holds servers of {homes[dc]} and of {name}; one cluster a data centre can be simulated",
                    "give each cluster its own data centre",
                )
            homes[dc] = name
    for mirror in topology.replication:
        if not sum(row.connect_workers for row in topology.clusters[mirror.target].nodes):
            raise SimulationError(
                f"replication {mirror.source} -> {mirror.target}",
                f"cluster {mirror.target} has no Connect worker to run it",
                f"add `connect_workers: 1` under clusters.{mirror.target}.nodes",
            )


def _refuse_cluster(name: str, cluster: Cluster) -> None:
    if cluster.metadata != "kraft":
        problem = "metadata: zookeeper cannot be simulated yet"
        raise SimulationError(f"cluster {name}", problem, "use metadata: kraft for a rehearsal")
    if not cluster.is_combined:
        raise SimulationError(
            f"cluster {name}",
            "controllers of their own (combined: false) cannot be simulated yet",
            "a cluster inside one data centre, or `combined: true`, can",
        )
    for row in cluster.nodes:
        if row.brokers != row.controllers:
            raise SimulationError(
                f"cluster {name} in {row.dc}",
                f"{row.brokers} brokers and {row.controllers} controllers: combined nodes are both at once",
                "give as many controllers as brokers",
            )


def topology_completed(topology: Topology, estate: Estate, folders: Folders) -> Topology:
    """The topology with all that only the simulation knows: addresses, secrets, paths, coordination.

    Relative checkpoint paths become paths inside the site of the consumer's cluster; standby paths, of
    the cluster that it is mirrored into.
    """
    client = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": OPERATOR,
        "sasl.password": f"${{file:{folders.secrets / OPERATOR}}}",
    }
    return replace(
        topology,
        clusters={
            name: replace(
                cluster, bootstrap=estate.bootstrap(name), connect=estate.connect(name), client=client
            )
            for name, cluster in topology.clusters.items()
        },
        producers=tuple(
            replace(producer, principal=producer.principal or f"User:{producer.name}")
            for producer in topology.producers
        ),
        consumers=tuple(_consumer_completed(topology, consumer, folders) for consumer in topology.consumers),
        coordination=Coordination(zookeeper=f"{HOST}:{estate.zookeeper_port}"),
        inventory=str(folders.inventory),
    )


def _consumer_completed(topology: Topology, consumer: Consumer, folders: Folders) -> Consumer:
    target = next((m.target for m in topology.replication if m.source == consumer.cluster), None)
    return replace(
        consumer,
        principal=consumer.principal or f"User:{consumer.name}",
        checkpoint=_inside(topology, consumer.cluster, consumer.checkpoint, folders),
        standby_checkpoint=_inside(topology, target, consumer.standby_checkpoint, folders),
    )


def _inside(topology: Topology, cluster: str | None, path: str | None, folders: Folders) -> str | None:
    if path is None or cluster is None or "://" in path or path.startswith("/"):
        return path
    return str(folders.site(topology.clusters[cluster].datacenters[0]) / path)
