"""One reading of a cluster by its watcher, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.ports.told_metadata import PartitionTold
from orchestrator.values import TopicPartition

FETCHES_WITHIN_S = 0.5
"""A KRaft voter that knows its leader fetches at least so often (`KafkaRaftClient.MAX_FETCH_WAIT_MS`)."""


@dataclass(frozen=True, slots=True)
class ServerSeen:
    """Whether a server is up; None where nobody can tell.

    `down_since`: where it is told since when, a time after which it went down, and one by which it had.
    """

    is_up: bool | None
    down_since: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was seen in one round, between two times of the watcher's clock.

    `told_by`: the broker that told of the cluster, None where none did, and `problem` why; then `registered`,
    `partitions`, `eligible` and `controller` say nothing. `brokers` are seen by their ports, `voters` by
    their names; `sites` are those of brokers. `controller` is empty where nobody was seen to be it;
    `controller_epoch` is -1 where none is told. `eligible`: eligible leader replicas of partitions that have
    any. `unasked`: what else could not be asked, and why. `controller_at_s`: by when the controller was told,
    0 for as soon as all else.
    """

    begun_at_s: float
    ended_at_s: float
    told_by: int | None = None
    problem: str = ""
    cluster_id: str = ""
    registered: frozenset[int] = frozenset()
    brokers: Mapping[int, ServerSeen] = field(default_factory=dict)
    sites: Mapping[int, str] = field(default_factory=dict)
    voters: Mapping[str, ServerSeen] = field(default_factory=dict)
    controller: str = ""
    controller_epoch: int = -1
    controller_at_s: float = 0.0
    partitions: Mapping[TopicPartition, PartitionTold] = field(default_factory=dict)
    eligible: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    unasked: tuple[str, ...] = ()

    @property
    def has_answer(self) -> bool:
        """Whether any broker told of the cluster."""
        return self.told_by is not None

    @property
    def known_brokers(self) -> frozenset[int]:
        """All that are up, or have replicas, or were known before."""
        having = {number for told in self.partitions.values() for number in told.replicas}
        return self.registered | having | self.brokers.keys()

    def is_led(self, told: PartitionTold) -> bool:
        """Whether a broker leads that the cluster takes for living, and that is not seen to be down."""
        seen = self.brokers.get(told.leader)
        return told.leader in self.registered and (seen is None or seen.is_up is not False)

    def in_sync(self, told: PartitionTold) -> frozenset[int]:
        """Replicas in sync that are not gone: in ZooKeeper mode the last one stays in the list."""
        return self.registered.intersection(told.isr)
