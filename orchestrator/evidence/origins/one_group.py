"""Consumers of one group id: where they work at one cluster, they divide what they read among them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.evidence.clients.places import LIFE_AT_SOURCE, place_in, topics_read
from orchestrator.evidence.clients.records import RecordId
from orchestrator.evidence.origins.told import Reading, Told
from orchestrator.topology.model import Consumer, Topology


def others_of_group(topology: Topology, consumer: Consumer) -> list[Consumer]:
    """Those of the file with the same group id, at other clusters by it."""
    return [
        one
        for one in topology.consumers
        if one.name != consumer.name and consumer.groups and one.groups == consumer.groups
    ]


def read_by_group(
    topology: Topology, told: Told, consumer: Consumer
) -> Mapping[RecordId, tuple[Reading, ...]]:
    """What others of its group have processed in logs that it reads as well, where it has been itself.

    Equal group ids at clusters that it never came to are groups of their own.
    """
    lived = (
        place_in(topology, consumer, life) for life in range(LIFE_AT_SOURCE, told.newest(consumer.name) + 1)
    )
    logs = {
        (place.cluster, topic) for place in set(lived) for topic in topics_read(topology, consumer, place)
    }
    found: dict[RecordId, tuple[Reading, ...]] = {}
    for other in others_of_group(topology, consumer):
        for record, readings in told.processed.get(other.name, {}).items():
            shared = tuple(one for one in readings if (one.cluster, one.topic) in logs)
            if shared:
                found[record] = (*found.get(record, ()), *shared)
    return found
