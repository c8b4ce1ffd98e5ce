"""Mirrors: that they can run, that a failover can build on them, and what must not be in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.topology.flows import (
    FIXED_CONNECTOR_PROPERTIES,
    HEARTBEATS_TOPIC,
    REFUSED_CONNECTOR_VALUES,
    transactional_topics,
)
from orchestrator.topology.mirrored_topics import matching, pattern_problem
from orchestrator.topology.model import Topology
from orchestrator.topology.pattern_matching import by_pattern, matched
from orchestrator.topology.rules.rule import Finding, Rule, quoted, rule
from orchestrator.topology.source import Path
from orchestrator.wording import plural

_SEEN_TO = "leave it out: MirrorMaker handles it"
_INTERNAL: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (
        re.compile(r"_confluent-ksql-.*|.*ksql_processing_log|.*__transient_.*"),
        "ksqlDB keeps it for itself",
        "run ksqlDB on one stretched cluster, or a standby ksqlDB at `{target}` on the mirrored input topics",
    ),
    (
        re.compile(r".*-(changelog|repartition)|.*-KTABLE-FK-JOIN-SUBSCRIPTION-.*-topic"),
        "it is an internal topic of a Kafka Streams application",
        "run the application on one stretched cluster, or standby instances at `{target}` that build their "
        "state from the mirrored input topics",
    ),
    (
        re.compile(r"_?connect(?:[-_.].*)?[-_.](configs?|offsets?|status(es)?)"),
        "Kafka Connect keeps it for itself",
        "run Connect on one stretched cluster, or a standby one at `{target}` with topics of its own",
    ),
    (
        re.compile(rf"mm2-.*\.internal|.*\.checkpoints\.internal|{HEARTBEATS_TOPIC}"),
        "MirrorMaker keeps it for itself",
        _SEEN_TO,
    ),
    (
        re.compile(r"__.*"),
        "Kafka keeps it for itself",
        "leave it out: group offsets are translated, not copied",
    ),
)


@rule(
    "mirror-ends",
    "error",
    "A mirror leads from one cluster to another",
    "From a cluster to itself it would copy each record for ever.",
)
def mirror_ends(topology: Topology) -> Iterator[Finding]:
    """Mirrors into their own source."""
    for index, mirror in enumerate(topology.replication):
        if mirror.source == mirror.target:
            message = f"the mirror's source and target are both `{mirror.source}`"
            yield Finding(("replication", index, "target"), message, "name two")


@rule(
    "mirror-runs",
    "error",
    "Connect workers stand at the target of each mirror",
    "They run the mirror, and they must survive its source.",
)
def mirror_runs(topology: Topology) -> Iterator[Finding]:
    """Targets without a worker; a mirror that something else owns, or whose engine is another, needs none."""
    for index, mirror in enumerate(topology.replication):
        target = topology.clusters.get(mirror.target)
        if mirror.source == mirror.target or not mirror.managed or not mirror.needs_connect:
            continue
        if target and not target.has_connect:
            message = f"no Connect worker at `{mirror.target}` to run the mirror from `{mirror.source}`"
            hint = "add connect_workers there: the target survives the source"
            yield Finding(("replication", index, "target"), message, hint)


@rule(
    "mirror-internal-topics",
    "error",
    "No internal topic of Kafka Streams, ksqlDB, Connect or Kafka itself is in a mirror",
    "Copies of state do not fit the translated offsets: an application "
    "that starts on them computes wrong results.",
)
def mirror_internal_topics(topology: Topology) -> Iterator[Finding]:
    """Known by their names; heartbeats of a cluster by that one's."""
    heartbeats = {f"{name}.{HEARTBEATS_TOPIC}" for name in topology.clusters}
    for index, mirror in enumerate(topology.replication):
        for number, name in enumerate(mirror.topics):
            if name in heartbeats:
                what = f"`{name}` must not be mirrored: MirrorMaker keeps it for itself"
                yield Finding(("replication", index, "topics", number), what, _SEEN_TO)
            for pattern, what, instead in _INTERNAL:
                if pattern.fullmatch(name):
                    path: Path = ("replication", index, "topics", number)
                    hint = instead.format(target=mirror.target)
                    yield Finding(path, f"`{name}` must not be mirrored: {what}", hint)
                    break


@rule(
    "mirror-left-out",
    "error",
    "A mirror names no topic that MirrorMaker leaves out",
    "It says nothing of it: the topic would be lost with its site.",
)
def mirror_left_out(topology: Topology) -> Iterator[Finding]:
    """By their names; `-internal` in versions before 4.0 (`ReplicationPolicy.isInternalTopic`)."""
    for index, mirror in enumerate(topology.replication):
        target = topology.clusters.get(mirror.target)
        is_older = target is not None and target.kafka.partition(".")[0] in {"2", "3"}
        for number, name in enumerate(mirror.topics):
            if any(pattern.fullmatch(name) for pattern, _, _ in _INTERNAL) or matching(mirror.patterns, name):
                continue
            if name.startswith(".") or name.endswith((".internal", "-internal") if is_older else ".internal"):
                path: Path = ("replication", index, "topics", number)
                message = f"MirrorMaker silently leaves `{name}` out: it takes it for an internal topic"
                yield Finding(path, message, "rename the topic, or leave it out here")


@rule(
    "mirror-pattern",
    "error",
    "A pattern of a mirror is a regular expression that MirrorMaker and dcctl read alike",
    "MirrorMaker reads it by Java's rules, and copies what they match, whatever dcctl takes it for.",
)
def mirror_pattern(topology: Topology) -> Iterator[Finding]:
    """An entry with a character that no topic's name has."""
    for index, mirror in enumerate(topology.replication):
        for number, pattern in enumerate(mirror.patterns, len(mirror.topics)):
            if problem := pattern_problem(pattern):
                path: Path = ("replication", index, "topics", number)
                message = f"the pattern `{pattern}` cannot be used: {problem}"
                hint = (
                    "take letters, digits, `.`, `\\.`, `[…]`, `(…)`, `|`, `*`, `+`, `?`, or name the topics"
                )
                yield Finding(path, message, hint)


@rule(
    "mirror-pattern-matches",
    "warning",
    "Each pattern of a mirror matches a topic of the file, and no internal one",
    "One that matches nothing is misspelt, or its topics are not in the file; internal ones are left out.",
)
def mirror_pattern_matches(topology: Topology) -> Iterator[Finding]:
    """Patterns without a topic, and what they leave out."""
    for index, mirror in enumerate(topology.replication):
        if not mirror.patterns or mirror.source not in topology.clusters:
            continue
        names, found = topology.names_at(mirror.source), by_pattern(mirror)
        left_out = matched(mirror, names).left_out
        for number, pattern in enumerate(mirror.patterns, len(mirror.topics)):
            path: Path = ("replication", index, "topics", number)
            own = [name for name in left_out if matching(mirror.patterns, name) == pattern]
            if own:
                message = (
                    f"the pattern `{pattern}` matches internal topics, which are left out: {quoted(own)}"
                )
                yield Finding(path, message, "copies of state do not fit the translated offsets")
            elif not found[pattern] and not pattern_problem(pattern):
                message = f"the pattern `{pattern}` matches no topic at `{mirror.source}`"
                hint = f"it must match the whole name; there are {quoted(names)}" if names else ""
                yield Finding(path, message, hint)


@rule(
    "separator-in-cluster-name",
    "error",
    "No cluster of a mirror has the mirror's separator in its name",
    "MirrorMaker takes what stands before the first separator of a topic's name for the source, and its "
    "cycle check fails.",
)
def separator_in_cluster_name(topology: Topology) -> Iterator[Finding]:
    """Both ends, where copies carry the source's name (`DefaultReplicationPolicy.topicSource`, `isCycle`)."""
    for index, mirror in enumerate(topology.replication):
        if mirror.policy != "default" or not mirror.separator:
            continue
        for key, name in (("source", mirror.source), ("target", mirror.target)):
            if mirror.separator in name:
                message = (
                    f"the cluster's name `{name}` contains the separator `{mirror.separator}`: MirrorMaker "
                    f"takes `{name.partition(mirror.separator)[0]}` for the source, and its cycle check fails"
                )
                hint = "give the cluster another name, or the mirror another separator"
                yield Finding(("replication", index, key), message, hint)


@rule(
    "offset-syncs-at-source",
    "error",
    "The offset syncs of a mirror lie at its target",
    "At the source, MirrorMaker's default, they are lost together with it, and nothing can be translated.",
)
def offset_syncs_at_source(topology: Topology) -> Iterator[Finding]:
    """Mirrors of dcctl's own."""
    for index, mirror in enumerate(topology.replication):
        if mirror.offset_syncs == "source" and mirror.managed:
            message = (
                f"the offset syncs of the mirror from `{mirror.source}` would die with `{mirror.source}`"
            )
            yield Finding(("replication", index, "offset_syncs"), message, "take offset_syncs: target")


@rule(
    "offset-syncs-unreachable",
    "warning",
    "A mirror that something else owns keeps its offset syncs at the target as well",
    "They are lost with the source: no position could be translated after its loss.",
)
def offset_syncs_unreachable(topology: Topology) -> Iterator[Finding]:
    """Mirrors that are only observed."""
    for index, mirror in enumerate(topology.replication):
        if mirror.offset_syncs == "source" and not mirror.managed:
            message = f"the offset syncs of the mirror from `{mirror.source}` die with `{mirror.source}`"
            hint = "have its owner set offset-syncs.topic.location=target"
            yield Finding(("replication", index, "offset_syncs"), message, hint)


@rule(
    "connector-properties",
    "error",
    "connectors overrides nothing on which the offset map rests",
    "Names, policy, place of the offset syncs and idempotence are what exact translation is built on; "
    "skipped records and transaction markers would break it.",
)
def connector_properties(topology: Topology) -> Iterator[Finding]:
    """Overrides of fixed properties."""
    for index, mirror in enumerate(topology.replication):
        for key in mirror.connectors:
            if key in FIXED_CONNECTOR_PROPERTIES:
                hint = f"take `{_KEYS[key]}` of the mirror" if key in _KEYS else "remove it"
                path: Path = ("replication", index, "connectors", key)
                yield Finding(path, f"connectors may not set {key}: the offset map rests on it", hint)
        for key, (value, why) in REFUSED_CONNECTOR_VALUES.items():
            if str(mirror.connectors.get(key, "")).lower() == value:
                place: Path = ("replication", index, "connectors", key)
                yield Finding(place, f"connectors may not set {key} to {value}: {why}", "remove it")


@rule(
    "mirror-isolation",
    "error",
    "A mirror copies no record of an aborted transaction",
    "Without isolation.level read_committed such records arrive as if they had been committed.",
)
def mirror_isolation(topology: Topology) -> Iterator[Finding]:
    """Mirrors of topics that are written in transactions, whose connectors are told to read everything."""
    written = transactional_topics(topology.producers)
    for index, mirror in enumerate(topology.replication):
        told = str(mirror.connectors.get(_ISOLATION, "read_committed"))
        if told != "read_committed" and (topics := sorted(written.intersection(mirror.topics))):
            message = f"with {_ISOLATION} {told} aborted records of {quoted(topics)} would be copied"
            path: Path = ("replication", index, "connectors", _ISOLATION)
            yield Finding(path, message, "remove it: read_committed is set without it")


_ISOLATION = "source.consumer.isolation.level"
_KEYS = {
    "offset-syncs.topic.location": "offset_syncs",
    "replication.policy.class": "policy",
    "replication.policy.separator": "separator",
    "source.cluster.alias": "source",
    "target.cluster.alias": "target",
}


@rule(
    "mirror-flush",
    "warning",
    "A mirror stores its position more often than the loss budget is long",
    "Which records were copied since the last flush is unknown: they all count as possibly lost.",
)
def mirror_flush(topology: Topology) -> Iterator[Finding]:
    """Flush intervals as long as the seconds that may be lost."""
    budget_s = topology.failover.max_loss.seconds
    for index, mirror in enumerate(topology.replication):
        if budget_s is not None and mirror.managed and mirror.offset_flush_interval_s >= budget_s:
            message = (
                f"the mirror flushes each {mirror.offset_flush_interval_s:g} s; "
                f"the budget is {budget_s:g} s: a failover would be refused"
            )
            path: Path = ("replication", index, "offset_flush_interval_s")
            yield Finding(path, message, "flush more often, or allow more seconds")


@rule(
    "topic-not-mirrored",
    "warning",
    "Every topic that is produced at a mirrored cluster is in its mirror",
    "A topic that is left out is lost with the site, whatever the failover saves.",
)
def topic_not_mirrored(topology: Topology) -> Iterator[Finding]:
    """Topics of a source with producers or consumers, in none of its mirrors."""
    mirrored: dict[str, set[str]] = {}
    for mirror in topology.replication:
        mirrored.setdefault(mirror.source, set()).update(mirror.topics)
    used: dict[str, set[str]] = {}
    for clients in (topology.producers, topology.consumers):
        for client in clients:
            used.setdefault(client.cluster, set()).update(client.topics)
    for index, topic in enumerate(topology.topics):
        copies = mirrored.get(topic.cluster)
        if copies is not None and topic.name not in copies and topic.name in used.get(topic.cluster, ()):
            message = (
                f"`{topic.name}` is used at `{topic.cluster}` and in no mirror: it is lost with the site"
            )
            yield Finding(("topics", index, "name"), message, "add it to the mirror's topics")


@rule(
    "mirror-weaker",
    "warning",
    "Mirrored topics are as durable as their source",
    "After a failover the copy is the original; MirrorMaker's own default is two replicas.",
)
def mirror_weaker(topology: Topology) -> Iterator[Finding]:
    """Fewer replicas, or a lower min.insync.replicas, than the source."""
    for index, mirror in enumerate(topology.replication):
        known = [topic for name in mirror.topics if (topic := topology.topic(name, mirror.source))]
        for key in ("replicas", "min_insync_replicas"):
            value = getattr(mirror, key)
            stronger = [topic.name for topic in known if value is not None and getattr(topic, key) > value]
            if stronger:
                message = f"{key} {value} of the mirror is below that of {quoted(stronger)}"
                yield Finding(
                    ("replication", index, key), message, "leave it out: it follows the source then"
                )


@rule(
    "mirror-min-insync",
    "error",
    "The mirror's min_insync_replicas fits the replicas of the mirrored topics",
    "With acks=all, and that is how a mirror writes, nothing would ever be copied.",
)
def mirror_min_insync(topology: Topology) -> Iterator[Finding]:
    """A mirror's min_insync_replicas above the replicas that a topic brings along, or the reverse."""
    for index, mirror in enumerate(topology.replication):
        if (mirror.replicas is None) == (mirror.min_insync_replicas is None):
            continue
        for name in mirror.topics:
            topic = topology.topic(name, mirror.source)
            if topic is None:
                continue
            replicas = mirror.replicas or topic.replicas
            needed = mirror.min_insync_replicas or topic.min_insync_replicas
            if needed > replicas >= 1:
                key = "replicas" if mirror.replicas else "min_insync_replicas"
                message = (
                    f"the copy of `{name}` would have min_insync_replicas {needed} "
                    f"above its {plural(replicas, 'replica')}"
                )
                yield Finding(("replication", index, key), message, "state both")
                break


RULES: tuple[Rule, ...] = (
    mirror_ends,
    mirror_runs,
    mirror_internal_topics,
    mirror_left_out,
    mirror_pattern,
    mirror_pattern_matches,
    separator_in_cluster_name,
    offset_syncs_at_source,
    offset_syncs_unreachable,
    connector_properties,
    mirror_isolation,
    mirror_flush,
    topic_not_mirrored,
    mirror_weaker,
    mirror_min_insync,
)
