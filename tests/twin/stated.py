"""What a plan states of each application, held against what it really does afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from orchestrator.runs.afterwards import Afterwards, TopicRead
from orchestrator.runs.plan import Plan, RunEvent
from orchestrator.topology.model import Consumer
from orchestrator.values import TopicPartition
from tests.twin import truths
from tests.twin.operator import Operator


@dataclass
class Stated:
    """The plan of one move. `ends`: of the logs at the place entered before anybody began there; `offsets`:
    of the groups before they did.
    """

    operator: Operator
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    offsets: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    twice: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """From now on; before the move."""
        take = self.operator._take_event
        self.twice = truths.processed_twice(self.operator.estate, self._names())

        def taken(event: RunEvent) -> None:
            take(event)
            if event.kind == "step-intent" and event.step.startswith("start-"):
                self._look(event.step)

        self.operator._take_event = taken  # type: ignore[method-assign]

    @property
    def plan(self) -> Plan:
        """That of the move."""
        assert self.operator.plan is not None
        return self.operator.plan

    @property
    def reads(self) -> Iterator[tuple[Consumer, Afterwards, TopicRead]]:
        """Each topic of each consumer."""
        consumers = {consumer.name: consumer for consumer in self.operator.estate.topology.consumers}
        for one in self.plan.applications:
            for read in one.reads:
                yield consumers[one.name], one, read

    def of(self, name: str) -> dict[str, TopicRead]:
        """What is stated of one consumer, by topic."""
        (found,) = (one for one in self.plan.applications if one.name == name)
        return {read.topic: read for read in found.reads}

    def assert_true(self) -> None:
        """The topics that each reads and writes now are those that were stated, and every bound holds."""
        assert self.ends
        assert self.offsets
        self.operator.estate.live(5)
        self._assert_topics()
        for consumer, _, read in self.reads:
            if read.unread_at_most is not None and consumer.groups:
                unread = self.unread(consumer, read.topic)
                assert unread <= read.unread_at_most, (consumer.name, unread, read)
            if None in {read.unread_now, read.unread_at_most, read.reread_at_most}:
                assert read.reason, (consumer.name, read)
        for one in self.plan.applications:
            again = [read.reread_at_most for read in one.reads]
            if one.reads and None not in again:
                now = truths.processed_twice(self.operator.estate, [one.name])[one.name]
                assert now - self.twice[one.name] <= sum(number or 0 for number in again), one

    def unread(self, consumer: Consumer, topic: str) -> int:
        """Offsets behind its position as it began."""
        offsets = self.offsets[consumer.group_id]
        return sum(end - offsets[tp] for tp, end in self.ends.items() if tp.topic == topic)

    def _names(self) -> list[str]:
        return [consumer.name for consumer in self.operator.estate.topology.consumers]

    def _look(self, step: str) -> None:
        cluster = self.operator.estate.clusters[self.plan.target]
        self.ends = self.ends or {
            TopicPartition(name, number): log.end
            for name, topic in cluster.topics.items()
            for number, log in enumerate(topic.logs)
        }
        if not step.startswith("start-consumers"):
            return
        groups = {consumer.group_id for consumer in self.operator.estate.topology.consumers}
        self.offsets = {group: dict(cluster.group(group).offsets) for group in groups}

    def _assert_topics(self) -> None:
        estate, place = self.operator.estate, self.plan.target
        read: dict[str, set[str]] = {}
        for consumer, _, row in self.reads:
            read.setdefault(consumer.name, set()).add(row.topic)
        for consumer in estate.topology.consumers:
            if consumer.name in read:
                really = set(estate.applications.topics_at(consumer, estate.clusters[place]))
                assert read[consumer.name] == really, consumer.name
        writers = {producer.name: producer for producer in estate.topology.producers}
        now = {name: at for _, name, at in estate.applications.ledger.written_at}
        for one in self.plan.applications:
            if one.name in writers and one.name in now:
                assert {written.topic for written in one.writes} == {*writers[one.name].topics}
                assert now[one.name] == one.cluster == place
