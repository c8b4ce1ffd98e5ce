"""What the file names it also has: data centres, clusters, topics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from orchestrator.topology.model import KAFKA_INTERNAL_TOPICS, Cluster, Consumer, Producer, Topology
from orchestrator.topology.rules.rule import Finding, Rule, nearest, rule
from orchestrator.topology.source import Path

# Beyond these, one more suggestion helps nobody and costs a comparison with every name.
_SUGGESTIONS = 5


@rule(
    "datacenters-exist",
    "error",
    "Every data centre that is named is listed under datacenters",
    "A misspelt data centre would count as one more site, and every answer about losses would be wrong.",
)
def datacenters_exist(topology: Topology) -> Iterator[Finding]:
    """Wherever a data centre can be named."""
    known = set(topology.datacenters)
    for path, dc in _named_datacenters(topology):
        if dc not in known:
            yield Finding(
                path,
                f"there is no data centre `{dc}`",
                _hint(dc, known),
            )


def _hint(dc: str, known: set[str]) -> str:
    near, add = nearest(dc, known), f"add `{dc}` to datacenters"
    return f"{add}; or {near}"


def applications(topology: Topology) -> Iterator[tuple[Path, Producer | Consumer]]:
    """Every producer and consumer, with where it stands in the file."""
    yield from ((("producers", index), one) for index, one in enumerate(topology.producers))
    yield from ((("consumers", index), one) for index, one in enumerate(topology.consumers))


def _named_by_flows(topology: Topology) -> Iterator[tuple[Path, str]]:
    for index, topic in enumerate(topology.topics):
        for dc in topic.replicas_per_dc:
            yield ("topics", index, "replicas_per_dc", dc), dc
        for number, dc in enumerate(topic.residency):
            yield ("topics", index, "residency", number), dc
    for path, application in applications(topology):
        for dc in application.instances:
            yield (*path, "instances", dc), dc


def _named_datacenters(topology: Topology) -> Iterator[tuple[Path, str]]:
    for name, cluster in topology.clusters.items():
        for index, row in enumerate(cluster.nodes):
            yield ("clusters", name, "nodes", index, "dc"), row.dc
    yield from _named_by_flows(topology)
    for index, link in enumerate(topology.links):
        for number, dc in enumerate(link.between):
            yield ("links", index, "between", number), dc
    if topology.coordination:
        for number, dc in enumerate(topology.coordination.datacenters):
            yield ("coordination", "datacenters", number), dc


@rule(
    "datacenters-used",
    "warning",
    "Every data centre holds something",
    "A site without a server changes no answer; it was forgotten, or misspelt elsewhere.",
)
def datacenters_used(topology: Topology) -> Iterator[Finding]:
    """Listed data centres without any server of a cluster or of the coordination ensemble."""
    used = {row.dc for cluster in topology.clusters.values() for row in cluster.nodes}
    used |= set(topology.coordination.datacenters if topology.coordination else ())
    if not used <= set(topology.datacenters):
        return  # one of them is misspelt, and that is said already
    for index, dc in enumerate(topology.datacenters):
        if dc not in used:
            yield Finding(
                ("datacenters", index),
                f"data centre `{dc}` holds no server",
                "add a nodes row for it, or remove it",
            )


@rule(
    "clusters-exist",
    "error",
    "Every cluster that is named is described under clusters",
    "Nothing can be said of a topic or a client whose cluster is not known.",
)
def clusters_exist(topology: Topology) -> Iterator[Finding]:
    """Wherever a cluster can be named."""
    for kind, keys in _CLUSTER_KEYS.items():
        for index, item in enumerate(getattr(topology, kind)):
            for key in keys:
                yield from _no_cluster(topology, (kind, index, key), getattr(item, key))
    for name, cluster in topology.clusters.items():
        yield from _no_cluster(topology, ("clusters", name, "standby"), cluster.standby)


def _no_cluster(topology: Topology, path: Path, name: str | None) -> Iterator[Finding]:
    if name is not None and name not in topology.clusters:
        yield Finding(path, f"there is no cluster `{name}`", nearest(name, topology.clusters))


_CLUSTER_KEYS = {
    "topics": ("cluster",),
    "replication": ("source", "target"),
    "producers": ("cluster", "standby"),
    "consumers": ("cluster", "standby"),
}


@rule(
    "topics-exist",
    "error",
    "Every topic that is mirrored, written or read is described",
    "Its durability decides what a loss costs; that of a topic that is not described is unknown.",
)
def topics_exist(topology: Topology) -> Iterator[Finding]:
    """At that cluster: produced there, or mirrored into it."""
    left = _SUGGESTIONS
    for path, name, cluster, known in _named_topics(topology):
        if name not in known:
            yield Finding(
                path,
                f"there is no topic `{name}` at cluster `{cluster}`",
                nearest(name, known) if left else "",
            )
            left -= bool(left)


def _named_topics(topology: Topology) -> Iterator[tuple[Path, str, str, Collection[str]]]:
    landing: dict[str, set[str]] = {}
    for mirror in topology.replication:
        landing.setdefault(mirror.target, set()).update(mirror.topics)
    users: Iterable[tuple[str, Iterable[tuple[str, tuple[str, ...]]]]] = (
        ("replication", ((mirror.source, mirror.topics) for mirror in topology.replication)),
        ("producers", ((producer.cluster, producer.topics) for producer in topology.producers)),
        ("consumers", ((consumer.cluster, consumer.topics) for consumer in topology.consumers)),
    )
    for section, items in users:
        for index, (cluster, topics) in enumerate(items):
            if cluster in topology.clusters:
                known: Collection[str] = topology.names_at(cluster).keys()
                for number, name in enumerate(topics):
                    # A standby consumer also reads where producers will write after a failover.
                    if section != "consumers" or name not in landing.get(cluster, ()):
                        yield (section, index, "topics", number), name, cluster, known


@rule(
    "internal-topics-known",
    "error",
    "internal_topics names topics that Kafka keeps for itself",
    "Durability stated for a topic that Kafka does not have protects nothing.",
)
def internal_topics_known(topology: Topology) -> Iterator[Finding]:
    """Misspelt internal topics."""
    for cluster, described in topology.clusters.items():
        for name in described.internal_topics:
            if name not in KAFKA_INTERNAL_TOPICS:
                message = f"Kafka has no internal topic `{name}`"
                hint = nearest(name, KAFKA_INTERNAL_TOPICS).replace("the file has", "Kafka has")
                yield Finding(("clusters", cluster, "internal_topics", name), message, hint)


@rule(
    "not-empty",
    "error",
    "No list that must name something is empty",
    "A mirror of nothing or a producer to nothing is a mistake that would go unnoticed.",
)
def not_empty(topology: Topology) -> Iterator[Finding]:
    """Empty lists of data centres, clusters, nodes and topics."""
    for key in ("datacenters", "clusters"):
        if not getattr(topology, key):
            yield Finding((key,), f"{key} is empty", "name at least one")
    for name, cluster in topology.clusters.items():
        yield from _empty_rows(name, cluster)
    for index, mirror in enumerate(topology.replication):
        if not mirror.topics and not mirror.patterns:
            message = f"the mirror from `{mirror.source}` to `{mirror.target}` copies no topic"
            yield Finding(("replication", index, "topics"), message, "list the topics by name")
    for index, producer in enumerate(topology.producers):
        if not producer.topics:
            message = f"producer `{producer.name}` writes to no topic"
            yield Finding(("producers", index, "topics"), message, "name its topics")


def _empty_rows(name: str, cluster: Cluster) -> Iterator[Finding]:
    path: Path = ("clusters", name, "nodes")
    if not cluster.nodes:
        yield Finding(path, f"cluster `{name}` has no nodes", "add a row for a data centre")
    for index, row in enumerate(cluster.nodes):
        if not (row.brokers or row.controllers or row.zookeepers or row.connect_workers):
            message = f"cluster `{name}` has no server in `{row.dc}`"
            hint = "say how many brokers, controllers, zookeepers or connect_workers, or remove the row"
            yield Finding((*path, index), message, hint)


RULES: tuple[Rule, ...] = (
    datacenters_exist,
    datacenters_used,
    clusters_exist,
    topics_exist,
    internal_topics_known,
    not_empty,
)
