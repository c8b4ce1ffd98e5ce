"""The servers of a topology by name, and what is lost when a data centre or a server is.

Names are those of `dcctl sim kill`: `west/broker-1`, `west/controller-101`, `west/zookeeper-1`. Numbers
count through a cluster, not through a data centre, as broker ids do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.topology.model import Cluster, Topology

# As in simulations: controllers of their own count from here, so that no number means two servers.
_FIRST_CONTROLLER = 101


@dataclass(frozen=True, slots=True)
class Server:
    """One server that holds data, votes on metadata, or both (combined).

    `weight` counts in a hierarchical ZooKeeper quorum only.
    """

    cluster: str
    dc: str
    name: str
    is_broker: bool = False
    is_voter: bool = False
    weight: int = 1

    @property
    def path(self) -> str:
        """Its name among all data centres."""
        return f"{self.dc}/{self.name}"


@dataclass(frozen=True, slots=True)
class Loss:
    """What is lost at once: the names that were asked for, and every server that they mean."""

    names: tuple[str, ...]
    servers: frozenset[Server]

    @property
    def has_datacenter(self) -> bool:
        """Whether a whole data centre is among it, with whatever the file does not list."""
        return any("/" not in name for name in self.names)

    def place_among(self, servers: Iterable[Server]) -> str:
        """Where the lost ones of these servers are, for a sentence: `in dc1`, `on dc1/broker-2`."""
        places = {place for server in servers for place in (server.dc, server.path)}
        names = [name for name in self.names if name in places] or self.names
        return " and ".join(f"{'on' if '/' in name else 'in'} {name}" for name in names)


def servers_of(topology: Topology) -> tuple[Server, ...]:
    """Every server of every cluster that a loss could matter to, in file order."""
    servers: list[Server] = []
    counts: dict[str, dict[str, int]] = {}
    for name, cluster in topology.clusters.items():
        # A cluster that shares a data centre with an earlier one counts on from its numbers.
        numbers: dict[str, int] = {}
        for dc in cluster.datacenters:
            for kind, number in counts.get(dc, {}).items():
                numbers[kind] = max(numbers.get(kind, 0), number)
        servers += _servers_of(name, cluster, numbers)
        for dc in cluster.datacenters:
            counts[dc] = counts.get(dc, {}) | numbers
    return tuple(servers)


def _servers_of(name: str, cluster: Cluster, numbers: dict[str, int]) -> Iterable[Server]:
    def number(kind: str) -> int:
        numbers[kind] = numbers.get(kind, 0) + 1
        return numbers[kind]

    for row in cluster.nodes:
        combined = min(row.brokers, row.controllers) if cluster.is_combined else 0
        for index in range(row.brokers):
            yield Server(
                name, row.dc, f"broker-{number('broker')}", is_broker=True, is_voter=index < combined
            )
        for _ in range(row.controllers - combined):
            own = _FIRST_CONTROLLER - 1 + number("controller")
            yield Server(name, row.dc, f"controller-{own}", is_voter=True)
        for _ in range(row.zookeepers):
            own = number("zookeeper")
            yield Server(name, row.dc, f"zookeeper-{own}", is_voter=True, weight=row.zookeeper_weight)


def loss_of(topology: Topology, names: Sequence[str]) -> Loss:
    """What it means to lose these data centres and servers together.

    Raises `UsageError` for a name that the topology does not have, with the nearest that it has.
    """
    wanted = tuple(dict.fromkeys(names))
    servers = servers_of(topology)
    known = {*topology.datacenters, *(server.path for server in servers)}
    for name in wanted:
        if name not in known:
            raise UsageError(
                f"--lose {','.join(wanted)}",
                f"topology `{topology.name}` has no data centre and no server `{name}`",
                _hint(topology, servers, name),
            )
    lost = frozenset(server for server in servers if server.dc in wanted or server.path in wanted)
    return Loss(wanted, lost)


def single_losses(topology: Topology) -> tuple[Loss, ...]:
    """The loss of each data centre, in file order."""
    return tuple(loss_of(topology, [dc]) for dc in topology.datacenters)


def broker_losses(topology: Topology) -> tuple[Loss, ...]:
    """The loss of each broker, in file order. A combined one takes its vote along."""
    return tuple(
        Loss((server.path,), frozenset([server])) for server in servers_of(topology) if server.is_broker
    )


def distinct(losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """Each loss once, where it stands first."""
    found: dict[frozenset[str], Loss] = {}
    for loss in losses:
        found.setdefault(frozenset(loss.names), loss)
    return tuple(found.values())


def _hint(topology: Topology, servers: Sequence[Server], name: str) -> str:
    """What may have been meant: a server of the data centre that was named, or the nearest data centre."""
    dc = name.split("/", maxsplit=1)[0]
    if dc in topology.datacenters:
        return f"{dc} has: {', '.join(server.name for server in servers if server.dc == dc) or 'no server'}"
    close = difflib.get_close_matches(dc, topology.datacenters, n=1)
    meant = f"did you mean `{close[0]}`? " if close else ""
    example = servers[0].path if servers else "west/broker-1"
    return f"{meant}data centres: {', '.join(topology.datacenters)}; servers are named like `{example}`"
