"""Producers and consumers: what they are promised, and what can be moved."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.topology.model import Consumer, RecordMark, Topology
from orchestrator.topology.rules.rule import Finding, Rule, quoted, rule
from orchestrator.topology.source import Path


@rule(
    "acks-loss-budget",
    "error",
    "Where nothing may be lost, producers wait for all in-sync replicas",
    "With acks 1 or 0 a record may be acknowledged that only the lost site had, whatever else is done.",
)
def acks_loss_budget(topology: Topology) -> Iterator[Finding]:
    """A loss budget of zero (the default), more than one site, and a producer with weaker acks."""
    if topology.failover.max_loss.records != 0 or topology.layout == "one-location":
        return
    for index, producer in enumerate(topology.producers):
        if producer.acks != "all":
            message = (
                f"producer `{producer.name}` has acks {producer.acks}, the loss budget is 0 records: "
                "that cannot be kept"
            )
            hint = "take acks: all, or state a budget under failover.max_loss"
            yield Finding(("producers", index, "acks"), message, hint)


@rule(
    "acks-weak",
    "warning",
    "Producers wait for all in-sync replicas",
    "With acks 1 or 0, min.insync.replicas protects nothing: the loss of a leader may lose records.",
)
def acks_weak(topology: Topology) -> Iterator[Finding]:
    """Weaker acks where a budget allows them."""
    if topology.failover.max_loss.records == 0 and topology.layout != "one-location":
        return
    for index, producer in enumerate(topology.producers):
        if producer.acks != "all":
            message = (
                f"producer `{producer.name}` has acks {producer.acks}: a broker's loss may lose its records"
            )
            yield Finding(("producers", index, "acks"), message, "take acks: all")


@rule(
    "acks-transactions",
    "error",
    "Producers that write in transactions wait for all in-sync replicas",
    "Kafka's clients refuse a transactional.id with any other acks.",
)
def acks_transactions(topology: Topology) -> Iterator[Finding]:
    """Weaker acks beside transactional ids."""
    for index, producer in enumerate(topology.producers):
        if producer.transactional_ids and producer.acks != "all":
            message = f"producer `{producer.name}` writes in transactions, and has acks {producer.acks}"
            yield Finding(("producers", index, "acks"), message, "take acks: all")


@rule(
    "principal-mirror",
    "error",
    "No application shares the mirror's principal",
    "Fencing it would stop the mirror, and with it the copying of what was written last.",
)
def principal_mirror(topology: Topology) -> Iterator[Finding]:
    """Applications with a principal of a mirror."""
    mirrors = {cluster.mirror_principal for cluster in topology.clusters.values()}
    for kind in ("producers", "consumers") if topology.replication else ():
        for index, client in enumerate(getattr(topology, kind)):
            principal = client.principal or f"User:{client.name}"
            if principal in mirrors:
                message = f"`{client.name}` has the mirror's principal {principal}"
                key = "principal" if client.principal else "name"
                yield Finding((kind, index, key), message, "give the application one of its own")


@rule(
    "principal-shared",
    "warning",
    "Producers have principals of their own",
    "Fencing one producer fences every application with the same principal.",
)
def principal_shared(topology: Topology) -> Iterator[Finding]:
    """Two producers, or a producer and a consumer, with one principal."""
    owners: dict[str, str] = {}
    for consumer in topology.consumers:
        owners.setdefault(consumer.principal or f"User:{consumer.name}", consumer.name)
    for index, producer in enumerate(topology.producers):
        principal = producer.principal or f"User:{producer.name}"
        other = owners.setdefault(principal, producer.name)
        if other != producer.name:
            message = f"`{producer.name}` and `{other}` share {principal}: they can only be fenced together"
            key = "principal" if producer.principal else "name"
            yield Finding(("producers", index, key), message, "give each one of its own")


@rule(
    "producer-mark-shared",
    "error",
    "No two producers of a topic have the same mark",
    "A record of the one would be taken for a record of the other.",
)
def producer_mark_shared(topology: Topology) -> Iterator[Finding]:
    """The same header and value twice in one topic."""
    owners: dict[tuple[str, RecordMark], str] = {}
    for index, producer in enumerate(topology.producers):
        if producer.identified_by is None:
            continue
        others = {
            owners.setdefault((topic, producer.identified_by), producer.name) for topic in producer.topics
        }
        for other in sorted(others - {producer.name}):
            message = f"`{producer.name}` and `{other}` have the same mark"
            yield Finding(("producers", index, "identified_by"), message, "give each a value of its own")


@rule(
    "producer-indistinct",
    "warning",
    "The records of each producer of a mirrored topic can be recognised",
    "Otherwise nothing shows after a move that it writes at the other cluster: the run ends as unknown.",
)
def producer_indistinct(topology: Topology) -> Iterator[Finding]:
    """Producers at a mirror's source that share each mirrored topic with another, both without a mark."""
    mirrored = {(mirror.source, topic) for mirror in topology.replication for topic in mirror.topics}
    unmarked: dict[tuple[str, str], set[str]] = {}
    for producer in topology.producers:
        for topic in producer.topics if producer.identified_by is None else ():
            unmarked.setdefault((producer.cluster, topic), set()).add(producer.name)
    for index, producer in enumerate(topology.producers):
        if producer.identified_by is None:
            own = mirrored.intersection((producer.cluster, topic) for topic in producer.topics)
            sharing = [unmarked[place] - {producer.name} for place in sorted(own)]
            if sharing and all(sharing):
                others = quoted(sorted(set().union(*sharing)))
                message = f"the records of `{producer.name}` look like those of {others}"
                hint = "add identified_by: {header: …, value: …}: a header that each of its records carries"
                yield Finding(("producers", index, "topics"), message, hint)


@rule(
    "consumer-reads",
    "error",
    "A consumer names topics, or a pattern that is a regular expression",
    "Without either it is unknown which positions must be translated for it.",
)
def consumer_reads(topology: Topology) -> Iterator[Finding]:
    """Neither topics nor pattern, or a pattern that cannot be read."""
    for index, consumer in enumerate(topology.consumers):
        if consumer.pattern is None and not consumer.topics:
            message = f"consumer `{consumer.name}` reads no topic"
            yield Finding(("consumers", index), message, "add topics, or a pattern")
        elif problem := _pattern_problem(consumer):
            message = f"the pattern of `{consumer.name}` is no regular expression: {problem}"
            hint = "`.*` stands for anything; a name by itself stands for itself"
            yield Finding(("consumers", index, "pattern"), message, hint)


def _pattern_problem(consumer: Consumer) -> str:
    try:
        re.compile(consumer.pattern or "")
    except re.error as error:
        return str(error)
    return ""


@rule(
    "pattern-matches",
    "warning",
    "A consumer's pattern matches a topic",
    "One that matches nothing is misspelt, or the topic is missing in the file.",
)
def pattern_matches(topology: Topology) -> Iterator[Finding]:
    """Patterns that find nothing at their cluster."""
    for index, consumer in enumerate(topology.consumers):
        if (
            consumer.pattern is None
            or _pattern_problem(consumer)
            or consumer.cluster not in topology.clusters
        ):
            continue
        if not topology.topics_read(consumer):
            names = topology.names_at(consumer.cluster)
            message = f"the pattern `{consumer.pattern}` matches no topic at `{consumer.cluster}`"
            hint = f"it must match the whole name; there are {quoted(names)}" if names else ""
            yield Finding(("consumers", index, "pattern"), message, hint)


@rule(
    "group-shared",
    "error",
    "No two entries of a cluster are one consumer group",
    "Kafka divides the topics of both among all members, and there is one position for both. Entries at "
    "different clusters may be one group: there each cluster has its own positions.",
)
def group_shared(topology: Topology) -> Iterator[Finding]:
    """The same group id twice at one cluster, by `group` or by name."""
    owners: dict[tuple[str, str], str] = {}
    for index, consumer in enumerate(topology.consumers):
        for group in consumer.groups:
            other = owners.setdefault((consumer.cluster, group), consumer.name)
            if other != consumer.name:
                message = f"`{consumer.name}` and `{other}` are one group `{group}` at `{consumer.cluster}`"
                key = "group" if consumer.group else "name"
                hint = "give each a group of its own, or let one entry read the topics of both"
                yield Finding(("consumers", index, key), message, hint)


@rule(
    "group-of-kind",
    "error",
    "Only what commits offsets to Kafka names its group",
    "A Spark query keeps its positions in its checkpoint: no group would hold any.",
)
def group_of_kind(topology: Topology) -> Iterator[Finding]:
    """`group` of an entry whose kind has none."""
    for index, consumer in enumerate(topology.consumers):
        if consumer.group is not None and not consumer.groups:
            message = (
                f"`{consumer.name}` is a {consumer.noun}: it commits no offsets as group `{consumer.group}`"
            )
            yield Finding(("consumers", index, "group"), message, "leave it out")


@rule(
    "order-after-failover",
    "warning",
    "A consumer that needs order gets it after a failover too",
    "Under the default policy it then reads two topics, the copy and the one that producers "
    "write to: each is in order, both together are not.",
)
def order_after_failover(topology: Topology) -> Iterator[Finding]:
    """Consumers with order: required whose topics are mirrored under the default policy."""
    mirrored: dict[str, set[str]] = {}
    for mirror in topology.replication:
        if mirror.policy == "default":
            mirrored.setdefault(mirror.source, set()).update(mirror.topics)
    for index, consumer in enumerate(topology.consumers):
        if consumer.order == "required" and mirrored.get(consumer.cluster, set()) & set(consumer.topics):
            message = (
                f"`{consumer.name}` needs order; after a failover it reads "
                "two topics, the copy and the new one"
            )
            hint = "let it read the copies to their end before the new topics, or take policy: identity"
            yield Finding(("consumers", index, "order"), message, hint)


@rule(
    "untranslatable-duplicates",
    "error",
    "A consumer that refuses duplicates does not start from the beginning",
    "on_untranslatable: earliest reads everything again; timestamp reads some of it again.",
)
def untranslatable_duplicates(topology: Topology) -> Iterator[Finding]:
    """duplicates: refused together with a fallback that repeats records."""
    for index, consumer in enumerate(topology.consumers):
        if consumer.duplicates == "refused" and consumer.on_untranslatable != "refuse":
            message = (
                f"`{consumer.name}` refuses duplicates, and on_untranslatable: {consumer.on_untranslatable} "
                "would make some"
            )
            path: Path = ("consumers", index, "on_untranslatable")
            yield Finding(path, message, "take on_untranslatable: refuse, or duplicates: tolerated")


RULES: tuple[Rule, ...] = (
    acks_loss_budget,
    acks_weak,
    acks_transactions,
    principal_mirror,
    principal_shared,
    producer_mark_shared,
    producer_indistinct,
    consumer_reads,
    pattern_matches,
    group_shared,
    group_of_kind,
    order_after_failover,
    untranslatable_duplicates,
)
