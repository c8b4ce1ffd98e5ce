"""Which topics take writes after a loss, and to what `min.insync.replicas` has to be lowered for them. Pure.

Rules (facts: Kafka, "Data rules"): with acks=all a write is accepted while at least `min.insync.replicas` are
in sync; a partition is led by a replica in sync that is up, or by nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from orchestrator.moves.within_cluster.order import assigned
from orchestrator.ports.servers import Placement
from orchestrator.topology.model import Topology
from orchestrator.values import TopicPartition


def all_away(placement: Placement) -> list[TopicPartition]:
    """Partitions no replica of which is up: they wait for a broker, whatever is done."""
    return [one.partition for one in assigned(placement) if not one.living]


def unsettled(placement: Placement) -> list[TopicPartition]:
    """Partitions that nobody leads though somebody could, or of which one that is down counts as in sync."""
    return [
        one.partition
        for one in assigned(placement)
        if one.living and (one.leader not in one.in_sync or len(one.in_sync) < one.counted_in_sync)
    ]


def stopped(placement: Placement, min_insync: Mapping[str, int]) -> dict[str, int]:
    """Topics with a partition that takes no writes, with the `min.insync.replicas` that each would need.

    1 at least: a partition without any replica in sync takes none at all. Those that wait for a broker in any
    case do not count.
    """
    found: dict[str, int] = {}
    for one in assigned(placement):
        if not one.living:
            continue
        name, left = one.partition.topic, len(one.in_sync)
        if left < min_insync.get(name, 1):
            found[name] = min(max(left, 1), found.get(name, max(left, 1)))
    return found


def preferring_availability(topology: Topology, cluster: str, names: Iterable[str]) -> frozenset[str]:
    """A topic that says nothing, and Kafka's own, go by the cluster's word."""
    own = {topic.name: topic.prefer for topic in topology.topics if topic.cluster == cluster}
    default = topology.clusters[cluster].prefer
    return frozenset(name for name in names if (own.get(name) or default) == "availability")


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
