"""The applications that a move stops and starts, and the hosts that run them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.topology.model import Topology

SERVICE_MANAGERS = ("supervisor", "systemd")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHost:
    """One host of the inventory.

    `dc` and `service_manager` are empty where the inventory does not say. `clients`: what it runs of
    what is to be started in its data centre; None for everything. `servers`: those of clusters that it has.
    """

    name: str
    dc: str
    service_manager: str
    clients: frozenset[str] | None = None
    servers: frozenset[str] = frozenset()

    def runs(self, client: str, datacenters: Iterable[str]) -> bool:
        """Whether the playbooks would start this client here, when asked for these data centres."""
        return self.dc in datacenters and (self.clients is None or client in self.clients)


def producer_client(name: str) -> str:
    """Name of a producer's program or unit."""
    return f"producer-{name}"


def producer_clients(topology: Topology, cluster: str) -> tuple[str, ...]:
    """The producers of a cluster that dcctl stops and starts; not those that move themselves."""
    producers = topology.producers_of(cluster)
    return tuple(producer_client(producer.name) for producer in producers if producer.moved_by == "dcctl")
