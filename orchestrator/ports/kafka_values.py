"""What Kafka says, as values: topics, records, and how a cluster decides who may do what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.values import TopicPartition


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """What the cluster says about one topic. `isr` and `leaders` are per partition, -1 for no leader."""

    name: str
    topic_id: str
    leaders: tuple[int, ...]
    replicas: tuple[tuple[int, ...], ...]
    isr: tuple[tuple[int, ...], ...]
    is_internal: bool = False

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """Its partitions in order."""
        return tuple(TopicPartition(self.name, number) for number in range(len(self.leaders)))


@dataclass(frozen=True, slots=True)
class Authorization:
    """How a cluster decides who may do what: its authorizer (empty for none), and who is above all rules.

    `super_users` is None where no broker says it: Kafka hides the values of settings that belong to
    plug-ins, and `super.users` is the authorizer's.
    """

    authorizer: str
    super_users: frozenset[str] | None


class Record(NamedTuple):
    """One record as the orchestrator reads it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
