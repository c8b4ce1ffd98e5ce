"""How often a record is stored, and where: replicas, min.insync.replicas, placement."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.topology.model import KAFKA_INTERNAL_TOPICS, InternalTopic, Topology
from orchestrator.topology.rules.rule import Finding, Rule, quoted, rule
from orchestrator.topology.source import Path
from orchestrator.wording import plural


@rule(
    "replicas-fit",
    "error",
    "A topic has no more replicas than its cluster has brokers",
    "A broker holds at most one replica of a partition; Kafka refuses to create the topic.",
)
def replicas_fit(topology: Topology) -> Iterator[Finding]:
    """Topics, internal topics and mirrored topics."""
    brokers = {name: cluster.brokers for name, cluster in topology.clusters.items()}
    for index, topic in enumerate(topology.topics):
        have = brokers.get(topic.cluster)
        if have and topic.replicas > have:
            message = (
                f"`{topic.name}` has {plural(topic.replicas, 'replica')}; "
                f"cluster `{topic.cluster}` has {plural(have, 'broker')}"
            )
            yield Finding(("topics", index, "replicas"), message, "add brokers or lower replicas")
    for name, cluster in topology.clusters.items():
        for internal, durability in cluster.internal_topics.items():
            if 0 < brokers[name] < durability.replicas:
                message = (
                    f"`{internal}` has {plural(durability.replicas, 'replica')}; "
                    f"cluster `{name}` has {plural(brokers[name], 'broker')}"
                )
                path: Path = ("clusters", name, "internal_topics", internal, "replicas")
                yield Finding(path, message, "add brokers or lower replicas")
    for index, mirror in enumerate(topology.replication):
        have = brokers.get(mirror.target)
        if have and mirror.replicas is not None and mirror.replicas > have:
            message = (
                f"the mirrored topics have {plural(mirror.replicas, 'replica')}; "
                f"cluster `{mirror.target}` has {plural(have, 'broker')}"
            )
            yield Finding(("replication", index, "replicas"), message, "add brokers or lower replicas")


@rule(
    "mirrored-replicas-fit",
    "error",
    "The target of a mirror has brokers enough for the mirrored topics",
    "They are created with the replicas of the source unless the mirror says otherwise.",
)
def mirrored_replicas_fit(topology: Topology) -> Iterator[Finding]:
    """Where the mirror says nothing and the source's replicas do not fit."""
    for index, mirror in enumerate(topology.replication):
        target = topology.clusters.get(mirror.target)
        if target is None or not target.brokers or mirror.replicas is not None:
            continue
        known = (topology.topic(name, mirror.source) for name in mirror.topics)
        tallest = max((topic for topic in known if topic), key=lambda topic: topic.replicas, default=None)
        if tallest is not None and tallest.replicas > target.brokers:
            message = (
                f"`{tallest.name}` has {plural(tallest.replicas, 'replica')} at `{mirror.source}`; "
                f"`{mirror.target}` has {plural(target.brokers, 'broker')} for its copy"
            )
            hint = f"add `replicas: {target.brokers}` to the mirror, or brokers to `{mirror.target}`"
            yield Finding(("replication", index, "target"), message, hint)


@rule(
    "min-insync-fits",
    "error",
    "min_insync_replicas is not above replicas",
    "With acks=all no write would ever be accepted.",
)
def min_insync_fits(topology: Topology) -> Iterator[Finding]:
    """Topics, internal topics and mirrors."""
    for index, topic in enumerate(topology.topics):
        if topic.min_insync_replicas > topic.replicas:
            yield _unmeetable(("topics", index), f"`{topic.name}`", topic.min_insync_replicas, topic.replicas)
    for name, cluster in topology.clusters.items():
        for internal, durability in cluster.internal_topics.items():
            if durability.min_insync_replicas > durability.replicas:
                path: Path = ("clusters", name, "internal_topics", internal)
                needed = durability.min_insync_replicas
                yield _unmeetable(path, f"`{internal}`", needed, durability.replicas)
    for index, mirror in enumerate(topology.replication):
        if mirror.replicas and (mirror.min_insync_replicas or 0) > mirror.replicas:
            path, needed = ("replication", index), mirror.min_insync_replicas or 0
            yield _unmeetable(path, "the mirror", needed, mirror.replicas)


def _unmeetable(path: Path, what: str, needed: int, replicas: int) -> Finding:
    message = f"{what} has min_insync_replicas {needed} above its {plural(replicas, 'replica')}"
    return Finding((*path, "min_insync_replicas"), message, "with acks=all no write would ever be accepted")


@rule(
    "placement-fits",
    "error",
    "replicas_per_dc can be had: it adds up, and each site has brokers for its share",
    "Kafka does not check an assignment by hand; an impossible one fails only when it is applied.",
)
def placement_fits(topology: Topology) -> Iterator[Finding]:
    """Only topics that say where their replicas lie."""
    for index, topic in enumerate(topology.topics):
        cluster = topology.clusters.get(topic.cluster)
        if not topic.replicas_per_dc or cluster is None:
            continue
        path: Path = ("topics", index, "replicas_per_dc")
        total = sum(topic.replicas_per_dc.values())
        if total != topic.replicas:
            message = f"replicas_per_dc of `{topic.name}` adds up to {total}; replicas is {topic.replicas}"
            yield Finding(path, message, f"make it add up to {topic.replicas}")
        brokers = cluster.brokers_per_dc
        for dc, wanted in topic.replicas_per_dc.items():
            if dc in topology.datacenters and wanted > (have := brokers.get(dc, 0)):
                message = (
                    f"`{topic.name}` wants {plural(wanted, 'replica')} in `{dc}`; "
                    f"cluster `{topic.cluster}` has {plural(have, 'broker')} there"
                )
                yield Finding((*path, dc), message, f"brokers stand in {quoted(brokers)}")


@rule(
    "replicas-single",
    "warning",
    "A topic has more than one replica",
    "The loss of one broker's disk would be the loss of its records.",
)
def replicas_single(topology: Topology) -> Iterator[Finding]:
    """Topics with one replica, where the cluster has more brokers than that."""
    for index, topic in enumerate(topology.topics):
        cluster = topology.clusters.get(topic.cluster)
        if topic.replicas == 1 and cluster is not None and cluster.brokers > 1:
            message = f"`{topic.name}` has one replica: the loss of one broker loses its records"
            yield Finding(("topics", index, "replicas"), message, "three are usual")


@rule(
    "min-insync-low",
    "warning",
    "An acknowledged record is on more than one broker",
    "With min.insync.replicas 1 a record may be acknowledged by the leader alone, and die with it.",
)
def min_insync_low(topology: Topology) -> Iterator[Finding]:
    """Replicated topics of which one copy is enough for an acknowledgement."""
    for index, topic in enumerate(topology.topics):
        cluster = topology.clusters.get(topic.cluster)
        prefer = topic.prefer or (cluster.prefer if cluster else "consistency")
        if topic.replicas > 1 and topic.min_insync_replicas == 1 and prefer == "consistency":
            message = f"`{topic.name}` may acknowledge a record that only its leader holds"
            hint = "take min_insync_replicas: 2, or say prefer: availability"
            yield Finding(("topics", index, "min_insync_replicas"), message, hint)


@rule(
    "no-spare-replica",
    "warning",
    "A topic can do without one replica",
    "Where every replica must be in sync, the restart of one broker stops all writes with acks=all.",
)
def no_spare_replica(topology: Topology) -> Iterator[Finding]:
    """min.insync.replicas as high as replicas."""
    for index, topic in enumerate(topology.topics):
        if topic.replicas > 1 and topic.min_insync_replicas == topic.replicas:
            message = f"`{topic.name}` takes no write while one of its {topic.replicas} replicas is away"
            hint = f"take min_insync_replicas: {topic.replicas - 1}, or one replica more"
            yield Finding(("topics", index, "min_insync_replicas"), message, hint)


@rule(
    "internal-topics-fit",
    "warning",
    "A cluster has brokers enough for Kafka's own topics",
    "Kafka's defaults want three; with fewer, __consumer_offsets cannot be created, and no group can work.",
)
def internal_topics_fit(topology: Topology) -> Iterator[Finding]:
    """Clusters too small for the defaults that do not say otherwise."""
    for name, cluster in topology.clusters.items():
        brokers = cluster.brokers
        for internal in ("__consumer_offsets", "__transaction_state"):
            wanted = KAFKA_INTERNAL_TOPICS[internal].replicas
            if internal not in cluster.internal_topics and 0 < brokers < wanted:
                message = (
                    f"`{internal}` has {plural(wanted, 'replica')} by default; "
                    f"cluster `{name}` has {plural(brokers, 'broker')}"
                )
                spared = f"{{replicas: {brokers}, min_insync_replicas: {_usual(brokers, internal)}}}"
                hint = f"add internal_topics: {{{internal}: {spared}}}"
                yield Finding(("clusters", name), message, hint)


def _usual(brokers: int, internal: str) -> int:
    return min(brokers, KAFKA_INTERNAL_TOPICS.get(internal, InternalTopic()).min_insync_replicas)


RULES: tuple[Rule, ...] = (
    replicas_fit,
    mirrored_replicas_fit,
    min_insync_fits,
    placement_fits,
    replicas_single,
    min_insync_low,
    no_spare_replica,
    internal_topics_fit,
)
