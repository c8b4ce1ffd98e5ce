"""What cannot be simulated by any back end, told before anything is started. Pure."""

from __future__ import annotations

from orchestrator.errors import SimulationError
from orchestrator.simulation.estate import FIRST_CONTROLLER
from orchestrator.topology.model import Topology


def refuse_unsupported(topology: Topology) -> None:
    """Raise `SimulationError` for what a simulation cannot run."""
    for name, cluster in topology.clusters.items():
        brokers = sum(row.brokers for row in cluster.nodes)
        if brokers >= FIRST_CONTROLLER:
            raise SimulationError(
                f"cluster {name}",
                f"{brokers} brokers cannot be simulated, {FIRST_CONTROLLER - 1} at most",
                "rehearse with fewer brokers a data centre: what a site's loss means stays the same",
            )
        if topology.is_encrypted and cluster.metadata == "zookeeper":
            raise SimulationError(
                f"cluster {name}",
                "its ZooKeeper ensemble would be reached without TLS, and the file demands SASL_SSL",
                "rehearse it with `metadata: kraft`, or without `security`",
            )
    for mirror in topology.replication:
        if not sum(row.connect_workers for row in topology.clusters[mirror.target].nodes):
            raise SimulationError(
                f"replication {mirror.source} -> {mirror.target}",
                f"cluster {mirror.target} has no Connect worker to run it",
                f"add `connect_workers: 1` under clusters.{mirror.target}.nodes",
            )
