"""One immutable picture of what the clusters say, made once for each decision.

Every part carries where it came from and when. A part that could not be had says why: nothing that
is missing is ever taken for something that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from orchestrator.planning.checkpoints import Seen
from orchestrator.planning.clients import ClientHost
from orchestrator.planning.guards import GuardSaid
from orchestrator.planning.holds import Hold
from orchestrator.planning.picture import DigestedPicture
from orchestrator.planning.plan import digest
from orchestrator.planning.primaries import Primaries
from orchestrator.planning.samples import SampleHistory
from orchestrator.replication.offset_map import OffsetMap
from orchestrator.topology.model import Replication
from orchestrator.values import LogEnd, TopicPartition

T_co = TypeVar("T_co", covariant=True)
Listening = Literal["yes", "refused", "silent"]

# Records that the mirror has read but not written keep coming for as long as its producer needs.
STANDSTILL_S = 0.6


@dataclass(frozen=True, slots=True)
class Part(Generic[T_co]):
    """One thing that was asked. `value` is None exactly if it could not be had.

    Then `problem` says why, and `hint` what to do about it, as far as whoever was asked knows.
    """

    source: str
    at_s: float
    value: T_co | None = None
    problem: str = ""
    hint: str = ""


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
    """One topic at the target. `leaders` holds -1 for none; `isr` is the size of each partition's ISR."""

    topic_id: str
    leaders: tuple[int, ...]
    isr: tuple[int, ...]
    min_insync_replicas: int


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run that the journal knows: how it ended, or that it did not.

    `outcome`: ok, incomplete or unknown; "refused" and "not begun" where no step was ever begun, "undone"
    where all that was done has been taken back. `ended_at_s` is when its newest record was written.
    `let_stand`: of an incomplete one that was taken back, the steps that a person said may stand.
    `looks`: of a move that is done but for its last looks, those that are open; `not_seen`: the producers
    that they missed. `passed`: the run with open looks that a person let this one pass.
    """

    run_id: str
    verb: str
    source: str
    target: str
    started_at_s: float
    outcome: str
    ended_at_s: float = 0.0
    who: str = ""
    reason: str = ""
    let_stand: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    not_seen: tuple[str, ...] = ()
    passed: str = ""

    @property
    def has_effect(self) -> bool:
        """Whether it may have changed anything that still stands."""
        return self.outcome not in ("refused", "not begun", "undone")


def newest_move(runs: Iterable[EarlierRun], source: str, target: str) -> EarlierRun | None:
    """The newest run between these two clusters, either way, that changed anything.

    `runs` are in the order in which they began, as the ensemble knows it: no clock tells which is newest.
    """
    moves = [run for run in runs if {run.source, run.target} == {source, target} and run.has_effect]
    return moves[-1] if moves else None


@dataclass(frozen=True, slots=True)
class CoordinationState:
    """The ensemble answers. `holder` is who else holds the lock, empty for nobody or for this process.

    `holds` is all that people have put there to keep the tool's hands off something; `primaries`, by the
    cluster that the file gives a topic and its name, where the moves have left it. `alone` is why there is
    no ensemble, where a person goes on without one: the rest is then what this machine alone knows.
    `guards`: what the guards of the source's brokers have said; `kept_closed`: why they keep applications out
    of all of these, empty where they do not.
    `runs` are in the order in which they began. Without an ensemble, `newest_fact` is the number of the
    newest fact in the copy of the estate record whose life is `record_life`, and `copy_problem` why that
    could not be read.
    `cluster_ids`: the id that each cluster of the file had when somebody last took them for right.
    """

    holder: str
    runs: tuple[EarlierRun, ...] = ()
    holds: tuple[Hold, ...] = ()
    primaries: Primaries = field(default_factory=dict)
    alone: str = ""
    kept_closed: str = ""
    newest_fact: int | None = None
    record_life: str = ""
    copy_problem: str = ""
    guards: tuple[GuardSaid, ...] = ()
    cluster_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """How the mirror's source connector writes: its settings, and whether its workers use transactions."""

    config: Mapping[str, str]
    in_transactions: bool


GroupOffsets = Mapping[str, Mapping[TopicPartition, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation(DigestedPicture):
    """The picture for one mirror, seen from its target.

    `earlier_ends`: where the mirrored topics ended `STANDSTILL_S` or longer before `log_ends` were read;
    absent while the source takes connections, because then they have no end.
    `mirror_offsets`: of the source connector, the last source offset read. `members`: running members
    of each group at the target; `committed`: what is committed there now. `checkpoints`: the copy of each
    Spark query's checkpoint at the target. `by_time`: for each group with
    `on_untranslatable: timestamp` the target offsets by source partition, see `by_time.py`. `target_id`: the
    id of the target's cluster, None where it does not answer.
    """

    at_s: float
    source: Part[SourceProbe]
    brokers: Part[Mapping[int, str]]
    topics: Part[Mapping[str, TopicState]]
    earlier_ends: Part[Mapping[TopicPartition, int]]
    log_ends: Part[Mapping[TopicPartition, LogEnd]]
    members: Part[Mapping[str, int]]
    committed: Part[GroupOffsets]
    connectors: Part[Mapping[str, str]]
    mirror_offsets: Part[Mapping[TopicPartition, int]]
    mirror_settings: Part[MirrorSettings]
    samples: Part[SampleHistory]
    offset_map: Part[OffsetMap]
    by_time: Part[GroupOffsets]
    checkpoints: Part[Seen]
    coordination: Part[CoordinationState]
    inventory: Part[tuple[ClientHost, ...]]
    target_id: str | None = None

    def cluster_ids(self, mirror: Replication) -> dict[str, str]:
        """The id of each side that answers, empty where it tells none."""
        probe = self.source.value
        found = {mirror.source: probe.cluster_id} if probe is not None and probe.answers else {}
        return found if self.target_id is None else {**found, mirror.target: self.target_id}

    def stands_still(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether nothing has landed in mirrored `partitions` for a while, as far as was seen."""
        before, now = self.earlier_ends.value, self.log_ends.value
        if before is None or now is None:
            return False
        return all(tp in before and tp in now and before[tp] == now[tp].end_offset for tp in partitions)

    def digests(self) -> dict[str, str]:
        """One digest for each part that a plan relies on and that does not move by itself.

        Log ends and positions grow all the time and are judged anew; what must not change between plan
        and act is who is there, what exists, and what runs.
        """
        return {name: digest(_stable(self, name)) for name in _STABLE}


def _stable(observation: Observation, name: str) -> Any:
    part: Part[Any] = getattr(observation, name)
    return {"problem": bool(part.problem), "value": None if part.value is None else _STABLE[name](part.value)}


_STABLE: dict[str, Callable[[Any], Any]] = {
    "source": lambda probe: [probe.answers, len(probe.listening)],
    "brokers": lambda brokers: sorted(brokers.items()),
    "topics": lambda topics: {
        name: [state.topic_id, len(state.leaders), state.min_insync_replicas]
        for name, state in topics.items()
    },
    "members": lambda members: {group: count > 0 for group, count in members.items()},
    "connectors": dict,
    "inventory": lambda hosts: sorted([host.name, host.dc, sorted(host.clients or ())] for host in hosts),
}
