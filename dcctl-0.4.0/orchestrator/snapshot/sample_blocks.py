"""Samples by time, and what one block of them says: the small questions that a history asks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from orchestrator.snapshot.sample_codec import (
    BLOCK_PARTITIONS,
    GroupPositions,
    Round,
    Sample,
    TopicEnds,
    group_subject,
    topic_subject,
)
from orchestrator.values import TopicPartition

Block: TypeAlias = GroupPositions | TopicEnds
Part: TypeAlias = tuple[str, int]
"""Topic and block."""
ENDS = ""
"""The scope of log ends; a group's positions have the scope `group_subject`."""
_T = TypeVar("_T", bound=Sample)


def insert_ordered(samples: list[_T], sample: _T, time_of: Callable[[_T], float]) -> None:
    """Keep `samples` ordered by time. A second sample of the same time is the same one, read twice."""
    time_s = time_of(sample)
    index = bisect_right(samples, time_s, key=time_of)
    if index == 0 or time_of(samples[index - 1]) != time_s:
        samples.insert(index, sample)


def is_of_another_topic(block: Block, newest: Block) -> bool:
    """Log ends of a topic that was deleted say nothing of the one that was made in its place."""
    return (
        isinstance(block, TopicEnds) and isinstance(newest, TopicEnds) and block.topic_id != newest.topic_id
    )


def is_withdrawn(block: Block) -> bool:
    """Whether the block says that there is no such part any more."""
    return not (block.offsets if isinstance(block, GroupPositions) else block.ends)


def begun_at_s(sample: Round) -> float:
    return sample.begun_at_s


def ended_at_s(sample: Round) -> float:
    return sample.ended_at_s


def at_s(block: Block) -> float:
    return block.at_s


def scope_of(block: Block) -> str:
    return group_subject(block.group) if isinstance(block, GroupPositions) else ENDS


def missed_as(block: Block) -> str:
    return group_subject(block.group) if isinstance(block, GroupPositions) else topic_subject(block.topic)


def confirmed_by(round_: Round | None, block: Block) -> float:
    """The newest moment at which the block was still what the source said, as this round tells.

    A round that missed the block's subject names the moment at which that was confirmed before.
    """
    if round_ is None:
        return block.at_s
    subject = missed_as(block)
    told = round_.missed.get(subject, round_.begun_at_s)
    return max(block.at_s, told or 0.0)


def part_of(block: Block) -> Part:
    return block.topic, block.block


def part_of_partition(tp: TopicPartition) -> Part:
    return tp.topic, tp.partition // BLOCK_PARTITIONS


def value_in(block: Block, partition: int | None) -> int | None:
    """What the block says of one partition, or the sum of its end offsets."""
    if isinstance(block, GroupPositions):
        return block.offsets.get(partition) if partition is not None else sum(block.offsets.values())
    if partition is None:
        return sum(end.end_offset for end in block.ends.values())
    return block.ends[partition].end_offset if partition in block.ends else None
