"""What a topology's graph consists of: frozen values, the same for every output format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Site:
    """A data centre. `coordinators` of all dcctl's own ZooKeeper servers (lock and journal) stand here."""

    name: str
    coordinators: int = 0
    all_coordinators: int = 0


@dataclass(frozen=True, slots=True)
class Copies:
    """How many replicas of a partition lie in one site: from `low` to `high`, as each was placed."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class PlacedTopic:
    """A topic where it is produced, with its copies in each site of its cluster, if these are known."""

    name: str
    partitions: int
    replicas: int
    min_insync_replicas: int
    copies: Mapping[str, Copies]


@dataclass(frozen=True, slots=True)
class KafkaCluster:
    """A Kafka cluster. `copied` maps each source cluster to the names that its topics have here."""

    name: str
    kafka: str
    metadata: str
    sites: tuple[str, ...]
    topics: tuple[PlacedTopic, ...]
    copied: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of one cluster in one site; `shared` of them are broker and controller in one process.

    `racks`: those in which they stand, if the file names any.
    """

    cluster: str
    site: str
    brokers: int
    controllers: int
    zookeepers: int
    connect_workers: int
    shared: int
    racks: tuple[str, ...] = ()

    @property
    def voters(self) -> int:
        """Members of the quorum: controllers, or ZooKeeper servers."""
        return self.controllers + self.zookeepers


@dataclass(frozen=True, slots=True)
class Quorum:
    """Who decides the metadata of a cluster.

    `votes` maps each site to its number of voters; none at all means that the file does not know them.
    Under the majority rule `needed` voters of all must agree. Under the hierarchical rule each site with
    weight is a group, `groups_needed` groups must agree, and each of them by more than half of its weight.
    """

    cluster: str
    metadata: Literal["kraft", "zookeeper"]
    rule: Literal["majority", "hierarchical"]
    votes: Mapping[str, int]
    weights: Mapping[str, int]
    needed: int
    groups_needed: int

    @property
    def groups(self) -> tuple[str, ...]:
        """The sites that are groups of a hierarchical quorum."""
        return tuple(site for site, weight in self.weights.items() if weight)

    def needed_in(self, site: str) -> str:
        """What makes up more than half of one group: `2 of 3`, or `weight 4 of 6` where weights are not 1."""
        weight = self.weights[site]
        needed = f"{weight // 2 + 1} of {weight}"
        return needed if weight == self.votes[site] else f"weight {needed}"


@dataclass(frozen=True, slots=True)
class Application:
    """An application. `role`: producer, or the kind of a consumer; `caption` and `mark`: what a picture says
    of its kind, under its name and before what it reads.
    """

    name: str
    role: str
    cluster: str
    topics: tuple[str, ...]
    acks: str = ""
    pattern: str | None = None
    caption: str = "producer"
    mark: str = ""

    @property
    def verb(self) -> str:
        """What it does with its topics."""
        if self.role == "producer":
            return "writes"
        return f"reads, as a {self.caption}," if self.mark else "reads"


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror's edge, from the source cluster to the target: topics by their names at the source.

    One that is not `managed` belongs to something else; dcctl only observes it.
    """

    source: str
    target: str
    policy: str
    topics: tuple[str, ...]
    managed: bool


@dataclass(frozen=True, slots=True)
class Standby:
    """Where applications of the source cluster go when it is left, as the file says: to the target.

    `applications`: their names; `is_all`: whether no application of the source goes elsewhere or nowhere.
    """

    source: str
    target: str
    applications: tuple[str, ...]
    is_all: bool


@dataclass(frozen=True, slots=True)
class Network:
    """What is known of the network between two sites."""

    between: tuple[str, str]
    latency_ms: float


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that a graph or a picture of a topology shows, each kind in the order of the file."""

    name: str
    layout: str
    sites: tuple[Site, ...]
    clusters: tuple[KafkaCluster, ...]
    servers: tuple[Servers, ...]
    quorums: Mapping[str, Quorum]
    applications: tuple[Application, ...]
    mirrors: tuple[Mirror, ...]
    networks: tuple[Network, ...]
    standbys: tuple[Standby, ...] = ()
