"""The samples of a source cluster, put together: right with several watchers, duplicates and disorder.

Adding the same set of records in any order, any of them several times, gives the same history.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from orchestrator.planning.estate_record import is_copy
from orchestrator.planning.outage import LossWindow, loss_window
from orchestrator.planning.rates import Reading, largest_rate
from orchestrator.planning.sample_blocks import (
    ENDS,
    Block,
    Part,
    at_s,
    begun_at_s,
    confirmed_by,
    copy_order,
    ended_at_s,
    insert_ordered,
    is_of_another_topic,
    missed_as,
    part_of,
    part_of_partition,
    scope_of,
    value_in,
)
from orchestrator.planning.sample_codec import (
    BLOCK_PARTITIONS,
    Cause,
    CheckpointCopy,
    GroupPositions,
    Outcome,
    Round,
    Sample,
    TopicEnds,
    blocks_of,
    decode_sample,
    encode_sample,
    group_subject,
    sample_key,
    topic_subject,
)
from orchestrator.replication.made_anew import MadeAnew
from orchestrator.values import LogEnd, TopicPartition

__all__ = [
    "BLOCK_PARTITIONS",
    "Cause",
    "CheckpointCopy",
    "GroupPositions",
    "LossWindow",
    "Outcome",
    "Round",
    "Sample",
    "SampleHistory",
    "SampledEnd",
    "SampledPosition",
    "SampledTopic",
    "TopicEnds",
    "blocks_of",
    "decode_sample",
    "encode_sample",
    "group_subject",
    "sample_key",
    "topic_subject",
]

HISTORY_S = 3600.0
RATE_HORIZON_S = 15.0


class SampledPosition(NamedTuple):
    """A committed offset, and the newest moment at which it surely was what the group had committed."""

    offset: int
    sampled_at_s: float


class SampledTopic(NamedTuple):
    """A topic's id, the newest moment at which it surely had it, and when it came to it (None: always)."""

    sampled_at_s: float
    topic_id: str
    made_anew: MadeAnew | None


class SampledEnd(NamedTuple):
    """A log end, and the newest moment at which it surely was the log's end."""

    end: LogEnd
    sampled_at_s: float


class _Watcher:
    """The records of one watcher process."""

    def __init__(self) -> None:
        self.rounds: list[Round] = []  # that did not fail, by begin
        self.failed: list[Round] = []  # by end
        self.scopes: dict[str, dict[Part, list[Block]]] = {}  # each list by time

    def confirmed_at_s(self, block: Block) -> float:
        """The newest moment at which the block was still what the source said."""
        return confirmed_by(self.rounds[-1] if self.rounds else None, block)


class SampleHistory:
    """What is known of one source cluster. `add` takes records; everything else answers questions.

    Readings older than `keep_s` before the newest are forgotten, but never the newest of each part.
    """

    def __init__(self, keep_s: float = HISTORY_S) -> None:
        self.keep_s = keep_s
        self.unreadable = 0
        self._watchers: dict[str, _Watcher] = {}
        self._copies: dict[str, CheckpointCopy] = {}
        self._trimmed_at_s = 0.0
        # What many consumers ask of the same samples; made when first asked, until a sample is added.
        self._ends: dict[TopicPartition, SampledEnd] | None = None
        self._topics: dict[str, SampledTopic] | None = None

    def add_record(self, key: bytes, value: bytes | None) -> None:
        """Take one record of the samples topic. One that is not ours is counted in `unreadable`.

        A record without a value only tells compaction that a dead watcher's part may go: what is no
        longer there is withdrawn by an empty block.
        """
        if value is None or is_copy(key):
            return
        try:
            self.add(decode_sample(key, value))
        except ValueError:
            self.unreadable += 1

    def add(self, sample: Sample) -> None:
        """Take one sample."""
        self._ends = self._topics = None
        if isinstance(sample, CheckpointCopy):
            known = self._copies.get(sample.query)
            if known is None or copy_order(known) < copy_order(sample):
                self._copies[sample.query] = sample
            return
        watcher = self._watchers.setdefault(sample.watcher, _Watcher())
        if isinstance(sample, Round):
            if sample.outcome == "failed":
                insert_ordered(watcher.failed, sample, ended_at_s)
            else:
                insert_ordered(watcher.rounds, sample, begun_at_s)
            self._trim(sample.begun_at_s - self.keep_s)
        else:
            blocks = watcher.scopes.setdefault(scope_of(sample), {}).setdefault(part_of(sample), [])
            insert_ordered(blocks, sample, at_s)
            if any(is_of_another_topic(block, blocks[-1]) for block in (sample, blocks[-2:][0])):
                blocks[:] = [block for block in blocks if not is_of_another_topic(block, blocks[-1])]

    @property
    def watchers(self) -> frozenset[str]:
        """Names of the watcher processes whose records were read."""
        return frozenset(self._watchers)

    @property
    def last_sign_of_life_s(self) -> float | None:
        """End of the newest round of any kind, of any watcher."""
        ends = [
            rounds[-1].ended_at_s
            for w in self._watchers.values()
            for rounds in (w.rounds, w.failed)
            if rounds
        ]
        return max(ends, default=None)

    @property
    def last_good_at_s(self) -> float | None:
        """Begin of the newest round that did not fail, of any watcher."""
        times = [w.rounds[-1].begun_at_s for w in self._watchers.values() if w.rounds]
        times += [
            w.failed[-1].last_good_at_s
            for w in self._watchers.values()
            if w.failed and w.failed[-1].last_good_at_s is not None
        ]
        return max(times, default=None)

    @property
    def is_source_failing(self) -> bool:
        """Whether a round has failed since the last one that did not."""
        return self.loss_window() is not None

    def loss_window(self) -> LossWindow | None:
        """The window in which the source was lost; None while it answers, or when it never did."""
        return loss_window(self.last_good_at_s, [watcher.failed for watcher in self._watchers.values()])

    @property
    def full_at_s(self) -> float | None:
        """Begin of the newest complete picture: records from then on suffice to know everything."""
        times = [
            w.rounds[-1].full_at_s
            for w in self._watchers.values()
            if w.rounds and w.rounds[-1].full_at_s is not None
        ]
        return max(times, default=None)

    @property
    def groups(self) -> frozenset[str]:
        """Every group with recorded positions."""
        return frozenset(
            block.group
            for watcher in self._watchers.values()
            for parts in watcher.scopes.values()
            for blocks in parts.values()
            if isinstance(block := blocks[-1], GroupPositions) and block.offsets
        )

    @property
    def copies(self) -> dict[str, CheckpointCopy]:
        """The newest word on each Spark query's checkpoint copy."""
        return dict(self._copies)

    def positions(self, group: str) -> dict[TopicPartition, SampledPosition]:
        """Committed offsets of one group, each with its time; empty for a group that is not known."""
        return {
            TopicPartition(block.topic, partition): SampledPosition(offset, confirmed)
            for block, confirmed in self._newest(group_subject(group))
            if isinstance(block, GroupPositions)
            for partition, offset in block.offsets.items()
        }

    def unseen_since_s(self, group: str) -> float | None:
        """End of the first round that could not have a group's positions any more; None while they can."""
        subject = group_subject(group)
        confirmed = max((at_s for _, at_s in self._newest(subject)), default=None)
        if confirmed is None:
            return None
        rounds = [round_ for w in self._watchers.values() for round_ in (*w.rounds, *w.failed)]
        return min(
            (
                round_.ended_at_s
                for round_ in rounds
                if round_.begun_at_s > confirmed and (round_.outcome == "failed" or subject in round_.missed)
            ),
            default=None,
        )

    def sampled_ends(self) -> Mapping[TopicPartition, SampledEnd]:
        """The newest log ends, each with its time."""
        if self._ends is None:
            self._ends = {
                TopicPartition(block.topic, partition): SampledEnd(end, confirmed)
                for block, confirmed in self._newest(ENDS)
                if isinstance(block, TopicEnds)
                for partition, end in block.ends.items()
            }
        return self._ends

    def newest_ends(self) -> dict[TopicPartition, LogEnd]:
        """The newest log ends."""
        return {tp: sampled.end for tp, sampled in self.sampled_ends().items()}

    @property
    def topics(self) -> Mapping[str, SampledTopic]:
        """The source's topics, as of the newest sample of each."""
        if self._topics is None:
            self._topics = self._newest_topics()
        return self._topics

    def _newest_topics(self) -> dict[str, SampledTopic]:
        newest: dict[str, SampledTopic] = {}
        for block, confirmed in self._newest(ENDS):
            if isinstance(block, TopicEnds):
                found = SampledTopic(confirmed, block.topic_id, block.made_anew)
                newest[block.topic] = max(newest.get(block.topic, found), found, key=_sampled_at_s)
        return newest

    @property
    def made_anew(self) -> dict[str, MadeAnew]:
        """Those topics of which an earlier one of the same name is known, and when they came."""
        return {name: topic.made_anew for name, topic in self.topics.items() if topic.made_anew is not None}

    def end_readings(self, tp: TopicPartition, horizon_s: float = RATE_HORIZON_S) -> list[Reading]:
        """End offsets of one partition over the last `horizon_s` before its newest sample."""
        return self._readings(ENDS, part_of_partition(tp), horizon_s, tp.partition)

    def topic_end_readings(self, topic: str, horizon_s: float = RATE_HORIZON_S) -> list[Reading]:
        """End offsets of one topic, summed over its partitions, over the last `horizon_s`."""
        parts = {part for w in self._watchers.values() for part in w.scopes.get(ENDS, {}) if part[0] == topic}
        series = [self._readings(ENDS, part, horizon_s, None) for part in sorted(parts)]
        by_time = [{(r.begun_at_s, r.ended_at_s): r.value for r in readings} for readings in series]
        if not by_time:
            return []
        common = sorted(set(by_time[0]).intersection(*by_time[1:]))
        return [Reading(*times, sum(values[times] for values in by_time)) for times in common]

    def last_at_or_below_s(self, tp: TopicPartition, offset: int) -> float | None:
        """The newest moment at which the log surely ended at `offset` or before.

        Records from `offset` on were written after it. None where the history does not reach back so far.
        """
        moments = []
        for watcher in self._watchers.values():
            blocks = watcher.scopes.get(ENDS, {}).get(part_of_partition(tp), [])
            index = bisect_right(blocks, offset, key=lambda block: value_in(block, tp.partition) or 0)
            if index == len(blocks) and blocks:
                moments.append(watcher.confirmed_at_s(blocks[-1]))
            elif index > 0:
                before = bisect_left(watcher.rounds, blocks[index].at_s, key=begun_at_s)
                last = watcher.rounds[before - 1] if before else None
                moments.append(confirmed_by(last, blocks[index - 1]))
        return max(moments, default=None)

    def position_readings(
        self, group: str, tp: TopicPartition, horizon_s: float = RATE_HORIZON_S
    ) -> list[Reading]:
        """Committed offsets of one group in one partition over the last `horizon_s`."""
        return self._readings(group_subject(group), part_of_partition(tp), horizon_s, tp.partition)

    def rate_records_per_s(self, tp: TopicPartition) -> float | None:
        """The largest growth of any second in the last 15 s; None while there are too few samples to say."""
        return largest_rate(self.end_readings(tp))

    def _newest(self, scope: str) -> Iterator[tuple[Block, float]]:
        """For each part of a scope, the block confirmed last, and when that was."""
        best: dict[Part, tuple[float, str, Block]] = {}
        for name, watcher in self._watchers.items():
            for part, blocks in watcher.scopes.get(scope, {}).items():
                confirmed = watcher.confirmed_at_s(blocks[-1])
                if part not in best or (confirmed, name) > best[part][:2]:
                    best[part] = (confirmed, name, blocks[-1])
        for confirmed, _, block in best.values():
            yield block, confirmed

    def _readings(self, scope: str, part: Part, horizon_s: float, partition: int | None) -> list[Reading]:
        """Readings of the watcher that knows the part best, one for each round that did not miss it."""
        known = {
            name: (watcher, parts[part])
            for name, watcher in self._watchers.items()
            if part in (parts := watcher.scopes.get(scope, {}))
        }
        if not known:
            return []
        name = max(known, key=lambda name: (known[name][0].confirmed_at_s(known[name][1][-1]), name))
        watcher, blocks = known[name]
        since = watcher.confirmed_at_s(blocks[-1]) - horizon_s
        subject = missed_as(blocks[-1])
        readings = []
        for round_ in watcher.rounds[bisect_left(watcher.rounds, since, key=begun_at_s) :]:
            index = bisect_right(blocks, round_.begun_at_s, key=at_s) - 1
            value = (
                value_in(blocks[index], partition) if index >= 0 and subject not in round_.missed else None
            )
            if value is not None:
                ends_at_s = round_.ends_at_s if scope == ENDS else None
                readings.append(Reading(*(ends_at_s or (round_.begun_at_s, round_.ended_at_s)), value))
        return readings

    def _trim(self, before_s: float) -> None:
        if before_s - self._trimmed_at_s < 60:
            return
        self._trimmed_at_s = before_s
        for watcher in self._watchers.values():
            del watcher.rounds[: max(0, bisect_left(watcher.rounds[:-1], before_s, key=begun_at_s))]
            del watcher.failed[: max(0, bisect_left(watcher.failed[:-1], before_s, key=ended_at_s))]
            for parts in watcher.scopes.values():
                for blocks in parts.values():
                    # The last one before the limit still tells what held at the limit.
                    del blocks[: max(0, bisect_left(blocks[:-1], before_s, key=at_s) - 1)]


def _sampled_at_s(topic: SampledTopic) -> float:
    return topic.sampled_at_s
