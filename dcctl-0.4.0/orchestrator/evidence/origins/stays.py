"""From where to where a consumer has to read the landing topics that it shares with others. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.evidence.clients.config import PLACES
from orchestrator.evidence.clients.places import LIFE_AT_TARGET
from orchestrator.evidence.origins.compared import Window
from orchestrator.evidence.origins.names import origins_of_landing
from orchestrator.evidence.origins.told import Told
from orchestrator.topology.model import Consumer, Topology
from orchestrator.values import TopicPartition


def stays(
    topology: Topology, told: Told, consumer: Consumer, starts: Sequence[Mapping[TopicPartition, int]]
) -> list[Window]:
    """A window for each move that took the consumer to its standby, in their order.

    `starts`: where its landing topics ended when its home was fenced (`fence_offsets` of a run's result):
    from there on everything is for it. Once it has gone home again, up to the last record that producers of
    its own home have written there in that life of theirs: a move waits until it has read these.
    """
    found: list[Window] = []
    for number, start in enumerate(starts):
        life = LIFE_AT_TARGET + number * PLACES
        ends = _written_until(topology, told, consumer, life)
        is_over = told.life.get(consumer.name, 0) > life
        found.append({tp: (at, max(at, ends.get(tp, 0)) if is_over else None) for tp, at in start.items()})
    return found


def _written_until(
    topology: Topology, told: Told, consumer: Consumer, life: int
) -> dict[TopicPartition, int]:
    """The end of what the producers of its home have written, in one of their lives, where it lands."""
    own = {producer.name for producer in topology.producers_of(consumer.cluster)}
    landing, found = origins_of_landing(topology, consumer), dict[TopicPartition, int]()
    for record, ack in told.acked.items():
        if record.producer in own and record.life == life and ack.origin in landing:
            at = TopicPartition(ack.origin.topic, ack.partition)
            found[at] = max(found.get(at, 0), ack.offset + 1)
    return found
