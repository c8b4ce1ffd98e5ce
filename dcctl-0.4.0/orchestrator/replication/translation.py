"""Fits translated positions to the target's log, or takes those that a mirror's engine has translated."""

from __future__ import annotations

from typing import Literal, NamedTuple

from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.topology.model import Replication
from orchestrator.values import LogEnd, TopicPartition

OnUntranslatable = Literal["refuse", "earliest", "timestamp"]


class Fitted(NamedTuple):
    """A position to write for a group, or why there is none.

    `by` tells where it comes from: the translation; the start of the target's log (`earliest`); a look-up by
    time (`timestamp`); or nowhere (`refused`, offset None).
    """

    offset: int | None
    is_exact: bool
    reread_at_most: int | None
    reason: str
    by: Literal["translation", "earliest", "timestamp", "refused"]


def fit_to_log(
    translated: Translated, log: LogEnd, on_untranslatable: OnUntranslatable, by_time: int | None = None
) -> Fitted:
    """The translated position if the target's log has it; by the consumer's `on_untranslatable` otherwise.

    It is never left to the client's auto.offset.reset, which would skip or start over without a word. The
    end of the log is a position in it. `by_time`: a target offset that the position's record does not stand
    before, told by a time at which it was not written yet; None where no such time is known.
    """
    offset, is_exact, reread, reason = translated
    if offset is None:
        problem = f"no translation: {reason}"
    elif offset < log.start_offset:
        problem = f"target offset {offset} is gone: the target's log starts at {log.start_offset}"
    elif offset > log.end_offset:
        problem = f"target offset {offset} does not exist: the target's log ends at {log.end_offset}"
    else:
        return Fitted(offset, is_exact, reread, reason, "translation")
    match on_untranslatable:
        case "earliest":
            everything = log.end_offset - log.start_offset
            return Fitted(
                log.start_offset, False, everything, f"{problem}; the whole log is read again", "earliest"
            )
        case "timestamp":
            return _by_time(translated, log, by_time, problem)
        case "refuse":
            return Fitted(None, False, None, problem, "refused")


def _by_time(translated: Translated, log: LogEnd, by_time: int | None, problem: str) -> Fitted:
    if translated.offset is not None and translated.offset < log.start_offset:
        left = f"{problem}; records are read again from there"
        return Fitted(log.start_offset, False, translated.reread_at_most, left, "timestamp")
    if by_time is None:
        untold = "the samples do not say when its record was written"
        return Fitted(None, False, None, f"{problem}; {untold}", "refused")
    offset = min(max(by_time, log.start_offset), log.end_offset)
    return Fitted(
        offset,
        False,
        log.end_offset - offset,
        f"{problem}; translated by the time of the record",
        "timestamp",
    )


class KeptPosition(NamedTuple):
    """A position of a group as a mirror's engine has translated it; both offsets are the next one to read.

    `partition` has the topic's name at the target. `written_s`: Unix seconds. `kept_in`: whose word it is.
    """

    group: str
    partition: TopicPartition
    upstream: int
    downstream: int
    written_s: float
    kept_in: str


def translate_kept(kept: KeptPosition, source: TopicPartition, offset_map: OffsetMap) -> Translated:
    """A kept position, translated by the map; by the engine itself where nothing is known but that.

    `source` is the partition at the source that `kept.partition` mirrors. `kept.upstream` is what the group
    had committed at the source when it was written. Where the map knows the partition it decides, also where
    it refuses: the position may be from before the copy was made anew or cut, and an engine need not look out
    for replays that never caught up.
    """
    by_map = offset_map.translate(source, kept.upstream)
    if source in offset_map.partitions:
        return by_map
    return Translated(kept.downstream, False, by_map.reread_at_most, f"{kept.kept_in} ({by_map.reason})")


def source_partition(replication: Replication, target: TopicPartition) -> TopicPartition | None:
    """The source partition that a target partition mirrors, or None if it mirrors none of this file's."""
    for topic in replication.topics:
        if replication.mirrored_topic(topic) == target.topic:
            return TopicPartition(topic, target.partition)
    return None
