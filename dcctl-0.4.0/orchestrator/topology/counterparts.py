"""Which topic at one cluster holds the records of a topic at another one, and through which mirrors. Pure.

A topic at a cluster has an origin: the cluster and topic where its records are produced. Topics of one origin
are counterparts. So a position goes over two mirrors at most: against the one that brought the copy, back to
the origin, and along the one that brings the other copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from orchestrator.topology.flows import Consumer, Replication
from orchestrator.topology.model import Topology
from orchestrator.topology.standby import standby_of


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the records of a topic are produced. `copied_by`: the mirror that brings them; None at home."""

    cluster: str
    topic: str
    copied_by: Replication | None = None


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A topic at the cluster entered with the records of one at the cluster left.

    `back`: the mirror whose direction a position is led against first; `forward`: the one along which it is
    led then. None where there is no such step.
    """

    left: str
    entered: str
    origin: Origin
    back: Replication | None = None
    forward: Replication | None = None


def origin_of(topology: Topology, name: str, cluster: str) -> Origin | None:
    """The origin of a topic as it is called at a cluster; None where the file has no such topic there."""
    if topology.topic(name, cluster) is not None:
        return Origin(cluster, name)
    copied = topology.copied_as(name, cluster)
    if copied is None:
        return None
    mirror, topic = copied
    return Origin(mirror.source, topic, mirror)


def counterpart_of(topology: Topology, name: str, left: str, entered: str) -> Counterpart | None:
    """What a topic at one cluster is at another one; None where no two mirrors lead there."""
    origin = origin_of(topology, name, left)
    if origin is None:
        return None
    if origin.cluster == entered:
        return Counterpart(name, origin.topic, origin, back=origin.copied_by)
    forward = topology.mirror(origin.cluster, entered)
    if forward is None or not topology.is_mirrored(origin.topic, origin.cluster, entered):
        return None
    return Counterpart(
        name, forward.mirrored_topic(origin.topic), origin, back=origin.copied_by, forward=forward
    )


def goes_to(topology: Topology, consumer: Consumer, place: str) -> bool:
    """Whether a consumer may come to a place, and goes on there in what it reads."""
    if standby_of(topology, consumer) != place:
        return False
    return any(found is not None for _, found in counterparts_read(topology, consumer, place))


def maps_kept_at(topology: Topology, place: str) -> tuple[Replication, ...]:
    """Mirrors into other clusters whose maps are kept at a place: against these, positions come there.

    A map lies at its mirror's target, and is lost with it.
    """
    found = {
        (counterpart.back.source, counterpart.back.target): counterpart.back
        for consumer in topology.consumers
        if consumer.cluster != place and standby_of(topology, consumer) == place
        for _, counterpart in counterparts_read(topology, consumer, place)
        if counterpart is not None and counterpart.back is not None
    }
    return tuple(found.values())


def counterparts_read(
    topology: Topology, consumer: Consumer, entered: str
) -> Iterator[tuple[str, Counterpart | None]]:
    """Every topic that a consumer reads at its cluster, by its pattern as well, with its counterpart."""
    for name in topology.topics_read(consumer):
        yield name, counterpart_of(topology, name, consumer.cluster, entered)
