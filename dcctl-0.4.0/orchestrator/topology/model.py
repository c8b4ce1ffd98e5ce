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
)

__all__ = [
    "KAFKA_INTERNAL_TOPICS",
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
]


QUIET_AFTER_MOVE_S = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class MaxLoss:
    """The loss budget of a failover: whichever of the two is smaller holds."""

    records: Count | None = None
    seconds: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Objectives:
    """What the business wants of a move. Reports are judged by it (met, missed, not measured); nothing is
    refused.

    `rto_s`: the recovery time objective, the longest that any application may be out of service;
    `rpo_records`
    and `rpo_s`: the recovery point objective, how many acknowledged records may be lost, and how far back
    before the loss the oldest of them may have been acknowledged.
    """

    rto_s: Seconds | None = None
    rpo_records: Count | None = None
    rpo_s: SecondsOrZero | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Failover:
    """What a failover may cost, and how old what it builds on may be.

    `max_loss` refuses a failover that would lose more; `objectives` judge the reports of drills and real
    runs.
    `fingerprints`: so many bytes a watcher fetches in a round to keep the records that stand for positions in
    partitions that may have gaps, so that these can be found exactly (0: none).
    `quiet_after_move_s`: for so long after a move another one needs somebody's acknowledgement (default:
    30 minutes; in a simulation 0, because there moves are rehearsed).
    """

    max_loss: MaxLoss = field(default_factory=lambda: MaxLoss(records=0))
    max_position_age_s: Seconds = 5.0
    fingerprints: Count = 4 * 1024 * 1024
    quiet_after_move_s: SecondsOrZero | None = None
    objectives: Objectives | None = None

    @property
    def cooldown_s(self) -> float:
        """`quiet_after_move_s`, or its default."""
        return QUIET_AFTER_MOVE_S if self.quiet_after_move_s is None else self.quiet_after_move_s


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Link:
    """What is known of the network between two data centres."""

    between: tuple[Name, Name]
    latency_ms: Milliseconds


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Coordination:
    """The ensemble for lock and journal.

    `zookeeper` is `host:port,…`; `datacenters` names the data centre of each of its servers, one name a
    server, so that it can be judged which site's loss the ensemble survives. With `username` and
    `password` (a reference) the lock and the journal are open to that digest user only. With `ca_location`,
    the PEM file of the authority behind its servers' certificates, the connection is encrypted.
    """

    zookeeper: str
    datacenters: tuple[Name, ...] = ()
    username: str | None = None
    password: str | None = None
    ca_location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Security:
    """What every connection of the file must be, at least.

    Under SASL_SSL brokers, Connect workers and the coordination are reached over TLS and ask who it is:
    what the file says of them is held against that, and a simulation is brought up so.
    """

    protocol: Literal["SASL_PLAINTEXT", "SASL_SSL"]


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
    name: Name
    layout: Layout
    datacenters: tuple[Name, ...]
    clusters: Mapping[Name, Cluster]
    topics: tuple[Topic, ...] = ()
    replication: tuple[AnyMirror, ...] = ()
    producers: tuple[Producer, ...] = ()
    consumers: tuple[AnyConsumer, ...] = ()
    failover: Failover = field(default_factory=Failover)
    links: tuple[Link, ...] = ()
    coordination: Coordination | None = None
    security: Security | None = None
    inventory: str | None = None
    hooks: Hooks = field(default_factory=Hooks)
    allow: tuple[DestructiveChange, ...] = ()

    def __post_init__(self) -> None:
        if any(mirror.patterns for mirror in self.replication):
            object.__setattr__(self, "replication", resolved(self.replication, self.topics))

    @property
    def is_encrypted(self) -> bool:
        """Whether the file demands TLS of every connection."""
        return self.security is not None and self.security.protocol == "SASL_SSL"

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
