"""How many replicas a loss can take: against both of Kafka's placers, written down as they work."""

from __future__ import annotations

import random
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.topology.durability.placement import (
    ReplicasLost,
    SiteBrokers,
    lost_of_alternated,
    lost_of_spread,
    lost_of_striped,
)
from tests.topology.durability import brute_force


class _Rack:
    """`BrokerList` of `StripedReplicaPlacer`: each partition begins one broker further."""

    def __init__(self, brokers: list[str], chance: random.Random) -> None:
        self.brokers, self.offset = brokers, chance.randrange(len(brokers))
        self.epoch = self.index = 0

    def next(self, epoch: int) -> str | None:
        if self.epoch != epoch:
            self.epoch, self.index = epoch, 0
            self.offset = (self.offset + 1) % len(self.brokers)
        if self.index >= len(self.brokers):
            return None
        self.index += 1
        return self.brokers[(self.index - 1 + self.offset) % len(self.brokers)]


def striped_placements(
    racks: dict[str, list[str]], replicas: int, partitions: int, chance: random.Random
) -> Iterator[list[str]]:
    """One topic as `StripedReplicaPlacer.RackList.place` places it, no broker being fenced."""
    names = sorted(racks)
    by_name = {name: _Rack(sorted(racks[name]), chance) for name in names}
    offset, epoch, total = chance.randrange(len(names)), 0, sum(map(len, racks.values()))
    for _ in range(partitions):
        if epoch == total and total > 1:
            chance.shuffle(names)
            for rack in by_name.values():
                chance.shuffle(rack.brokers)
            epoch = 0
        offset %= len(names)
        rack_index = leader_rack = offset
        # After a shuffle a rack may still be exhausted from the epoch of the same number.
        while (first := by_name[names[leader_rack]].next(epoch)) is None:
            leader_rack = (leader_rack + 1) % len(names)
        chosen = [first]
        while len(chosen) < replicas:
            if rack_index == leader_rack:
                leader_rack = -1
            elif broker := by_name[names[rack_index]].next(epoch):
                chosen.append(broker)
            rack_index = (rack_index + 1) % len(names)
        epoch, offset = epoch + 1, offset + 1
        yield chosen


def racks_of(sites: tuple[SiteBrokers, ...]) -> dict[str, list[str]]:
    """Names of the brokers in each rack; the lost ones are the first."""
    return {
        site.place: [f"{site.place}{number}" for number in range(site.brokers)]
        for site in sites
        if site.brokers
    }


def lost_in(chosen: list[str] | tuple[str, ...], sites: tuple[SiteBrokers, ...]) -> int:
    """How many of these replicas are on lost brokers."""
    lost = {f"{site.place}{number}" for site in sites for number in range(site.lost)}
    return len(lost & set(chosen))


@st.composite
def sites_and_replicas(draw: st.DrawFn) -> tuple[tuple[SiteBrokers, ...], int]:
    """Up to four racks of up to four brokers, some of them lost, and replicas that fit."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    sites = tuple(
        SiteBrokers(dc, size, draw(st.integers(0, size))) for dc, size in zip("abcd", sizes, strict=False)
    )
    return sites, draw(st.integers(1, min(6, sum(sizes))))


@settings(deadline=None, max_examples=200)
@given(sites_and_replicas(), st.integers(0, 2**32))
def test_kraft_never_places_outside_the_bounds(drawn: tuple[tuple[SiteBrokers, ...], int], seed: int) -> None:
    """Whatever the placer's chance, the loss is between the luckiest and the worst."""
    sites, replicas = drawn
    fewest, most = lost_of_striped(replicas, sites)
    for chosen in striped_placements(racks_of(sites), replicas, 40, random.Random(seed)):  # noqa: S311 - dice of a test
        assert fewest <= lost_in(chosen, sites) <= most


@settings(deadline=None, max_examples=40)
@given(sites_and_replicas())
def test_kraft_reaches_the_bounds(drawn: tuple[tuple[SiteBrokers, ...], int]) -> None:
    """No pessimism: with enough partitions the worst comes, whole racks being lost."""
    sites, replicas = drawn
    whole = tuple(site._replace(lost=site.brokers if site.lost else 0) for site in sites)
    placed = striped_placements(racks_of(whole), replicas, 600, random.Random(7))  # noqa: S311 - dice of a test
    lost = [lost_in(chosen, whole) for chosen in placed]
    assert (min(lost), max(lost)) == lost_of_striped(replicas, whole)


@settings(deadline=None, max_examples=100)
@given(sites_and_replicas())
def test_zookeeper_mode_is_told_as_its_placer_works(drawn: tuple[tuple[SiteBrokers, ...], int]) -> None:
    """All starts and shifts, whole racks being lost."""
    sites, replicas = drawn
    whole = tuple(site._replace(lost=site.brokers if site.lost else 0) for site in sites)
    brokers = {name: dc for dc, names in racks_of(whole).items() for name in names}
    lost = [lost_in(chosen, whole) for chosen in brute_force.alternated_placements(brokers, replicas)]
    assert (min(lost), max(lost)) == lost_of_alternated(replicas, whole)


def test_zookeeper_mode_spreads_unevenly_where_racks_outnumber_nothing() -> None:
    """Six replicas over three racks of three: KRaft makes it two each, AdminUtils also 1, 2 and 3."""
    sites = (SiteBrokers("a", 3, 3), SiteBrokers("b", 3, 0), SiteBrokers("c", 3, 0))
    assert lost_of_striped(6, sites) == ReplicasLost(2, 2)
    assert lost_of_alternated(6, sites) == ReplicasLost(1, 3)


def test_an_exact_spread_loses_what_stands_there() -> None:
    """Whole sites lose their replicas; one broker of two may or may not have the only one there."""
    sites = (SiteBrokers("a", 2, 2), SiteBrokers("b", 2, 1))
    assert lost_of_spread([("a", 2), ("b", 1)], sites) == ReplicasLost(2, 3)
    assert lost_of_spread([("b", 2)], sites) == ReplicasLost(1, 1)
    assert lost_of_spread([("elsewhere", 1)], sites) == ReplicasLost(0, 0)
