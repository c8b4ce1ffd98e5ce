"""What effects leave for those behind them: the types that handles are of, and nothing else.

They are apart from the effects, so that an effect knows what it needs, and not who brings it.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from pydantic.dataclasses import dataclass

from orchestrator.replication.offsets_json import Offsets
from orchestrator.runs.effect import EFFECT_CONFIG, Shown
from orchestrator.runs.stored import stored_as
from orchestrator.values import Acl, TopicPartition

GroupOffsets = dict[str, Offsets]
"""Offsets by partition of each group."""


@dataclass(frozen=True, config=EFFECT_CONFIG)
class StandingLogs:
    """Logs that stood still: the end of each, which every replica in sync has, and where it starts.

    `epochs`: the epoch of each one's leader at its end, as far as it was told; an older run has none.
    """

    ends: Offsets
    starts: Offsets
    epochs: Offsets = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class PartlyStanding(StandingLogs):
    """Those logs of a cluster that can be read, which stood still; of the others `unread` says why not.

    `log_ends`: where leaders have their ends, as far as they tell; `silent`: addresses that do not answer.
    `is_fenced`: applications are denied there.
    """

    log_ends: Offsets
    unread: dict[str, str]
    silent: tuple[str, ...]
    is_fenced: bool


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class LeadersChosen:
    """Who is to lead where nobody in sync is left: [topic, partition, broker, leader epoch, log end], …"""

    leaders: tuple[tuple[str, int, int, int, int], ...]

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """Where the log of each of these partitions ends then."""
        return {TopicPartition(topic, number): end for topic, number, _, _, end in self.leaders}


@dataclass(frozen=True, config=EFFECT_CONFIG)
class RulesFound:
    """Those of some access rules that were there before a run touched any."""

    had: tuple[Acl, ...]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RulesHeard:
    """Ids of the brokers that are known to have heard of some access rules, and addresses that are silent."""

    heard: tuple[int, ...]
    silent: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class MirrorEnd:
    """Where a mirror that was stopped has come to.

    `ends`: of each mirrored partition at its target. `mirror_offsets`: the last source offset read.
    """

    ends: Offsets
    mirror_offsets: Offsets


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class TopicEnds:
    """Where topics end, each partition.

    `ends`: from where on nothing is passed over that may have been written early; `seen_from`: where to look
    for who has written; `now`: as they were when asked, at `at_s` (Unix seconds).
    """

    ends: Offsets
    seen_from: Offsets
    now: Offsets
    at_s: float


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class Stopped:
    """Applications that were asked to stop; `not_stopped` says which of them may run on, empty where none."""

    clients: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    not_stopped: str = ""


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RecordedPositions:
    """What groups had committed. `at_s`: when that was last known to be so (Unix seconds), by group.

    `sampled`: groups whose own coordinator did not tell, and of which the watcher's word stands.
    """

    positions: GroupOffsets
    at_s: dict[str, float]
    sampled: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SavedOffsets:
    """What groups had committed at the other side before a run wrote there."""

    offsets: GroupOffsets


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class TranslatedPositions:
    """Rows as `offsets translate` prints them, of groups or other applications, and where each group goes on
    in the landing topics.
    """

    translations: list[dict[str, Any]]
    landing: GroupOffsets


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class WrittenOffsets:
    """What is committed for each group since. `sabotage_offset_shift`: a rehearsal has shifted it so far."""

    written: GroupOffsets
    sabotage_offset_shift: int = 0


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class MembersSeen:
    """How many members each group had, and when that was (Unix seconds). `at_work`: consumers that read then,
    by their names.
    """

    members: dict[str, int]
    at_s: float
    at_work: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class Pause:
    """For how long consumers stood that stay at a cluster; None where their going on was not seen."""

    consumers: tuple[str, ...]
    cluster: str
    seconds: float | None


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RelocatedQuery:
    """What was done with a query's checkpoint; `report` is the row of it that reports show."""

    query: str
    from_batch: int
    report: dict[str, Any]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class Confirmations:
    """One row a producer, with its first record at the other side; `not_seen`: those not seen to write."""

    producers: list[dict[str, Any]]
    not_seen: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class LossCounted:
    """topic -> partition -> {"lost", "reason"}: a number of records, or null and why."""

    loss: dict[str, dict[str, Any]]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RejoiningLogs:
    """The logs of a side that has returned, against what was copied and recorded of them.

    `set_offsets`: [topic, partition, offset or null] where the mirror's position does not fit; `truncations`
    as `truncations_to_json` gives them; `tail`: records that are late; `missing` and `target_only`: records
    that are not there any more; `copied`: where the copies ended.
    """

    set_offsets: tuple[tuple[str, int, int | None], ...]
    truncations: list[list[Any]] = stored_as("cuts", now="truncations")
    tail: Offsets
    missing: Offsets
    target_only: Offsets = stored_as("orphans", now="target_only")
    copied: Offsets


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class MirrorStarts:
    """The first source offset that a mirror copies, by partition (none: from its beginning).

    `provisional`: of these, those of topics that had never moved, which a recorded start comes before.
    """

    starts: Offsets
    provisional: Offsets = field(default_factory=dict)


# What reports show: where a mirror and the topics that are written next ended; of groups, what stood there
# before, where they go on, and what stands there since; who stood for that; relocated queries; what was
# counted as lost.
MIRRORED = Shown("mirrored", MirrorEnd)
LANDING = Shown("landing", TopicEnds)
SAVED = Shown("saved", SavedOffsets)
TRANSLATIONS = Shown("translations", TranslatedPositions)
WRITTEN = Shown("written", WrittenOffsets)
PAUSES = Shown("pauses", Pause)
QUERIES = Shown("queries", RelocatedQuery)
LOSS = Shown("loss", LossCounted)
