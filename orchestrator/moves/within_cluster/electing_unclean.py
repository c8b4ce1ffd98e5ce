"""Effects where every replica in sync is lost: the longest log put first, then elected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic.dataclasses import dataclass as checked_dataclass

from orchestrator.errors import ClusterError
from orchestrator.moves.results import LeadersChosen
from orchestrator.moves.within_cluster.batches import asked_for
from orchestrator.moves.within_cluster.order import (
    Assigned,
    Replicas,
    assigned,
    not_seen,
    orders_of,
    restored,
    unseen_in_words,
)
from orchestrator.moves.within_cluster.reordering import awaited, reordered
from orchestrator.moves.within_cluster.unclean import Ends, choices, led_by_nobody
from orchestrator.moves.within_cluster.waiting import await_answered
from orchestrator.ports.servers import Placement, ReplicaEnds
from orchestrator.runs.effect import (
    EFFECT_CONFIG,
    Done,
    Effect,
    Failed,
    Handle,
    Nothing,
    Outcome,
    Partial,
    Reversible,
    Running,
    Unknown,
)
from orchestrator.runs.facts_within_clusters import LongestFirst, TopicOrder
from orchestrator.runs.ports import Clusters, EstateRecord
from orchestrator.runs.within_clusters import joined_orders
from orchestrator.values import ReplicaEnd, TopicPartition
from orchestrator.wording import listed, plural

_AT_ONCE = 1_000
_POLL_S = 0.5

Partitions = tuple[tuple[str, int], ...]
"""[topic, partition], …"""


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class PutLongestFirst(
    Reversible,
    Effect[LeadersChosen],
    name="put-longest-first",
    phase="leaders",
    expected_s=3.0,
    timeout_s=120.0,
):
    """Of partitions that nobody leads. The same replicas in another order, which is recorded before.

    Every replica that is up is asked where its log ends; where one does not answer nothing is changed.
    """

    cluster: str
    partitions: Partitions

    @property
    def title(self) -> str:
        """See `Effect`."""
        which = _named(self.partitions)
        return f"Put the replica whose log reaches furthest first, where none in sync is left: {which}"

    def perform(self, run: Running) -> Outcome[LeadersChosen]:
        """See `Effect`."""
        kafka = run.port(Clusters).cluster(self.cluster)
        placement, meant = kafka.placement(), _meant(self.partitions)
        stuck = [one for one in led_by_nobody(placement) if one.partition in meant]
        with run.port(Clusters).replica_end_reader(self.cluster) as reader:
            ends = replica_ends(reader, led_by_nobody(placement), kafka.brokers())
        found, unknown = choices(stuck, ends)
        if unknown:
            return Failed(f"who has most is not known, and nothing was changed: {listed(unknown)}")
        rows = tuple((*one.partition, one.broker, one.end.leader_epoch, one.end.log_end) for one in found)
        wanted = {choice.partition: choice.order for choice in found}
        moves = {
            one.partition: wanted[one.partition] for one in stuck if wanted[one.partition] != one.replicas
        }
        if moves:
            own = self._own(run)
            orders = joined_orders({} if own is None else own.orders, orders_of(placement, moves))
            run.port(EstateRecord).write(self._fact(orders))
            asked = reordered(run, self.cluster, moves)
            if not isinstance(asked, Done):
                return Partial("interrupted: not every replica was put first; nobody was elected")
        if left := _not_standing(run, self.cluster, wanted):
            said = f"Kafka did not put whoever has most first, and nobody was elected: {listed(left)}"
            return Partial(said)
        who = (
            f"{choice.partition}: broker {choice.broker} ({choice.end.log_end:,} records of epoch "
            f"{choice.end.leader_epoch})"
            for choice in found
        )
        return Done(LeadersChosen(leaders=rows), listed(who) or "each of them is led meanwhile")

    def undo(self, run: Running) -> Outcome[Nothing]:
        """As it was recorded. Without a record nothing was changed."""
        own = self._own(run)
        if own is None:
            return Done(Nothing())
        placement = run.port(Clusters).cluster(self.cluster).placement()
        moves, unseen = restored(placement, own.orders), not_seen(placement, own.orders)
        asked = reordered(run, self.cluster, moves)
        if not isinstance(asked, Done):
            return asked
        if left := _not_standing(run, self.cluster, moves):
            return Partial(f"assignments not put back: {listed(left)}")
        leaving = self._fact({name: own.orders[name] for name in unseen}) if unseen else None
        run.port(EstateRecord).withdraw(LongestFirst, like=own, leaving=leaving)
        said = f"assignments of {self.cluster} stand as they did{unseen_in_words(unseen)}"
        return Done(Nothing(), said)

    def _own(self, run: Running) -> LongestFirst | None:
        return run.port(EstateRecord).find(LongestFirst, like=self._fact({}))

    def _fact(self, orders: Mapping[str, TopicOrder]) -> LongestFirst:
        return LongestFirst(cluster=self.cluster, orders=orders)


@checked_dataclass(frozen=True, kw_only=True, config=EFFECT_CONFIG)
class ElectUnclean(
    Effect[Nothing],
    name="elect-unclean",
    phase="leaders",
    expected_s=2.0,
    timeout_s=120.0,
    irreversible="records that lost replicas alone have are lost: they are cut off as these come back",
):
    """Of these partitions alone, and only while nobody leads them. Who leads then is looked at."""

    cluster: str
    partitions: Partitions
    chosen: Handle[LeadersChosen]

    @property
    def title(self) -> str:
        """See `Effect`."""
        return f"Let whoever was put first lead, though it lacks records: {_named(self.partitions)}"

    def perform(self, run: Running) -> Outcome[Nothing]:
        """See `Effect`."""
        kafka = run.port(Clusters).cluster(self.cluster)
        chosen = {TopicPartition(topic, n): broker for topic, n, broker, _, _ in run.of(self.chosen).leaders}
        stuck = {one.partition for one in led_by_nobody(kafka.placement())}
        asked = asked_for(
            run, sorted(stuck & chosen.keys()), kafka.elect_unclean, "election", at_once=_AT_ONCE
        )
        if not isinstance(asked, Done):
            return asked
        led: dict[TopicPartition, int] = {}

        def is_led() -> bool:
            placement = kafka.placement()
            led.update({one.partition: one.leader for one in assigned(placement) if one.partition in chosen})
            return led.keys() == chosen.keys() and all(leader in placement.living for leader in led.values())

        if not await_answered(run, is_led, run.timeout_s / 2, poll_s=_POLL_S):
            left = [str(tp) for tp, leader in led.items() if leader < 0]
            problems = [f"still led by nobody: {listed(left)}"] if left else []
            if unseen := [str(tp) for tp in chosen if tp not in led]:
                why = "deleted, or not for this login to describe: the command, given again, decides afresh"
                problems.append(f"not among the topics of {self.cluster} any more: {listed(unseen)} ({why})")
            return Unknown("; ".join(problems) or "whoever was elected is not known to be up")
        others = [f"{tp} by broker {led[tp]}, not {who}" for tp, who in chosen.items() if led[tp] != who]
        said = f"; another one leads than was to: {listed(others)}" if others else ""
        return Done(Nothing(), f"{plural(len(chosen), 'partition')} led by whoever has most{said}")


def replica_ends(reader: ReplicaEnds, rows: Iterable[Assigned], addresses: Mapping[int, str]) -> Ends:
    """Where each replica's log ends that is up.

    `addresses`: "host:port" of brokers.
    """
    wanted: dict[str, list[TopicPartition]] = {}
    found: dict[TopicPartition, dict[int, ReplicaEnd | str]] = {}
    for one in rows:
        for broker in one.living:
            found.setdefault(one.partition, {})[broker] = "its address is not known"
            if broker in addresses:
                wanted.setdefault(addresses[broker], []).append(one.partition)
    answers = reader.ends(wanted)
    for broker, address in addresses.items():
        answer = answers.get(address, {})
        for tp in wanted.get(address, ()):
            said = answer if isinstance(answer, ClusterError) else answer[tp]
            found[tp][broker] = said.problem if isinstance(said, ClusterError) else said
    return found


def _not_standing(run: Running, cluster: str, wanted: Mapping[TopicPartition, Replicas]) -> list[str]:
    """Which assignments are not in that order after a moment."""

    def left_of(placement: Placement) -> Mapping[TopicPartition, Replicas]:
        meant = (one for one in assigned(placement) if one.partition in wanted)
        return {one.partition: one.replicas for one in meant if wanted[one.partition] != one.replicas}

    return [str(partition) for partition in awaited(run, cluster, left_of)]


def _meant(partitions: Partitions) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic, number) for topic, number in partitions)


def _named(partitions: Partitions) -> str:
    return listed(str(tp) for tp in sorted(_meant(partitions)))
