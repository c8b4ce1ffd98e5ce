"""Topics: creating, configuring, adding partitions, deleting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NotRequired, Self

from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

from orchestrator.estate.observed import ObservedTopic
from orchestrator.ports.admin_values import NewTopic
from orchestrator.reconcile.batch import SETTLE_S, Batch, Replacing
from orchestrator.reconcile.ports import ReconciledClusters, topics_now
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Failed,
    Held,
    Nothing,
    Outcome,
    Partial,
    Reversible,
    Running,
    VerifiedUndo,
)
from orchestrator.runs.estate_record import SettingsBefore
from orchestrator.runs.ports import EstateRecord
from orchestrator.topology.topic_settings import says_the_same
from orchestrator.values import TopicPartition
from orchestrator.wording import listed, plural

_RECORDS_GO = "deleted records do not come back"


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class OnTopics(Batch, phase="topics"):
    """Something done to topics; what to each of them is said by its name."""

    topics: Mapping[str, Any]

    @property
    def objects(self) -> tuple[str, ...]:
        """See `Batch`."""
        return tuple(self.topics)

    @classmethod
    def joined(cls, works: Sequence[Self]) -> Self:
        """See `Batch`."""
        topics = {name: wanted for work in works for name, wanted in work.topics.items()}
        return cls(cluster=works[0].cluster, topics=topics)

    @property
    def what(self) -> str:
        """See `Batch`."""
        names = listed(self.topics)
        return f"topic {names}" if len(self.topics) == 1 else f"{len(self.topics)} topics ({names})"

    def settled(self, run: Running, wrong: Callable[[Any, ObservedTopic | None], str]) -> Outcome[Nothing]:
        """Wait for a moment until nothing is wrong with any of the topics; some may be right already."""
        kafka = run.port(ReconciledClusters).at(self.cluster).kafka
        problems: dict[str, str] = {}

        def is_right() -> bool:
            found = topics_now(kafka, self.topics)
            said = {name: wrong(wanted, found.get(name)) for name, wanted in self.topics.items()}
            problems.clear()
            problems.update((name, problem) for name, problem in said.items() if problem)
            return not problems

        if run.await_true(is_right, min(SETTLE_S, run.timeout_s)):
            return Done(Nothing())
        right = [name for name in self.topics if name not in problems]
        said = listed(f"{name} {problem}" for name, problem in problems.items())
        return Partial(f"{said}; done: {listed(right)}") if right else Failed(said)


class TopicWanted(TypedDict):
    """A topic as it is to be created. Without an `assignment` Kafka places its replicas."""

    partitions: int
    replicas: int
    config: dict[str, str]
    assignment: NotRequired[list[list[int]]]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class CreateTopics(Reversible, VerifiedUndo, OnTopics, name="create-topics", title="Create"):
    """Create what is not there."""

    AT_ONCE: ClassVar[int] = 5_000
    EACH_S: ClassVar[float] = 0.002
    PLACES_REPLICAS: ClassVar[bool] = True

    topics: dict[str, TopicWanted]

    @property
    def weight(self) -> int:
        """Records that the controller writes for them."""
        return sum(wanted["partitions"] + len(wanted["config"]) + 1 for wanted in self.topics.values())

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        run.port(ReconciledClusters).at(self.cluster).kafka.create_topics(
            {
                name: NewTopic(
                    partitions=wanted["partitions"],
                    replicas=wanted["replicas"],
                    assignment=tuple(tuple(replicas) for replicas in wanted.get("assignment", ())),
                    config=wanted["config"],
                )
                for name, wanted in self.topics.items()
            }
        )
        return Done(Nothing(), f"{plural(len(self.topics), 'topic')} created")

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Each exists as it was to be created."""
        return self.settled(run, _not_as_created)

    def undo(self, run: Running) -> Outcome[Nothing]:
        """Delete those to which nobody has written yet.

        One that is not as the step would have made it was made by somebody else in the meantime, and stays.
        """
        kafka = run.port(ReconciledClusters).at(self.cluster).kafka
        found = topics_now(kafka, self.topics)
        own = {name for name, topic in found.items() if not _not_as_created(self.topics[name], topic)}
        logs = kafka.log_ends(
            TopicPartition(name, number) for name in own for number in range(found[name].partitions)
        )
        used = {tp.topic for tp, log in logs.items() if log.end_offset > log.start_offset}
        kafka.delete_topics(own - used)
        if used:
            # Which ones are gone is seen and told behind this.
            outcome = Partial if used < own else Failed
            return outcome(f"topics not deleted, because they have records: {listed(sorted(used))}")
        others = sorted(found.keys() - own)
        left = f"; not deleted, because somebody else created them: {listed(others)}" if others else ""
        return Done(Nothing(), f"{plural(len(own), 'topic')} deleted{left}")

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """None of them exists any more that is as the step made it."""
        return self.settled(
            run,
            lambda wanted, found: "" if found is None or _not_as_created(wanted, found) else "still exists",
        )


class SettingsWanted(TypedDict):
    """Settings of a topic and what they were before (None: the brokers' own). `irreversible`: setting them
    deletes records.
    """

    set: dict[str, str | None]
    was: dict[str, str | None]
    irreversible: bool


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class SetConfig(Replacing, OnTopics, name="set-config", title="Set the configuration of", expected_s=0.3):
    """Set what the file says; what it does not say stays, and what was there before is recorded."""

    EACH_S: ClassVar[float] = 0.002

    topics: dict[str, SettingsWanted]

    @classmethod
    def joined(cls, works: Sequence[Self]) -> Self:
        """All settings of a topic together."""
        topics: dict[str, SettingsWanted] = {}
        for name, more in (item for work in works for item in work.topics.items()):
            known = topics.get(name, {"set": {}, "was": {}, "irreversible": False})
            topics[name] = {
                "set": {**known["set"], **more["set"]},
                "was": {**known["was"], **more["was"]},
                "irreversible": known["irreversible"] or more["irreversible"],
            }
        return cls(cluster=works[0].cluster, topics=topics)

    @property
    def irreversible(self) -> str:
        """Of some of the topics records go; taken back are the settings."""
        return _RECORDS_GO if any(wanted["irreversible"] for wanted in self.topics.values()) else ""

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        before = {name: wanted["was"] for name, wanted in self.topics.items()}
        run.port(EstateRecord).write(SettingsBefore(cluster=self.cluster, settings=before))
        return super().perform(run)

    def put(self, run: Running, *, back: bool) -> Outcome[Nothing]:
        """See `Replacing`."""
        changes = {name: wanted["was"] if back else wanted["set"] for name, wanted in self.topics.items()}
        run.port(ReconciledClusters).at(self.cluster).kafka.alter_configs("topic", changes)
        return Done(Nothing(), f"configuration of {plural(len(changes), 'topic')} set")

    def see(self, run: Running, *, back: bool) -> Outcome[Nothing]:
        """See `Replacing`: every entry is in force."""

        def wrong(wanted: SettingsWanted, found: ObservedTopic | None) -> str:
            entries = wanted["was"] if back else wanted["set"]
            return "does not exist" if found is None else _wrong_config(entries, found)

        return self.settled(run, wrong)


class PartitionsWanted(TypedDict):
    """How many partitions a topic shall have, and had. `assignment`: replicas of those that are added."""

    total: int
    was: int
    assignment: NotRequired[list[list[int]]]


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class AddPartitions(
    OnTopics,
    name="add-partitions",
    title="Add partitions to",
    irreversible="Kafka cannot remove a partition",
):
    """Add what is missing; a topic that has enough is left alone, for it is refused to do it twice."""

    AT_ONCE: ClassVar[int] = 5_000
    EACH_S: ClassVar[float] = 0.002
    PLACES_REPLICAS: ClassVar[bool] = True

    topics: dict[str, PartitionsWanted]

    @property
    def weight(self) -> int:
        """How many are added."""
        return sum(wanted["total"] - wanted["was"] for wanted in self.topics.values())

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        kafka = run.port(ReconciledClusters).at(self.cluster).kafka
        found = topics_now(kafka, self.topics)
        short = {
            name: wanted
            for name, wanted in self.topics.items()
            if name in found and found[name].partitions < wanted["total"]
        }
        kafka.create_partitions(
            {name: wanted["total"] for name, wanted in short.items()},
            {name: wanted["assignment"] for name, wanted in short.items() if "assignment" in wanted},
        )
        return Done(Nothing(), f"partitions added to {plural(len(short), 'topic')}")

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Each topic has as many as it should."""

        def wrong(wanted: PartitionsWanted, found: ObservedTopic | None) -> str:
            if found is None:
                return "does not exist"
            return "" if found.partitions == wanted["total"] else f"has {found.partitions} partitions"

        return self.settled(run, wrong)


class TopicMeant(TypedDict):
    """The topic that a plan means, whatever has its name by now."""

    topic_id: str


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class DeleteTopics(OnTopics, name="delete-topics", phase="remove", title="Delete", irreversible=_RECORDS_GO):
    """Delete topics that are still those that the plan means."""

    topics: dict[str, TopicMeant]

    def holds(self) -> Iterable[Held]:
        """See `Effect`."""
        return (Held(f"topic {name}", "deleted", self.cluster) for name in self.topics)

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        kafka = run.port(ReconciledClusters).at(self.cluster).kafka
        found = topics_now(kafka, self.topics)
        others = sorted(
            name for name, topic in found.items() if topic.topic_id != self.topics[name]["topic_id"]
        )
        if others:
            return Failed(f"topics deleted and created again since the plan was made: {listed(others)}")
        kafka.delete_topics(found)
        return Done(Nothing(), f"{plural(len(found), 'topic')} deleted")

    def verify(self, run: Running) -> Outcome[Nothing]:
        """None of them exists any more."""
        return self.settled(run, lambda _, found: "" if found is None else "still exists")


def _not_as_created(wanted: TopicWanted, found: ObservedTopic | None) -> str:
    """What is other than `CreateTopics` would have made it; empty where nothing is."""
    if found is None:
        return "does not exist"
    if found.partitions != wanted["partitions"]:
        return f"has {found.partitions} partitions"
    if any(len(replicas) != wanted["replicas"] for replicas in found.replicas):
        return f"has {len(found.replicas[0])} replicas"
    if "assignment" in wanted and [list(r) for r in found.replicas] != wanted["assignment"]:
        return "has its replicas on other brokers"
    return _wrong_config(wanted["config"], found)


def _wrong_config(wanted: Mapping[str, str | None], found: ObservedTopic) -> str:
    for key, value in wanted.items():
        if not says_the_same(key, found.config.get(key), value):
            return f"has {key} {found.config.get(key, 'not set')}"
    return ""
