"""The topology file as values: frozen, slotted, and checked on their own (not against each other).

Every class mirrors one mapping of the file; keys and defaults are the contract of the file format.
Rules that span several objects live in `rules`, reading the text in `loading.py`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator
from pydantic.dataclasses import dataclass

from orchestrator.topology.flows import (
    AnyConsumer,
    AnyMirror,
    Consumer,
    Producer,
    RecordMark,
    Replication,
    Topic,
)
from orchestrator.topology.hooks import Hooks
from orchestrator.topology.kinds import (
    STRICT,
    Count,
    DestructiveChange,
    Layout,
    Metadata,
    Milliseconds,
    Name,
    OnFork,
    Policy,
    Positive,
    Preference,
    Principal,
    Seconds,
    SecondsOrZero,
    TopicName,
    Unknown,
)
from orchestrator.topology.pattern_matching import resolved
from orchestrator.topology.servers import (
    KAFKA_INTERNAL_TOPICS,
    Cluster,
    ConnectClient,
    InternalTopic,
    Nodes,
    ZooKeeperClient,
)

__all__ = [
    "KAFKA_INTERNAL_TOPICS",
    "BootGuard",
    "Cluster",
    "ConnectClient",
    "Consumer",
    "Coordination",
    "Count",
    "DestructiveChange",
    "Failover",
    "Hooks",
    "InternalTopic",
    "Layout",
    "Link",
    "MaxLoss",
    "Metadata",
    "Name",
    "Nodes",
    "Objectives",
    "OnFork",
    "Policy",
    "Positive",
    "Preference",
    "Principal",
    "Producer",
    "RecordMark",
    "Replication",
    "Seconds",
    "Security",
    "Topic",
    "TopicName",
    "Topology",
    "Unknown",
    "ZooKeeperClient",
]


QUIET_AFTER_MOVE_S = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class MaxLoss:
    """The loss budget of a failover: whichever of the two is smaller holds."""

    records: Count | None = None
    """No more acknowledged records than these."""
    seconds: Seconds | None = None
    """No more than what was acknowledged in so many seconds."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Objectives:
    """What the business wants of a move. Reports are judged by it (met, missed, not measured); nothing is
    refused.
    """

    rto_s: Seconds | None = None
    """The recovery time objective, in seconds: the longest that any application may be out of service."""
    rpo_records: Count | None = None
    """The recovery point objective: how many acknowledged records may be lost."""
    rpo_s: SecondsOrZero | None = None
    """The recovery point objective in seconds: how far back before the loss the oldest lost record may
    have been acknowledged.
    """


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Failover:
    """What a failover may cost, and how old what it builds on may be."""

    max_loss: MaxLoss = field(default_factory=lambda: MaxLoss(records=0))
    """A failover that would lose more is refused."""
    max_position_age_s: Seconds = 5.0
    """A failover is refused where what is known of the lost side is older, in seconds."""
    fingerprints: Count = 4 * 1024 * 1024
    """Bytes that a watcher fetches in a round to keep the records that stand for positions in partitions
    that may have gaps, so that these are found exactly; 0: none.
    """
    quiet_after_move_s: SecondsOrZero | None = None
    """For so many seconds after a move another one out of or into the same home needs somebody's word. By
    default 30 minutes, in a simulation 0.
    """
    objectives: Objectives | None = None
    """What the business wants of a move: reports are judged by it, and nothing is refused."""

    @property
    def cooldown_s(self) -> float:
        """`quiet_after_move_s`, or its default."""
        return QUIET_AFTER_MOVE_S if self.quiet_after_move_s is None else self.quiet_after_move_s


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class BootGuard:
    """How guards start the servers of stretched clusters."""

    without_answer: Literal["wait", "start"] | None = None
    """What a server does that is to start while the coordination ensemble does not answer. By default it
    waits where two sites decide the quorum of its cluster, since either could decide alone, and starts
    elsewhere.
    """


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Link:
    """What is known of the network between two data centres."""

    between: tuple[Name, Name]
    """Two data centres."""
    latency_ms: Milliseconds
    """The round trip between them, in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Coordination:
    """The ensemble for lock and journal."""

    zookeeper: str
    """Its servers, as `host:port,…`."""
    datacenters: tuple[Name, ...] = ()
    """The data centre of each of its servers, one name a server, so that it can be judged which site's
    loss it survives.
    """
    username: str | None = None
    """The digest user to whom lock and journal are open; everybody where it is not said."""
    password: str | None = None
    """That user's password, by reference: `${env:NAME}` or `${file:PATH}`."""
    ca_location: str | None = None
    """The PEM file of the authority behind its servers' certificates; with it the connection is encrypted."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Security:
    """What every connection of the file must be, at least.

    Under SASL_SSL brokers, Connect workers and the coordination are reached over TLS and ask who it is:
    what the file says of them is held against that, and a simulation is brought up so.
    """

    protocol: Literal["SASL_PLAINTEXT", "SASL_SSL"]
    """What brokers, Connect workers and coordination must at least ask for."""


class _Lookups:
    """Tables by name, made at the first use and once for each topology; no part of its value."""

    __slots__ = ("_tables",)

    _tables: _Tables


def _no_truth(value: Any) -> Any:
    """For Python `true` equals 1."""
    return str(value) if isinstance(value, bool) else value


class _Tables:
    """A file may hold ten thousand topics: whoever walks over them must not search them for each."""

    __slots__ = ("copies", "mirrored", "mirrors", "names_at", "topics", "topics_at")

    def __init__(self, topology: Topology) -> None:
        self.topics: dict[tuple[str, str], Topic] = {}
        self.topics_at: defaultdict[str, list[Topic]] = defaultdict(list)
        for topic in topology.topics:
            self.topics.setdefault((topic.name, topic.cluster), topic)
            self.topics_at[topic.cluster].append(topic)
        self.mirrors: dict[tuple[str, str], Replication] = {}
        for mirror in topology.replication:
            self.mirrors.setdefault((mirror.source, mirror.target), mirror)
        self.names_at: dict[str, dict[str, None]] = {
            cluster: dict.fromkeys(topic.name for topic in topics)
            for cluster, topics in self.topics_at.items()
        }
        self.copies: dict[tuple[str, str], tuple[Replication, str]] = {}
        self.mirrored: dict[tuple[str, str], frozenset[str]] = {}
        for mirror in topology.replication:
            names = self.names_at.setdefault(mirror.target, {})
            copies = {mirror.mirrored_topic(name): name for name in mirror.topics}
            names.update(dict.fromkeys(copies))
            for copy, name in copies.items():
                self.copies.setdefault((copy, mirror.target), (mirror, name))
            self.mirrored.setdefault((mirror.source, mirror.target), frozenset(mirror.topics))


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Topology(_Lookups):
    """One topology file."""

    version: Annotated[Literal[1], BeforeValidator(_no_truth)]
    """The version of the file's format."""
    name: Name
    """The topology's name, which its lock, journal and simulation bear."""
    layout: Layout
    """How Kafka is laid out over the data centres; rules hold the file against it."""
    datacenters: tuple[Name, ...]
    """The data centres."""
    clusters: Mapping[Name, Cluster]
    """Kafka clusters by name. Copies of their topics bear these names."""
    topics: tuple[Topic, ...] = ()
    """Topics of applications, each under the cluster where it is produced."""
    replication: tuple[AnyMirror, ...] = ()
    """Mirrors between clusters."""
    producers: tuple[Producer, ...] = ()
    """Applications that write."""
    consumers: tuple[AnyConsumer, ...] = ()
    """Applications that read."""
    failover: Failover = field(default_factory=Failover)
    """What a failover may cost, and how old what it builds on may be."""
    boot_guard: BootGuard = field(default_factory=BootGuard)
    """How guards start the servers of stretched clusters."""
    links: tuple[Link, ...] = ()
    """What is known of the network between data centres."""
    coordination: Coordination | None = None
    """The ZooKeeper ensemble for lock and journal, outside the clusters; of a simulation dcctl brings its
    own.
    """
    security: Security | None = None
    """What every connection of the file must be, at least."""
    inventory: str | None = None
    """Path of the Ansible inventory of the hosts where applications run."""
    hooks: Hooks = field(default_factory=Hooks)
    """Playbooks of one's own, run before and after a verb."""
    allow: tuple[DestructiveChange, ...] = ()
    """Changes that destroy something and that `apply` may make all the same."""

    def __post_init__(self) -> None:
        if any(mirror.patterns for mirror in self.replication):
            object.__setattr__(self, "replication", resolved(self.replication, self.topics))

    @property
    def is_encrypted(self) -> bool:
        """Whether the file demands TLS of every connection."""
        return self.security is not None and self.security.protocol == "SASL_SSL"

    @property
    def is_one_cluster(self) -> bool:
        """Whether it has one cluster and no mirror: what is changed is changed within that one."""
        return len(self.clusters) == 1 and not self.replication

    def is_laid_out(self, layouts: Collection[str]) -> bool:
        """Whether its layout is one of these."""
        return self.layout in layouts

    def topic(self, name: str, cluster: str) -> Topic | None:
        """The topic `name` produced at `cluster`, if the file has it."""
        return self._lookup.topics.get((name, cluster))

    def topics_of(self, cluster: str) -> tuple[Topic, ...]:
        """The topics produced at `cluster`, in file order."""
        return tuple(self._lookup.topics_at.get(cluster, ()))

    def names_at(self, cluster: str) -> Mapping[str, None]:
        """Names of all topics at `cluster`, as keys: those produced there, then those mirrored into it."""
        return self._lookup.names_at.get(cluster, {})

    def mirror(self, source: str, target: str) -> Replication | None:
        """The mirror from `source` into `target`, if the file has it."""
        return self._lookup.mirrors.get((source, target))

    def is_mirrored(self, topic: str, source: str, target: str) -> bool:
        """Whether the mirror between two clusters copies a topic of its source."""
        return topic in self._lookup.mirrored.get((source, target), ())

    def copied_as(self, name: str, cluster: str) -> tuple[Replication, str] | None:
        """The mirror that brings a topic of this name to a cluster, and the topic's name at its source."""
        return self._lookup.copies.get((name, cluster))

    def consumers_of(self, cluster: str) -> tuple[Consumer, ...]:
        """Consumers that work at `cluster`, in file order."""
        return tuple(c for c in self.consumers if c.cluster == cluster)

    def producers_of(self, cluster: str) -> tuple[Producer, ...]:
        """Producers that work at `cluster`, in file order."""
        return tuple(p for p in self.producers if p.cluster == cluster)

    def topics_read(self, consumer: Consumer) -> tuple[str, ...]:
        """Names of the topics that `consumer` reads at its cluster: named, then found by its pattern."""
        if consumer.pattern is None:
            return consumer.topics
        pattern = re.compile(consumer.pattern)
        found = (name for name in self.names_at(consumer.cluster) if pattern.fullmatch(name))
        return tuple(dict.fromkeys((*consumer.topics, *found)))

    @property
    def _lookup(self) -> _Tables:
        try:
            return self._tables
        except AttributeError:
            object.__setattr__(self, "_tables", _Tables(self))
            return self._tables
