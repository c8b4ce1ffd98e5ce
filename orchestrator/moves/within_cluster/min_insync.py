"""`min.insync.replicas` of topics after the loss of a site: lowered, and put back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count

from pydantic.dataclasses import dataclass

from orchestrator.errors import ClusterError
from orchestrator.moves.within_cluster.batches import asked_for
from orchestrator.moves.within_cluster.order import Assigned, assigned, unseen_in_words
from orchestrator.moves.within_cluster.waiting import await_answered
from orchestrator.ports.servers import Kafka
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Nothing,
    Outcome,
    Partial,
    Reversible,
    Running,
    Verified,
    VerifiedUndo,
)
from orchestrator.runs.facts_within_clusters import MinInsyncLowered, MinInsyncRestored
from orchestrator.runs.ports import Clusters, EstateRecord
from orchestrator.wording import listed, plural

KEY = "min.insync.replicas"
_AT_ONCE = 500
_SETTLED_S = 30.0
_POLL_S = 0.5
# Looks until it is asked for once more: a setting is told a moment after it is set.
_ASKED_AGAIN_AFTER = 6


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class LowerMinInsync(
    Reversible,
    VerifiedUndo,
    Verified[Nothing],
    Effect[Nothing],
    name="lower-min-insync",
    phase="redirect",
    expected_s=2.0,
    timeout_s=120.0,
):
    """At the topics alone. In KRaft behind the election: a change of it clears eligible leader replicas.

    `topics`: what each gets. What each had is recorded before.
    """

    cluster: str
    sites: tuple[str, ...]
    topics: dict[str, int]

    @property
    def title(self) -> str:
        """See `Effect`."""
        rows = (f"{name} to {wanted}" for name, wanted in self.topics.items())
        return f"Lower {KEY} at {self.cluster}, so that writes go on: {listed(rows)}"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        kafka, record = _kafka(run, self.cluster), run.port(EstateRecord)
        came_to: Outcome[Nothing] = Partial("interrupted: not every setting was asked for")

        def is_asked() -> bool:
            """Brokers find a quorum that has just been formed one by one. Set twice it is the same."""
            nonlocal came_to
            if self._own(run) is None:
                own = _told_of_all(kafka, self.topics, kafka.configs("topic", self.topics))
                record.write(self._fact({name: own[name].get(KEY) for name in self.topics}))
            came_to = _set(run, kafka, self._wanted())
            return True

        await_answered(run, is_asked, _SETTLED_S, poll_s=_POLL_S)
        if not isinstance(came_to, Done):
            return came_to
        return _hold(run, kafka, self._not_in_force, is_asked=True)

    def _wanted(self) -> dict[str, str]:
        return {name: str(wanted) for name, wanted in self.topics.items()}

    def _not_in_force(self, kafka: Kafka) -> dict[str, str]:
        wanted = self._wanted()
        found = kafka.topic_config(wanted)
        return {name: value for name, value in wanted.items() if found.get(name, {}).get(KEY) != value}

    def verify(self, run: Running) -> Outcome[Nothing]:
        """Each has it in force."""
        if wrong := _left(run, _kafka(run, self.cluster), self._not_in_force):
            return Partial(f"{KEY} is not what was asked for: {listed(wrong)}")
        return Done(Nothing(), f"{KEY} of {plural(len(self.topics), 'topic')} in force")

    def undo(self, run: Running) -> Outcome[Nothing]:
        """What was recorded, of those that have what this run set; then the record is taken back.

        It is left with topics that are not to be seen: a failback finds them once they are.
        """
        own, kafka = self._own(run), _kafka(run, self.cluster)
        if own is None:
            return Done(Nothing())
        back = partial(_back, before=own.before, lowered=own.lowered)
        asked = _hold(run, kafka, back)
        if not isinstance(asked, Done):
            return asked
        if left := _left(run, kafka, back):
            return Partial(f"{KEY} not put back: {listed(left)}")
        leaving = None
        if unseen := own.before.keys() - kafka.configs("topic", own.before).keys():
            leaving = replace(
                own,
                before={name: own.before[name] for name in unseen},
                lowered={name: own.lowered[name] for name in unseen},
            )
        run.port(EstateRecord).withdraw(MinInsyncLowered, like=own, leaving=leaving)
        return Done(Nothing())

    def verify_undone(self, run: Running) -> Outcome[Nothing]:
        """Nothing is recorded any more, but of topics that are not to be seen."""
        own = self._own(run)
        before = own.before if own is not None else {}
        if before.keys() & _kafka(run, self.cluster).configs("topic", before).keys():
            return Failed(f"{KEY} was lowered, and is not back")
        return Done(Nothing(), f"{KEY} is as it was before the run{unseen_in_words(sorted(before))}")

    def _own(self, run: Running) -> MinInsyncLowered | None:
        return run.port(EstateRecord).find(MinInsyncLowered, like=self._fact({}))

    def _fact(self, before: Mapping[str, str | None]) -> MinInsyncLowered:
        return MinInsyncLowered(cluster=self.cluster, sites=self.sites, before=before, lowered=self.topics)


@dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class RestoreMinInsync(
    Verified[Nothing],
    Effect[Nothing],
    name="restore-min-insync",
    phase="redirect",
    expected_s=2.0,
    timeout_s=120.0,
    stays="it is what topics had before it was lowered",
):
    """`before` and `lowered` as recorded. A topic that somebody has changed since stays as it is."""

    cluster: str
    before: dict[str, str | None]
    lowered: dict[str, int]

    @property
    def title(self) -> str:
        """See `Effect`."""
        return f"Put {KEY} at {self.cluster} back to what it was: {listed(self.before)}"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`. Nothing is changed while too few are in sync: a topic would take no writes."""
        kafka = _kafka(run, self.cluster)
        lacking: list[str] = []

        def is_in_sync() -> bool:
            placement = kafka.placement()
            meant = (one for one in assigned(placement) if one.partition.topic in self.before)
            lacking[:] = [str(one.partition) for one in meant if len(one.in_sync) < self._wanted(one)]
            return not lacking

        if not await_answered(run, is_in_sync, _SETTLED_S):
            return Failed(f"{KEY} stays lowered: too few replicas are in sync for it: {listed(lacking)}")
        return _hold(run, kafka, self._not_back)

    def _not_back(self, kafka: Kafka) -> dict[str, str | None]:
        return _back(kafka, self.before, self.lowered)

    def _wanted(self, one: Assigned) -> int:
        """As it was set; all of them where the cluster's own word counts."""
        before = self.before[one.partition.topic]
        return min(int(before), len(one.replicas)) if before else len(one.replicas)

    def verify(self, run: Running) -> Outcome[Nothing]:
        """No topic has what it was lowered to; then that is recorded."""
        kafka = _kafka(run, self.cluster)
        if left := _left(run, kafka, self._not_back):
            return Partial(f"{KEY} not put back: {listed(left)}")
        own = kafka.configs("topic", self.before)
        unseen = tuple(sorted(self.before.keys() - own.keys()))
        run.port(EstateRecord).write(MinInsyncRestored(cluster=self.cluster, but_for=unseen))
        other = [name for name in own if own[name].get(KEY) != self.before[name]]
        said = f"; changed by somebody since, and left: {listed(other)}" if other else ""
        said += unseen_in_words(unseen)
        return Done(Nothing(), f"{KEY} is what it was{said}")


def in_force(kafka: Kafka, topics: Iterable[str]) -> dict[str, int]:
    """`min.insync.replicas` by topic, wherever it is set. Raises `ClusterError` where one is not told."""
    wanted = tuple(topics)
    found = _told_of_all(kafka, wanted, kafka.topic_config(wanted))
    return {name: int(entries[KEY]) for name, entries in found.items()}


def _told_of_all(
    kafka: Kafka, topics: Iterable[str], found: Mapping[str, Mapping[str, str]]
) -> Mapping[str, Mapping[str, str]]:
    """What was found, if it is of all these topics. A broker that has just started may know none yet."""
    if missing := sorted(set(topics) - found.keys()):
        raise ClusterError(
            kafka.subject,
            f"no settings were described of {listed(missing)}, though the topics were there a moment ago",
            "brokers that have just started do not know all topics yet: give the command again",
        )
    return found


def _kafka(run: Running, cluster: str) -> Kafka:
    return run.port(Clusters).cluster(cluster)


def _set(run: Running, kafka: Kafka, values: Mapping[str, str | None]) -> Outcome[Nothing]:
    def ask(some: Sequence[tuple[str, str | None]]) -> None:
        kafka.alter_configs("topic", {name: {KEY: value} for name, value in some})

    return asked_for(run, sorted(values.items()), ask, "setting", at_once=_AT_ONCE)


def _hold(
    run: Running,
    kafka: Kafka,
    left: Callable[[Kafka], Mapping[str, str | None]],
    *,
    is_asked: bool = False,
) -> Outcome[Nothing]:
    """Ask for what is `left` to be set until nothing is, for a while: `verify` tells what is left then.

    `is_asked`: it was asked for a moment ago. In ZooKeeper mode a broker reads all settings of a topic, and
    writes all of them: of two that do so at the same moment one takes back what the other has set.
    """
    came_to: Outcome[Nothing] = Done(Nothing())
    polls = count(int(is_asked))

    def holds() -> bool:
        nonlocal came_to
        rest = left(kafka)
        if rest and next(polls) % _ASKED_AGAIN_AFTER == 0:
            came_to = _set(run, kafka, rest)
        return not rest or not isinstance(came_to, Done)

    await_answered(run, holds, _SETTLED_S, poll_s=_POLL_S)
    return came_to


def _back(
    kafka: Kafka, before: Mapping[str, str | None], lowered: Mapping[str, int]
) -> dict[str, str | None]:
    """What is to be set: what they had before, of topics that have what they were lowered to."""
    own = kafka.configs("topic", before)
    return {
        name: value
        for name, value in before.items()
        if name in own and own[name].get(KEY) == str(lowered[name]) and value != str(lowered[name])
    }


def _left(
    run: Running, kafka: Kafka, left: Callable[[Kafka], Mapping[str, str | None]]
) -> Mapping[str, str | None]:
    """What is `left` to be set after a moment; nobody asks for it."""
    found: Mapping[str, str | None] = {}

    def is_set() -> bool:
        nonlocal found
        found = left(kafka)
        return not found

    await_answered(run, is_set, _SETTLED_S, poll_s=_POLL_S)
    return found
