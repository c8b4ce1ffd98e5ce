"""Which topics each cluster shall have, and where their copies shall lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from orchestrator.replication.engine import Engine, OwnTopic, engine_of
from orchestrator.replication.mirror_ref import ref_to
from orchestrator.topology.counterparts import maps_kept_at
from orchestrator.topology.flows import samples_topic
from orchestrator.topology.model import Cluster, Replication, Topic, Topology
from orchestrator.topology.standby import kept_for, standby_of

# file: as the file says · mirrored: written by a mirror · landing: where producers write after a failover ·
# mirror: its engine's own · watcher: ours · connect: the workers' own · kafka: Kafka's own
Role = Literal["file", "mirrored", "landing", "mirror", "watcher", "connect", "kafka"]

_COMPACT = {"cleanup.policy": "compact"}
_SAMPLES = {"cleanup.policy": "compact", "min.compaction.lag.ms": "3600000", "segment.ms": "600000"}
_OWN_REPLICAS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Which data centres hold how many replicas of each partition; of one with racks, which racks.

    `per_dc` says it exactly. Without it they lie as evenly as the brokers allow over `datacenters`.
    `is_explicit`: Kafka's own spread over racks would not see to it, so replicas are assigned one by one.
    """

    datacenters: tuple[str, ...]
    per_dc: Mapping[str, int] = field(default_factory=dict)
    is_explicit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredTopic:
    """One topic of one cluster. `config` holds only what shall differ from the brokers' settings.

    `origin` is the cluster and the topic that it is, or will be, the other side of. `partitions` is None
    where whoever makes the topic chooses; such a topic is compared once it is there (`must_exist`).
    """

    name: str
    role: Role
    partitions: int | None
    replicas: int
    config: Mapping[str, str]
    placement: Placement
    origin: tuple[str, str] | None = None
    must_exist: bool = True


def desired_topics(topology: Topology, cluster: str) -> dict[str, DesiredTopic]:
    """Every topic that `cluster` shall have, by name.

    At the source what the file says; at the target of a mirror the mirrored and the landing topics, equal
    in partitions and durability, and what the mirror and the watcher keep there. An engine takes topics that
    exist as they are; left alone it may make them less durable.
    """
    described = topology.clusters[cluster]
    topics = {
        topic.name: _application_topic(topic, described, "file") for topic in topology.topics_of(cluster)
    }
    for mirror in topology.replication:
        if mirror.target == cluster:
            for topic in _of_mirror(topology, mirror, described):
                _add(topics, topic)
    for consumer in topology.consumers:
        if cluster in {consumer.cluster, standby_of(topology, consumer)} or topology.mirror(
            consumer.cluster, cluster
        ):
            for kept in consumer.own_topics():
                _add(topics, _application_topic(kept, described, "file"))
    for topic in _kept(topology, cluster):
        _add(topics, topic)
    for own in _shared(topology, cluster):
        _add(topics, _own(own.name, described, own.config, "mirror"))
    for name, durability in described.internal_topics.items():
        config = {"min.insync.replicas": str(durability.min_insync_replicas)}
        topic = replace(
            _own(name, described, config, "kafka"),
            partitions=None,
            replicas=min(durability.replicas, described.brokers),
            must_exist=False,
        )
        _add(topics, topic)
    return topics


def _kept(topology: Topology, cluster: str) -> Iterator[DesiredTopic]:
    """What watchers keep there of clusters from which no mirror leads there, and maps that lie at others."""
    described = topology.clusters[cluster]
    for watched in kept_for(topology, cluster):
        if topology.mirror(watched, cluster) is None:
            yield _own(samples_topic(watched), described, _SAMPLES, "watcher")
    for mirror in maps_kept_at(topology, cluster):
        engine = engine_of(mirror)
        for own in engine.topics(topology, mirror):
            if own.name == engine.map_topic(mirror):
                yield _own(mirror.kept_map_topic, described, own.config, "watcher")


def _of_mirror(topology: Topology, mirror: Replication, target: Cluster) -> Iterator[DesiredTopic]:
    for name in mirror.topics:
        topic = described_topic(topology, mirror.source, name)
        if topic is None:
            continue
        origin = (mirror.source, name)
        if mirror.managed:
            yield _mirrored_topic(mirror, topic, origin, target)
        # What was mirrored into the source has its producers elsewhere: nobody lands here with it.
        is_foreign = not mirror.managed and mirror.mirrored_topic(name) == name
        if topology.topic(name, mirror.source) is not None and not is_foreign:
            landing = _application_topic(topic, target, "landing", origin=origin)
            yield landing if mirror.managed else replace(landing, must_exist=False)
    # Beside a mirror of somebody else's nothing is made, either.
    yield replace(_own(mirror.samples_topic, target, _SAMPLES, "watcher"), must_exist=mirror.managed)
    if not mirror.managed:
        return
    engine = engine_of(mirror)
    for own in engine.topics(topology, mirror):
        yield _own(own.name, target, own.config, "mirror")
    workers = engine.workers(ref_to(mirror))
    for kind, name in connect_topics(workers).items() if workers else ():
        partitions = 3 if kind == "offset.storage.topic" else 1
        # A worker makes them itself when it starts, and its file may call them otherwise.
        yield replace(_own(name, target, _COMPACT, "connect"), partitions=partitions, must_exist=False)


def _mirrored_topic(
    mirror: Replication, topic: Topic, origin: tuple[str, str], target: Cluster
) -> DesiredTopic:
    """As the source's, but for what the mirror says of its own."""
    copy = _application_topic(topic, target, "mirrored", origin=origin, name=mirror.mirrored_topic(origin[1]))
    if not (mirror.replicas or mirror.min_insync_replicas or mirror.topic_config):
        return copy
    replicas = min(mirror.replicas or topic.replicas, target.brokers)
    in_sync = min(mirror.min_insync_replicas or topic.min_insync_replicas, replicas)
    config = {"min.insync.replicas": str(in_sync), **topic.config, **mirror.topic_config}
    return replace(copy, replicas=replicas, config=config)


def described_topic(topology: Topology, cluster: str, name: str) -> Topic | None:
    """The topic of the file that is called `name` at `cluster`, there or where it was mirrored from."""
    return _described(topology, cluster, name, frozenset())


def _described(topology: Topology, cluster: str, name: str, seen: frozenset[str]) -> Topic | None:
    own = topology.topic(name, cluster)
    if own is not None or cluster in seen:
        return own
    for mirror in topology.replication:
        if mirror.target != cluster:
            continue
        for original in mirror.topics:
            if mirror.mirrored_topic(original) == name:
                found = _described(topology, mirror.source, original, seen | {cluster})
                if found is not None:
                    return found
    return None


def _shared(topology: Topology, cluster: str) -> Iterator[OwnTopic]:
    """What the engines of mirrors out of and into a cluster keep there for all of these together."""
    engines: dict[str, Engine] = {}
    for mirror in topology.replication:
        if mirror.managed and cluster in {mirror.source, mirror.target}:
            engines.setdefault(mirror.engine, engine_of(mirror))
    for engine in engines.values():
        yield from engine.shared_topics(topology, cluster)


def connect_topics(cluster: str) -> dict[str, str]:
    """The three internal topics of a cluster's Connect workers: property -> topic."""
    return {
        f"{kind}.storage.topic": f"connect-{cluster}-{suffix}"
        for kind, suffix in (("config", "configs"), ("offset", "offsets"), ("status", "status"))
    }


def _add(topics: dict[str, DesiredTopic], topic: DesiredTopic) -> None:
    """Several mirrors may need the same topic: it has room for each, and what the file says goes first."""
    known = topics.get(topic.name)
    if known is None:
        topics[topic.name] = topic
    elif known.role == topic.role == "landing" and known.partitions and topic.partitions:
        topics[topic.name] = replace(known, partitions=max(known.partitions, topic.partitions))


def _application_topic(
    topic: Topic, cluster: Cluster, role: Role, *, origin: tuple[str, str] | None = None, name: str = ""
) -> DesiredTopic:
    replicas = min(topic.replicas, cluster.brokers)
    in_sync = min(topic.min_insync_replicas, replicas)
    return DesiredTopic(
        name=name or topic.name,
        role=role,
        partitions=topic.partitions,
        replicas=replicas,
        config={"min.insync.replicas": str(in_sync), **topic.config},
        placement=_placement(topic, cluster, is_copy=origin is not None),
        origin=origin,
    )


def _placement(topic: Topic, cluster: Cluster, *, is_copy: bool) -> Placement:
    """Numbers for each data centre are of the cluster where the topic is at home, not of its copies."""
    if cluster.racks:
        return Placement(datacenters=tuple(cluster.brokers_per_rack))
    with_brokers = tuple(cluster.brokers_per_dc)
    wanted = {dc: count for dc, count in topic.replicas_per_dc.items() if count} if not is_copy else {}
    if wanted:
        return Placement(datacenters=tuple(wanted), per_dc=wanted, is_explicit=len(with_brokers) > 1)
    allowed = tuple(dc for dc in with_brokers if not topic.residency or dc in topic.residency)
    if not allowed:
        # A rule of the file has said so already; there is no better place.
        allowed = with_brokers
    return Placement(datacenters=allowed, is_explicit=len(allowed) < len(with_brokers))


def _own(name: str, cluster: Cluster, config: Mapping[str, str], role: Role) -> DesiredTopic:
    return DesiredTopic(
        name=name,
        role=role,
        partitions=1,
        replicas=min(_own_replicas(cluster), cluster.brokers),
        config=config,
        placement=Placement(datacenters=tuple(cluster.brokers_per_rack)),
    )


def _own_replicas(cluster: Cluster) -> int:
    """Three, or two in each of two data centres: three would leave one of them with a single copy."""
    return 4 if len(cluster.brokers_per_dc) == 2 else _OWN_REPLICAS
