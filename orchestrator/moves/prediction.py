"""What the loss of the source would cost, or has cost: records lost, and records read again.

Loss of a partition = end of the source's log at the moment of the loss − next offset not replicated.
Neither is known exactly afterwards. The end is the newest sampled one plus what can have been written
since; the replicated position is what the target's own data surely says. With the largest rate of any
second among the newest samples,

    at_most = sampled end + rate × (end of the loss window − time of the sample) − replicated

is never below the truth while the rate does not rise, and above it by no more than rate × (age of the
newest sample + the mirror's offset flush interval), because the replicated position as known is behind
the true one by no more than a flush interval's records.

The other way round, what existed a while before the source was last seen alive was acknowledged, and what
the target has no room for did not arrive:

    at_least = end sampled that long before the newest sample − what can be replicated at most

Of a partition of a sick source that still answers, the end is read, not estimated: what the mirror has still
to copy is the most that can be lost, and nothing is if it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from orchestrator.snapshot.rates import Reading, largest_rate, largest_step, mean_rate
from orchestrator.snapshot.samples import SampledEnd, SampledPosition, SampleHistory
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.values import TopicPartition

# Records below a sampled end may not have been acknowledged yet when the site died, right after the sample:
# acknowledgements follow the high watermark within milliseconds; half a second is ample.
ACKNOWLEDGED_AFTER_S = 0.5


NOTHING_LOST: Mapping[str, int] = {"at_least": 0, "expected": 0, "at_most": 0}
"""Of a topic, where what moves is planned: it loses nothing, or is taken back."""
NOTHING_ESTIMATED: Mapping[str, float] = {
    "rate_records_per_s": 0.0,
    "sample_age_s": 0.0,
    "flush_interval_s": 0.0,
}
"""What that rests on: such a prediction leaves no room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLoss:
    """Loss of one source partition in records. None: cannot be said, and `reason` tells why.

    `passed_over`: records of which no copy is known although the mirror has passed them, for the topic was
    made anew at the source or the copy at the target, or the target's log lost its end; in `at_most`.
    `to_be_copied`: records of a log that can be read which the mirror still copies in the move; in `at_most`
    for the case that it does not come to that.
    """

    at_least: int
    expected: int | None
    at_most: int | None
    sampled_end: int | None = None
    replicated: int | None = None
    passed_over: int = 0
    to_be_copied: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLoss:
    """Loss of one source topic.

    `rate_records_per_s`: the largest of any second. `sample_age_s`: from the newest sample to the loss.
    `seconds_at_most`: how far back before the loss the lost records reach; 0 if nothing can be lost,
    None where the history does not reach back that far.
    """

    topic: str
    at_least: int
    expected: int | None
    at_most: int | None
    rate_records_per_s: float | None
    sample_age_s: float | None
    seconds_at_most: float | None
    partitions: Mapping[int, PartitionLoss]


@dataclass(frozen=True, slots=True, kw_only=True)
class LossPrediction:
    """Loss of a mirror's topics if the source was lost at `until_s` at the latest."""

    until_s: float
    topics: Mapping[str, TopicLoss]

    @property
    def at_most(self) -> int | None:
        """All topics together, or None where one of them cannot be said."""
        return _total(topic.at_most for topic in self.topics.values())

    @property
    def seconds_at_most(self) -> float | None:
        """The longest of the topics, or None where one of them cannot be said."""
        seconds = [topic.seconds_at_most for topic in self.topics.values()]
        return None if None in seconds else max((s for s in seconds if s is not None), default=0.0)


def predict_loss(
    history: SampleHistory,
    partitions: Iterable[TopicPartition],
    replicated: Mapping[TopicPartition, int],
    *,
    until_s: float | None = None,
    replicated_at_most: Mapping[TopicPartition, int] = MappingProxyType({}),
    passed_over: Mapping[TopicPartition, int] = MappingProxyType({}),
    live: Mapping[TopicPartition, SampledEnd] = MappingProxyType({}),
    is_drained: bool = False,
) -> LossPrediction:
    """Predict the loss of mirrored source `partitions`.

    `replicated`: next source offset that is surely replicated up to: the larger of Connect's offset + 1
    and what the offset map says. A partition without an entry was not copied at all.
    `replicated_at_most`: the next source offset that cannot be replicated, from the target's log ends; only
    where these stand still. For a partition without an entry nothing is promised as `at_least`.
    `passed_over`: records below what is replicated of which no copy is known (see `not_copied.py`).
    `live`: logs of a source that is only sick, as they were read just now, and `is_drained`: its mirror runs,
    so that it will copy them to their ends.
    `until_s`: end of the window in which the source was lost; by default the first failed round, which
    holds where the brokers refused connections. Pass the time of the decision for "if it were lost now".

    Raises `ValueError` without `until_s` while the source answers.
    """
    window = history.loss_window()
    if until_s is None:
        if window is None:
            raise ValueError("the source answers; say until when it is to be judged")
        until_s = window.first_failed_at_s
    ends = {**history.sampled_ends(), **live}
    by_topic: dict[str, list[TopicPartition]] = {}
    for tp in sorted(set(partitions)):
        by_topic.setdefault(tp.topic, []).append(tp)
    topics = {}
    for topic, members in by_topic.items():
        losses = {
            tp.partition: _partition_loss(
                history.end_readings(tp),
                ends.get(tp),
                until_s,
                replicated=replicated.get(tp),
                replicated_at_most=replicated_at_most.get(tp),
                passed_over=passed_over.get(tp, 0),
            )
            if tp not in live
            else _live_loss(live[tp], replicated.get(tp), passed_over.get(tp, 0), is_drained)
            for tp in members
        }
        topics[topic] = _topic_loss(history, topic, losses, ends, until_s)
    return LossPrediction(until_s=until_s, topics=topics)


def _partition_loss(
    readings: Sequence[Reading],
    sampled: SampledEnd | None,
    until_s: float,
    *,
    replicated: int | None,
    replicated_at_most: int | None,
    passed_over: int,
) -> PartitionLoss:
    if sampled is None:
        reason = "the watcher has never sampled its log end"
        return PartitionLoss(at_least=0, expected=None, at_most=None, replicated=replicated, reason=reason)
    end = sampled.end.end_offset
    copied = sampled.end.start_offset if replicated is None else replicated
    age = age_s(until_s, sampled.sampled_at_s)
    rate, mean = largest_rate(readings), mean_rate(readings)
    at_least = 0
    if replicated_at_most is not None:
        acknowledged = _acknowledged_end(readings, sampled)
        at_least = max(0, acknowledged - max(copied, replicated_at_most))
    if rate is None or mean is None or age is None:
        return PartitionLoss(
            at_least=at_least,
            expected=None,
            at_most=None,
            sampled_end=end,
            replicated=copied,
            reason="the watcher has too few samples to know how fast it grows"
            if rate is None or mean is None
            else "the age of its sampled log end is unknown: the clocks of the machines differ",
        )
    at_most = max(0, end + math.ceil(rate * age) - copied) + passed_over
    # The source died at some moment of the window: in the middle of it, for all that is known.
    likely = end + round(mean * age / 2) - max(copied, replicated_at_most or 0)
    return PartitionLoss(
        at_least=min(at_least, at_most),
        expected=min(max(at_least, likely), at_most),
        at_most=at_most,
        sampled_end=end,
        replicated=copied,
        passed_over=passed_over,
    )


def _live_loss(read: SampledEnd, replicated: int | None, passed_over: int, is_drained: bool) -> PartitionLoss:
    """Of a partition that is there: nothing if it is drained, and else what is not copied yet."""
    log = read.end
    copied = log.start_offset if replicated is None else max(log.start_offset, replicated)
    waiting = max(0, log.end_offset - copied)
    return PartitionLoss(
        at_least=0,
        expected=0 if is_drained else waiting + passed_over,
        at_most=waiting + passed_over,
        sampled_end=log.end_offset,
        replicated=copied,
        passed_over=passed_over,
        to_be_copied=waiting if is_drained else 0,
    )


def _acknowledged_end(readings: Sequence[Reading], sampled: SampledEnd) -> int:
    """Every record below it was acknowledged before the source was lost; 0 if that cannot be said."""
    before_s = sampled.sampled_at_s - ACKNOWLEDGED_AFTER_S
    known = max((reading.value for reading in readings if reading.ended_at_s <= before_s), default=0)
    return min(known, sampled.end.end_offset)


def _topic_loss(
    history: SampleHistory,
    topic: str,
    losses: Mapping[int, PartitionLoss],
    ends: Mapping[TopicPartition, SampledEnd],
    until_s: float,
) -> TopicLoss:
    rate = largest_rate(history.topic_end_readings(topic))
    sampled = [ends[tp].sampled_at_s for number in losses if (tp := TopicPartition(topic, number)) in ends]
    ages = [age for at_s in sampled if (age := age_s(until_s, at_s)) is not None]
    oldest_s = max(ages, default=None) if len(ages) == len(losses) else None
    at_most = _total(loss.at_most for loss in losses.values())
    if at_most is not None and rate is not None and oldest_s is not None:
        # Partitions have their fastest seconds at different times; the topic as a whole is steadier.
        waiting = sum(
            max(0, (loss.sampled_end or 0) - (loss.replicated or 0)) + loss.passed_over
            for loss in losses.values()
        )
        at_most = min(at_most, waiting + math.ceil(rate * oldest_s))
    at_least = sum(loss.at_least for loss in losses.values())
    expected = _total(loss.expected for loss in losses.values())
    return TopicLoss(
        topic=topic,
        at_least=at_least if at_most is None else min(at_least, at_most),
        expected=expected if expected is None or at_most is None else min(expected, at_most),
        at_most=at_most,
        rate_records_per_s=rate,
        sample_age_s=oldest_s,
        seconds_at_most=_seconds_at_most(history, topic, losses, until_s),
        partitions=losses,
    )


def _seconds_at_most(
    history: SampleHistory, topic: str, losses: Mapping[int, PartitionLoss], until_s: float
) -> float | None:
    longest = 0.0
    for number, loss in losses.items():
        if loss.at_most == 0:
            continue
        since = None
        if loss.replicated is not None and not loss.passed_over:
            since = history.last_at_or_below_s(TopicPartition(topic, number), loss.replicated)
        if since is None:
            return None
        reach_s = age_s(until_s, since)
        if reach_s is None:
            return None
        longest = max(longest, reach_s)
    return longest


@dataclass(frozen=True, slots=True, kw_only=True)
class RereadPrediction:
    """Records that one consumer will read again after a move. None: cannot be said.

    `map`: what the translation costs, 0 where it is exact. `position_age`: what the consumer can have
    committed after its recorded position. `at_most`: both, and what it can have processed without
    committing; `by_topic` the same for each topic that it has positions in. `position_age_s`: age of the
    oldest of its positions at the loss.
    """

    consumer: str
    map: int | None
    position_age: int | None
    at_most: int | None
    position_age_s: float | None
    by_topic: Mapping[str, int | None] = field(default_factory=dict)


def predict_reread(
    history: SampleHistory,
    consumer: str,
    positions: Mapping[TopicPartition, SampledPosition],
    reread_by_map: Mapping[TopicPartition, int | None],
    *,
    until_s: float,
) -> RereadPrediction:
    """Predict what `consumer` reads again when it goes on from its recorded `positions`.

    For a group its own pace tells: the largest rate of any second and the largest step between two
    commits, among its newest samples. Where there are none (a Spark query commits no offsets; its
    positions are those of the copied checkpoint) it may have read up to the end of the log.
    `reread_by_map`: from the translation of each position, None where it cannot say. Without any position
    nothing can be said.
    """
    if not positions:
        return RereadPrediction(
            consumer=consumer, map=None, position_age=None, at_most=None, position_age_s=None
        )
    ends = history.sampled_ends()
    later = {
        tp: _read_later(history, consumer, tp, position, ends.get(tp), until_s)
        for tp, position in positions.items()
    }
    by_map = {tp: reread_by_map.get(tp, 0) for tp in positions}
    by_topic: dict[str, list[int | None]] = {}
    for tp, (_, processed) in later.items():
        by_topic.setdefault(tp.topic, []).append(_total((by_map[tp], processed)))
    ages = [age_s(until_s, position.sampled_at_s) for position in positions.values()]
    dated = [age for age in ages if age is not None]
    return RereadPrediction(
        consumer=consumer,
        map=_total(by_map.values()),
        position_age=_total(committed for committed, _ in later.values()),
        at_most=_total(at_most for found in by_topic.values() for at_most in found),
        position_age_s=max(dated) if len(dated) == len(ages) else None,
        by_topic={topic: _total(found) for topic, found in by_topic.items()},
    )


def _read_later(  # noqa: PLR0917 - whose position in which log, and until when
    history: SampleHistory,
    consumer: str,
    tp: TopicPartition,
    position: SampledPosition,
    sampled: SampledEnd | None,
    until_s: float,
) -> tuple[int | None, int | None]:
    """Records that can have been committed after a position, and processed after it; None for both where
    that cannot be said.
    """
    age = age_s(until_s, position.sampled_at_s)
    ahead = _ahead_at_most(history, tp, position.offset, sampled, until_s)
    readings = history.position_readings(consumer, tp)
    rate = largest_rate(readings)
    if rate is None or age is None:
        return ahead, ahead
    step = largest_step(readings)
    pace = max(math.ceil(rate * age), step)
    return (pace, pace + step) if ahead is None else (min(pace, ahead), min(pace + step, ahead))


def _ahead_at_most(
    history: SampleHistory, tp: TopicPartition, offset: int, sampled: SampledEnd | None, until_s: float
) -> int | None:
    """How many records lay beyond `offset` at the loss, at most; None where that cannot be said."""
    rate = history.rate_records_per_s(tp)
    age = None if sampled is None else age_s(until_s, sampled.sampled_at_s)
    if sampled is None or rate is None or age is None:
        return None
    grown = math.ceil(rate * age)
    return max(0, sampled.end.end_offset + grown - offset)


def _total(numbers: Iterable[int | None]) -> int | None:
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total
