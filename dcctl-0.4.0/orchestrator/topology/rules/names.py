"""Names that can stand side by side: in the file, and in Kafka."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from orchestrator.topology.model import KAFKA_INTERNAL_TOPICS, Topology
from orchestrator.topology.rules.rule import Finding, Rule, rule
from orchestrator.topology.source import Path


@rule(
    "names-unique",
    "error",
    "Nothing stands twice",
    "Of two entries with one name, only one would be looked at.",
)
def names_unique(topology: Topology) -> Iterator[Finding]:
    """Data centres, topics of a cluster, producers, consumers, mirrors, links and topics within a list."""
    yield from _twice("datacenters", topology.datacenters, topology.datacenters, ())
    topics = [(topic.name, topic.cluster) for topic in topology.topics]
    yield from _twice("topics", topics, [topic.name for topic in topology.topics], ("name",))
    for kind in ("producers", "consumers"):
        names = [item.name for item in getattr(topology, kind)]
        yield from _twice(kind, names, names, ("name",))
    ends = [(mirror.source, mirror.target) for mirror in topology.replication]
    yield from _twice("replication", ends, [f"{source} → {target}" for source, target in ends], ("source",))
    links = [frozenset(link.between) for link in topology.links]
    yield from _twice("links", links, [" – ".join(sorted(link)) for link in links], ())
    for kind in ("replication", "producers", "consumers"):
        for index, item in enumerate(getattr(topology, kind)):
            for number in _repeated(item.topics):
                message = f"the topic `{item.topics[number]}` stands more than once in one list"
                yield Finding((kind, index, "topics", number), message, "keep one of them")


def _twice(kind: str, keys: Sequence[Hashable], names: Sequence[str], below: Path) -> Iterator[Finding]:
    seen = Counter(keys)
    for index, (key, name) in enumerate(zip(keys, names, strict=True)):
        if seen[key] > 1:
            hint = "rename one" if below == ("name",) else "keep one of them"
            message = f"`{name}` stands more than once under {kind}"
            yield Finding((kind, index, *below), message, hint)


def _repeated(names: Sequence[str]) -> list[int]:
    """Indexes of names that stood before in the same list."""
    if len(set(names)) == len(names):
        return []
    seen: set[str] = set()
    return [index for index, name in enumerate(names) if name in seen or seen.add(name)]  # type: ignore[func-returns-value]


@rule(
    "topic-name",
    "error",
    "A topic's name is one that applications may give to a topic",
    "Kafka refuses `.` and `..`; names with two underscores in front are its own.",
)
def topic_name(topology: Topology) -> Iterator[Finding]:
    """Reserved and impossible names (`org.apache.kafka.common.internals.Topic`)."""
    for index, topic in enumerate(topology.topics):
        path: Path = ("topics", index, "name")
        if topic.name in (".", ".."):
            yield Finding(path, f"a topic cannot be called `{topic.name}`", "rename it")
        elif topic.name in KAFKA_INTERNAL_TOPICS or topic.name == "__cluster_metadata":
            message = f"`{topic.name}` is Kafka's own"
            yield Finding(path, message, "state its durability under the cluster's internal_topics")


@rule(
    "topic-name-collision",
    "error",
    "No two topics of a cluster differ only in `.` and `_`",
    "Kafka refuses the second one: both would have the same metric names.",
)
def topic_name_collision(topology: Topology) -> Iterator[Finding]:
    """Produced and mirrored topics together (`Topic.hasCollision`)."""
    for cluster in topology.clusters:
        by_metric: dict[str, str] = {}
        clashes: dict[str, str] = {}
        for name in topology.names_at(cluster):
            other = by_metric.setdefault(name.replace(".", "_"), name)
            if other != name:
                clashes[name] = other
        if clashes:
            for path, name in _places(topology, cluster):
                if name in clashes:
                    message = f"Kafka cannot hold `{name}` beside `{clashes[name]}` at `{cluster}`"
                    yield Finding(path, message, "they differ only in `.` and `_`; rename one")


def _places(topology: Topology, cluster: str) -> Iterator[tuple[Path, str]]:
    for index, topic in enumerate(topology.topics):
        if topic.cluster == cluster:
            yield ("topics", index, "name"), topic.name
    for index, mirror in enumerate(topology.replication):
        if mirror.target == cluster:
            for number, name in enumerate(mirror.topics):
                yield ("replication", index, "topics", number), mirror.mirrored_topic(name)


@rule(
    "topic-name-length",
    "error",
    "A mirrored topic's name is no longer than Kafka allows",
    "The prefix of the source counts; beyond 249 characters the mirror stops with an error.",
)
def topic_name_length(topology: Topology) -> Iterator[Finding]:
    """Names at the target, prefix included."""
    for index, mirror in enumerate(topology.replication):
        for number, name in enumerate(mirror.topics):
            length = len(mirror.mirrored_topic(name))
            if length > 249:
                message = f"the mirrored topic's name would have {length} characters; Kafka allows 249"
                yield Finding(("replication", index, "topics", number), message, "shorten the topic's name")


RULES: tuple[Rule, ...] = (names_unique, topic_name, topic_name_collision, topic_name_length)
