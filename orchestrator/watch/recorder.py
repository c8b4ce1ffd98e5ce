"""Which records a sampling round gives: all that changed, and from time to time everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from orchestrator.planning.samples import (
    Cause,
    CheckpointCopy,
    GroupPositions,
    Outcome,
    Round,
    Sample,
    SampledTopic,
    SampleHistory,
    TopicEnds,
    blocks_of,
    group_subject,
    sample_key,
    topic_subject,
)
from orchestrator.replication.made_anew import MadeAnew
from orchestrator.values import LogEnd, TopicPartition

FULL_EVERY_S = 30.0
# Topic ids are not read in each round: a log that has not become shorter may be another one for so long.
_IDS_OLD_AT_MOST_S = 10.0
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReading:
    """What one round got from the source.

    `positions` and `ends` hold what answered; `missed` are the subjects (see `samples`) that should have
    been in there. Nothing at all answered in a failed round.
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


class Recorder:
    """Remembers what was written. After each batch call `written`, or `forget` if it failed."""

    def __init__(self, watcher: str) -> None:
        self.watcher = watcher
        self.last_good_at_s: float | None = None
        self._topics: dict[str, SampledTopic] = {}
        self._failing_since_s: float | None = None
        self._refused_since_s: float | None = None
        self._full_at_s: float | None = None
        self._contents: dict[bytes, object] = {}
        self._blocks: dict[bytes, GroupPositions | TopicEnds] = {}
        self._confirmed_at_s: dict[str, float] = {}

    def take_over(self, known: SampleHistory) -> None:
        """Go on from what earlier watchers have recorded: when the source was last seen, and which topics."""
        self.last_good_at_s = known.last_good_at_s
        self._topics = dict(known.topics)

    def records(self, reading: SourceReading) -> tuple[list[Sample], Round]:
        """The samples to write, and the round to write after all of them are acknowledged."""
        if reading.outcome == "failed":
            return [], self._round(reading)
        is_full = self._full_at_s is None or reading.begun_at_s - self._full_at_s >= FULL_EVERY_S
        blocks = self._blocks_of(reading)
        samples: list[Sample] = [
            block for key, block in blocks.items() if is_full or self._contents.get(key) != _content(block)
        ]
        samples += self._withdrawn(reading, blocks)
        full_at_s = reading.begun_at_s if is_full and not reading.missed else self._full_at_s
        return samples, self._round(reading, full_at_s)

    def written(self, samples: list[Sample], round_: Round) -> None:
        """These records are at the target."""
        for sample in samples:
            if isinstance(sample, GroupPositions | TopicEnds):
                key = sample_key(sample)
                self._contents[key] = _content(sample)
                self._blocks[key] = sample
        self._note_outage(round_)
        if round_.outcome == "failed":
            return
        self._note_topics(round_)
        self._full_at_s = round_.full_at_s
        self.last_good_at_s = round_.begun_at_s
        for block in self._blocks.values():
            subject = _subject(block)
            if subject not in round_.missed:
                self._confirmed_at_s[subject] = round_.begun_at_s

    def forget(self, round_: Round) -> None:
        """It is not known what of these records is at the target: the next good round writes all anew."""
        self._contents.clear()
        self._full_at_s = None
        # An outage that could not be recorded began when it began.
        self._note_outage(round_)

    def _note_topics(self, round_: Round) -> None:
        for block in self._blocks.values():
            if isinstance(block, TopicEnds) and block.ends and _subject(block) not in round_.missed:
                self._topics[block.topic] = SampledTopic(round_.begun_at_s, block.topic_id, block.made_anew)

    def _made_anew(self, topic: str, topic_id: str, seen_s: float) -> MadeAnew | None:
        """When the topic came to this id; None if no other one is known."""
        known = self._topics.get(topic)
        if known is None or not known.topic_id or not topic_id:
            return None
        if known.topic_id == topic_id:
            return known.made_anew
        return MadeAnew(known.sampled_at_s - _IDS_OLD_AT_MOST_S, seen_s)

    def _note_outage(self, round_: Round) -> None:
        self._failing_since_s = round_.failing_since_s
        self._refused_since_s = round_.refused_since_s

    def _round(self, reading: SourceReading, full_at_s: float | None = None) -> Round:
        is_failed = reading.outcome == "failed"
        is_refused = is_failed and reading.cause == "refused"
        return Round(
            watcher=self.watcher,
            begun_at_s=reading.begun_at_s,
            ended_at_s=reading.ended_at_s,
            outcome=reading.outcome,
            cause=reading.cause,
            reason=reading.reason,
            ends_at_s=reading.ends_at_s,
            last_good_at_s=self.last_good_at_s if is_failed else reading.begun_at_s,
            failing_since_s=_since(self._failing_since_s, reading) if is_failed else None,
            refused_since_s=_since(self._refused_since_s, reading) if is_refused else None,
            full_at_s=full_at_s,
            missed={subject: self._confirmed_at_s.get(subject) for subject in sorted(reading.missed)},
        )

    def _blocks_of(self, reading: SourceReading) -> dict[bytes, GroupPositions | TopicEnds]:
        blocks: list[GroupPositions | TopicEnds] = []
        for topic, ends in _by_topic(reading.ends).items():
            topic_id = reading.topic_ids.get(topic, "")
            made_anew = self._made_anew(topic, topic_id, reading.ended_at_s)
            blocks += [
                TopicEnds(
                    watcher=self.watcher,
                    topic=topic,
                    block=number,
                    at_s=reading.begun_at_s,
                    topic_id=topic_id,
                    ends={partition: ends[partition] for partition in members},
                    made_anew=made_anew,
                )
                for number, members in blocks_of(ends).items()
            ]
        for group, positions in reading.positions.items():
            for topic, offsets in _by_topic(positions).items():
                blocks += [
                    GroupPositions(
                        watcher=self.watcher,
                        group=group,
                        topic=topic,
                        block=number,
                        at_s=reading.begun_at_s,
                        offsets={partition: offsets[partition] for partition in members},
                    )
                    for number, members in blocks_of(offsets).items()
                ]
        return {sample_key(block): block for block in blocks}

    def _withdrawn(
        self, reading: SourceReading, blocks: Mapping[bytes, GroupPositions | TopicEnds]
    ) -> list[Sample]:
        """Empty blocks for what is no longer there, so that no later round confirms it."""
        gone: list[Sample] = []
        for key, block in self._blocks.items():
            if key in blocks or _subject(block) in reading.missed or not _content(block):
                continue
            at_s = reading.begun_at_s
            gone.append(
                replace(block, at_s=at_s, offsets={})
                if isinstance(block, GroupPositions)
                else replace(block, at_s=at_s, ends={})
            )
        return gone


def changed_copies(
    copies: Mapping[str, CheckpointCopy], written: Mapping[str, CheckpointCopy], every_s: float
) -> list[CheckpointCopy]:
    """Copies whose state changed, or whose record is `every_s` old."""
    return [
        copy
        for query, copy in copies.items()
        if (known := written.get(query)) is None
        or (copy.batch, copy.source_batch, copy.problem) != (known.batch, known.source_batch, known.problem)
        or copy.at_s - known.at_s >= every_s
    ]


def _since(known_s: float | None, reading: SourceReading) -> float:
    return reading.ended_at_s if known_s is None else known_s


def _content(block: GroupPositions | TopicEnds) -> object:
    if isinstance(block, GroupPositions):
        return dict(block.offsets)
    return (block.topic_id, block.made_anew, dict(block.ends)) if block.ends else {}


def _subject(block: GroupPositions | TopicEnds) -> str:
    return group_subject(block.group) if isinstance(block, GroupPositions) else topic_subject(block.topic)


def _by_topic(values: Mapping[TopicPartition, _V]) -> dict[str, dict[int, _V]]:
    topics: dict[str, dict[int, _V]] = {}
    for tp, value in values.items():
        topics.setdefault(tp.topic, {})[tp.partition] = value
    return topics
