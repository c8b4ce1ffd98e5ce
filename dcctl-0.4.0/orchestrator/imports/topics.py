"""Topics of an estate: which are the applications' own, and how durable they and Kafka's own are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from orchestrator.estate.observed import ObservedTopic
from orchestrator.imports.seen import INTERNAL_TOPICS_TOLD_BY, SeenCluster, SeenEstate
from orchestrator.imports.technical import application_topics
from orchestrator.topology.model import Cluster, InternalTopic, Replication, Topic

_MIN_INSYNC = "min.insync.replicas"


def own_topics(seen: SeenCluster, mirrors: Iterable[Replication], estate: SeenEstate) -> tuple[str, ...]:
    """Names of the topics that applications produce at this cluster, as far as names tell.

    What a mirror brings is not; nor is the twin of a mirrored topic that waits for its producers to land
    after a failover, which only the file's own mirrors have.
    """
    into = [mirror for mirror in mirrors if mirror.target == seen.name]
    out_of = {name for mirror in mirrors if mirror.source == seen.name for name in mirror.topics}
    mirrored = {mirror.mirrored_topic(name) for mirror in into for name in mirror.topics}
    landing = {name for mirror in into if mirror.managed for name in mirror.topics} - out_of
    return tuple(sorted(application_topics(seen, estate) - mirrored - landing))


def described_topic(
    seen: SeenCluster, name: str, datacenters: Mapping[int, str]
) -> tuple[Topic, tuple[str, ...]]:
    """One topic as the file says it. `datacenters`: that of each broker, empty where it does not matter."""
    found = seen.observed.topics[name]
    counts = Counter(len(replicas) for replicas in found.replicas)
    # As most partitions have it; of equals the most.
    usual = max(counts, key=lambda count: (counts[count], count))
    notes = []
    if len(counts) > 1:
        said = ", ".join(f"{count} on {number}" for count, number in sorted(counts.items()))
        notes.append(f"topic {name} of {seen.name} has unequal numbers of replicas ({said} partitions)")
    topic = Topic(
        name=name,
        cluster=seen.name,
        partitions=found.partitions,
        replicas=usual,
        min_insync_replicas=min_insync_replicas(seen, found),
        replicas_per_dc=_uneven_spread(found, datacenters),
        config={key: value for key, value in sorted(found.config.items()) if key != _MIN_INSYNC},
    )
    return topic, tuple(notes)


def min_insync_replicas(seen: SeenCluster, found: ObservedTopic) -> int:
    """What is in force for the topic: its own setting, else the cluster's."""
    return int(found.config.get(_MIN_INSYNC) or seen.observed.topic_defaults.get(_MIN_INSYNC) or 1)


def _uneven_spread(found: ObservedTopic, datacenters: Mapping[int, str]) -> dict[str, int]:
    """Replicas in each data centre, where all partitions agree on other than an even spread."""
    sites = set(datacenters.values())
    if len(sites) < 2 or any(broker not in datacenters for ids in found.replicas for broker in ids):
        return {}
    spreads = {
        tuple(sorted(Counter(datacenters[broker] for broker in ids).items())) for ids in found.replicas
    }
    if len(spreads) != 1:
        return {}
    spread = dict(spreads.pop())
    counts = [spread.get(dc, 0) for dc in sites]
    # Where no data centre has room for more than it has, an even spread ends there as well.
    room = Counter(datacenters.values())
    poorest = min((spread.get(dc, 0) for dc in sites if spread.get(dc, 0) < room[dc]), default=max(counts))
    is_even = max(counts) - poorest <= 1
    # Always the same data centre with one more is no accident.
    is_always_the_same = len(set(counts)) > 1 and len(found.replicas) > 1
    return {} if is_even and not is_always_the_same else spread


def described_copies(
    mirror: Replication, target: SeenCluster, topics: Mapping[str, Topic]
) -> tuple[Replication, tuple[str, ...]]:
    """The mirror with what its copies have that is not as at the source, where it is one for all of them."""
    replicas, in_sync = set(), set()
    extra: list[dict[str, str]] = []
    for name in mirror.topics:
        copy = target.observed.topics.get(mirror.mirrored_topic(name))
        if copy is None or name not in topics:
            continue
        replicas |= {(topics[name].replicas, len(ids)) for ids in copy.replicas}
        in_sync.add((topics[name].min_insync_replicas, min_insync_replicas(target, copy)))
        config = {key: value for key, value in copy.config.items() if key != _MIN_INSYNC}
        extra.append({key: value for key, value in config.items() if topics[name].config.get(key) != value})
    common = dict(set.intersection(*(set(one.items()) for one in extra))) if extra else {}
    described = replace(
        mirror,
        replicas=_other(replicas),
        min_insync_replicas=_other(in_sync),
        topic_config=dict(sorted(common.items())),
    )
    differ = [
        what
        for what, pairs, value in (
            ("replicas", replicas, described.replicas),
            ("min.insync.replicas", in_sync, described.min_insync_replicas),
        )
        if value is None and any(there != here for here, there in pairs)
    ]
    between = f"{mirror.source} -> {mirror.target}"
    notes = [
        f"copies of the mirror {between} differ from their source in {what}, each in its own way"
        for what in differ
    ]
    return described, tuple(notes)


def _other(pairs: set[tuple[int, int]]) -> int | None:
    """The one value of all copies, if it is not simply that of their sources."""
    values = {there for _, there in pairs}
    if len(values) != 1 or all(here == there for here, there in pairs):
        return None
    return values.pop()


def internal_topics(seen: SeenCluster) -> tuple[dict[str, InternalTopic], bool]:
    """Durability of Kafka's own topics, and whether all of it is known.

    Of a topic that is there, its own; of one that comes with its first use, what the brokers will give it.
    """
    found: dict[str, InternalTopic] = {}
    brokers = len(seen.observed.brokers)
    for name, (replicas_key, in_sync_key) in INTERNAL_TOPICS_TOLD_BY.items():
        topic = seen.observed.topics.get(name)
        if topic is not None:
            replicas = min(len(ids) for ids in topic.replicas)
            found[name] = InternalTopic(
                replicas=replicas, min_insync_replicas=min_insync_replicas(seen, topic)
            )
        elif replicas_key in seen.settings and brokers:
            replicas = min(int(seen.settings[replicas_key]), brokers)
            in_sync = int(seen.settings.get(in_sync_key, "1"))
            found[name] = InternalTopic(replicas=replicas, min_insync_replicas=min(in_sync, replicas))
    is_known = {"__consumer_offsets", "__transaction_state"} <= found.keys()
    return found, is_known


def without_defaults(cluster: Cluster) -> Cluster:
    """The cluster without durability of internal topics that is Kafka's default anyway."""
    plain = replace(cluster, internal_topics={})
    kept = {
        name: durability
        for name, durability in cluster.internal_topics.items()
        if durability != plain.internal_topic(name)
    }
    return replace(cluster, internal_topics=kept)
