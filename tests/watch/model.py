"""A source cluster, a samples topic and hosts with clocks, in memory and on a time of their own.

Truth is simple, so that any claim can be checked: every group commits ten records a second in each partition, and
every log grows by a hundred. Rounds are those of the real watcher: its sampler, recorder, keeper and history.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.adapters.kafka.writer import UnacknowledgedError
from orchestrator.adapters.probe import Listening
from orchestrator.errors import ClusterError
from orchestrator.ports.servers import TopicDescription
from orchestrator.snapshot.sample_tidying import useless_records
from orchestrator.snapshot.samples import SampleHistory
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.watch.keeper import Keeper
from orchestrator.watch.recorder import SourceReading
from orchestrator.watch.sampler import SourceSampler
from orchestrator.watch.source import Answer, Ends, Groups, Inventory, Positions

COMMITS_PER_S, RECORDS_PER_S = 10, 100
TOPIC = "orders"
_HOUR_S = 3600.0
_ANSWERS_IN_S = 0.004
State = Literal["well", "silent", "slow", "refusing"]


class World:
    """True time, and what is true."""

    def __init__(self, brokers: int = 3, partitions: int = 2) -> None:
        self.true_s = 1_000_000.0
        self.states: list[State] = ["well"] * brokers
        self.partitions = partitions
        self.groups: dict[str, int] = {}  # group -> its coordinator
        self.lost_at_s: float | None = None

    def add_group(self, name: str) -> None:
        """A group that commits from now on, as if it always had."""
        self.groups[name] = self.coordinator(name)

    def coordinator(self, name: str) -> int:
        """Whoever is asked for a group, whether that exists or not."""
        return int("".join(filter(str.isdigit, name))) % len(self.states)

    def committed(self, at_s: float) -> int:
        """Where every group stands in every partition."""
        return int(at_s * COMMITS_PER_S)

    def end(self, at_s: float) -> int:
        """Where every log ends."""
        return int(at_s * RECORDS_PER_S)

    @property
    def alive_until_s(self) -> float:
        """Until when the source did anything."""
        return self.true_s if self.lost_at_s is None else min(self.true_s, self.lost_at_s)


class Host:
    """A machine with a clock that may be wrong."""

    def __init__(self, world: World, ahead_s: float = 0.0) -> None:
        self._world, self.ahead_s = world, ahead_s

    def now_s(self) -> float:
        """What its clock says."""
        return self._world.true_s + self.ahead_s

    def monotonic_s(self) -> float:
        """Seconds that never go back."""
        return self._world.true_s


class ModelSource:
    """The source as a sampler asks it: each broker answers, is slow, refuses, or says nothing."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._due: list[tuple[float, int, int, Answer]] = []
        self._numbers = itertools.count()
        self.is_starting = False
        self.resets = self.probes = 0

    def listening(self, addresses: Iterable[str]) -> Listening:  # noqa: ARG002 - the site answers as one
        """Refused once the site is lost."""
        self.probes += 1
        return "refused" if self._world.lost_at_s is not None else "yes"

    def warm_up(self, timeout_s: float) -> None:
        """Nothing to do."""

    def ask_ends(
        self, question: int, leader: int, partitions: Collection[TopicPartition], timeout_s: float
    ) -> None:
        """The ends are as they are when the answer comes."""
        nothing = Ends(question=question, leader=leader, is_silent=True)
        state = self._world.states[leader]
        if state == "refusing":
            self._answer(leader, Ends(question=question, leader=leader, problem="refused"))
        else:
            self._answer(
                leader, Ends(question=question, leader=leader, ends=dict.fromkeys(partitions, LogEnd(0, -1)))
            )
        self._answer(-1, nothing, timeout_s)

    def ask_positions(
        self, question: int, groups: Collection[str], topics: frozenset[str], timeout_s: float
    ) -> None:
        """Coordinator by coordinator."""
        assert topics == {TOPIC}
        by_broker: dict[int, list[str]] = {}
        for group in groups:
            by_broker.setdefault(self._world.coordinator(group), []).append(group)
        for broker, members in by_broker.items():
            if self._world.states[broker] == "refusing":
                problems = dict.fromkeys(members, "refused")
                self._answer(broker, Positions(question=question, problems=problems))
            else:
                self._answer(broker, Positions(question=question, offsets={group: {} for group in members}))
        self._answer(-1, Positions(question=question, is_last=True), timeout_s)

    def ask_inventory(self, question: int, topics: Collection[str], timeout_s: float) -> None:
        """Any broker but a silent one may answer."""
        assert set(topics) == {TOPIC}
        leaders = tuple(number % len(self._world.states) for number in range(self._world.partitions))
        replicas = tuple((leader,) for leader in leaders)
        described = TopicDescription(TOPIC, "id", leaders, replicas, replicas)
        well = [broker for broker, state in enumerate(self._world.states) if state == "well"]
        answer = Inventory(question=question, topics={TOPIC: described}, addresses=frozenset({"b:1"}))
        self._answer(well[0] if well else 0, answer)
        self._answer(-1, Inventory(question=question, problem="no answer"), timeout_s)

    def ask_groups(self, question: int, timeout_s: float) -> None:
        """Complete only while all answer."""
        if all(state in ("well", "slow") for state in self._world.states):
            self._answer(0, Groups(question=question, groups=frozenset(self._world.groups)))
        self._answer(-1, Groups(question=question, problem="no answer"), timeout_s)

    def next(self, timeout_s: float) -> Answer | None:
        """The next that is due; time goes on until then."""
        until_s = self._world.true_s + (max(timeout_s, 1e-6) if timeout_s else 0.0)
        while self._due and self._due[0][0] <= until_s:
            due_s, _, broker, answer = heapq.heappop(self._due)
            self._world.true_s = max(self._world.true_s, due_s)
            said = self._said(broker, answer)
            if said is not None:
                return said
        self._world.true_s = max(self._world.true_s, until_s)
        return None

    def reset(self) -> None:
        """What was asked is not answered any more."""
        self._due.clear()
        self.resets += 1

    def close(self) -> None:
        """Nothing to do."""

    def _answer(self, broker: int, answer: Answer, after_s: float | None = None) -> None:
        if after_s is None:
            after_s = 3.5 if self._world.states[broker] == "slow" else _ANSWERS_IN_S
        heapq.heappush(self._due, (self._world.true_s + after_s, next(self._numbers), broker, answer))

    def _said(self, broker: int, answer: Answer) -> Answer | None:
        """What the broker says at that moment, if it says anything."""
        world = self._world
        if broker >= 0 and (world.states[broker] == "silent" or world.lost_at_s is not None):
            return None
        if isinstance(answer, Ends) and answer.ends:
            now = dict.fromkeys(answer.ends, LogEnd(0, world.end(world.true_s), 1))
            return Ends(question=answer.question, leader=answer.leader, ends=now)
        if isinstance(answer, Positions) and answer.offsets:
            offsets = {
                TopicPartition(TOPIC, n): world.committed(world.true_s) for n in range(world.partitions)
            }
            told = {group: offsets if group in world.groups else {} for group in answer.offsets}
            return Positions(question=answer.question, offsets=told)
        return answer


@dataclass
class Topic:
    """The samples topic: every record with its place and the true time of its writing."""

    world: World
    records: list[tuple[int, bytes, bytes | None, float]] = field(default_factory=list)
    accepts: int | None = None  # records of each batch that the target takes; None: all
    ahead_s: float = 0.0  # of the clock by which the last record was dated
    round_at_s: float = 0.0  # when the last round was written, in truth
    _places: itertools.count[int] = field(default_factory=itertools.count)

    def write(self, records: Sequence[tuple[bytes, bytes | None]], _timeout_s: float) -> None:
        """As the target takes them."""
        taken = records[: self.accepts] if self.accepts is not None else records
        for key, value in taken:
            self.records.append((next(self._places), key, value, self.world.true_s))
        if len(taken) < len(records):
            error = UnacknowledgedError("topic", "not all acknowledged")
            error.acknowledged = frozenset(key for key, _ in taken)
            raise error

    def compact(self) -> None:
        """What is older than an hour leaves the newest of each key; what is withdrawn goes with it."""
        before_s = self.world.true_s - _HOUR_S
        old = {key: place for place, key, _, at_s in self.records if at_s < before_s}
        self.records = [
            record
            for record in self.records
            if record[3] >= before_s or (old[record[1]] == record[0] and record[2] is not None)
        ]

    def tidy(self) -> int:
        """As a watcher does now and then."""
        newest: dict[bytes, tuple[int, bytes]] = {}
        for place, key, value, _ in self.records:
            if value is None:
                newest.pop(key, None)
            else:
                newest[key] = place, value
        gone = useless_records(newest)
        self.write([(key, None) for key in gone], 0.0)
        return len(gone)

    def history(self) -> SampleHistory:
        """What somebody reads who reads it all."""
        known = SampleHistory()
        for place, key, value, _ in self.records:
            known.add_record(key, value, place)
        return known


class ModelWatcher:
    """One watcher process: the real parts of it, without its threads."""

    _names = itertools.count(1)

    def __init__(
        self, world: World, topic: Topic, host: Host, named: Iterable[str], interval_s: float = 0.5
    ) -> None:
        self.world, self.topic, self.host, self.interval_s = world, topic, host, interval_s
        self.recorded_ahead_s = host.ahead_s
        self.source = ModelSource(world)
        self.sampler = SourceSampler(self.source, ["b:1"], [TOPIC], named, clock=host)
        self.keeper = Keeper(f"w{next(self._names)}", topic.write)
        self.keeper.take_over(topic.history(), host.now_s())
        self.sampler.expect(self.keeper.recorder.groups)

    def round(self) -> SourceReading:
        """One round, and the pause after it."""
        reading = self.sampler.sample()
        if self.topic.accepts != 0:
            self.topic.ahead_s = self.host.ahead_s
        with suppress(ClusterError):
            self.keeper.record(reading, ())
            self.recorded_ahead_s = self.host.ahead_s
            self.topic.round_at_s = self.world.true_s
        self.world.true_s += self.interval_s
        return reading
