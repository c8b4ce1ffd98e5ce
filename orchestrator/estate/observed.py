"""What an estate holds: one immutable picture of every cluster of a topology, made once for each decision.

A part that could not be had is None and stands in `unknown` with the reason; a cluster of which nothing
could be had carries its `problem`. What is missing is never taken for something that is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.ports.connector import ConnectorStatus
from orchestrator.ports.servers import TopicDescription
from orchestrator.topology.secrecy import masked
from orchestrator.values import Acl, QuotaOwner, TopicPartition

QuorumKind = Literal["kraft", "zookeeper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedTopic:
    """One topic. `replicas`, `isr` (broker ids) and `leaders` (-1 for none) have one entry a partition.

    `config` holds the topic's own dynamic settings, none that come from a broker or a default.
    """

    name: str
    topic_id: str
    replicas: tuple[tuple[int, ...], ...]
    isr: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...]
    config: Mapping[str, str] = field(default_factory=dict)
    is_internal: bool = False

    @property
    def partitions(self) -> int:
        """How many partitions it has."""
        return len(self.replicas)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedBroker:
    """One live broker. `address` is `host:port` as clients are told it; `rack` is its data centre."""

    broker_id: int
    address: str
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedQuorum:
    """The metadata quorum: ids of its voters and observers, and who leads (None where that is not seen)."""

    kind: QuorumKind
    voters: tuple[int, ...]
    observers: tuple[int, ...] = ()
    leader: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedConnector:
    """One connector. `state` is Connect's word (RUNNING, PAUSED, STOPPED, FAILED …), `tasks` one for each."""

    name: str
    config: Mapping[str, str]
    state: str
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCluster:
    """One cluster with the Connect workers that write into it.

    `problem` says why nothing could be read; then every part is empty or None, and nothing may be
    concluded from it. `unknown` holds the reason for each single part that is None, by its name.
    Without an authorizer (`has_authorizer`) a cluster has no access rules and takes none: `acls` is empty.
    `quotas`: client quotas of users and client ids.
    `topic_defaults` are the settings in force for a topic that has none of its own.
    """

    name: str
    cluster_id: str = ""
    brokers: tuple[ObservedBroker, ...] = ()
    topics: Mapping[str, ObservedTopic] = field(default_factory=dict)
    topic_defaults: Mapping[str, str] = field(default_factory=dict)
    acls: frozenset[Acl] | None = None
    has_authorizer: bool = True
    quotas: Mapping[QuotaOwner, Mapping[str, float]] | None = None
    quorum: ObservedQuorum | None = None
    connectors: Mapping[str, ObservedConnector] | None = None
    reassigning: frozenset[TopicPartition] | None = None
    problem: str = ""
    unknown: Mapping[str, str] = field(default_factory=dict)

    @property
    def racks(self) -> dict[int, str | None]:
        """Data centre of each live broker."""
        return {broker.broker_id: broker.rack for broker in self.brokers}


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedEstate:
    """Every cluster of a topology. `at_s`: Unix time of the first question."""

    clusters: Mapping[str, ObservedCluster]
    at_s: float


def observed_topics(
    described: Mapping[str, TopicDescription], configs: Mapping[str, Mapping[str, str]]
) -> dict[str, ObservedTopic]:
    """Topics with what was set on each itself. One that is not in both was deleted between the answers."""
    return {
        name: ObservedTopic(
            name=name,
            topic_id=topic.topic_id,
            replicas=topic.replicas,
            isr=topic.isr,
            leaders=topic.leaders,
            config=configs[name],
            is_internal=topic.is_internal,
        )
        for name, topic in described.items()
        if name in configs
    }


def observed_connectors(
    described: Mapping[str, tuple[Mapping[str, str], ConnectorStatus]],
) -> dict[str, ObservedConnector]:
    """Connectors from configuration and status; what may be a secret in a configuration is masked."""
    return {
        name: ObservedConnector(
            name=name,
            config={key: masked(key, value) for key, value in config.items()},
            state=status.state,
            tasks=tuple(task.state for task in status.tasks),
        )
        for name, (config, status) in sorted(described.items())
    }
