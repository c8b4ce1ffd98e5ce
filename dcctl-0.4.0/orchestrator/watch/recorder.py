"""Which records a sampling round gives: all that changed, and from time to time everything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from orchestrator.ports.clock import CLOCKS_APART_S, LONG_AGO_S
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.snapshot.sample_blocks import Block, is_withdrawn, missed_as
from orchestrator.snapshot.samples import (
    Cause,
    GroupPositions,
    Outcome,
    Round,
    Sample,
    SampledTopic,
    SampleHistory,
    TopicEnds,
    Word,
    blocks_of,
    group_subject,
    sample_key,
    topic_subject,
)
from orchestrator.snapshot.watcher_records import shifted
from orchestrator.values import LogEnd, TopicPartition

FULL_EVERY_S = 30.0
# Topic ids are not read in each round: a log that has not become shorter may be another one for so long.
IDS_OLD_AT_MOST_S = 10.0
# Less is how clocks are slewed, or how late a busy machine asks for the time.
_CLOCK_STEP_S = 0.1
_V = TypeVar("_V")
_S = TypeVar("_S", Round, Block)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReading:
    """What one round got from the source.

    `positions` and `ends` hold what answered; `missed` are the subjects (see `samples`) that should have
    been in there. `late`: of those missed, which were answered in this round to a question of an earlier one,
    and when that was asked: what they say held then. Nothing at all answered in a failed round. `steady_s`:
    the monotonic time at its end, by which a clock that is set back is noticed. `cluster_id`: that of the
    cluster that answered, empty in a failed round and while it has not told it.
    """

    begun_at_s: float
    ended_at_s: float
    outcome: Outcome
    cause: Cause = ""
    reason: str = ""
    ends_at_s: tuple[float, float] | None = None
    ends: Mapping[TopicPartition, LogEnd] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    positions: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    missed: frozenset[str] = frozenset()
    late: Mapping[str, float] = field(default_factory=dict)
    steady_s: float | None = None
    cluster_id: str = ""


@dataclass(slots=True)
class _Known:
    """What is known of one group or topic.

    `said`: what the source said of it, None where an earlier watcher recorded it. `parts`: that as blocks, by
    key; an empty one is to be withdrawn. `confirmed_at_s`: the newest moment at which it surely was so.
    """

    said: object
    parts: dict[bytes, Block]
    confirmed_at_s: float


class Recorder:
    """Remembers what is known and what of it is at the target.

    After each batch call `written`, or `forget` if it failed. Its times are those of the clock plus what that
    was set back since the recorder began (`set_back_s`), so they never go back; records bear the clock's.
    """

    def __init__(self, watcher: str) -> None:
        self.watcher = watcher
        self.set_back_s = 0.0
        self.last_good_at_s: float | None = None
        self._newest_s = float("-inf")
        self._steady_s = 0.0
        self._topics: dict[str, SampledTopic] = {}
        self._failing_since_s: float | None = None
        self._refused_since_s: float | None = None
        self._known: dict[str, _Known] = {}
        # Parts that are at the target as they are known, and since which round.
        self._there_since_s: dict[bytes, float] = {}

    def take_over(self, known: SampleHistory, now_s: float) -> None:
        """Go on from what earlier watchers have recorded, up to now by this watcher's clock.

        What lies in the future was dated by a clock that was ahead: it held some time ago, nobody knows when.
        """
        is_dated = known.ahead_s(now_s) <= CLOCKS_APART_S

        def dated(at_s: float) -> float:
            return at_s if is_dated else LONG_AGO_S

        good_s = known.last_good_at_s
        self.last_good_at_s = None if good_s is None else dated(good_s)
        self._topics = {
            name: topic._replace(sampled_at_s=dated(topic.sampled_at_s))
            for name, topic in known.topics.items()
        }
        for found, confirmed_at_s in known.known():
            block = replace(found, watcher=self.watcher)
            entry = self._known.setdefault(missed_as(block), _Known(None, {}, dated(confirmed_at_s)))
            entry.parts[sample_key(block)] = block
            entry.confirmed_at_s = min(entry.confirmed_at_s, dated(confirmed_at_s))

    @property
    def groups(self) -> frozenset[str]:
        """Every group of which a position is known."""
        blocks = (block for known in self._known.values() for block in known.parts.values())
        return frozenset(block.group for block in blocks if isinstance(block, GroupPositions))

    def records(self, reading: SourceReading) -> tuple[list[Sample], Round]:
        """The samples to write, and the round to write after all of them are acknowledged."""
        own = self._by_own_time(reading)
        is_failed = own.outcome == "failed"
        if is_failed:
            self._note_failure(own)
        else:
            self._take(own)
        blocks = {
            key: replace(known.parts[key], at_s=known.confirmed_at_s)
            for key, known in self._unwritten(own.begun_at_s, is_failed)
        }
        round_ = self._round(own, None if is_failed else self._full_at_s(own, blocks.keys()))
        return [self._by_clock(block) for block in blocks.values()], self._by_clock(round_)

    def written(self, samples: Iterable[Sample], round_: Round) -> None:
        """These records are at the target."""
        self.forget(samples, round_, is_acknowledged=lambda _: True)

    def forget(
        self,
        samples: Iterable[Sample],
        round_: Round,
        *,
        is_acknowledged: Callable[[bytes], bool] = lambda _: False,
    ) -> None:
        """It is not known which of these samples are at the target, but for the acknowledged ones, by key.

        The others are written anew by the next round.
        """
        begun_at_s = round_.begun_at_s + round_.set_back_s
        for sample in samples:
            if isinstance(sample, GroupPositions | TopicEnds):
                key = sample_key(sample)
                self._there_since_s.pop(key, None)
                if is_acknowledged(key) and not is_withdrawn(sample):
                    self._there_since_s[key] = begun_at_s
                    # To the end: what a slow target has not taken yet comes first the next time.
                    self._known[missed_as(sample)] = self._known.pop(missed_as(sample))
                elif is_acknowledged(key):
                    self._drop(missed_as(sample), key)

    def _drop(self, subject: str, key: bytes) -> None:
        """That it is gone has been told: nothing of it has to be remembered."""
        known = self._known.get(subject)
        if known is not None and key in known.parts and is_withdrawn(known.parts[key]):
            del known.parts[key]
            if not known.parts:
                del self._known[subject]

    def _by_clock(self, sample: _S) -> _S:
        return replace(shifted(sample, -self.set_back_s), set_back_s=self.set_back_s)

    def _by_own_time(self, reading: SourceReading) -> SourceReading:
        """The reading on the recorder's own time, which goes on as monotonic time does, or faster."""
        steady_s = reading.steady_s if reading.steady_s is not None else self._steady_s
        expected_s = self._newest_s + steady_s - self._steady_s
        set_back_s = expected_s - reading.ended_at_s
        if set_back_s - self.set_back_s > (_CLOCK_STEP_S if reading.steady_s is not None else 0.0):
            self.set_back_s = set_back_s
        by_s = self.set_back_s
        self._newest_s, self._steady_s = reading.ended_at_s + by_s, steady_s
        if not by_s:
            return reading
        read_s = reading.ends_at_s
        return replace(
            reading,
            begun_at_s=reading.begun_at_s + by_s,
            ended_at_s=reading.ended_at_s + by_s,
            ends_at_s=read_s and (read_s[0] + by_s, read_s[1] + by_s),
            late={subject: at_s + by_s for subject, at_s in reading.late.items()},
        )

    def _note_failure(self, reading: SourceReading) -> None:
        if self._failing_since_s is None:
            self._failing_since_s = reading.ended_at_s
        if reading.cause != "refused":
            self._refused_since_s = None
        elif self._refused_since_s is None:
            self._refused_since_s = reading.ended_at_s

    def _take(self, reading: SourceReading) -> None:
        """What is known after this round."""
        self._failing_since_s = self._refused_since_s = None
        self.last_good_at_s = max(self.last_good_at_s or 0.0, reading.begun_at_s)
        for topic, ends in _by_topic(reading.ends).items():
            subject = topic_subject(topic)
            at_s = reading.late.get(subject, reading.begun_at_s)
            topic_id = reading.topic_ids.get(topic, "")
            anew = self._recreated(topic, topic_id, reading.ended_at_s)
            self._topics[topic] = SampledTopic(at_s, topic_id, anew)
            if not self._is_as_known(subject, (topic_id, anew, ends), at_s):
                self._change(subject, self._ends_blocks(topic, topic_id, anew, ends))
        for group, positions in reading.positions.items():
            subject = group_subject(group)
            at_s = reading.late.get(subject, reading.begun_at_s)
            if not self._is_as_known(subject, positions, at_s):
                self._change(subject, self._positions_blocks(group, positions))
        answered = {topic_subject(tp.topic) for tp in reading.ends}
        answered |= {group_subject(group) for group in reading.positions}
        for subject in self._known.keys() - answered - reading.missed:
            if not self._known[subject].parts:
                del self._known[subject]
            elif not self._is_as_known(subject, (), reading.begun_at_s):
                self._change(subject, [])

    def _is_as_known(self, subject: str, said: object, at_s: float) -> bool:
        """Note what the source says of a subject; whether it said the same before."""
        known = self._known.setdefault(subject, _Known(None, {}, at_s))
        is_same = known.said == said
        known.said, known.confirmed_at_s = said, max(at_s, known.confirmed_at_s)
        return is_same

    def _change(self, subject: str, blocks: Iterable[Block]) -> None:
        known = self._known[subject]
        now = {sample_key(block): block for block in blocks}
        for key, block in known.parts.items():
            if key not in now:
                # Told by an empty block, so that no later round confirms what is no longer there.
                now[key] = _withdrawn(block)
        for key, block in now.items():
            if key not in known.parts or _content(known.parts[key]) != _content(block):
                self._there_since_s.pop(key, None)
        known.parts = now

    def _unwritten(self, now_s: float, is_failed: bool) -> Iterator[tuple[bytes, _Known]]:
        """Parts that are not at the target as they are known, and those that were written long ago.

        While the source is away nothing is repeated, neither that nor what earlier watchers have recorded.
        """
        for known in self._known.values():
            if is_failed and known.said is None:
                continue
            for key in known.parts:
                since_s = self._there_since_s.get(key)
                if since_s is None or (not is_failed and now_s - since_s >= FULL_EVERY_S):
                    yield key, known

    def _full_at_s(self, reading: SourceReading, now: Collection[bytes]) -> float:
        """Since when everything that is known was written."""
        since = (at_s for key, at_s in self._there_since_s.items() if key not in now)
        return min(since, default=reading.begun_at_s)

    def _round(self, reading: SourceReading, full_at_s: float | None) -> Round:
        is_failed = reading.outcome == "failed"
        return Round(
            watcher=self.watcher,
            begun_at_s=reading.begun_at_s,
            ended_at_s=reading.ended_at_s,
            outcome=reading.outcome,
            cause=reading.cause,
            reason=reading.reason,
            ends_at_s=reading.ends_at_s,
            last_good_at_s=self.last_good_at_s,
            failing_since_s=self._failing_since_s,
            refused_since_s=self._refused_since_s,
            full_at_s=full_at_s,
            missed={} if is_failed else {name: self._confirmed(name) for name in sorted(reading.missed)},
        )

    def _confirmed(self, subject: str) -> float | None:
        known = self._known.get(subject)
        return None if known is None else known.confirmed_at_s

    def _recreated(self, topic: str, topic_id: str, seen_s: float) -> Recreation | None:
        """When the topic came to this id; None if no other one is known."""
        known = self._topics.get(topic)
        if known is None or not known.topic_id or not topic_id:
            return None
        if known.topic_id == topic_id:
            return known.recreated
        return Recreation(known.sampled_at_s - IDS_OLD_AT_MOST_S, seen_s)

    def _ends_blocks(
        self, topic: str, topic_id: str, anew: Recreation | None, ends: Mapping[int, LogEnd]
    ) -> list[Block]:
        return [
            TopicEnds(
                watcher=self.watcher,
                topic=topic,
                block=number,
                at_s=0.0,
                topic_id=topic_id,
                ends={partition: ends[partition] for partition in members},
                recreated=anew,
            )
            for number, members in blocks_of(ends).items()
        ]

    def _positions_blocks(self, group: str, positions: Mapping[TopicPartition, int]) -> list[Block]:
        return [
            GroupPositions(
                watcher=self.watcher,
                group=group,
                topic=topic,
                block=number,
                at_s=0.0,
                offsets={partition: offsets[partition] for partition in members},
            )
            for topic, offsets in _by_topic(positions).items()
            for number, members in blocks_of(offsets).items()
        ]


def changed_words(words: Iterable[Word], written: Mapping[str, Word], every_s: float) -> list[Word]:
    """Those of applications whose state changed, or whose record is `every_s` old, by whichever clock."""
    return [
        word
        for word in words
        if (known := written.get(word.application)) is None
        or word.state != known.state
        or abs(word.at_s - known.at_s) >= every_s
    ]


def _withdrawn(block: Block) -> Block:
    return replace(block, offsets={}) if isinstance(block, GroupPositions) else replace(block, ends={})


def _content(block: Block) -> object:
    if isinstance(block, GroupPositions):
        return block.offsets
    return (block.topic_id, block.recreated, block.ends) if block.ends else {}


def _by_topic(values: Mapping[TopicPartition, _V]) -> dict[str, dict[int, _V]]:
    topics: dict[str, dict[int, _V]] = {}
    for (topic, partition), value in values.items():
        topics.setdefault(topic, {})[partition] = value
    return topics
