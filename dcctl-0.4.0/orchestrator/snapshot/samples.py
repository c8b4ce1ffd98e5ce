"""The samples of a source cluster, put together: right with several watchers, duplicates and disorder.

Adding the same set of records in any order, any of them several times, gives the same history.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from orchestrator.ports.clock import CLOCKS_APART_S, LONG_AGO_S
from orchestrator.replication.content import Fingerprint
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.replication.source_gaps import TopicWriters
from orchestrator.runs.fact_copy import is_copy
from orchestrator.snapshot.known_fingerprints import KnownFingerprints
from orchestrator.snapshot.known_writers import KnownWriters
from orchestrator.snapshot.outage import LossWindow, loss_window
from orchestrator.snapshot.rates import Reading, largest_rate
from orchestrator.snapshot.sample_blocks import (
    ENDS,
    Block,
    Part,
    begun_at_s,
    confirmed_by,
    is_withdrawn,
    part_of_partition,
    value_in,
)
from orchestrator.snapshot.sample_codec import (
    BLOCK_PARTITIONS,
    ApplicationSample,
    Cause,
    CheckpointCopy,
    FingerprintsSeen,
    GroupPositions,
    Outcome,
    Round,
    Sample,
    TopicEnds,
    Word,
    WritersSeen,
    blocks_of,
    decode_sample,
    encode_sample,
    group_subject,
    sample_key,
    topic_subject,
)
from orchestrator.snapshot.watcher_records import Placed, WatcherRecords, placed, readings_of, shifted
from orchestrator.values import LogEnd, TopicPartition

__all__ = [
    "BLOCK_PARTITIONS",
    "ApplicationSample",
    "Cause",
    "CheckpointCopy",
    "FingerprintsSeen",
    "GroupPositions",
    "LastGood",
    "LossWindow",
    "Outcome",
    "Round",
    "Sample",
    "SampleHistory",
    "SampledEnd",
    "SampledPosition",
    "SampledTopic",
    "TopicEnds",
    "Word",
    "WritersSeen",
    "blocks_of",
    "decode_sample",
    "encode_sample",
    "group_subject",
    "sample_key",
    "topic_subject",
]

HISTORY_S = 3600.0
RATE_HORIZON_S = 15.0
_AT_WORK_S = 60.0


class SampledPosition(NamedTuple):
    """A committed offset, and the newest moment at which it surely was what the group had committed."""

    offset: int
    sampled_at_s: float


class SampledTopic(NamedTuple):
    """A topic's id, the newest moment at which it surely had it, and when it came to it (None: always)."""

    sampled_at_s: float
    topic_id: str
    recreated: Recreation | None


class SampledEnd(NamedTuple):
    """A log end, and the newest moment at which it surely was the log's end."""

    end: LogEnd
    sampled_at_s: float


class LastGood(NamedTuple):
    """A round that did not fail: its offset in the samples topic, and its begin on its watcher's own time.

    Both stay what they are whatever clocks do later: one offset with two begins is two topics.
    """

    place: int
    begun_at_s: float


class SampleHistory:
    """What is known of one source cluster. `add` takes records; everything else answers questions.

    Readings older than `keep_s` before the newest are forgotten, but never the newest of each part; earlier
    positions of groups after `keep_positions_s`. All times that are told are by the clock of the watcher that
    wrote last. Of a watcher whose clock was ahead of it, nobody knows by how much, they are `LONG_AGO_S`.
    """

    def __init__(self, keep_s: float = HISTORY_S, keep_positions_s: float | None = None) -> None:
        self.keep_s = keep_s
        self.keep_positions_s = keep_s if keep_positions_s is None else keep_positions_s
        self.unreadable = 0
        self._next_order = 0
        self._watchers: dict[str, WatcherRecords] = {}
        self._writers = KnownWriters()
        self._fingerprints = KnownFingerprints()
        # What many consumers ask of the same samples; made when first asked, until a sample is added.
        self._placed: tuple[Placed, ...] | None = None
        self._ends: dict[TopicPartition, SampledEnd] | None = None
        self._topics: dict[str, SampledTopic] | None = None

    def add_record(self, key: bytes, value: bytes | None, order: int | None = None) -> None:
        """Take one record of the samples topic. One that is not ours is counted in `unreadable`.

        `order`: its offset there; by default the next one. A record without a value only tells compaction
        that a dead watcher's part may go: what is no longer there is withdrawn by an empty block.
        """
        if value is None or is_copy(key):
            return
        try:
            self.add(decode_sample(key, value), order)
        except ValueError:
            self.unreadable += 1

    def add(self, sample: Sample, order: int | None = None) -> None:
        """Take one sample."""
        order = self._next_order if order is None else order
        self._next_order = max(self._next_order, order + 1)
        if isinstance(sample, WritersSeen):
            self._writers.add(sample, order)
            return
        if isinstance(sample, FingerprintsSeen):
            self._fingerprints.add(sample, order)
            return
        self._placed = self._ends = self._topics = None
        watcher = self._watchers.setdefault(sample.watcher, WatcherRecords(self.keep_positions_s > 0))
        watcher.add(sample, order)
        if isinstance(sample, Round):
            watcher.trim(
                self.keep_s, self.keep_positions_s, lambda *part: self._is_alone(sample.watcher, *part)
            )

    def _is_alone(self, name: str, scope: str, part: Part) -> bool:
        """Whether no other watcher says anything of a part."""
        return not any(
            part in watcher.scopes.get(scope, {})
            for other, watcher in self._watchers.items()
            if other != name
        )

    @property
    def _all(self) -> tuple[Placed, ...]:
        if self._placed is None:
            self._placed = placed(self._watchers)
        return self._placed

    @property
    def watchers(self) -> frozenset[str]:
        """Names of the watcher processes whose records were read."""
        return frozenset(self._watchers)

    @property
    def seen_s(self) -> dict[str, float]:
        """When each watcher was last at work; one of which nobody knows it is left out."""
        return {w.name: w.records.newest_s + w.offset_s for w in self._all if w.offset_s is not None}

    @property
    def last_sign_of_life_s(self) -> float | None:
        """End of the newest round of any kind, of any watcher."""
        ends = [
            rounds[-1].ended_at_s + w.offset_s
            for w in self._all
            for rounds in (w.records.rounds, w.records.failed)
            if rounds and w.offset_s is not None
        ]
        return max(ends, default=None)

    def ahead_s(self, now_s: float) -> float:
        """How far the newest round lies in the future of who asks: so far at least their clocks differ."""
        last = self.last_sign_of_life_s
        return 0.0 if last is None else max(0.0, last - now_s)

    def comparable_s(self, now_s: float) -> float:
        """The time of who asks, to be held against what is told here; `LONG_AGO_S` where that says nothing.

        Where the newest round lies in their future, their clock is not the one that dated anything here: an
        age by it would be too small by a difference that nobody knows.
        """
        return now_s if self.ahead_s(now_s) <= CLOCKS_APART_S else LONG_AGO_S

    def ages_at_s(self, now_s: float) -> float:
        """When ages are judged, for `age_s`: at the loss of the source, else at the time of who asks."""
        window = self.loss_window()
        return self.comparable_s(now_s) if window is None else window.first_failed_at_s

    @property
    def last_good_at_s(self) -> float | None:
        """Begin of the newest round that did not fail, of any watcher; 0 where nobody knows when that was."""
        times = [w.at(w.records.rounds[-1].begun_at_s) for w in self._all if w.records.rounds]
        times += [
            w.at(told)
            for w in self._all
            if w.records.failed and (told := w.records.failed[-1].last_good_at_s) is not None
        ]
        return max(times, default=None)

    @property
    def last_good(self) -> LastGood | None:
        """The newest round in the topic that did not fail, whatever any clock says; compaction keeps it.

        None where no such round was read, and where a later record tells that the source answered after it:
        of that answer there is no round, for the target did not acknowledge it.
        """
        found = max(self._watchers.values(), key=lambda watcher: watcher.last_good_order, default=None)
        if found is None or found.last_good_order < 0:
            return None
        if any(self._tells_of_later(name, found.last_good_order) for name in self._watchers):
            return None
        return LastGood(found.last_good_order, found.rounds[-1].begun_at_s)

    def _tells_of_later(self, name: str, place: int) -> bool:
        """Whether a watcher tells, behind that place in the topic, of an answer later than any that is there.

        Later than its own last good round where it wrote one: no clock but its own is asked then. One that
        wrote none may tell what it took over: then it is later than those of all others, by common clocks.
        """
        watcher = self._watchers[name]
        told_s = watcher.failed[-1].last_good_at_s if watcher.failed else None
        if told_s is None or told_s <= LONG_AGO_S or watcher.last_written.order < place:
            return False
        if watcher.rounds:
            return told_s > watcher.rounds[-1].begun_at_s + CLOCKS_APART_S
        others = [other for other in self._watchers.values() if other.rounds]
        pairs = [placed({"it": watcher, "other": other}) for other in others]
        return all(
            it.offset_s is None
            or it.at(told_s) > other.at(other.records.rounds[-1].begun_at_s) + CLOCKS_APART_S
            for it, other in pairs
        )

    @property
    def is_source_failing(self) -> bool:
        """Whether a round has failed since the last one that did not."""
        return self.loss_window() is not None

    def loss_window(self) -> LossWindow | None:
        """The window in which the source was lost; None while it answers, or when it never did."""
        failed = [
            [shifted(round_, w.offset_s) for round_ in w.records.failed]
            for w in self._all
            if w.offset_s is not None
        ]
        return loss_window(self.last_good_at_s, failed)

    def is_complete(self, history_s: float) -> bool:
        """Whether the end of the topic that was read tells everything, and readings of the last `history_s`.

        It does if it holds all that each watcher at work wrote since it began its newest complete picture:
        an earlier round of that watcher is in it. And some watcher's rounds reach back so far, also before
        the last word on each log: where a leader has been away for a while, others answer rounds without it.
        """
        rounds = [(w, w.records.rounds) for w in self._all if w.records.rounds and w.offset_s is not None]
        last_good_s = self.last_good_at_s or 0.0
        at_work = [
            found[0].begun_at_s < found[-1].full_at_s
            for w, found in rounds
            if found[-1].full_at_s is not None and w.at(found[-1].begun_at_s) >= last_good_s - _AT_WORK_S
        ]
        reach_s = min((w.at(found[0].begun_at_s) for w, found in rounds), default=None)
        told = [at_s for block, at_s in self._newest(ENDS) if not is_withdrawn(block)]
        since_s = min((at_s for at_s in told if at_s > last_good_s - self.keep_s), default=last_good_s)
        return any(at_work) and all(at_work) and reach_s is not None and reach_s <= since_s - history_s

    @property
    def groups(self) -> frozenset[str]:
        """Every group with recorded positions."""
        return frozenset(block.group for block, _ in self.known() if isinstance(block, GroupPositions))

    @property
    def of_applications(self) -> dict[str, Word]:
        """The newest word on each application that has more than committed offsets, by its name."""
        newest: dict[str, tuple[float, str, str]] = {}
        found: dict[str, Word] = {}
        for w in self._all:
            for name, word in w.records.words.items():
                told: Word = replace(word, at_s=w.at(word.at_s)) if word.at_s else word
                order = (told.at_s, w.name, told.problem)
                if name not in found or newest[name] < order:
                    newest[name], found[name] = order, told
        return found

    @property
    def copies(self) -> dict[str, CheckpointCopy]:
        """The newest word on each Spark query's checkpoint copy."""
        words = self.of_applications.items()
        return {name: word for name, word in words if isinstance(word, CheckpointCopy)}

    @property
    def writers(self) -> dict[str, TopicWriters]:
        """What was seen of each topic's writers; a topic that nobody looked at is not in it."""
        return self._writers.told

    @property
    def fingerprints(self) -> dict[TopicPartition, tuple[Fingerprint, ...]]:
        """The records that stand for positions, by rising position, of logs as they were seen last."""
        return self._fingerprints.told(self._topic_ids, self.writers, self.newest_ends())

    @property
    def written_since(self) -> dict[tuple[TopicPartition, str], int]:
        """By partition and id of its copy: from which offset on records were written since it had that id."""
        return self._fingerprints.written_since(self._topic_ids)

    @property
    def _topic_ids(self) -> dict[str, str]:
        return {name: topic.topic_id for name, topic in self.topics.items()}

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
        return min(
            (
                w.at(round_.ended_at_s)
                for w in self._all
                for round_ in (*w.records.rounds, *w.records.failed)
                if w.at(round_.begun_at_s) > confirmed
                and (round_.outcome == "failed" or subject in round_.missed)
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
                found = SampledTopic(confirmed, block.topic_id, block.recreated)
                newest[block.topic] = max(newest.get(block.topic, found), found, key=_sampled_at_s)
        return newest

    @property
    def recreated(self) -> dict[str, Recreation]:
        """Those topics of which an earlier one of the same name is known, and when they came."""
        return {name: topic.recreated for name, topic in self.topics.items() if topic.recreated is not None}

    def end_readings(self, tp: TopicPartition, horizon_s: float = RATE_HORIZON_S) -> list[Reading]:
        """End offsets of one partition over the last `horizon_s` before its newest sample."""
        return self._readings(ENDS, part_of_partition(tp), horizon_s, tp.partition)

    def topic_end_readings(self, topic: str, horizon_s: float = RATE_HORIZON_S) -> list[Reading]:
        """End offsets of one topic, summed over its partitions, over the last `horizon_s`."""
        watchers = self._watchers.values()
        parts = {part for watcher in watchers for part in watcher.scopes.get(ENDS, {}) if part[0] == topic}
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
        for w in self._all:
            blocks = w.records.scopes.get(ENDS, {}).get(part_of_partition(tp), [])
            index = bisect_right(blocks, offset, key=lambda block: value_in(block, tp.partition) or 0)
            if w.offset_s is None or index == 0:
                continue
            if index == len(blocks):
                moments.append(w.at(w.records.confirmed_at_s(blocks[-1])))
            else:
                before = bisect_left(w.records.rounds, blocks[index].at_s, key=begun_at_s)
                last = w.records.rounds[before - 1] if before else None
                moments.append(w.at(confirmed_by(last, blocks[index - 1])))
        return max(moments, default=None)

    def position_readings(
        self, group: str, tp: TopicPartition, horizon_s: float = RATE_HORIZON_S
    ) -> list[Reading]:
        """Committed offsets of one group in one partition over the last `horizon_s`."""
        return self._readings(group_subject(group), part_of_partition(tp), horizon_s, tp.partition)

    def rate_records_per_s(self, tp: TopicPartition) -> float | None:
        """The largest growth of any second in the last 15 s; None while there are too few samples to say."""
        return largest_rate(self.end_readings(tp))

    def known(self) -> list[tuple[Block, float]]:
        """Everything that is known: of each part the newest word, and when it was confirmed."""
        return [(block, confirmed) for block, confirmed in self.words() if not is_withdrawn(block)]

    def words(self) -> list[tuple[Block, float]]:
        """The same, and of what is no longer there the word that it is gone."""
        scopes = {scope for watcher in self._watchers.values() for scope in watcher.scopes}
        return [found for scope in sorted(scopes) for found in self._newest(scope)]

    def _newest(self, scope: str) -> Iterator[tuple[Block, float]]:
        """For each part of a scope, the block confirmed last by the common clock, and when that was."""
        best: dict[Part, tuple[float, int, Block]] = {}
        for w in self._all:
            place = w.records.last_written.order
            for part, blocks in w.records.scopes.get(scope, {}).items():
                confirmed = w.at(w.records.confirmed_at_s(blocks[-1]))
                if part not in best or (confirmed, place) > best[part][:2]:
                    best[part] = (confirmed, place, shifted(blocks[-1], w.offset_s or 0.0))
        for confirmed, _, block in best.values():
            yield block, confirmed

    def _readings(self, scope: str, part: Part, horizon_s: float, partition: int | None) -> list[Reading]:
        """Readings of the watcher that knows the part best, one for each round that did not miss it."""
        known = [
            (w.at(w.records.confirmed_at_s(blocks[-1])), w, blocks)
            for w in self._all
            if (blocks := w.records.scopes.get(scope, {}).get(part))
        ]
        newest_s = max((confirmed for confirmed, _, _ in known), default=0.0)
        # A later watcher may repeat what an earlier one knew, without the readings that it rests on.
        told = [readings_of(w, blocks, horizon_s, partition) for at, w, blocks in known if at == newest_s]
        return max(told, key=len, default=[])


def _sampled_at_s(topic: SampledTopic) -> float:
    return topic.sampled_at_s
