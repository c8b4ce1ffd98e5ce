"""The key of everything that is compared: origin, topic, cluster, life. Pure.

A record is written by one life of its producer, at one place: its *origin*. From there it is copied to other
places. Where records of one origin stand at one cluster is a *side*; with a topic it is one log, under a name
of its own. A failover is one change of life, at whose end the target's two sides are looked at: copies of
what the source took, and what was taken there since. There and back are several, with all sides of both
places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.evidence.audit.inputs import AuditInputs
from orchestrator.values import TopicPartition


class Side(NamedTuple):
    """Records of one origin at one cluster: indexes into `Sides.places`."""

    origin: int
    cluster: int


class LogKey(NamedTuple):
    """One partition of a log: indexes of its side and of its topic in the inputs, and its number."""

    side: int
    topic: int
    partition: int


@dataclass(frozen=True, slots=True)
class Sides:
    """Who lived where, and which sides are looked at. `lives`: life -> place, in order."""

    places: tuple[str, ...]
    lives: Mapping[int, int]
    looked_at: tuple[Side, ...]

    def at(self, cluster: int) -> list[int]:
        """Indexes of the sides at a place: copies first, and its own records behind them."""
        found = [index for index, side in enumerate(self.looked_at) if side.cluster == cluster]
        return sorted(found, key=lambda index: self.looked_at[index].origin == cluster)

    @property
    def clusters(self) -> list[int]:
        """Places that are looked at."""
        return list(dict.fromkeys(side.cluster for side in self.looked_at))

    def index(self, origin: int, cluster: int) -> int:
        """The index of a side."""
        return self.looked_at.index(Side(origin, cluster))

    def is_own(self, side: int) -> bool:
        """Whether its records were produced where they stand."""
        origin, cluster = self.looked_at[side]
        return origin == cluster


def sides_of(inputs: AuditInputs) -> Sides:
    """What the inputs say of lives and places. Of one move the source is not looked at: it may be gone."""
    places = tuple(dict.fromkeys(inputs.lives.values()))
    clusters = [place.cluster for place in inputs.places]
    looked_at = [Side(origin, places.index(cluster)) for cluster in clusters for origin in range(len(places))]
    return Sides(
        places, {life: places.index(place) for life, place in inputs.lives.items()}, tuple(looked_at)
    )


def log_name(inputs: AuditInputs, sides: Sides, side: int | Side, topic: int) -> str | None:
    """The topic in which records of a side stand (one that is looked at by its index); None where nothing
    copies them there.
    """
    audited = inputs.topics[topic]
    of = sides.looked_at[side] if isinstance(side, int) else side
    if of.origin == of.cluster:
        return audited.name
    origin, cluster = sides.places[of.origin], sides.places[of.cluster]
    if (origin, cluster) == (inputs.source, inputs.target):
        return audited.mirrored
    return audited.copies.get(cluster, {}).get(origin)


def named_at(inputs: AuditInputs, sides: Sides, cluster: int) -> dict[str, list[tuple[int, int]]]:
    """Names of topics at a place -> (origin, topic) of what stands there; several under one name."""
    found: dict[str, list[tuple[int, int]]] = {}
    for origin in range(len(sides.places)):
        for topic in range(len(inputs.topics)):
            name = log_name(inputs, sides, Side(origin, cluster), topic)
            if name is not None:
                found.setdefault(name, []).append((origin, topic))
    return found


def logs(inputs: AuditInputs, sides: Sides, cluster: int) -> Iterator[tuple[LogKey, TopicPartition]]:
    """Every partition that is looked at at a place, with its name: its own first, and copies behind them."""
    for index in reversed(sides.at(cluster)):
        for topic, audited in enumerate(inputs.topics):
            name = log_name(inputs, sides, index, topic)
            if name is not None:
                for number in range(audited.partitions):
                    yield LogKey(index, topic, number), TopicPartition(name, number)
