"""Canaries: clients of dcctl's own by which moves of an estate are measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.topology.model import Topology
from orchestrator.topology.rules.rule import Finding, Rule, quoted, rule


@rule(
    "canary-apart",
    "error",
    "A canary's topics are its own: one canary producer writes each, and canary consumers read nothing else",
    "What others write there no ledger knows: nothing could be said of any record, and so of no move.",
)
def canary_apart(topology: Topology) -> Iterator[Finding]:
    """Topics of a canary with a second writer, and canary consumers of anything else."""
    writers: dict[tuple[str, str], str] = {}
    for producer in topology.producers:
        for topic in producer.topics if producer.canary else ():
            writers.setdefault((producer.cluster, topic), producer.name)
    yield from _second_writers(topology, writers)
    yield from _foreign_readers(topology, writers)


def _second_writers(topology: Topology, writers: Mapping[tuple[str, str], str]) -> Iterator[Finding]:
    for index, producer in enumerate(topology.producers):
        for position, topic in enumerate(producer.topics):
            canary = writers.get((producer.cluster, topic), producer.name)
            if canary != producer.name:
                message = f"`{producer.name}` writes into `{topic}`, the topic of canary `{canary}`"
                yield Finding(("producers", index, "topics", position), message, "give it another topic")


def _foreign_readers(topology: Topology, writers: Mapping[tuple[str, str], str]) -> Iterator[Finding]:
    for index, consumer in enumerate(topology.consumers):
        if not consumer.canary:
            continue
        if not consumer.can_be_canary or consumer.pattern is not None:
            what = "a reader by pattern" if consumer.can_be_canary else f"a {consumer.noun}"
            message = f"canary `{consumer.name}` cannot be {what}"
            yield Finding(("consumers", index), message, "take kind: group, and name its topics")
        foreign = [topic for topic in consumer.topics if (consumer.cluster, topic) not in writers]
        if foreign:
            message = f"canary `{consumer.name}` reads {quoted(foreign)}, which no canary writes"
            hint = "let it read the topics of a producer with canary: true"
            yield Finding(("consumers", index, "topics"), message, hint)


@rule(
    "canary-pair",
    "warning",
    "What a canary writes, a canary reads",
    "Without a reader nothing is known of positions: a report then has the verdict unknown.",
)
def canary_pair(topology: Topology) -> Iterator[Finding]:
    """Canary producers whose topics no canary consumer reads."""
    read = {
        (consumer.cluster, topic)
        for consumer in topology.consumers
        if consumer.canary
        for topic in consumer.topics
    }
    for index, producer in enumerate(topology.producers):
        unread = [topic for topic in producer.topics if (producer.cluster, topic) not in read]
        if producer.canary and unread:
            message = f"no canary consumer reads {quoted(unread)} of canary `{producer.name}`"
            yield Finding(("producers", index), message, "add a consumer with canary: true")


RULES: tuple[Rule, ...] = (canary_apart, canary_pair)
