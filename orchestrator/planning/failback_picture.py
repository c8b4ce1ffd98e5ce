"""What a failback looks at: the returned primary as its target, and the standby where everything works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.planning.checkpoints import Seen
from orchestrator.planning.estate_record import LogsLeft
from orchestrator.planning.fence_gates import AccessState
from orchestrator.planning.observation import GroupOffsets, Observation, Part, TopicState
from orchestrator.planning.picture import DigestedPicture
from orchestrator.planning.plan import digest
from orchestrator.planning.samples import SampleHistory
from orchestrator.replication.cuts import Cuts
from orchestrator.values import EpochEnd, LogEnd, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What earlier runs have recorded: the landing offsets at which the reverse mirror begins (first of
    all, whenever that was), every cut of the primary's logs, those of them that were found since applications
    left it, and how its logs stood then (None where nobody has recorded that).
    """

    starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    cuts: Cuts = field(default_factory=dict)
    cuts_since_left: Cuts = field(default_factory=dict)
    left: LogsLeft | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StandbySide:
    """The standby, asked directly. `log_ends` of the mirrored and the landing topics."""

    topics: Part[Mapping[str, TopicState]]
    log_ends: Part[Mapping[TopicPartition, LogEnd]]
    committed: Part[GroupOffsets]
    access: Part[AccessState]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailbackPicture(DigestedPicture):
    """`observation`: the primary as target of the reverse mirror, and the workers at the standby.

    `checkpoints`: that of each Spark query at work at the standby, as it lies there.
    `last_read`: stored positions of the mirror's own source connector. `samples`: what the watcher has
    recorded of the primary. `epoch_ends`: where the leader epochs in which its logs were left end in them
    now; nothing of a partition of which no epoch is recorded.
    """

    observation: Observation
    standby: StandbySide
    home_access: Part[AccessState]
    last_read: Part[Mapping[TopicPartition, int]]
    samples: Part[SampleHistory]
    past: Part[Past]
    epoch_ends: Part[Mapping[TopicPartition, EpochEnd]]
    checkpoints: Part[Seen]

    @property
    def at_s(self) -> float:
        """When it was taken, Unix epoch seconds."""
        return self.observation.at_s

    def digests(self) -> dict[str, str]:
        """One for each part that must not change between plan and act."""
        topics = self.standby.topics.value
        stable = {name: [state.topic_id, len(state.leaders)] for name, state in (topics or {}).items()}
        return {**self.observation.digests(), "standby-topics": digest(stable)}
