"""The servers of a topology by name, and what is lost when a data centre, a rack or a server is.

Names are those of `dcctl sim kill`: `west/broker-1`, `west/controller-101`, `west/zookeeper-1`, `west/rack-a`
for a rack. Numbers count through a cluster, not through a data centre, as broker ids do.
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

    `rack` is empty where the file names none. `weight` counts in a hierarchical ZooKeeper quorum only.
    """

    cluster: str
    dc: str
    name: str
    is_broker: bool = False
    is_voter: bool = False
    weight: int = 1
    rack: str = ""

    @property
    def path(self) -> str:
        """Its name among all data centres."""
        return f"{self.dc}/{self.name}"

    @property
    def rack_path(self) -> str:
        """The same of its rack; empty where it has none."""
        return f"{self.dc}/{self.rack}" if self.rack else ""

    @property
    def places(self) -> tuple[str, ...]:
        """Names of what takes it along when it is lost: its data centre, its rack if it has one, itself."""
        return tuple(filter(None, (self.dc, self.rack_path, self.path)))

    @property
    def broker_rack(self) -> str:
        """What Kafka knows of where it stands; see `Nodes.broker_rack`."""
        return self.rack or self.dc


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
        """Where the lost ones of these servers are: `in dc1`, `in rack dc1/rack-a`, `on dc1/broker-2`."""
        places = {place for server in servers for place in server.places}
        names = [name for name in self.names if name in places] or self.names
        racks = {server.rack_path for server in self.servers}
        words = {name: "in rack" if name in racks else "on" if "/" in name else "in" for name in names}
        return " and ".join(f"{word} {name}" for name, word in words.items())


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
        combined, rack = min(row.brokers, row.controllers) if cluster.is_combined else 0, row.rack or ""
        for index in range(row.brokers):
            own = f"broker-{number('broker')}"
            yield Server(name, row.dc, own, is_broker=True, is_voter=index < combined, rack=rack)
        for _ in range(row.controllers - combined):
            own = f"controller-{_FIRST_CONTROLLER - 1 + number('controller')}"
            yield Server(name, row.dc, own, is_voter=True, rack=rack)
        for _ in range(row.zookeepers):
            own = f"zookeeper-{number('zookeeper')}"
            yield Server(name, row.dc, own, is_voter=True, weight=row.zookeeper_weight, rack=rack)


def loss_of(topology: Topology, names: Sequence[str]) -> Loss:
    """What it means to lose these data centres, racks and servers together.

    Raises `UsageError` for a name that the topology does not have, with the nearest that it has.
    """
    wanted = tuple(dict.fromkeys(names))
    servers = servers_of(topology)
    known = {*topology.datacenters, *(place for server in servers for place in server.places)}
    for name in wanted:
        if name not in known:
            raise UsageError(
                f"--lose {','.join(wanted)}",
                f"topology `{topology.name}` has no data centre, no rack and no server `{name}`"
                if name
                else "one of these names is empty",
                _hint(topology, servers, name),
            )
    lost = frozenset(server for server in servers if not set(wanted).isdisjoint(server.places))
    return Loss(wanted, lost)


def single_losses(topology: Topology) -> tuple[Loss, ...]:
    """The loss of each data centre, in file order."""
    return tuple(loss_of(topology, [dc]) for dc in topology.datacenters)


def rack_losses(topology: Topology) -> tuple[Loss, ...]:
    """The loss of each rack that the file names, in file order."""
    paths = dict.fromkeys(server.rack_path for server in servers_of(topology) if server.rack)
    return tuple(loss_of(topology, [path]) for path in paths)


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


def _nearest(said: str, known: Sequence[str]) -> str:
    """The name that was meant; empty where none is near, or several are as near as each other."""
    same = [name for name in known if name.casefold() == said.casefold()]
    if same:
        return same[0] if len(same) == 1 else ""
    near = difflib.get_close_matches(said, known, n=2)
    ratios = [difflib.SequenceMatcher(None, said, name).ratio() for name in near]
    return near[0] if near and (len(near) == 1 or ratios[0] > ratios[1]) else ""


def _hint(topology: Topology, servers: Sequence[Server], name: str) -> str:
    """What may have been meant: what is in the data centre that was named, or the nearest data centre."""
    dc, _, said = name.partition("/")
    if dc in topology.datacenters:
        here = [server for server in servers if server.dc == dc]
        known = list(dict.fromkeys([*(one.rack for one in here if one.rack), *(one.name for one in here)]))
        close = _nearest(said, known)
        meant = f"did you mean `{dc}/{close}`? " if close else ""
        return f"{meant}{dc} has: {', '.join(known) or 'no server'}"
    parts = {part: one.dc for one in servers for part in (one.rack, one.name) if part}
    close = f"{parts[name]}/{name}" if name in parts else _nearest(dc, topology.datacenters)
    meant = f"did you mean `{close}`? " if close else ""
    example = servers[0].path if servers else "west/broker-1"
    return f"{meant}data centres: {', '.join(topology.datacenters)}; servers are named like `{example}`"
