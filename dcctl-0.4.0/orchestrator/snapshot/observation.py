"""What clusters and workers say when they are asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.ports.servers import Kafka
from orchestrator.topology.agreement import DEFAULTS as COMPARED
from orchestrator.values import TopicPartition
from orchestrator.wording import plural

Listening = Literal["yes", "refused", "silent"]

# Records that the mirror has read but not written keep coming for as long as its producer needs.
STANDSTILL_S = 0.6


@dataclass(frozen=True, slots=True)
class SourceProbe:
    """What the source does when it is called: each address over TCP, and Kafka's own metadata call.

    `metadata_problem` is empty if a broker answered it; then `cluster_id` is what it says.
    """

    addresses: Mapping[str, Listening]
    metadata_problem: str
    cluster_id: str = ""

    @property
    def answers(self) -> bool:
        """Whether any broker answered as Kafka."""
        return not self.metadata_problem

    @property
    def listening(self) -> tuple[str, ...]:
        """Addresses that took a connection."""
        return tuple(address for address, state in self.addresses.items() if state == "yes")


@dataclass(frozen=True, slots=True)
class TopicState:
    """One topic at the target. `leaders` holds -1 for none; `isr` is the size of each partition's ISR.

    `config`: the settings in force on which a topic and its copy have to agree (`topology.agreement`).
    """

    topic_id: str
    leaders: tuple[int, ...]
    isr: tuple[int, ...]
    min_insync_replicas: int
    config: Mapping[str, str] = field(default_factory=dict)


def too_few_in_sync(in_sync: int, needed: int) -> str:
    """Why a partition cannot be written, in words."""
    return f"{plural(in_sync, 'replica')} in sync, min.insync.replicas is {needed}"


def degraded_partitions(topics: Mapping[str, TopicState]) -> list[str]:
    """Partitions that cannot be written: without a leader, or with too few replicas in sync."""
    return [
        f"{name}-{number}: "
        + ("no leader" if leader < 0 else too_few_in_sync(isr, state.min_insync_replicas))
        for name, state in sorted(topics.items())
        for number, (leader, isr) in enumerate(zip(state.leaders, state.isr, strict=True))
        if leader < 0 or isr < state.min_insync_replicas
    ]


@dataclass(frozen=True, slots=True)
class AccessState:
    """`authorizer` is empty for none; `super_users` are above every rule, None where nobody tells them.

    `operator` is the orchestrator's own principal, as far as the file has its name.
    """

    authorizer: str
    super_users: frozenset[str] | None
    operator: str = ""


GroupOffsets = Mapping[str, Mapping[TopicPartition, int]]


def topic_states(cluster: Kafka, names: Iterable[str]) -> dict[str, TopicState]:
    """Those of the topics that exist, as they are at a cluster."""
    described = cluster.topics(names)
    configs = cluster.topic_config(described)
    return {
        name: TopicState(
            topic.topic_id,
            topic.leaders,
            tuple(len(replicas) for replicas in topic.isr),
            int(configs[name].get("min.insync.replicas", "1")),
            {key: value for key, value in configs[name].items() if key in COMPARED},
        )
        for name, topic in described.items()
        if name in configs
    }
