"""What decides the fate of a topic. Topics of equal shape share one computation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from orchestrator.topology.model import Cluster, Replication, Topic, Topology

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
INTERNAL_TOPICS = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything about a topic that its fate depends on.

    `spread` is its `replicas_per_dc`, empty where Kafka places by rack; `residency` the data centres to
    which an even spread is confined, empty for all; `weak_producers` are the applications that do not wait
    for all in-sync replicas; `copies` are the mirrored topics that it is copied to, the nearest first.
    `is_seen` is false where the file says that nobody could see it.
    """

    cluster: str
    replicas: int
    min_insync_replicas: int
    spread: tuple[tuple[str, int], ...] = ()
    residency: tuple[str, ...] = ()
    is_unclean: bool = False
    weak_producers: tuple[str, ...] = ()
    copies: tuple[Shape, ...] = ()
    is_seen: bool = True


def shapes_of(topology: Topology) -> Mapping[str, Mapping[str, Shape]]:
    """The shape of every topic under the cluster where it is produced, Kafka's own topics last."""
    weak = _weak_producers(topology)
    copies = _copies(topology)
    shapes: dict[str, dict[str, Shape]] = {name: {} for name in topology.clusters}
    for topic in topology.topics:
        shapes[topic.cluster][topic.name] = Shape(
            cluster=topic.cluster,
            replicas=topic.replicas,
            min_insync_replicas=_min_insync_replicas(topic.config, topic.min_insync_replicas),
            spread=_spread(topic, topology.clusters[topic.cluster]),
            residency=_residency(topic, topology.clusters[topic.cluster]),
            is_unclean=_is_unclean(topic.config),
            weak_producers=weak.get((topic.cluster, topic.name), ()),
            copies=copies(topic),
        )
    for name, cluster in topology.clusters.items():
        for internal in INTERNAL_TOPICS:
            shapes[name][internal] = _internal(name, cluster, internal)
    return shapes


def _min_insync_replicas(config: Mapping[str, str], stated: int) -> int:
    """What Kafka gets: an entry in the configuration is the last word."""
    configured = config.get("min.insync.replicas", "")
    return int(configured) if configured.isdecimal() else stated


def _spread(topic: Topic, cluster: Cluster) -> tuple[tuple[str, int], ...]:
    """Numbers for each data centre say nothing of its racks: Kafka spreads over these."""
    return () if cluster.racks else tuple((dc, n) for dc, n in topic.replicas_per_dc.items() if n)


def _residency(topic: Topic, cluster: Cluster) -> tuple[str, ...]:
    """Where `apply` spreads it evenly, if that is not everywhere."""
    everywhere = cluster.brokers_per_dc
    allowed = tuple(dc for dc in everywhere if dc in topic.residency)
    return allowed if len(allowed) < len(everywhere) else ()


def _is_unclean(config: Mapping[str, str]) -> bool:
    return config.get("unclean.leader.election.enable", "").lower() == "true"


def _internal(name: str, cluster: Cluster, topic: str) -> Shape:
    """As the file says; else Kafka's default, as far as there are brokers for it."""
    durability = cluster.internal_topic(topic)
    most = durability.replicas if topic in cluster.internal_topics else cluster.brokers
    replicas = min(durability.replicas, most)
    return Shape(
        cluster=name,
        replicas=replicas,
        min_insync_replicas=min(durability.min_insync_replicas, replicas),
        is_seen="internal-topics" not in cluster.unknown or topic in cluster.internal_topics,
    )


def _weak_producers(topology: Topology) -> Mapping[tuple[str, str], tuple[str, ...]]:
    weak: dict[tuple[str, str], tuple[str, ...]] = defaultdict(tuple)
    for producer in topology.producers:
        if producer.acks != "all":
            for topic in producer.topics:
                weak[producer.cluster, topic] += (f"{producer.name} (acks={producer.acks})",)
    return weak


def _copies(topology: Topology) -> Callable[[Topic], tuple[Shape, ...]]:
    """A function from a topic to its mirrored topics, over mirrors of mirrors, too."""
    mirrors: dict[str, list[tuple[Replication, frozenset[str]]]] = defaultdict(list)
    for mirror in topology.replication:
        mirrors[mirror.source].append((mirror, frozenset(mirror.topics)))

    def onward(cluster: str, topic: str) -> Iterator[tuple[Replication, str]]:
        for mirror, topics in mirrors[cluster]:
            if topic in topics:
                yield mirror, mirror.mirrored_topic(topic)

    def copies(topic: Topic) -> tuple[Shape, ...]:
        found: dict[str, Shape] = {}
        waiting = list(onward(topic.cluster, topic.name))
        while waiting:
            mirror, name = waiting.pop(0)
            if mirror.target != topic.cluster and mirror.target not in found:
                found[mirror.target] = _copy(topic, mirror, topology.clusters[mirror.target])
                waiting += onward(mirror.target, name)
        return tuple(found.values())

    return copies


def _copy(topic: Topic, mirror: Replication, target: Cluster) -> Shape:
    """A mirrored topic is as its source unless the mirror says more, as far as the target has brokers."""
    config = {**topic.config, **mirror.topic_config}
    replicas = min(mirror.replicas or topic.replicas, target.brokers)
    stated = mirror.min_insync_replicas or topic.min_insync_replicas
    return Shape(
        cluster=mirror.target,
        replicas=replicas,
        min_insync_replicas=min(_min_insync_replicas(config, stated), replicas),
        residency=_residency(topic, target),
        is_unclean=_is_unclean(config),
    )
