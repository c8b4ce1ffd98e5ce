"""Which partitions their preferred replica does not lead, and which of these it could lead at once. Pure.

Rule (Kafka, "Balancing leadership"): preferred is the first replica of a partition's assignment. It is
elected where it is up and in sync, and nothing is lost by it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.ports.servers import Placement
from orchestrator.values import TopicPartition

NO_LEADER = -1


class Displaced(NamedTuple):
    """A partition that another replica leads than the preferred one, or none (`NO_LEADER`).

    `problem`: why the preferred one could not lead now, `down` or `not in sync`; empty where it could.
    """

    partition: TopicPartition
    preferred: int
    leader: int
    problem: str = ""

    @property
    def could_lead(self) -> bool:
        """Whether the preferred replica would be elected now."""
        return not self.problem

    def __str__(self) -> str:
        led = "has no leader" if self.leader == NO_LEADER else f"is led by {self.leader}"
        why = f", which is {self.problem}" if self.problem else ""
        return f"{self.partition} {led} instead of {self.preferred}{why}"


@dataclass(slots=True)
class BrokerLeads:
    """One broker. `leads`: partitions that it leads; `preferred`: those of which it is the first replica.

    `rack` is empty where it has none.
    """

    rack: str
    leads: int = 0
    preferred: int = 0


def displaced(placement: Placement) -> Iterator[Displaced]:
    """In the order of topics and partitions."""
    for name in sorted(placement.topics):
        topic = placement.topics[name]
        rows = zip(topic.partitions, topic.replicas, topic.leaders, topic.isr, strict=True)
        for partition, replicas, leader, in_sync in rows:
            if one := displaced_one(partition, replicas, leader, in_sync, placement.living):
                yield one


def displaced_one(
    partition: TopicPartition,
    replicas: Sequence[int],
    leader: int,
    in_sync: Collection[int],
    living: Collection[int],
) -> Displaced | None:
    """None where the preferred replica leads, or there is none."""
    if not replicas or leader == replicas[0]:
        return None
    first = replicas[0]
    problem = "" if first in in_sync else "not in sync"
    return Displaced(partition, first, leader, problem if first in living else "down")


def leads_by_broker(placement: Placement) -> dict[int, BrokerLeads]:
    """Every broker that has a replica, by its id."""
    found: dict[int, BrokerLeads] = {}

    def of(broker: int) -> BrokerLeads:
        return found.setdefault(broker, BrokerLeads(placement.racks.get(broker, "")))

    for topic in placement.topics.values():
        for replicas, leader in zip(topic.replicas, topic.leaders, strict=True):
            for broker in replicas:
                of(broker)
            if replicas:
                of(replicas[0]).preferred += 1
            if leader != NO_LEADER:
                of(leader).leads += 1
    return dict(sorted(found.items()))
