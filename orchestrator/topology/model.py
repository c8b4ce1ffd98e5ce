"""The topology file as values: frozen, slotted, and checked on their own (not against each other).

Every class mirrors one mapping of the file; keys and defaults are the contract of the file format.
Rules that span several objects live in `rules.py`, reading the text in `loading.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints
from pydantic.dataclasses import dataclass

from orchestrator.values import TopicPartition

_CONFIG = ConfigDict(extra="forbid", strict=True)

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)]
TopicName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+$", max_length=249)]
Principal = Annotated[str, StringConstraints(pattern=r"^User:.+$")]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, strict=False)]

Layout = Literal[
    "one-location",
    "stretched-2dc",
    "stretched-2.5dc",
    "stretched-3dc",
    "active-passive",
    "active-active",
    "aggregation",
]
Metadata = Literal["kraft", "zookeeper"]
Preference = Literal["consistency", "availability"]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Nodes:
    """The servers of one cluster in one data centre."""

    dc: Name
    brokers: Count = 0
    controllers: Count = 0
    zookeepers: Count = 0
    connect_workers: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class InternalTopic:
    """Replicas of one of Kafka's own topics. Kafka's defaults are 3 and 1."""

    replicas: Positive = 3
    min_insync_replicas: Positive = 1


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Cluster:
    """One Kafka cluster, in one data centre or stretched over several."""

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
    schema_registry: str | None = None

    @property
    def datacenters(self) -> tuple[str, ...]:
        """The data centres that hold any server of this cluster, in file order."""
        return tuple(dict.fromkeys(row.dc for row in self.nodes))

    @property
    def is_combined(self) -> bool:
        """Whether broker and controller share a process (default: only inside one data centre)."""
        return len(self.datacenters) == 1 if self.combined is None else self.combined


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Topic:
    """A topic as applications know it, under the cluster where it is produced."""

    name: TopicName
    cluster: Name
    partitions: Positive
    replicas: Positive
    min_insync_replicas: Positive
    replicas_per_dc: Mapping[Name, Count] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    prefer: Preference | None = None
    residency: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Replication:
    """One mirror: MirrorMaker 2 connectors on Connect workers at the target.

    `offset_flush_interval_s` is the worker's `offset.flush.interval.ms`: it bounds how old the
    mirror's stored position is, and with it the prediction of what a site loss would cost.
    """

    source: Name
    target: Name
    topics: tuple[TopicName, ...]
    policy: Literal["default", "identity"] = "default"
    separator: str = "."
    tasks_max: Positive = 2
    offset_flush_interval_s: Seconds = 1.0
    connectors: Mapping[str, str] = field(default_factory=dict)

    def mirrored_topic(self, topic: str) -> str:
        """Name at the target of a source topic, by the replication policy."""
        return topic if self.policy == "identity" else f"{self.source}{self.separator}{topic}"

    def mirrored(self, partition: TopicPartition) -> TopicPartition:
        """The target partition that a source partition is copied to."""
        return TopicPartition(self.mirrored_topic(partition.topic), partition.partition)

    @property
    def offset_syncs_topic(self) -> str:
        """Kept at the target: the default location dies with the source (facts: MirrorMaker 2)."""
        return f"mm2-offset-syncs{self.separator}{self.source}{self.separator}internal"

    @property
    def checkpoints_topic(self) -> str:
        """Where MirrorMaker writes its own translated group offsets, at the target."""
        return f"{self.source}{self.separator}checkpoints{self.separator}internal"

    @property
    def samples_topic(self) -> str:
        """Where the watcher keeps positions and log ends of the source, at the target."""
        return f"dcctl-samples.{self.source}.internal"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Producer:
    """An application that writes."""

    name: Name
    cluster: Name
    topics: tuple[TopicName, ...]
    acks: Literal["all", "1", "0"] = "all"
    principal: Principal | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Sink:
    """Where a Spark query writes, and what that place remembers between restarts.

    `remembers: batch-id` means: a batch id seen once is skipped when it comes again (Spark's file
    sink, Delta, many foreachBatch functions). `on_relocation` says what to do when a relocated
    checkpoint could re-use such an id: give the query a new identity at the sink, or refuse.
    """

    kind: Literal["files", "delta", "kafka", "foreach-batch", "console", "other"]
    remembers: Literal["batch-id", "nothing"] = "batch-id"
    on_relocation: Literal["new-identity", "refuse"] = "new-identity"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Consumer:
    """An application that reads: a consumer group (`name` is its group id) or a Spark query.

    `checkpoint` is where a Spark query keeps its checkpoint while it runs at `cluster`;
    `standby_checkpoint` is where the same query looks for it after a move (a path at the target;
    the watcher keeps its copy beside it).
    """

    name: Name
    cluster: Name
    kind: Literal["group", "spark"]
    topics: tuple[TopicName, ...]
    principal: Principal | None = None
    checkpoint: str | None = None
    standby_checkpoint: str | None = None
    sink: Sink | None = None
    order: Literal["required", "any"] = "any"
    duplicates: Literal["tolerated", "refused"] = "tolerated"
    on_untranslatable: Literal["refuse", "earliest", "timestamp"] = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class MaxLoss:
    """The loss budget of a failover: whichever of the two is smaller holds."""

    records: Count | None = None
    seconds: Seconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Failover:
    """What a failover may cost, and how old what it builds on may be."""

    max_loss: MaxLoss = field(default_factory=lambda: MaxLoss(records=0))
    max_position_age_s: Seconds = 5.0


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Link:
    """What is known of the network between two data centres."""

    between: tuple[Name, Name]
    latency_ms: Annotated[float, Field(ge=0, strict=False)]


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Coordination:
    """The ensemble for lock and journal."""

    zookeeper: str


@dataclass(frozen=True, slots=True, kw_only=True, config=_CONFIG)
class Topology:
    """One topology file."""

    version: Literal[1]
    name: Name
    layout: Layout
    datacenters: tuple[Name, ...]
    clusters: Mapping[Name, Cluster]
    topics: tuple[Topic, ...] = ()
    replication: tuple[Replication, ...] = ()
    producers: tuple[Producer, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    failover: Failover = field(default_factory=Failover)
    links: tuple[Link, ...] = ()
    coordination: Coordination | None = None
    inventory: str | None = None

    def topic(self, name: str, cluster: str) -> Topic | None:
        """The topic `name` produced at `cluster`, if the file has it."""
        return next((t for t in self.topics if t.name == name and t.cluster == cluster), None)

    def mirror(self, source: str, target: str) -> Replication | None:
        """The mirror from `source` into `target`, if the file has it."""
        return next((m for m in self.replication if (m.source, m.target) == (source, target)), None)

    def consumers_of(self, cluster: str) -> tuple[Consumer, ...]:
        """Consumers that work at `cluster`, in file order."""
        return tuple(c for c in self.consumers if c.cluster == cluster)

    def producers_of(self, cluster: str) -> tuple[Producer, ...]:
        """Producers that work at `cluster`, in file order."""
        return tuple(p for p in self.producers if p.cluster == cluster)
