"""What clusters, workers, watchers and the ensemble say, and how each answer stands in a snapshot.

Every part carries where it came from and when. A part that could not be had says why: nothing that
is missing is ever taken for something that is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from orchestrator.planning.guards import GuardSaid
from orchestrator.planning.holds import Hold
from orchestrator.planning.primaries import Primaries
from orchestrator.planning.wanted_words import WordWanted
from orchestrator.values import Acl, TopicPartition

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


def sick_partitions(topics: Mapping[str, TopicState]) -> list[str]:
    """Partitions that cannot be written: without a leader, or with too few replicas in sync."""
    return [
        f"{name}-{number}: "
        + ("no leader" if leader < 0 else f"{isr} in sync of {state.min_insync_replicas}")
        for name, state in sorted(topics.items())
        for number, (leader, isr) in enumerate(zip(state.leaders, state.isr, strict=True))
        if leader < 0 or isr < state.min_insync_replicas
    ]


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run that the journal knows: how it ended, or that it did not.

    `outcome`: ok, incomplete or unknown; "refused" and "not begun" where no step was ever begun, "undone"
    where all that was done has been taken back. `ended_at_s` is when its newest record was written.
    `let_stand`: of an incomplete one that was taken back, the steps that a person said may stand.
    `looks`: of a move that is done but for its last looks, those that are open; `not_seen`: the clients that
    they missed, `waits_for`: the words of a person that would end them. `passed`: the run with open looks
    that a person let this one pass.
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
    waits_for: tuple[WordWanted, ...] = ()
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
    `denials`: by cluster, the access rules with which runs keep applications off it, each with the run's id.
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
    denials: Mapping[str, Mapping[Acl, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """How the mirror's source connector writes: its settings, and whether its workers use transactions."""

    config: Mapping[str, str]
    in_transactions: bool


@dataclass(frozen=True, slots=True)
class AccessState:
    """`authorizer` is empty for none; `super_users` are above every rule, None where nobody tells them.

    `operator` is the orchestrator's own principal, as far as the file has its name.
    """

    authorizer: str
    super_users: frozenset[str] | None
    operator: str = ""


GroupOffsets = Mapping[str, Mapping[TopicPartition, int]]
