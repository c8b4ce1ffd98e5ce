"""Which replica stands first in an assignment: those of a site put last, and put back. Pure.

Rule (facts: Kafka, "An unclean leader can be chosen"): the same replicas in another order are applied at
once, and no data moves. Whoever stands first and is in sync is elected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from orchestrator.ports.servers import Placement
from orchestrator.values import TopicPartition

Replicas = tuple[int, ...]
Orders = Mapping[str, tuple[Replicas, ...]]
"""Of each topic the replicas of every partition, in order."""


def brokers_at(placement: Placement, site: str) -> frozenset[int]:
    """Brokers whose rack is the site."""
    return frozenset(broker for broker, rack in placement.racks.items() if rack == site)


def put_last(placement: Placement, replicas: Replicas, site: str) -> Replicas:
    """The site's brokers behind all others, otherwise in the order that there was.

    A broker that is down tells no rack: it may be one of the site's, and stands between them and the others.
    """

    def rank(broker: int) -> int:
        rack = placement.racks.get(broker)
        return 1 if rack is None else 2 if rack == site else 0

    return tuple(sorted(replicas, key=rank))


def evacuated(placement: Placement, site: str) -> dict[TopicPartition, Replicas]:
    """Each partition whose order changes where the site's replicas are put last, with its new order."""
    return {
        partition: wanted
        for partition, replicas in _placed(placement)
        if (wanted := put_last(placement, replicas, site)) != replicas
    }


def orders_of(
    placement: Placement, partitions: Collection[TopicPartition]
) -> dict[str, tuple[Replicas, ...]]:
    """How whole topics stand now, of which some partition is among these."""
    names = {partition.topic for partition in partitions}
    return {name: topic.replicas for name, topic in placement.topics.items() if name in names}


def restored(placement: Placement, orders: Orders) -> dict[TopicPartition, Replicas]:
    """Each partition that does not stand as recorded, and has the same replicas: with its recorded order.

    One that has other replicas by now, or is not there any more, stays as it is.
    """
    return {
        partition: wanted
        for partition, replicas, wanted in _recorded(placement, orders)
        if wanted != replicas and sorted(wanted) == sorted(replicas)
    }


def placed_anew(placement: Placement, orders: Orders) -> list[TopicPartition]:
    """Partitions that have other replicas than recorded."""
    return [
        partition
        for partition, replicas, wanted in _recorded(placement, orders)
        if sorted(wanted) != sorted(replicas)
    ]


def not_to_be_led_elsewhere(placement: Placement, site: str) -> list[TopicPartition]:
    """Partitions that nobody outside the site could lead now: no replica there is up and in sync."""
    others = {b for b in placement.living if placement.racks.get(b, site) != site}
    return [
        partition
        for name in sorted(placement.topics)
        for partition, replicas, in_sync in zip(
            placement.topics[name].partitions,
            placement.topics[name].replicas,
            placement.topics[name].isr,
            strict=True,
        )
        if not set(in_sync) & set(replicas) & others
    ]


def led_at(placement: Placement, site: str) -> list[TopicPartition]:
    """Partitions that a broker of the site leads."""
    brokers = brokers_at(placement, site)
    return [
        partition
        for name in sorted(placement.topics)
        for partition, leader in zip(
            placement.topics[name].partitions, placement.topics[name].leaders, strict=True
        )
        if leader in brokers
    ]


def _placed(placement: Placement) -> Iterator[tuple[TopicPartition, Replicas]]:
    for name in sorted(placement.topics):
        topic = placement.topics[name]
        yield from zip(topic.partitions, topic.replicas, strict=True)


def _recorded(placement: Placement, orders: Orders) -> Iterator[tuple[TopicPartition, Replicas, Replicas]]:
    """Partitions that are there and recorded: as they stand, and as they stood."""
    for partition, replicas in _placed(placement):
        known = orders.get(partition.topic, ())
        if partition.partition < len(known):
            yield partition, replicas, tuple(known[partition.partition])
