"""Fits translated positions to the target's log, or takes them from MirrorMaker's own checkpoints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from orchestrator.replication.formats import Checkpoint
from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.topology.model import Replication
from orchestrator.values import LogEnd, TopicPartition

OnUntranslatable = Literal["refuse", "earliest", "timestamp"]


class Fitted(NamedTuple):
    """A position to write for a group, or why there is none.

    `by` tells where it comes from: the translation; the start of the target's log (`earliest`); a time that
    the caller still has to look up (`timestamp`, offset None); or nowhere (`refused`, offset None).
    """

    offset: int | None
    is_exact: bool
    reread_at_most: int | None
    reason: str
    by: Literal["translation", "earliest", "timestamp", "refused"]


def fit_to_log(translated: Translated, log: LogEnd, on_untranslatable: OnUntranslatable) -> Fitted:
    """The translated position if the target's log has it; by the consumer's `on_untranslatable` otherwise.

    It is never left to the client's auto.offset.reset, which would skip or start over without a word. The
    end of the log is a position in it.
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
                log.start_offset, False, everything, f"{problem}; from the start of the log on", "earliest"
            )
        case "timestamp":
            return Fitted(None, False, None, f"{problem}; by time", "timestamp")
        case "refuse":
            return Fitted(None, False, None, problem, "refused")


def newest_checkpoints(checkpoints: Iterable[Checkpoint]) -> dict[tuple[str, TopicPartition], Checkpoint]:
    """The newest checkpoint of each group and target partition, from checkpoints in topic order."""
    return {(checkpoint.group, checkpoint.partition): checkpoint for checkpoint in checkpoints}


def translate_from_checkpoints(
    checkpoints: Iterable[Checkpoint],
) -> dict[str, dict[TopicPartition, int]]:
    """Target offsets of each group, from MirrorMaker's checkpoints alone, in topic order.

    The same as Kafka's `RemoteClusterUtils.translateOffsets` tells for each group.
    """
    translated: dict[str, dict[TopicPartition, int]] = {}
    for (group, partition), checkpoint in newest_checkpoints(checkpoints).items():
        translated.setdefault(group, {})[partition] = checkpoint.downstream
    return translated


def translate_checkpoint(checkpoint: Checkpoint, source: TopicPartition, offset_map: OffsetMap) -> Translated:
    """The position in a checkpoint, translated by the map where that is better than MirrorMaker's own.

    `source` is the partition at the source that `checkpoint.partition` mirrors. The checkpoint holds what
    the group had committed at the source when it was emitted; MirrorMaker's translation of it goes to the
    next sync below it, the map's to the record itself where the syncs allow.
    """
    by_map = offset_map.translate(source, checkpoint.upstream)
    if by_map.is_exact:
        return by_map
    reason = f"MirrorMaker's own checkpoint ({by_map.reason})"
    by_mirrormaker = Translated(checkpoint.downstream, False, by_map.reread_at_most, reason)
    if by_map.offset is None:
        return by_mirrormaker
    # Both are safe unless a replay may be unfinished: MirrorMaker does not look out for that.
    if offset_map.is_settled(source) and checkpoint.downstream > by_map.offset:
        return by_mirrormaker
    return by_map


def source_partition(replication: Replication, target: TopicPartition) -> TopicPartition | None:
    """The source partition that a target partition mirrors, or None if it mirrors none of this file's."""
    for topic in replication.topics:
        if replication.mirrored_topic(topic) == target.topic:
            return TopicPartition(topic, target.partition)
    return None
