"""Which replica stands first in an assignment: those of a site put last, and put back. Pure.

Rule (facts: Kafka, "An unclean leader can be chosen"): the same replicas in another order are applied at
once, and no data moves. Whoever stands first and is in sync is elected.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from orchestrator.ports.servers import Placement
from orchestrator.runs.facts_within_clusters import TopicOrder
from orchestrator.values import TopicPartition
from orchestrator.wording import listed

Replicas = tuple[int, ...]
Orders = Mapping[str, TopicOrder]


class Assigned(NamedTuple):
    """One partition as it is described. `in_sync`: who is in sync and up, of `counted_in_sync`.

    `living`: which replicas are up.
    """

    partition: TopicPartition
    replicas: Replicas
    leader: int
    in_sync: frozenset[int]
    counted_in_sync: int
    living: frozenset[int]


def assigned(placement: Placement) -> Iterator[Assigned]:
    """Every partition, by topics."""
    for name in sorted(placement.topics):
        topic = placement.topics[name]
        rows = zip(topic.partitions, topic.replicas, topic.leaders, topic.isr, strict=True)
        for partition, replicas, leader, in_sync in rows:
            up = placement.living.intersection(in_sync)
            living = placement.living.intersection(replicas)
            yield Assigned(partition, replicas, leader, up, len(in_sync), living)


def brokers_at(placement: Placement, site: str) -> frozenset[int]:
    """Brokers of which it is known that they are at the site."""
    return frozenset(broker for broker, at in placement.sites.items() if at == site)


def without_sites(placement: Placement, sites: Collection[str]) -> Placement:
    """The same where brokers at these sites are down, whatever is told of them.

    Without a quorum brokers go on telling what they knew last.
    """
    lost = {broker for site in sites for broker in brokers_at(placement, site)}
    return replace(placement, living=placement.living - lost)


def with_all_in_sync(placement: Placement) -> Placement:
    """The same where every replica is up and in sync."""
    topics = {name: replace(topic, isr=topic.replicas) for name, topic in placement.topics.items()}
    having = {broker for topic in topics.values() for replicas in topic.replicas for broker in replicas}
    return replace(placement, topics=topics, living=placement.living | having)


def without_rack(placement: Placement) -> list[int]:
    """Brokers that are up and have replicas, of which nobody says at which site they are."""
    having = {broker for one in assigned(placement) for broker in one.replicas}
    return sorted(placement.living & having - placement.sites.keys())


def put_last(placement: Placement, one: Assigned, site: str) -> Replicas:
    """The site's brokers behind all others; of these whoever is in sync first. As it is, where that holds.

    A broker that is down tells no rack: it may be one of the site's, and stands between them and the others.
    """

    def rank(broker: int) -> int:
        at = placement.sites.get(broker)
        return 2 if at is None else 3 if at == site else 0

    ranks = [rank(broker) for broker in one.replicas]
    elsewhere = [broker for broker in one.replicas if rank(broker) == 0]
    is_led = not elsewhere or one.replicas[0] in one.in_sync or one.leader in elsewhere
    if ranks == sorted(ranks) and is_led:
        return one.replicas
    return tuple(sorted(one.replicas, key=lambda b: rank(b) or int(b not in one.in_sync)))


def evacuated(placement: Placement, site: str) -> dict[TopicPartition, Replicas]:
    """Each partition whose order changes where the site's replicas are put last, with its new order."""
    return {
        one.partition: wanted
        for one in assigned(placement)
        if (wanted := put_last(placement, one, site)) != one.replicas
    }


def orders_of(placement: Placement, partitions: Collection[TopicPartition]) -> dict[str, TopicOrder]:
    """How these partitions stand now."""
    found: dict[str, dict[int, Replicas]] = {}
    for topic, number in partitions:
        found.setdefault(topic, {})[number] = placement.topics[topic].replicas[number]
    return {
        name: TopicOrder(topic_id=placement.topics[name].topic_id, replicas=replicas)
        for name, replicas in found.items()
    }


def restored(placement: Placement, orders: Orders) -> dict[TopicPartition, Replicas]:
    """Each partition that does not stand as recorded, and has the same replicas: with its recorded order.

    One that has other replicas by now stays as it is, as does one of a topic that was made anew.
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


def not_seen(placement: Placement, names: Collection[str]) -> tuple[str, ...]:
    """Topics that are recorded and not described: deleted, or not to be seen now."""
    return tuple(sorted(set(names) - placement.topics.keys()))


def unseen_in_words(names: Collection[str]) -> str:
    """Behind a sentence: which topics stay recorded, and why; empty for none."""
    why = "topics that are gone, or that this login may not describe, stay recorded"
    return f"; {why}: {listed(names)}" if names else ""


def not_to_be_led_elsewhere(placement: Placement, site: str) -> list[TopicPartition]:
    """Partitions that nobody outside the site could lead now: no replica there is up and in sync."""
    others = {b for b in placement.living if placement.sites.get(b, site) != site}
    return [one.partition for one in assigned(placement) if not others & one.in_sync & set(one.replicas)]


def not_in_sync(placement: Placement, names: Collection[str] | None = None) -> list[str]:
    """In words, partitions of these topics (all) with replicas that are down or not in sync, and which."""
    return [
        f"{one.partition} without {listed(map(str, sorted(missing)))}"
        for one in assigned(placement)
        if (names is None or one.partition.topic in names) and (missing := set(one.replicas) - one.in_sync)
    ]


def in_one_site(placement: Placement) -> list[str]:
    """In words, partitions of a stretched cluster whose replicas in sync are all at one site, and at which.

    See `only_site`. A broker that is down tells no rack: partitions with a replica of it are left out.
    """
    return [
        f"{one.partition} at {site}"
        for one in assigned(placement)
        if (site := only_site(one.replicas, one.in_sync, placement.sites))
    ]


def only_site(replicas: Collection[int], in_sync: Collection[int], sites: Mapping[int, str]) -> str:
    """The one site at which all of a partition's replicas in sync are, of replicas at several; else empty.

    Empty as well where the site of any replica is not known.
    """
    every = {sites.get(broker, "") for broker in replicas}
    having = {sites.get(broker, "") for broker in in_sync}
    return having.pop() if "" not in every and len(having) == 1 < len(every) else ""


def led_at(placement: Placement, site: str) -> list[TopicPartition]:
    """Partitions that a broker of the site leads."""
    brokers = brokers_at(placement, site)
    return [one.partition for one in assigned(placement) if one.leader in brokers]


def led_instead(placement: Placement, site: str, sites: Collection[str]) -> list[TopicPartition]:
    """Partitions that would be led at one of `sites`, where the replicas of `site` are put last."""
    there = {broker for other in sites for broker in brokers_at(placement, other)}
    return [one.partition for one in assigned(placement) if put_last(placement, one, site)[0] in there]


def _recorded(placement: Placement, orders: Orders) -> Iterator[tuple[TopicPartition, Replicas, Replicas]]:
    """Partitions that are there and recorded: as they stand, and as they stood."""
    for one in assigned(placement):
        known = orders.get(one.partition.topic)
        if known is None or known.topic_id != placement.topics[one.partition.topic].topic_id:
            continue
        wanted = known.replicas.get(one.partition.partition)
        if wanted is not None:
            yield one.partition, one.replicas, tuple(wanted)
