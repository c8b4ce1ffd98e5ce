"""How many replicas of a partition a loss takes away: the fewest and the most over what may be placed.

A topic's file entry gives either an exact spread (`replicas_per_dc`) or leaves it to Kafka, which goes
over racks: data centres, or the racks of one. Each partition is placed anew, so that an uneven spread falls
out differently for each. Which brokers inside a rack are taken is left open.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class SiteBrokers(NamedTuple):
    """Brokers of one cluster in one data centre or rack, and how many of them are lost."""

    place: str
    brokers: int
    lost: int


class ReplicasLost(NamedTuple):
    """Replicas that a loss takes from a partition: the luckiest placement and the worst."""

    fewest: int
    most: int


def lost_of_spread(spread: Iterable[tuple[str, int]], sites: tuple[SiteBrokers, ...]) -> ReplicasLost:
    """For a spread that the file gives: data centre and replicas there."""
    by_place = {site.place: site for site in sites}
    counts = [(by_place[dc], replicas) for dc, replicas in spread if dc in by_place]
    return ReplicasLost(
        sum(_fewest(site, replicas) for site, replicas in counts),
        sum(min(replicas, site.lost) for site, replicas in counts),
    )


@functools.lru_cache(maxsize=4096)
def lost_of_striped(replicas: int, sites: tuple[SiteBrokers, ...]) -> ReplicasLost:
    """For KRaft's `StripedReplicaPlacer`: round after round, one broker of each rack that has one left.

    Only the last round can be incomplete. Which racks it reaches depends on where it began; over time
    racks are shuffled, so that any choice of them may come.
    """
    level, rest = 0, replicas
    while rest and rest >= (open_sites := sum(site.brokers > level for site in sites)) > 0:
        rest -= open_sites
        level += 1
    base = [min(site.brokers, level) for site in sites]
    open_now = [site for site in sites if site.brokers > level]
    # One replica more in a data centre costs one more exactly if a lost broker can take it (worst case),
    # or if none is left but lost ones (best case).
    takes = sum(site.lost > level for site in open_now)
    spares = sum(site.brokers - site.lost > level for site in open_now)
    return ReplicasLost(
        sum(_fewest(site, count) for site, count in zip(sites, base, strict=True)) + max(0, rest - spares),
        sum(min(count, site.lost) for site, count in zip(sites, base, strict=True)) + min(rest, takes),
    )


@functools.lru_cache(maxsize=4096)
def lost_of_alternated(replicas: int, sites: tuple[SiteBrokers, ...]) -> ReplicasLost:
    """For ZooKeeper mode's `AdminUtils`, whose spread is not always even.

    Once each rack has a replica it goes on along its list of brokers without counting: six replicas over
    three racks of three can become 1, 2 and 3. All that it may choose is tried.
    """
    found = [
        lost_of_spread(zip((site.place for site in sites), counts, strict=True), sites)
        for counts in _alternated_spreads(tuple(site.brokers for site in sites), replicas)
    ]
    return ReplicasLost(min(one.fewest for one in found), max(one.most for one in found))


def _fewest(site: SiteBrokers, replicas: int) -> int:
    return max(0, replicas - (site.brokers - site.lost))


@functools.lru_cache(maxsize=1024)
def _alternated_spreads(brokers: tuple[int, ...], replicas: int) -> frozenset[tuple[int, ...]]:
    """Every spread over racks of these sizes, in the order of the racks' names."""
    order = [rack for row in range(max(brokers, default=0)) for rack, n in enumerate(brokers) if n > row]
    racks = len([count for count in brokers if count])
    return frozenset(
        _counted(_walk(order, racks, replicas, start, shift), len(brokers))
        for start in range(len(order))
        for shift in range(max(1, len(order) - 1))
    )


def _walk(order: list[int], racks: int, replicas: int, start: int, shift: int) -> Iterator[int]:
    """Racks of one partition's replicas: `assignReplicasToBrokersRackAware` from one start and one shift."""
    used, reached, step = {start}, {order[start]}, shift * racks
    yield order[start]
    while len(used) < min(replicas, len(order)):
        place = (start + 1 + step % (len(order) - 1)) % len(order)
        step += 1
        is_due = len(reached) == racks or order[place] not in reached
        if is_due and place not in used:
            used.add(place)
            reached.add(order[place])
            yield order[place]


def _counted(racks: Iterable[int], size: int) -> tuple[int, ...]:
    counts = [0] * size
    for rack in racks:
        counts[rack] += 1
    return tuple(counts)
