"""Which topics take writes after a loss, and to what `min.insync.replicas` has to be lowered for them. Pure.

Rules (facts: Kafka, "Data rules"): with acks=all a write is accepted while at least `min.insync.replicas` are
in sync; a partition is led by a replica in sync that is up, or by nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from orchestrator.ports.servers import Placement
from orchestrator.values import TopicPartition


class After(NamedTuple):
    """One partition after a loss.

    `left`: replicas in sync that are up; `is_settled`: one of them leads, and no other one counts as in sync.
    """

    partition: TopicPartition
    left: int
    is_settled: bool


def after_loss(placement: Placement) -> Iterator[After]:
    """Every partition, by topics."""
    for name in sorted(placement.topics):
        topic = placement.topics[name]
        rows = zip(topic.partitions, topic.leaders, topic.isr, strict=True)
        for partition, leader, in_sync in rows:
            left = placement.living.intersection(in_sync)
            yield After(partition, len(left), leader in left and len(left) == len(in_sync))


def without_leader(placement: Placement) -> list[TopicPartition]:
    """Partitions that nobody who is up could lead without losing records: no replica in sync is."""
    return [one.partition for one in after_loss(placement) if not one.left]


def unsettled(placement: Placement) -> list[TopicPartition]:
    """Partitions that are still to be led by somebody who is up, or wait for a replica that is not."""
    return [one.partition for one in after_loss(placement) if one.left and not one.is_settled]


def stopped(placement: Placement, min_insync: Mapping[str, int]) -> dict[str, int]:
    """Topics with a partition that takes no writes, with the `min.insync.replicas` that each would need."""
    found: dict[str, int] = {}
    for one in after_loss(placement):
        name = one.partition.topic
        if 0 < one.left < min_insync.get(name, 1):
            found[name] = min(one.left, found.get(name, one.left))
    return found


def chosen(
    needed: Mapping[str, int], preferring: Collection[str], word: Collection[str]
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Which of them are lowered, and which stay stopped.

    `preferring`: topics that prefer availability; `word`: topics that a person names, or `all`.
    """
    to_lower = {
        name: wanted for name, wanted in needed.items() if name in preferring or name in word or "all" in word
    }
    return to_lower, tuple(name for name in needed if name not in to_lower)
