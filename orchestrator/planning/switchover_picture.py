"""What a planned move looks at: both sides, the source as well as the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.planning.fence_gates import AccessState
from orchestrator.planning.observation import GroupOffsets, Observation, Part, TopicState
from orchestrator.planning.picture import DigestedPicture
from orchestrator.planning.plan import digest
from orchestrator.values import LogEnd, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSide:
    """The source, asked directly: it is there. `committed` are the offsets of the groups that move."""

    topics: Part[Mapping[str, TopicState]]
    log_ends: Part[Mapping[TopicPartition, LogEnd]]
    committed: Part[GroupOffsets]
    access: Part[AccessState]


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchoverPicture(DigestedPicture):
    """`observation` is the target's side, as for a failover; `target_access` its authorizer."""

    observation: Observation
    source: SourceSide
    target_access: Part[AccessState]

    @property
    def at_s(self) -> float:
        """When it was taken, Unix epoch seconds."""
        return self.observation.at_s

    def digests(self) -> dict[str, str]:
        """One for each part that must not change between plan and act."""
        topics = self.source.topics.value
        stable = {name: [state.topic_id, len(state.leaders)] for name, state in (topics or {}).items()}
        return {**self.observation.digests(), "source-topics": digest(stable)}
