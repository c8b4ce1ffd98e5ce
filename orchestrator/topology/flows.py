"""What flows through the clusters of the topology file: topics, mirrors, producers and consumers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import SerializeAsAny, ValidationInfo, ValidatorFunctionWrapHandler, WrapValidator
from pydantic.dataclasses import dataclass

from orchestrator.topology.kinds import (
    STRICT,
    Count,
    HeaderName,
    Name,
    OnFork,
    Policy,
    Positive,
    Preference,
    Principal,
    Seconds,
    TopicName,
    TransactionalId,
)
from orchestrator.topology.mirrored_topics import NamesAndPatterns, patterns_of
from orchestrator.values import Acl, Pattern, TopicPartition

FIXED_CONNECTOR_PROPERTIES = frozenset(
    {
        "name",
        "connector.class",
        "source.cluster.alias",
        "target.cluster.alias",
        "replication.policy.class",
        "replication.policy.separator",
        "replication.policy.internal.topic.separator.enabled",
        "offset-syncs.topic.location",
        "emit.offset-syncs.enabled",
        "producer.override.enable.idempotence",
    }
)
"""Properties of the connectors on which the offset map rests; a file may not override them."""

REFUSED_CONNECTOR_VALUES = {
    "errors.tolerance": ("all", "a record that cannot be written would be skipped silently"),
    "exactly.once.support": (
        "required",
        "a worker that writes in transactions puts markers between the copies",
    ),
}
"""Values of connectors' properties, in lower case, with which no copy can be trusted, and why."""

CLIENT_ID = "producer.override.client.id"
"""Under which name the tasks of a connector write, all of them; without it each has a name of its own."""

HEARTBEATS_TOPIC = "heartbeats"
"""Where MirrorMaker writes at a source that it is alive."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Topic:
    """A topic as applications know it, under the cluster where it is produced."""

    name: TopicName
    """Its name at the cluster where it is produced."""
    cluster: Name
    """The cluster where producers write it."""
    partitions: Positive
    """How many partitions it has."""
    replicas: Positive
    """How many copies each partition has."""
    min_insync_replicas: Positive
    """How many in-sync replicas an acks=all write needs (min.insync.replicas)."""
    replicas_per_dc: Mapping[Name, Count] = field(default_factory=dict)
    """Replicas of each partition by data centre, where they are not to be spread evenly by rack."""
    config: Mapping[str, str] = field(default_factory=dict)
    """Topic settings of Kafka by their own names, for example retention.ms."""
    prefer: Preference | None = None
    """What counts more once a site is lost; the cluster's own `prefer` where it is not said."""
    residency: tuple[Name, ...] = ()
    """The only data centres where copies of its records may lie; none: anywhere."""
    on_fork: OnFork = "keep"
    """Under policy identity, what becomes of the tail that only the lost side holds, once that side is
    back: `keep` it there, exported for reference; `replay` it to the active side as new records;
    `rebuild` the topic there from the other side.
    """


RETURN_SUFFIX = "-return"
DEFAULT_ENGINE = "mirrormaker2"


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Replication:
    """One mirror, and the `engine` that runs it: MirrorMaker 2 on Connect workers at the target, or another.

    The mirrored topics are as the topics at the source, but for what the mirror says of them.
    """

    # Other engines have classes below this one, with keys of their own (`topology.mirror_engines`).
    # `needs_connect`: workers at the target run it. `can_be_throttled`: it keeps to `max_bytes_per_s`, by
    # `Engine.quotas`; of another engine only where its own class says so.
    needs_connect: ClassVar[bool] = True
    can_be_throttled: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        if "can_be_throttled" not in vars(cls):
            cls.can_be_throttled = False

    source: Name
    """The cluster whose topics are copied."""
    target: Name
    """The cluster that gets the copies."""
    topics: NamesAndPatterns
    """Topics of the source that are copied: names, and regular expressions that match whole names."""
    policy: Policy = "default"
    """How copies are called: with the source's name before theirs (`default`), or as the source calls
    them (`identity`).
    """
    separator: str = "."
    """What stands between the source's name and the topic's, under policy default."""
    tasks_max: Positive = 2
    """How many tasks copy side by side (tasks.max)."""
    offset_flush_interval_s: Seconds = 1.0
    """The workers' offset.flush.interval.ms, in seconds: how old the mirror's stored position may be, and
    with it how exact a predicted loss is.
    """
    offset_syncs: Literal["target", "source"] = "target"
    """Where the offset syncs lie. At the source they are lost with it: only for a mirror that is not
    `managed`.
    """
    replicas: Positive | None = None
    """Replicas of the copies, where they are not those of the source's topics."""
    min_insync_replicas: Positive | None = None
    """min.insync.replicas of the copies, where it is not that of the source's topics."""
    topic_config: Mapping[str, str] = field(default_factory=dict)
    """Settings of the copies that differ from those of the source's topics."""
    connectors: Mapping[str, str] = field(default_factory=dict)
    """Properties of the mirror's connectors over those that dcctl sets, producer.override.… among them."""
    max_bytes_per_s: Positive | None = None
    """How many bytes the mirror may write in a second, to all brokers of its target together: a client quota
    of Kafka keeps it to that, also on the way back. Without it the mirror copies as fast as it can.
    """
    managed: bool = True
    """false: something else owns the mirror (MirrorMaker's dedicated mode, an operator). It is observed,
    never changed.
    """
    engine: Name = DEFAULT_ENGINE
    """What runs it: MirrorMaker 2 on Connect workers at the target, or what an installed package brings."""

    @property
    def patterns(self) -> tuple[str, ...]:
        """Those that the file has among `topics`; the topics of the file that they match are in `topics`."""
        return patterns_of(self.topics)

    @property
    def keeps_names(self) -> bool:
        """Whether a topic is called the same on both sides, so that applications write to the copies."""
        return self.policy == "identity"

    def mirrored_topic(self, topic: str) -> str:
        """Name at the target of a source topic, by the replication policy.

        The identity policy, too, renames whatever ends in `heartbeats` (`IdentityReplicationPolicy`).
        """
        if self.policy == "identity" and not topic.endswith(HEARTBEATS_TOPIC):
            return topic
        return f"{self.source}{self.separator}{topic}"

    def mirrored(self, partition: TopicPartition) -> TopicPartition:
        """The target partition that a source partition is copied to."""
        return TopicPartition(self.mirrored_topic(partition.topic), partition.partition)

    @property
    def target_alias(self) -> str:
        """What its connector calls the target.

        Of dcctl's own mirrors only one on the way back keeps its offset syncs at the source. Under the
        target's plain name they would come into the very topic that the mirror in the other direction has
        there, and the pairs of both could not be told apart.
        """
        is_way_back = self.offset_syncs == "source" and self.managed
        return f"{self.target}{RETURN_SUFFIX}" if is_way_back else self.target

    @property
    def offset_syncs_topic(self) -> str:
        """At the target: the default location dies with the source (facts: MirrorMaker 2).

        A mirror that keeps it at the source names it after the target.
        """
        other = self.source if self.offset_syncs == "target" else self.target_alias
        return f"mm2-offset-syncs{self.separator}{other}{self.separator}internal"

    @property
    def checkpoints_topic(self) -> str:
        """Where MirrorMaker writes its own translated group offsets, at the target."""
        return f"{self.source}{self.separator}checkpoints{self.separator}internal"

    @property
    def samples_topic(self) -> str:
        """Where the watcher keeps positions and log ends of the source, at the target."""
        return samples_topic(self.source)

    @property
    def kept_map_topic(self) -> str:
        """Where watchers keep a copy of its map, at each place that would need it once its target is lost."""
        return f"dcctl-map.{self.source}-{self.target}.internal"


def samples_topic(cluster: str) -> str:
    """Where watchers keep positions and log ends of a cluster, at each place that keeps them."""
    return f"dcctl-samples.{cluster}.internal"


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class RecordMark:
    """A header that every record of one producer carries, and no record of another."""

    header: HeaderName
    """The header's key."""
    value: str
    """The header's value, as UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Producer:
    """An application that writes.

    Kafka does not say who wrote a record: `identified_by` does, where several write the same topic.
    """

    name: Name
    """Its name; hosts run it as `producer-NAME`."""
    cluster: Name
    """The cluster where it works."""
    topics: tuple[TopicName, ...]
    """The topics that it writes."""
    acks: Literal["all", "1", "0"] = "all"
    """What it waits for before a write counts as done."""
    principal: Principal | None = None
    """Who it is to the brokers: access rules are made for it, and keep it off during a move."""
    transactional_ids: tuple[TransactionalId, ...] = ()
    """Under which it writes in transactions: whole ids, or beginnings with `*` behind them."""
    identified_by: RecordMark | None = None
    """What tells its records from others', where several producers write one topic."""
    moved_by: Literal["dcctl", "itself"] = "dcctl"
    """`itself`: it finds the other cluster on its own (DNS, a proxy, bootstrap servers of both). dcctl
    neither stops nor starts it, keeps it off by access rules, and waits for its first record.
    """
    standby: Name | None = None
    """The cluster where it goes when its own is left, if not its cluster's `standby`."""
    instances: Mapping[Name, Positive] = field(default_factory=dict, hash=False)
    """How many instances of it run at which sites of its cluster: data centre -> number. Default: one, at
    the first site that has brokers.
    """
    canary: bool = False
    """It is dcctl's own (`dcctl canary`), and keeps a ledger by which moves are measured."""


def transactional_topics(producers: Iterable[Producer]) -> frozenset[str]:
    """Topics in which markers of transactions stand, and records of aborted ones."""
    return frozenset(topic for one in producers if one.transactional_ids for topic in one.topics)


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Consumer:
    """An application that reads: a consumer group, or one of another kind."""

    # Other kinds have classes below this one, with keys of their own (`topology.consumer_kinds`): what is
    # said here of a group holds for them as far as they do not say otherwise. `noun`: in sentences;
    # `caption`, `mark`: in pictures, under the name and before what it reads. `bound_to_site`: it keeps there
    # what it needs to go on, outside of its cluster.
    noun: ClassVar[str] = "group"
    caption: ClassVar[str] = "consumer group"
    mark: ClassVar[str] = ""
    can_be_canary: ClassVar[bool] = True
    bound_to_site: ClassVar[bool] = False

    name: Name
    """Its name, and its group id unless `group` says another."""
    cluster: Name
    """The cluster where it works."""
    kind: Name
    """What it is: a consumer group (`group`), which commits offsets to Kafka, or of another kind."""
    topics: tuple[TopicName, ...] = ()
    """The topics that it reads, as they are called at its cluster."""
    pattern: str | None = None
    """A regular expression: it reads the topics at its cluster whose whole name matches."""
    principal: Principal | None = None
    """Who it is to the brokers: access rules are made for it, and keep it off during a move."""
    order: Literal["required", "any"] = "any"
    """Whether it needs the records of a partition in order."""
    duplicates: Literal["tolerated", "refused"] = "tolerated"
    """Whether it can bear to read records again."""
    on_untranslatable: Literal["refuse", "earliest", "timestamp"] = "refuse"
    """What to do about a position without a translation: `refuse` the move; read the target's log from
    its start (`earliest`); or from a `timestamp` before the record's own, which reads some minutes again
    and is not for producers that set timestamps themselves.
    """
    group: Name | None = None
    """Its group id, where that is not its name, as for two entries that are one group at two clusters."""
    standby: Name | None = None
    """The cluster where it goes when its own is left, if not its cluster's `standby`."""
    landing: Name | None = None
    """Whose the records are that are written, once it has moved, to a topic of the same name as one that
    it reads, and that others write there as well: it reads them all (`read`), or they are for the
    consumer of that name.
    """
    instances: Mapping[Name, Positive] = field(default_factory=dict, hash=False)
    """How many instances of it run at which sites of its cluster: data centre -> number. Default: one, at
    the first site that has brokers.
    """
    canary: bool = False
    """It is dcctl's own (`dcctl canary`), and keeps a ledger by which moves are measured."""

    @property
    def group_id(self) -> str:
        """The id under which it reads, where its kind commits offsets."""
        return self.group or self.name

    @property
    def called(self) -> str:
        """For people: its name, and its group id where that is another one."""
        return self.name if self.group_id == self.name else f"{self.name} (group {self.group_id})"

    @property
    def groups(self) -> tuple[str, ...]:
        """The consumer groups whose committed offsets are its positions."""
        return (self.group_id,)

    @property
    def program(self) -> str:
        """The name under which hosts run it, as a program or unit."""
        return f"consumer-{self.name}"

    def acls(self) -> tuple[Acl, ...]:
        """What it is allowed beside reading its topics, wherever it may work; nothing without a principal."""
        return self.allowed("GROUP", self.group_id, ("READ", "DESCRIBE"))

    def allowed(
        self, resource_type: str, name: str, operations: tuple[str, ...], pattern: Pattern = "LITERAL"
    ) -> tuple[Acl, ...]:
        """Rules that allow it so much; none without a principal."""
        if self.principal is None:
            return ()
        return tuple(Acl(self.principal, op, "ALLOW", resource_type, name, pattern) for op in operations)

    def own_topics(self) -> tuple[Topic, ...]:
        """Topics that it keeps for itself, beside those of the file, at each cluster where it may work."""
        return ()

    def moved_to(self, cluster: str) -> Consumer:
        """The entry that somebody would write once a move has brought it there."""
        return replace(self, cluster=cluster)

    def with_paths(self, home: Callable[[str], str], standby: Callable[[str], str]) -> Consumer:  # noqa: ARG002
        """With every path of its own where it lies on a machine: at its cluster, and where it goes to."""
        return self

    def how_else_translated(self, to: str) -> str:  # noqa: ARG002
        """The command that brings its positions to a cluster, where it commits no group offsets."""
        return ""


def _of_its_kind(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """An entry of the file by the class of its kind, which whoever reads the file hands in."""
    return handler(value) if info.context is None else info.context(value)


def _of_its_engine(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """A mirror of the file by the class of its engine, in the same way."""
    return handler(value) if info.context is None else info.context.mirrors(value)


AnyMirror = Annotated[SerializeAsAny[Replication], WrapValidator(_of_its_engine)]
"""A mirror of any engine."""
AnyConsumer = Annotated[SerializeAsAny[Consumer], WrapValidator(_of_its_kind)]
"""An entry of any kind."""
