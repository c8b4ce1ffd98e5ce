"""One sampling round: everything that a failover needs from the source, or the word that it is away."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from orchestrator.adapters.kafka.isolated import IsolatedCluster
from orchestrator.adapters.probe import Listening, listening
from orchestrator.errors import ClusterError
from orchestrator.planning.samples import Cause, group_subject, topic_subject
from orchestrator.values import LogEnd, TopicPartition
from orchestrator.watch.recorder import SourceReading

_PROBE_TIMEOUT_S = 0.3
_PROBE_EVERY_S = 0.2
_INVENTORY_EVERY_S = 5.0
_OTHER_GROUPS_EVERY_S = 15.0
_STUCK_AFTER_S = 3.0
# What a busy machine gets through: 10,000 partitions took 2 to 4 s of two cores that had other work.
_PARTITIONS_PER_S = 4_000
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Ends:
    """Log ends with the times at which their reading began and ended, or the problem."""

    ends: Mapping[TopicPartition, LogEnd]
    read_at_s: tuple[float, float] | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Positions:
    """Positions by group, and problems by group."""

    offsets: Mapping[str, Mapping[TopicPartition, int]]
    problems: Mapping[str, str]


class _Call(Generic[_T]):
    """A question that is asked again in each round, unless it still waits for its last answer."""

    def __init__(self, pool: ThreadPoolExecutor, question: Callable[[], _T]) -> None:
        self._pool, self._question = pool, question
        self.future: Future[_T] | None = None
        self._is_of_this_round = False

    def ask(self) -> None:
        self._is_of_this_round = self.future is None or self.future.done()
        if self._is_of_this_round:
            self.future = self._pool.submit(self._question)

    def answer(self) -> _T | None:
        """What was answered in this round; an answer to an earlier round's question is too old."""
        if self._is_of_this_round and self.future is not None and self.future.done():
            return self.future.result()
        return None


class SourceSampler:
    """Samples one source cluster, in rounds that end as soon as it is clear how they end.

    At once where every broker refuses connections; after `timeout_s` where none takes one; after
    `patience_s` where some do and do not answer: frozen, or only busy, or asked for thousands of partitions,
    for which they get longer. A busy source that was taken for a lost one would leave no samples just when
    everything is slow.

    `topics` are the mirrored source topics, `groups` the consumer groups that the topology names; other
    groups with positions in these topics are found by asking now and then. `copies` are what a failback
    has brought there: of these only positions are sampled.
    """

    def __init__(
        self,
        cluster: IsolatedCluster,
        bootstrap: Iterable[str],
        topics: Iterable[str],
        groups: Iterable[str],
        *,
        copies: Iterable[str] = (),
        timeout_s: float = 1.0,
        patience_s: float = 2.5,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._cluster = cluster
        self._addresses = tuple(bootstrap)
        self._topics = frozenset(topics)
        self._read_topics = self._topics | frozenset(copies)
        self._named_groups = frozenset(groups)
        self._found_groups: frozenset[str] = frozenset()
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        self._now_s = now_s
        self._partitions: dict[str, tuple[TopicPartition, ...]] = {}
        self._topic_ids: dict[str, str] = {}
        self._newest_ends: dict[TopicPartition, int] = {}
        self._inventory_due = 0.0
        self._others_due = 0.0
        self._troubled_since: float | None = None
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="sample")
        self._ends = _Call(self._pool, self._read_ends)
        self._positions = _Call(self._pool, self._read_positions)

    def warm_up(self, timeout_s: float) -> None:
        """Connect, so that the first round is not taken for a failure. Nothing is raised."""
        if self._listening() != "refused":
            with suppress(ClusterError):
                self._cluster.brokers(timeout_s)
                self._cluster.groups(timeout_s)

    def close(self) -> None:
        """Wait for no call that is still under way."""
        self._cluster.reset()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def sample(self) -> SourceReading:
        """One round. Never raises for anything that the source does."""
        reading = self._sampled()
        self._reconnect_if_stuck(reading)
        return reading

    def _reconnect_if_stuck(self, reading: SourceReading) -> None:
        """Give up connections that have brought nothing for a while.

        librdkafka may need minutes to recover from a broker that was frozen for seconds and answers any
        new client at once; seen with 2.16 and SIGSTOP.
        """
        now = time.monotonic()
        if reading.outcome == "good":
            self._troubled_since = None
        elif self._troubled_since is None:
            self._troubled_since = now
        elif reading.cause != "refused" and now - self._troubled_since >= _STUCK_AFTER_S:
            self._troubled_since = now
            self._cluster.reset()
            self._inventory_due = self._others_due = 0.0

    def _sampled(self) -> SourceReading:
        begun_at_s, begun = self._now_s(), time.monotonic()
        if self._listening() == "refused":
            return self._failed(begun_at_s, "refused", "every broker refuses connections")
        self._ends.ask()
        self._positions.ask()
        self._await_answers(begun)
        ends, positions = self._ends.answer(), self._positions.answer()
        if ends is None and positions is None:
            waited_s = time.monotonic() - begun
            why = self._why_failed("silent", f"no answer within {waited_s:.1f} s")
            return self._failed(begun_at_s, *why)
        return self._reading(begun_at_s, ends, positions)

    def _reading(self, begun_at_s: float, ends: _Ends | None, positions: _Positions | None) -> SourceReading:
        missed: set[str] = set()
        reasons = []
        if ends is None or ends.problem:
            missed |= {topic_subject(topic) for topic in self._topics}
            reasons.append(ends.problem if ends else "log ends: no answer in time")
        if positions is None:
            missed |= {group_subject(group) for group in self._named_groups | self._found_groups}
            reasons.append("group positions: no answer in time")
        else:
            missed |= {group_subject(group) for group in positions.problems}
            reasons += sorted(set(positions.problems.values()))
        if missed and not (ends and ends.ends) and not (positions and positions.offsets):
            return self._failed(begun_at_s, *self._why_failed("error", "; ".join(reasons)))
        return SourceReading(
            begun_at_s=begun_at_s,
            ended_at_s=self._now_s(),
            outcome="partial" if missed else "good",
            reason="; ".join(reasons),
            ends_at_s=ends.read_at_s if ends and not ends.problem else None,
            ends=ends.ends if ends else {},
            topic_ids=dict(self._topic_ids),
            positions=positions.offsets if positions else {},
            missed=frozenset(missed),
        )

    def _failed(self, begun_at_s: float, cause: Cause, reason: str) -> SourceReading:
        return SourceReading(
            begun_at_s=begun_at_s, ended_at_s=self._now_s(), outcome="failed", cause=cause, reason=reason
        )

    def _listening(self) -> Listening:
        """The best of what the brokers' addresses do: take a connection, be silent, refuse."""
        answers = set(listening(self._addresses, _PROBE_TIMEOUT_S).values())
        return "yes" if "yes" in answers else "silent" if "silent" in answers else "refused"

    def _why_failed(self, cause: Cause, reason: str) -> tuple[Cause, str]:
        """A source that died during the round is known by its refusals, not by what it left unsaid."""
        if self._listening() == "refused":
            return "refused", "every broker refuses connections"
        return cause, reason

    @property
    def _patience_now_s(self) -> float:
        count = sum(map(len, self._partitions.values()))
        return self._patience_s + count / _PARTITIONS_PER_S

    def _await_answers(self, begun: float) -> None:
        """Wait until all have answered, or it is clear that they will not."""
        calls = (self._ends.future, self._positions.future)
        pending: set[Future[Any]] = {future for future in calls if future is not None}
        while pending:
            pending = wait(pending, timeout=_PROBE_EVERY_S).not_done
            waited_s = time.monotonic() - begun
            if not pending or waited_s >= self._patience_now_s:
                return
            found = self._listening()
            if found == "refused" or (found == "silent" and waited_s >= self._timeout_s):
                return

    def _read_ends(self) -> _Ends:
        try:
            self._refresh_inventory()
            wanted = [tp for partitions in self._partitions.values() for tp in partitions]
            begun_at_s = self._now_s()
            ends = self._cluster.log_ends(wanted, self._patience_now_s)
            if any(end.end_offset < self._newest_ends.get(tp, 0) for tp, end in ends.items()):
                # A log does not become shorter: is it another topic of the same name?
                self._inventory_due = 0.0
                self._refresh_inventory()
            self._newest_ends = {tp: end.end_offset for tp, end in ends.items()}
            return _Ends(ends, (begun_at_s, self._now_s()))
        except ClusterError as error:
            self._inventory_due = 0.0
            return _Ends({}, None, f"log ends: {error.problem}")

    def _refresh_inventory(self) -> None:
        """Which partitions there are, under which topic ids, and where all brokers listen."""
        if time.monotonic() < self._inventory_due and self._partitions.keys() == self._topics:
            return
        described = self._cluster.topics(self._topics, self._patience_now_s)
        self._partitions = {name: topic.partitions for name, topic in described.items()}
        self._topic_ids = {name: topic.topic_id for name, topic in described.items()}
        brokers = self._cluster.brokers(self._patience_now_s)
        # While some broker is away the others do not name it; it may well be back before they are gone.
        self._addresses = tuple(sorted(set(self._addresses) | set(brokers.values())))
        self._inventory_due = time.monotonic() + _INVENTORY_EVERY_S

    def _read_positions(self) -> _Positions:
        self._find_other_groups()
        wanted = self._named_groups | self._found_groups
        try:
            return _Positions(self._mirrored(self._cluster.committed(wanted, self._patience_now_s)), {})
        except ClusterError:
            return self._one_by_one(wanted)

    def _one_by_one(self, groups: Iterable[str]) -> _Positions:
        """One group's coordinator may be away while the others answer."""
        offsets: dict[str, dict[TopicPartition, int]] = {}
        problems: dict[str, str] = {}
        deadline = time.monotonic() + self._patience_now_s
        for group in sorted(groups):
            try:
                left_s = max(0.05, deadline - time.monotonic())
                offsets |= self._mirrored(self._cluster.committed([group], left_s))
            except ClusterError as error:
                problems[group] = f"group {group}: {error.problem}"
        return _Positions(offsets, problems)

    def _find_other_groups(self) -> None:
        if time.monotonic() < self._others_due:
            return
        try:
            others = self._cluster.groups(self._patience_now_s) - self._named_groups
            found = self._mirrored(self._cluster.committed(others, self._patience_now_s))
        except ClusterError:
            return  # asked again in the next round; what was found before stays
        self._found_groups = frozenset(group for group, offsets in found.items() if offsets)
        self._others_due = time.monotonic() + _OTHER_GROUPS_EVERY_S

    def _mirrored(
        self, committed: Mapping[str, Mapping[TopicPartition, int]]
    ) -> dict[str, dict[TopicPartition, int]]:
        return {
            group: {tp: offset for tp, offset in offsets.items() if tp.topic in self._read_topics}
            for group, offsets in committed.items()
        }
