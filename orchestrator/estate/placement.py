"""Where the copies of a partition lie, where they should, and which brokers take new ones.

Kafka spreads replicas over racks by itself when it creates a topic, but it checks no assignment that it is
given, and never moves one. So its spread is checked afterwards, and a number for each data centre, or a data
centre left out, is assigned here. The racks of a data centre that has several stand in its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from orchestrator.estate.desired_topics import DesiredTopic, Placement

Replicas = tuple[int, ...]
_Rule = tuple[tuple[str, ...], tuple[tuple[str, int], ...]]


class Spread:
    """The brokers of one cluster: their data centres, and how many replicas and leaders each one has.

    Replicas that are assigned here are counted at once, so that the next ones go elsewhere.
    """

    def __init__(self, racks: Mapping[int, str | None], assigned: Iterable[Sequence[int]] = ()) -> None:
        self.racks = racks
        self.brokers: dict[str, list[int]] = {}
        for broker, rack in sorted(racks.items()):
            if rack is not None:
                self.brokers.setdefault(rack, []).append(broker)
        self._assigned = assigned
        self._problems: dict[_Rule, dict[Replicas, str]] = {}

    @cached_property
    def _replicas(self) -> Counter[int]:
        """How many replicas each broker has; counted when the first is to be assigned."""
        return Counter(broker for replicas in self._assigned for broker in replicas)

    def problems(self, placement: Placement, partitions: Sequence[Replicas]) -> dict[Replicas, str]:
        """Of those replica sets that do not lie as they should, why. See `problem`.

        Large clusters have the same set many times over: each is judged once.
        """
        rule = (placement.datacenters, tuple(placement.per_dc.items()))
        known = self._problems.setdefault(rule, {})
        found = {}
        for replicas in set(partitions):
            said = known.get(replicas)
            if said is None:
                said = known[replicas] = self.problem(placement, replicas)
            if said:
                found[replicas] = said
        return found

    def problem(self, placement: Placement, replicas: Sequence[int]) -> str:
        """Why these replicas do not lie as they should, in words; empty where they do.

        Nothing is said of a broker that is not alive: nobody tells where it stands.
        """
        racks = [self.racks.get(broker) for broker in replicas]
        if any(rack is None for rack in racks):
            return ""
        counts = Counter(str(rack) for rack in racks)
        found = ", ".join(f"{count} in {dc}" for dc, count in sorted(counts.items()))
        if placement.per_dc:
            return "" if counts == Counter(placement.per_dc) else found
        if any(dc not in placement.datacenters for dc in counts):
            return found
        poorest = min(
            (counts[dc] for dc in placement.datacenters if counts[dc] < len(self.brokers.get(dc, ()))),
            default=None,
        )
        return found if poorest is not None and max(counts.values(), default=0) > poorest + 1 else ""

    def assignments(self, topic: DesiredTopic, partitions: int, first: int = 0) -> list[Replicas]:
        """Replicas of `partitions` new partitions of a topic, numbered from `first`."""
        here: Counter[int] = Counter()
        return [self._assign(topic, (), number, here) for number in range(first, first + partitions)]

    def moved(self, topic: DesiredTopic, replicas: Replicas, number: int) -> Replicas:
        """Replicas of partition `number` as they should be; as many as can stay where they are."""
        return self._assign(topic, replicas, number, Counter())

    def _assign(self, topic: DesiredTopic, current: Replicas, number: int, here: Counter[int]) -> Replicas:
        wanted = self._counts(topic, current, number)
        kept = self._kept(wanted, current)
        added: list[int] = []
        # Begins with another data centre for each partition, and with it the leaders do.
        order = sorted(wanted)
        turn = number % len(order) if order else 0
        for dc in order[turn:] + order[:turn]:
            missing = wanted[dc] - sum(self.racks.get(broker) == dc for broker in kept)
            free = [broker for broker in self.brokers.get(dc, ()) if broker not in kept]
            free.sort(key=lambda broker: (here[broker], self._replicas[broker], broker))
            added += free[:missing]
        self._replicas.update(added)
        here.update(added)
        return (*kept, *added)

    def _counts(self, topic: DesiredTopic, current: Replicas, number: int) -> dict[str, int]:
        """How many replicas each data centre shall have; where it is open, they stay where they are."""
        placement = topic.placement
        if placement.per_dc:
            return dict(placement.per_dc)
        has = Counter(self.racks.get(broker) for broker in current)
        dcs = sorted(placement.datacenters)
        counts = dict.fromkeys(dcs, 0)
        for _ in range(topic.replicas):
            open_dcs = [dc for dc in dcs if counts[dc] < len(self.brokers.get(dc, ()))]
            if not open_dcs:
                break
            dc = min(
                open_dcs,
                key=lambda dc: (counts[dc], has[dc] <= counts[dc], (dcs.index(dc) - number) % len(dcs)),
            )
            counts[dc] += 1
        return counts

    def _kept(self, wanted: Mapping[str, int], current: Replicas) -> Replicas:
        room = dict(wanted)
        kept = []
        for broker in current:
            dc = self.racks.get(broker)
            if dc is not None and room.get(dc, 0) > 0:
                room[dc] -= 1
                kept.append(broker)
        return tuple(kept)
