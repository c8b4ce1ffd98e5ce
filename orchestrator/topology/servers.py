"""Clusters of the topology file: which servers stand in which data centre, and how to reach them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Annotated, Literal

from pydantic import StringConstraints
from pydantic.dataclasses import dataclass

from orchestrator.topology.kinds import (
    STRICT,
    Count,
    Metadata,
    Name,
    Positive,
    Preference,
    Principal,
    ReadFrom,
    TopicName,
    Unknown,
)


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Nodes:
    """The servers of one cluster in one data centre, or in one rack of it."""

    dc: Name
    """The data centre where these servers stand."""
    rack: Name | None = None
    """The rack, or zone, of one location in which they stand. In other layouts each data centre is a rack."""
    brokers: Count = 0
    """How many brokers."""
    controllers: Count = 0
    """How many KRaft controllers, voters of the metadata quorum."""
    zookeepers: Count = 0
    """How many ZooKeeper servers of the cluster's ensemble."""
    zookeeper_weight: Count = 1
    """The weight of each of these ZooKeeper servers in a hierarchical quorum."""
    connect_workers: Count = 0
    """How many Connect workers, which run the mirrors into this cluster."""

    @property
    def broker_rack(self) -> str:
        """What its brokers have as `broker.rack`: their rack, or their data centre where they have none."""
        return self.rack or self.dc


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class InternalTopic:
    """Durability of one of Kafka's own topics."""

    replicas: Positive = 3
    """How many copies each partition has."""
    min_insync_replicas: Positive = 1
    """How many in-sync replicas a write needs."""


KAFKA_INTERNAL_TOPICS: Mapping[str, InternalTopic] = {
    "__consumer_offsets": InternalTopic(replicas=3, min_insync_replicas=1),
    "__transaction_state": InternalTopic(replicas=3, min_insync_replicas=2),
    "__share_group_state": InternalTopic(replicas=3, min_insync_replicas=2),
}
"""Kafka's defaults (`GroupCoordinatorConfig`, `TransactionLogConfig`, `ShareCoordinatorConfig`; the offsets
topic takes the broker's own min.insync.replicas, which is 1)."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class ConnectClient:
    """Who dcctl is to the REST interface of a cluster's Connect workers (HTTP basic authentication)."""

    username: str | None = None
    """The user."""
    password: str | None = None
    """The password, by reference: `${env:NAME}` or `${file:PATH}`."""
    ca_location: str | None = None
    """The PEM file of the authority behind https addresses; the system's where it is not said."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class ZooKeeperClient:
    """Who dcctl is to a cluster's own ZooKeeper ensemble, where it changes its members (digest scheme)."""

    username: str | None = None
    """The user, one who may change `/zookeeper/config`: the superuser, unless its rules were changed."""
    password: str | None = None
    """The password, by reference: `${env:NAME}` or `${file:PATH}`."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Cluster:
    """One Kafka cluster, in one data centre or stretched over several."""

    kafka: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")]
    """The version that its brokers run, as major.minor.patch."""
    metadata: Metadata
    """Where its metadata lives: in a KRaft quorum or in ZooKeeper."""
    nodes: tuple[Nodes, ...]
    """Its servers, a row for each data centre, or for each rack of one."""
    quorum: Literal["hierarchical", "majority"] = "majority"
    """How ZooKeeper's voters are counted: each site's majority in more than half of the sites
    (`hierarchical`), or all together.
    """
    voters: Literal["static", "dynamic"] = "static"
    """Whether voters of the metadata quorum can be removed and added while it lives: `dynamic` is KRaft's
    `kraft.version` 1, and ZooKeeper's `reconfigEnabled` with a `dynamicConfigFile`.
    """
    combined: bool | None = None
    """Whether broker and controller share a process. By default they do inside one data centre, and not
    over several.
    """
    prefer: Preference = "consistency"
    """What counts more once a site is lost: that nothing acknowledged can be lost, or that writes go on."""
    read_from: ReadFrom = "leader"
    """From which replica its consumers read: each partition's leader, or one in sync at their own site
    (`nearest`). That takes `replica.selector.class` at every broker, and `client.rack` at each consumer.
    """
    internal_topics: Mapping[TopicName, InternalTopic] = field(default_factory=dict)
    """Durability of Kafka's own topics, by name; Kafka's defaults where it is not said."""
    bootstrap: tuple[str, ...] = ()
    """host:port of brokers to begin with; of a simulation dcctl fills them in."""
    connect: tuple[str, ...] = ()
    """URLs of the Connect workers that run the mirrors into this cluster."""
    client: Mapping[str, str] = field(default_factory=dict)
    """librdkafka properties for dcctl itself; secrets only by reference, `${env:NAME}` or `${file:PATH}`."""
    connect_client: ConnectClient | None = None
    """Who dcctl is to the REST interface of its Connect workers (HTTP basic authentication)."""
    zookeeper_client: ZooKeeperClient | None = None
    """Who dcctl is to the cluster's own ZooKeeper ensemble (digest scheme), to change its members."""
    mirror_client: Mapping[str, str] = field(default_factory=dict)
    """Java client properties with which mirrors reach this cluster, from either side; secrets are
    references to a configuration provider of the Connect worker, such as
    `${directory:/run/secrets:mirror}`.
    """
    mirror_principal: Principal = "User:mirror"
    """Who the mirrors are to this cluster's brokers."""
    schema_registry: str | None = None
    """The URL of the schema registry that its applications use."""
    standby: Name | None = None
    """The cluster where its applications go when it is left. Not needed where one mirror leads out of it."""
    unknown: tuple[Unknown, ...] = ()
    """What whoever wrote the file could not see of it; answers that depend on that are `unknown` as well."""

    @property
    def datacenters(self) -> tuple[str, ...]:
        """The data centres that hold any server of this cluster, in file order."""
        return tuple(dict.fromkeys(row.dc for row in self.nodes))

    @property
    def is_combined(self) -> bool:
        """Whether broker and controller share a process (default: only inside one data centre)."""
        return len(self.datacenters) == 1 if self.combined is None else self.combined

    @property
    def version(self) -> tuple[int, int]:
        """Major and minor of the version of Kafka, to be compared."""
        major, minor, _ = self.kafka.split(".")
        return int(major), int(minor)

    @property
    def brokers(self) -> int:
        """How many brokers it has, everywhere."""
        return sum(row.brokers for row in self.nodes)

    @property
    def brokers_per_dc(self) -> dict[str, int]:
        """How many brokers stand in each data centre that has any, in file order."""
        return self._brokers_by(lambda row: row.dc)

    @property
    def racks(self) -> tuple[str, ...]:
        """The racks that the file names, in file order."""
        return tuple(dict.fromkeys(row.rack for row in self.nodes if row.rack))

    @property
    def brokers_per_rack(self) -> dict[str, int]:
        """How many brokers tell each `broker.rack`, in file order: Kafka spreads replicas over these."""
        return self._brokers_by(lambda row: row.broker_rack)

    def _brokers_by(self, place: Callable[[Nodes], str]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for row in self.nodes:
            if row.brokers:
                counts[place(row)] = counts.get(place(row), 0) + row.brokers
        return counts

    def site_of(self, rack: str | None) -> str | None:
        """The data centre of a broker that tells this rack, or none.

        Where all brokers stand in one, whatever they tell is a rack there; else a rack is a data centre.
        """
        sites = self.brokers_per_dc
        return next(iter(sites)) if len(sites) == 1 else rack or None

    @property
    def has_connect(self) -> bool:
        """Whether Connect workers can run mirrors into this cluster."""
        return bool(self.connect) or any(row.connect_workers for row in self.nodes)

    def internal_topic(self, name: str) -> InternalTopic:
        """Durability of one of Kafka's own topics: the file's, else Kafka's default."""
        return self.internal_topics.get(name) or KAFKA_INTERNAL_TOPICS.get(name, InternalTopic())
