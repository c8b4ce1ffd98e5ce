"""What moves and fences need of each kind of server, one protocol a kind.

The real ones are in `adapters`; tests bring an estate in memory. Each method means, and raises, what the
real one's docstring says, which each protocol names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from orchestrator.errors import ClusterError
from orchestrator.ports.admin_values import ActiveProducer, ConfigKind, Features, NewTopic, Quorum
from orchestrator.ports.connector import ConnectorStatus
from orchestrator.values import (
    Acl,
    BrokerView,
    EpochEnd,
    LogEnd,
    LogReach,
    ReadContent,
    ReplicaEnd,
    TopicPartition,
    WrittenRecord,
)


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """What the cluster says about one topic. `isr` and `leaders` are per partition, -1 for no leader."""

    name: str
    topic_id: str
    leaders: tuple[int, ...]
    replicas: tuple[tuple[int, ...], ...]
    isr: tuple[tuple[int, ...], ...]
    is_internal: bool = False

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """Its partitions in order."""
        return tuple(TopicPartition(self.name, number) for number in range(len(self.leaders)))


SiteOf = Callable[[str | None], str | None]
"""The data centre of a broker that tells this rack, or none; None where that is not known."""


def rack_as_site(rack: str | None) -> str | None:
    """Each rack is a data centre: so it is where no file says otherwise."""
    return rack or None


@dataclass(frozen=True, slots=True)
class Placement:
    """Every topic of a cluster as it is described, Kafka's own too, and its brokers.

    `living`: brokers that are up. `racks`: what those of them tell that have one. `sites`: at which data
    centres they are: a rack is one, unless a file says otherwise (`Cluster.site_of`). In ZooKeeper mode one
    that is down may stand among the replicas in sync for a while.
    """

    topics: Mapping[str, TopicDescription]
    sites: Mapping[int, str]
    living: frozenset[int]
    racks: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def told(
        cls,
        topics: Mapping[str, TopicDescription],
        racks: Mapping[int, str],
        living: frozenset[int],
        site_of: SiteOf,
    ) -> Placement:
        """Each broker where `site_of` says that its rack, or one without a rack, is."""
        sites = {broker: site_of(racks.get(broker)) for broker in living | racks.keys()}
        return cls(
            topics, {broker: site for broker, site in sites.items() if site is not None}, living, racks
        )

    @property
    def partition_count(self) -> int:
        """How many partitions all topics have."""
        return sum(len(topic.leaders) for topic in self.topics.values())


@dataclass(frozen=True, slots=True)
class Authorization:
    """How a cluster decides who may do what: its authorizer (empty for none), and who is above all rules.

    `super_users` is None where no broker says it: Kafka hides the values of settings that belong to
    plug-ins, and `super.users` is the authorizer's.
    """

    authorizer: str
    super_users: frozenset[str] | None


class Record(NamedTuple):
    """One record as the orchestrator reads it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


class Opened(Protocol):
    """Connections that end with a `with` block."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Closed(Opened, Protocol):
    """Those that can be ended without one as well."""

    def close(self) -> None:
        """End the connections."""


class Follower(Opened, Protocol):
    """See `adapters.kafka.following.Follower`."""

    def read(self, timeout_s: float) -> list[WrittenRecord]:
        """The next records at hand."""

    def leave(self, topics: Collection[str]) -> None:
        """Read these no further."""


class Contents(Closed, Protocol):
    """See `adapters.kafka.contents.ContentReader`."""

    @property
    def refused(self) -> Mapping[str, str]:
        """Topics that could not be read when they were last to be, and why."""

    @property
    def fetched_bytes(self) -> int:
        """So much was fetched in all, as far as the client tells it."""

    def read(
        self, ranges: Mapping[TopicPartition, Sequence[range]], timeout_s: float
    ) -> dict[TopicPartition, dict[range, list[ReadContent]]]:
        """All records of each range of offsets, and the first one behind it if there is one."""


class Writer(Protocol):
    """See `adapters.kafka.writer.RecordWriter`."""

    def write(self, records: Iterable[tuple[bytes, bytes | None]], timeout_s: float) -> None:
        """Write records of different keys and wait until all are acknowledged."""

    def close(self) -> None:
        """Forget what is queued and close the connections."""


class Kafka(Protocol):
    """One cluster as its operator sees it; see `adapters.kafka.cluster.KafkaCluster`."""

    @property
    def name(self) -> str:
        """As the topology file names it."""

    @property
    def subject(self) -> str:
        """How errors name it."""

    @property
    def cluster_id(self) -> str:
        """What the broker said that answered `brokers` last; empty before."""

    def reconnect(self) -> None:
        """Forget every connection."""

    def brokers(self, timeout_s: float = 10.0) -> dict[int, str]:
        """Live brokers: id -> "host:port"."""

    def topics(self, names: Iterable[str], timeout_s: float = 10.0) -> dict[str, TopicDescription]:
        """Descriptions of those of `names` that exist."""

    def placement(self, timeout_s: float = 30.0) -> Placement:
        """Who has and who leads each partition of every topic."""

    def placement_as_told(self, timeout_s: float = 15.0) -> Placement:
        """The same as any broker knows it, without the controller and without the ids of topics.

        Without a metadata quorum that is what the broker knew last.
        """

    def elect_preferred(self, partitions: Iterable[TopicPartition], timeout_s: float = 30.0) -> None:
        """Let the first replica of each partition lead, where it is in sync."""

    def elect_unclean(self, partitions: Iterable[TopicPartition], timeout_s: float = 30.0) -> None:
        """Let the first replica of each partition that is up lead, whatever it lacks; none that has a leader
        changes it.
        """

    def configs(
        self, kind: ConfigKind, names: Iterable[str], timeout_s: float = 30.0
    ) -> dict[str, dict[str, str]]:
        """What was set on each of these itself."""

    def alter_configs(
        self, kind: ConfigKind, changes: Mapping[str, Mapping[str, str | None]], timeout_s: float = 30.0
    ) -> None:
        """Set entries of configurations; None takes one back to its default."""

    def alter_reassignments(
        self, moves: Mapping[TopicPartition, Sequence[int] | None], timeout_s: float = 60.0
    ) -> None:
        """Give partitions these replicas in this order; None calls off a move that is under way."""

    def list_reassignments(self, timeout_s: float = 15.0) -> frozenset[TopicPartition]:
        """Every partition whose replicas are being moved."""

    def topic_config(self, names: Iterable[str], timeout_s: float = 10.0) -> dict[str, dict[str, str]]:
        """Configuration in force of those of `names` that exist."""

    def create_topics(self, topics: Mapping[str, NewTopic], timeout_s: float = 60.0) -> None:
        """Create topics. One that exists is left as it is."""

    def log_ends(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 10.0
    ) -> dict[TopicPartition, LogEnd]:
        """Start and end offset and leader epoch of each partition."""

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 10.0
    ) -> dict[TopicPartition, int]:
        """End offsets (high watermarks) alone."""

    def offsets_for_times(
        self, times: Mapping[TopicPartition, float], timeout_s: float = 10.0
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition whose record bears that time or a later one."""

    def committed(
        self, groups: Iterable[str], timeout_s: float = 10.0
    ) -> dict[str, dict[TopicPartition, int]]:
        """Committed offsets of each group."""

    def group_members(self, groups: Iterable[str], timeout_s: float = 10.0) -> dict[str, int]:
        """Number of running members of each group."""

    def group_assignments(
        self, groups: Iterable[str], timeout_s: float = 10.0
    ) -> dict[str, frozenset[TopicPartition] | None]:
        """What each group has given its members to read; None while it is being divided among them."""

    def write_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, int],
        timeout_s: float = 10.0,
        *,
        may_write: Callable[[], bool] = ...,
    ) -> None:
        """Set the committed offsets of an empty group."""

    def read_records(
        self,
        ranges: Mapping[TopicPartition, tuple[int, int]],
        idle_timeout_s: float = 15.0,
        isolation_level: str = "read_uncommitted",
    ) -> Iterator[list[Record]]:
        """Every record of each range `[start, end)`, in chunks."""

    def follow(self, starts: Mapping[TopicPartition, int]) -> Follower:
        """Read on from given offsets. To be closed."""

    def contents(self, isolation_level: str = "read_uncommitted") -> Contents:
        """Who reads what records hold. To be closed."""

    def writer(self, topic: str) -> Writer:
        """Who writes to one topic. To be closed."""

    def features(self, timeout_s: float = 15.0) -> Features:
        """Levels of features such as `kraft.version`; empty where the cluster has none."""

    def describe_quorum(self, timeout_s: float = 15.0) -> Quorum:
        """The KRaft quorum."""

    def remove_voter(self, number: int, directory_id: str, timeout_s: float = 30.0) -> None:
        """Take one controller out of a dynamic KRaft quorum."""

    def add_voter(
        self, number: int, directory_id: str, endpoints: Iterable[str], timeout_s: float = 30.0
    ) -> None:
        """Let one controller vote that follows already; `endpoints` are its `LISTENER://host:port`."""

    def describe_producers(
        self, partitions: Iterable[TopicPartition], timeout_s: float = 15.0
    ) -> dict[TopicPartition, tuple[ActiveProducer, ...]]:
        """The producers that each partition's leader remembers."""

    def replica_sizes(self, brokers: Iterable[int], timeout_s: float = 30.0) -> dict[TopicPartition, int]:
        """Bytes of the largest replica of each partition in the log directories of some brokers."""

    def warm_up(self) -> None:
        """Make ready what takes its time to start, so that nothing waits for it later."""

    def close(self) -> None:
        """End the connections that stay open by themselves; a later call opens new ones."""


class Access(Protocol):
    """The access rules of one cluster; see `adapters.kafka.access.AccessRules`."""

    @property
    def subject(self) -> str:
        """How errors name the cluster."""

    @property
    def operator(self) -> str:
        """The principal that asks, as `User:name`; empty where it is not known by its settings."""

    def rules(self, principals: Iterable[str] | None = None) -> frozenset[Acl]:
        """Every rule, or those of some principals."""

    def add(self, rules: Iterable[Acl]) -> None:
        """Create rules; those that exist stay."""

    def remove(self, rules: Iterable[Acl]) -> None:
        """Delete exactly these rules."""

    def authorization(self, brokers: Sequence[int]) -> Authorization:
        """What the brokers are configured with."""


class LogEnds(Closed, Protocol):
    """Where logs really end; see `adapters.kafka.log_ends.LogEndReader`."""

    def reaches(
        self, addresses: Iterable[str], partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, LogReach | ClusterError]:
        """How far the log of each partition reaches at its leader, or why nobody can tell."""

    def epoch_ends(
        self, addresses: Iterable[str], epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, EpochEnd | ClusterError]:
        """Where records up to a leader epoch end in each partition's log, or why nobody can tell."""


class ReplicaEnds(Closed, Protocol):
    """Where replicas' own logs end; see `adapters.kafka.replica_ends.ReplicaEndReader`."""

    def ends(
        self, replicas: Mapping[str, Sequence[TopicPartition]]
    ) -> dict[str, dict[TopicPartition, ReplicaEnd | ClusterError] | ClusterError]:
        """By the address of each broker, of each of these partitions, or why nobody can tell."""


class EachBroker(Closed, Protocol):
    """One cluster asked broker by broker; see `adapters.kafka.each_broker.EachBroker`."""

    def views(self, addresses: Iterable[str], timeout_s: float) -> dict[str, BrokerView | ClusterError]:
        """What each broker says, or why it says nothing."""

    def log_ends(
        self, addresses: Iterable[str], led: Mapping[int, Sequence[TopicPartition]], timeout_s: float
    ) -> dict[int, dict[TopicPartition, LogEnd] | ClusterError]:
        """The logs of each leader's partitions."""

    def committed(
        self, addresses: Iterable[str], groups: Iterable[str], timeout_s: float
    ) -> dict[str, dict[TopicPartition, int] | ClusterError]:
        """What each group has committed, or why its coordinator does not say it."""


class Connect(Protocol):
    """The workers that run the mirrors into one cluster; see `adapters.connect.ConnectCluster`."""

    @property
    def name(self) -> str:
        """The cluster that they write into."""

    def within(self, timeout_s: float) -> Connect:
        """The same workers, waited for so long at most."""

    def connectors(self) -> dict[str, ConnectorStatus]:
        """Status of every connector by name."""

    def names(self) -> frozenset[str]:
        """Names of all connectors."""

    def configuration(self, connector: str) -> dict[str, str]:
        """The configuration of one connector."""

    def writes_in_transactions(self, connector: str) -> bool:
        """Whether the workers have exactly-once support for source connectors switched on."""

    def create_stopped(self, connector: str, config: Mapping[str, str]) -> None:
        """Create a connector that runs nothing until it is resumed."""

    def configure(self, connector: str, config: Mapping[str, str]) -> None:
        """Change the configuration of a connector, which stays in its state."""

    def stop(self, connector: str) -> None:
        """Ask for STOPPED."""

    def resume(self, connector: str) -> None:
        """Ask for RUNNING."""

    def source_offsets(self, connector: str) -> dict[TopicPartition, int]:
        """The last source offset read, per source partition."""

    def set_source_offsets(
        self, connector: str, cluster: str, offsets: Mapping[TopicPartition, int | None]
    ) -> None:
        """Of a stopped connector: the last source offset read, None for nothing read yet."""
