"""Clusters of the topology file: which servers stand in which data centre, and how to reach them."""

from __future__ import annotations

from collections.abc import Mapping
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
    TopicName,
    Unknown,
)


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Nodes:
    """The servers of one cluster in one data centre.

    `zookeeper_weight` is the weight of each of the row's ZooKeeper servers in a hierarchical quorum.
    """

    dc: Name
    brokers: Count = 0
    controllers: Count = 0
    zookeepers: Count = 0
    zookeeper_weight: Count = 1
    connect_workers: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class InternalTopic:
    """Durability of one of Kafka's own topics."""

    replicas: Positive = 3
    min_insync_replicas: Positive = 1


KAFKA_INTERNAL_TOPICS: Mapping[str, InternalTopic] = {
    "__consumer_offsets": InternalTopic(replicas=3, min_insync_replicas=1),
    "__transaction_state": InternalTopic(replicas=3, min_insync_replicas=2),
    "__share_group_state": InternalTopic(replicas=3, min_insync_replicas=2),
}
"""Kafka's defaults (`GroupCoordinatorConfig`, `TransactionLogConfig`, `ShareCoordinatorConfig`; the offsets
topic takes the broker's own min.insync.replicas, which is 1)."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class ConnectClient:
    """Who dcctl is to the REST interface of a cluster's Connect workers (HTTP basic authentication).

    `password` is a reference; `ca_location` is the PEM file of the authority behind `https` addresses
    (default: the system's).
    """

    username: str | None = None
    password: str | None = None
    ca_location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Cluster:
    """One Kafka cluster, in one data centre or stretched over several.

    `client` are librdkafka properties for dcctl itself; `connect` are the workers that run the mirrors
    *into* this cluster. `mirror_client` are Java client properties with which mirrors reach this cluster,
    from either side; their secrets are references to a configuration provider of the Connect worker
    (`${directory:/run/secrets:mirror}`), so that no connector configuration holds one.
    `standby`: the cluster where its applications go when it is left (`topology.standby`).
    """

    kafka: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")]
    metadata: Metadata
    nodes: tuple[Nodes, ...]
    quorum: Literal["hierarchical", "majority"] = "majority"
    combined: bool | None = None
    prefer: Preference = "consistency"
    internal_topics: Mapping[TopicName, InternalTopic] = field(default_factory=dict)
    bootstrap: tuple[str, ...] = ()
    connect: tuple[str, ...] = ()
    client: Mapping[str, str] = field(default_factory=dict)
    connect_client: ConnectClient | None = None
    mirror_client: Mapping[str, str] = field(default_factory=dict)
    mirror_principal: Principal = "User:mirror"
    schema_registry: str | None = None
    standby: Name | None = None
    unknown: tuple[Unknown, ...] = ()

    @property
    def datacenters(self) -> tuple[str, ...]:
        """The data centres that hold any server of this cluster, in file order."""
        return tuple(dict.fromkeys(row.dc for row in self.nodes))

    @property
    def is_combined(self) -> bool:
        """Whether broker and controller share a process (default: only inside one data centre)."""
        return len(self.datacenters) == 1 if self.combined is None else self.combined

    @property
    def brokers(self) -> int:
        """How many brokers it has, everywhere."""
        return sum(row.brokers for row in self.nodes)

    @property
    def brokers_per_dc(self) -> dict[str, int]:
        """How many brokers stand in each data centre that has any, in file order."""
        counts: dict[str, int] = {}
        for row in self.nodes:
            if row.brokers:
                counts[row.dc] = counts.get(row.dc, 0) + row.brokers
        return counts

    @property
    def has_connect(self) -> bool:
        """Whether Connect workers can run mirrors into this cluster."""
        return bool(self.connect) or any(row.connect_workers for row in self.nodes)

    def internal_topic(self, name: str) -> InternalTopic:
        """Durability of one of Kafka's own topics: the file's, else Kafka's default."""
        return self.internal_topics.get(name) or KAFKA_INTERNAL_TOPICS.get(name, InternalTopic())
