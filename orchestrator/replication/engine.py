"""The interface of a mirror engine: what copies topics from one cluster to another.

An engine is a class below `Engine`. A file names it (`replication: - {engine: NAME}`), and it is found by
that name: see `topology.mirror_engines`, where its keys of the file are declared. What an engine has no need
of it leaves as it is here, where every question has the answer *not needed*: no objects, no map, no state.
`moves.participants.MirrorEngine` adds its steps in a move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.errors import ClusterError, DcctlError
from orchestrator.ports.servers import Connect, Kafka
from orchestrator.replication.lag import lag_records
from orchestrator.replication.mirror_ref import MirrorRef
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.replication.translation import KeptPosition
from orchestrator.topology.mirror_engines import ENGINES
from orchestrator.topology.model import Replication, Topology
from orchestrator.values import Acl, LogEnd, QuotaOwner, TopicPartition

UNKNOWN = "UNKNOWN"
"""The state of a program of which nobody says one."""


class NoMapError(ClusterError):
    """A cluster has nothing from which the offset map of a mirror could be read."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom an engine may ask: clusters of the file, and the Connect workers at one, by its name."""

    cluster: Callable[[str], Kafka]
    connect: Callable[[str], Connect]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTopic:
    """A topic of one partition that an engine keeps for itself, and its configuration."""

    name: str
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredConnector:
    """One connector. `source` is the cluster that its mirror copies from.

    `may_lack_tasks`: it runs rightly without any task for as long as the source has no consumer group.
    """

    name: str
    source: str
    config: Mapping[str, str]
    may_lack_tasks: bool


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """How a mirror writes: its settings, and whether it uses transactions."""

    config: Mapping[str, str]
    in_transactions: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorHealth:
    """One look at a mirror. What could not be asked is absent, and `problems` says why.

    `at_s`: when the look began, Unix seconds. `states`: by what the engine runs, RUNNING, PAUSED, STOPPED,
    FAILED, MISSING, or the worst state of its tasks; UNKNOWN where nobody says it.
    `replicated`: next source offset after the last that is surely copied.
    `heartbeat_at_s`: when the newest heartbeat that arrived was written at the source.
    """

    at_s: float
    states: Mapping[str, str] = field(default_factory=dict)
    replicated: Mapping[TopicPartition, int] | None = None
    heartbeat_at_s: float | None = None
    problems: tuple[str, ...] = ()

    def lag_records(self, ends: Mapping[TopicPartition, LogEnd]) -> dict[TopicPartition, int]:
        """See `replication.lag`; nothing where it is not known how far the mirror is."""
        if self.replicated is None:
            return {}
        return lag_records(ends, {tp: following - 1 for tp, following in self.replicated.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCluster:
    """What of a cluster that no file describes yet tells of mirrors.

    `addresses`: all under which it is known, `host:port`. `topics`: names, `applications` those that nobody
    keeps for himself. `connectors`: configurations by name; None where the workers did not answer.
    """

    name: str
    addresses: frozenset[str]
    topics: frozenset[str]
    applications: frozenset[str] = frozenset()
    connectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SeenMirror:
    """One mirror of an estate; `connectors` are the configurations of those that were seen of it, by name."""

    mirror: Replication
    connectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class MirrorClients:
    """How a mirror reaches both clusters: addresses, and properties of Java clients."""

    source_bootstrap: tuple[str, ...]
    target_bootstrap: tuple[str, ...]
    source: Mapping[str, str]
    target: Mapping[str, str]


class Engine:
    """What copies topics: names and desired objects, what is seen of it, its map, and its traces.

    `name`: as the file has it. `title`: as people are told it. `kept_as`: what its map is read from, in a
    sentence.
    """

    name: str = ""
    title: str = ""
    kept_as: str = "the pairs of offsets"

    def why_not(self, topology: Topology, mirror: MirrorRef) -> str:
        """Why that mirror cannot be one of this engine's; empty where it is."""
        return ""

    def unsupported(self, mirror: Replication) -> Iterable[str]:
        """What of a mirror no application can be moved along, each as the end of a sentence."""
        return ()

    def workers(self, mirror: MirrorRef) -> str:
        """The cluster whose Connect workers run it; empty for an engine that has no need of Connect."""
        return ""

    def programs(self, mirror: Replication) -> tuple[str, ...]:
        """Names of all that it runs for a mirror of the file, as `states` tells of it."""
        return ()

    def copier(self, mirror: Replication) -> str:
        """The one of them that copies; empty where it has no name."""
        return ""

    def is_at_rest(self, states: Mapping[str, str], mirror: Replication) -> bool | None:
        """Whether somebody has stopped or paused what copies; None where `states` do not tell of it."""
        return None

    def connectors(self, topology: Topology, mirror: Replication) -> Mapping[str, DesiredConnector]:
        """What shall run on Connect's workers at the target, by name.

        Raises `DcctlError` where the file asks for what the engine must not do.
        """
        return {}

    def topics(self, topology: Topology, mirror: Replication) -> Iterable[OwnTopic]:
        """What it keeps for itself at the target, beside the copies."""
        return ()

    def shared_topics(self, topology: Topology, cluster: str) -> tuple[OwnTopic, ...]:
        """What all its mirrors out of and into a cluster need there together."""
        return ()

    def acls(self, topology: Topology, mirror: Replication, cluster: str) -> Iterable[Acl]:
        """The access rules that it needs at one end of a mirror, as the cluster's `mirror_principal`."""
        return ()

    def quotas(self, topology: Topology, mirror: Replication, cluster: str) -> Mapping[QuotaOwner, int]:
        """Bytes that it may write in a second to each broker at one end of a mirror, by whom that limits.

        So the file's `max_bytes_per_s` is kept to; an engine that cannot do so says it of its mirrors
        (`Replication.can_be_throttled`).
        """
        return {}

    def mirror_of(self, source: str, target: str, connectors: Mapping[str, Mapping[str, str]]) -> Replication:
        """The mirror between two clusters as far as configurations of connectors, by name, tell of it."""
        return Replication(source=source, target=target, topics=(), engine=self.name)

    def rehearsed(self, client: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
        """Connectors, by name, that have workers load all of its classes: from one cluster to itself.

        `client`: the properties of its Java clients, `bootstrap.servers` among them.
        """
        return {}

    def states(self, asked: Asked, mirror: MirrorRef) -> dict[str, str]:
        """What each program at its workers does, by name. Raises `ConnectError`."""
        return {}

    def settings(self, asked: Asked, topology: Topology, mirror: MirrorRef) -> MirrorSettings:
        """How it writes; of one that has to be made yet, nothing is set. Raises `ConnectError`."""
        return MirrorSettings({}, in_transactions=False)

    def isolation_level(self, asked: Asked, mirror: Replication) -> str:
        """With which isolation level it reads. Raises `ConnectError`."""
        return "read_committed"

    def copies_all(self, asked: Asked, mirror: Replication) -> bool:
        """Whether each record that a reader with its isolation level gets has a copy; False: some may not.

        Where its workers do not answer, by the file.
        """
        return False

    def read_up_to(self, asked: Asked, topology: Topology, mirror: MirrorRef) -> dict[TopicPartition, int]:
        """The last offset that it has surely read, by source partition. Raises `DcctlError`."""
        return {}

    def health(self, asked: Asked, mirror: Replication, at_s: float) -> MirrorHealth:
        """One look at a mirror of the file. Never raises for what servers say or leave unsaid."""
        return MirrorHealth(at_s=at_s)

    def map_topic(self, mirror: Replication) -> str:
        """The topic of one partition at the mirror's target from which its map is read; empty for none.

        A watcher copies it to where the map is needed once the target is lost.
        """
        return ""

    def has_map(self, asked: Asked, mirror: Replication) -> bool:
        """Whether there is anything from which `offset_map` could be read. Raises `ClusterError`."""
        return False

    def offset_map(
        self,
        asked: Asked,
        mirror: Replication,
        *,
        recreated: Mapping[str, Recreation],
        gaps: Mapping[TopicPartition, SourceGaps],
        stopped_at: Mapping[TopicPartition, int] | None = None,
        logs: Mapping[TopicPartition, LogEnd] | None = None,
        kept_at: str = "",
    ) -> OffsetMap:
        """Its map as it is now; with `kept_at` as a watcher has copied it to that cluster.

        `recreated`: source topics that were deleted and made again; the map of these begins anew as well.
        `gaps`: what is known of gaps in source partitions. `stopped_at` and `logs` only for a mirror that
        stands: the last source offsets read, and the logs of the copies read since. They close the map at its
        end. Raises `NoMapError` where there is none.
        """
        raise NoMapError(f"mirror {mirror.source} → {mirror.target}", f"{self.title} keeps no offset map")

    def stopped_at(self, asked: Asked, mirror: Replication) -> dict[TopicPartition, int] | None:
        """The last source offsets read by a mirror that stands; None where it runs, or nobody can tell."""
        return None

    def kept_positions(self, asked: Asked, mirror: Replication) -> Mapping[str, Sequence[KeptPosition]]:
        """Positions of groups as it has translated them itself, by group. Raises `ClusterError`."""
        return {}

    def own_topics(self, cluster: TracedCluster, estate: Mapping[str, TracedCluster]) -> frozenset[str]:
        """Topics of a cluster that it keeps for itself."""
        return frozenset()

    def is_own_group(self, name: str) -> bool:
        """Whether a consumer group is one of its own."""
        return False

    def seen_mirrors(self, estate: Mapping[str, TracedCluster]) -> tuple[Sequence[SeenMirror], Sequence[str]]:
        """Its mirrors between these clusters, none of them `managed` yet, and notes on others.

        Raises `UsageError` where a mirror calls a cluster by another name than the user does.
        """
        return (), ()

    def mirror_clients(self, seen: SeenMirror) -> MirrorClients | None:
        """How a mirror that was seen reaches both clusters; None where nobody can tell."""
        return None

    def writes_to(self, mirror: Replication) -> str:
        """A topic at the target that nobody but the engine writes; empty for none."""
        return ""

    def managed(self, topology: Topology, seen: SeenMirror) -> tuple[Replication, str]:
        """The mirror as the file would have it to make exactly what was seen; else the reason why it cannot.

        `topology` holds both clusters with the addresses and `mirror_client`s that the mirror uses.
        """
        return seen.mirror, f"dcctl does not manage mirrors of {self.title}"


def engine_of(mirror: Replication) -> Engine:
    """The engine that the file gives a mirror. Raises `DcctlError` where there is none of that name."""
    return engine_named(mirror.engine)


def engine_named(name: str) -> Engine:
    """See `engine_of`."""
    declared = ENGINES.get(name)
    if declared is None:
        raise DcctlError(
            f"mirror engine {name}", "no engine has this name", "install the package that brings it"
        )
    return ENGINES.named(name, ENGINES.part(name, declared.engine, Engine))


def all_engines() -> tuple[Engine, ...]:
    """Those that are built in, then those of installed packages."""
    return tuple(map(engine_named, ENGINES.names()))


def all_rehearsed(client: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    """See `Engine.rehearsed`: of all engines that dcctl brings."""
    return {
        name: config
        for engine in map(engine_named, ENGINES.built_in)
        for name, config in engine.rehearsed(client).items()
    }
