"""Moving a Spark query to another cluster: what its checkpoint has to say there.

The query goes on with its state at the batch that it had committed last. Kafka offsets are translated,
topics renamed, and every partition that it will read is named, because one that is left out starts at
the earliest offset (`KafkaMicroBatchStream`). Offsets are rounded down: records may be read again, none
is skipped. Everything that cannot be done so is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.errors import DcctlError
from orchestrator.relocation.offset_log import (
    OffsetLog,
    encoded_initial_offsets,
    kafka_line,
    kafka_offsets,
    parse_initial_offsets,
    parse_offset_log,
)
from orchestrator.topology.spark import Sink
from orchestrator.values import TopicPartition
from orchestrator.wording import plural


class TranslatedOffset(Protocol):
    """What a translation says of one offset; see `replication.offset_map.Translated`."""

    @property
    def offset(self) -> int | None:
        """The target offset, None where there is no translation."""

    @property
    def is_exact(self) -> bool:
        """Whether no record is read again."""

    @property
    def reread_at_most(self) -> int | None:
        """How many records may be read again; None: cannot be said."""

    @property
    def reason(self) -> str:
        """Why it is so."""


Translate = Callable[[TopicPartition, int], TranslatedOffset]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPoint:
    """Where a query goes on: behind `batch`; batches from `dropped` had begun and were not committed."""

    batch: int
    dropped: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelocatedPosition:
    """One Kafka partition of one source of the query. `reread_at_most` None: cannot be said."""

    source_index: int
    source: TopicPartition
    source_offset: int
    target: TopicPartition
    target_offset: int
    exact: bool
    reread_at_most: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlan:
    """What to change in the copy of a checkpoint.

    `replaced`: file -> new content. `dropped`: files to leave out. `offsets`: what the query will go on
    from, of all its Kafka sources together. `kept_sources`: sources that are not Kafka's and stay as
    they are. `sink_identity` is new if `is_new_identity`.
    """

    from_batch: int
    dropped_batches: tuple[int, ...]
    replaced: Mapping[str, bytes]
    dropped: frozenset[str]
    positions: tuple[RelocatedPosition, ...]
    offsets: Mapping[TopicPartition, int]
    kept_sources: tuple[int, ...]
    sink_identity: str
    is_new_identity: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointContents:
    """The small files of a checkpoint, by batch and by source index; `name` is how errors name it."""

    name: str
    has_metadata: bool
    offsets: Mapping[int, bytes]
    commits: frozenset[int]
    sources: Mapping[int, bytes] = field(default_factory=dict)


def restart_point(contents: CheckpointContents) -> RestartPoint:
    """Where Spark would go on (`MicroBatchExecution.populateStartOffsets`), without uncommitted batches.

    Raises `DcctlError` where Spark could not go on, or where nothing was committed.
    """
    name = contents.name
    if not contents.has_metadata:
        raise DcctlError(name, "has no `metadata` file", "is this a Spark checkpoint?")
    if not contents.commits or not contents.offsets:
        raise DcctlError(name, "has no committed batch", "start the query at the target without a checkpoint")
    batch, latest = max(contents.commits), max(contents.offsets)
    if latest not in (batch, batch + 1):
        raise DcctlError(
            name, f"its latest offsets are of batch {latest}, its latest commit of {batch}: it is damaged"
        )
    if batch not in contents.offsets or (batch > 0 and batch - 1 not in contents.offsets):
        raise DcctlError(name, f"lacks offsets/{batch} or offsets/{batch - 1}, which a restart needs")
    return RestartPoint(batch=batch, dropped=tuple(range(batch + 1, latest + 1)))


def positions_of(contents: CheckpointContents) -> dict[TopicPartition, int]:
    """The next source offset of each Kafka partition at the batch where a checkpoint goes on.

    Raises `DcctlError` where it cannot be gone on with.
    """
    batch = restart_point(contents).batch
    log = parse_offset_log(contents.offsets[batch], f"{contents.name}/offsets/{batch}")
    found: dict[TopicPartition, int] = {}
    for line in log.sources:
        for tp, offset in (kafka_offsets(line) or {}).items():
            # A self-join reads a topic twice: the source that is behind counts.
            found[tp] = min(offset, found.get(tp, offset))
    return found


def plan_relocation(
    contents: CheckpointContents,
    *,
    translate: Translate,
    mirrored: Callable[[str], str],
    local_starts: Mapping[TopicPartition, int],
    query: str,
    sink: Sink | None,
    run_id: str,
) -> CheckpointPlan:
    """Plan the relocation of a checkpoint.

    `translate` gives the target offset of a source partition's offset, `mirrored` the target's name of a
    source topic. `local_starts` holds a start for every further target partition that the query will
    read: the landing topics, and partitions of mirrored topics that the checkpoint does not know.

    Raises `DcctlError` naming all partitions without a translation, or the sink that forbids it.
    """
    point = restart_point(contents)
    newest = parse_offset_log(contents.offsets[point.batch], f"{contents.name}/offsets/{point.batch}")
    positions, problems = _positions(newest, translate, mirrored)
    if problems:
        raise DcctlError(
            contents.name,
            f"cannot be relocated; {plural(len(problems), 'partition')} without a translation: "
            + "; ".join(problems),
            "which of their records at the target the query has counted is unknown",
        )
    if not positions:
        raise DcctlError(contents.name, f"names no Kafka partition in offsets/{point.batch}")
    starts = _starts_by_source(positions, local_starts)
    identity, is_new = _sink_identity(query, sink, run_id, point.batch)
    newest_targets = _targets(positions, starts)
    replaced = {f"offsets/{point.batch}": _relocated(newest, newest_targets).encoded()}
    if point.batch > 0:
        number = point.batch - 1
        earlier = parse_offset_log(contents.offsets[number], f"{contents.name}/offsets/{number}")
        replaced[f"offsets/{number}"] = _relocated(
            earlier, _earlier_targets(earlier, newest_targets, translate, mirrored)
        ).encoded()
    for index, content in contents.sources.items():
        if index in newest_targets and parse_initial_offsets(content) is not None:
            # Counts only for a query without offsets; it must not name topics that are not there.
            replaced[f"sources/{index}/0"] = encoded_initial_offsets(newest_targets[index])
    kept = {point.batch, point.batch - 1}
    dropped = {f"offsets/{number}" for number in contents.offsets if number not in kept}
    dropped |= {f"commits/{number}" for number in contents.commits if number not in kept}
    return CheckpointPlan(
        from_batch=point.batch,
        dropped_batches=point.dropped,
        replaced=replaced,
        dropped=frozenset(dropped),
        positions=tuple(positions),
        offsets=_together(newest_targets),
        kept_sources=tuple(i for i in range(len(newest.sources)) if i not in newest_targets),
        sink_identity=identity,
        is_new_identity=is_new,
    )


def _positions(
    log: OffsetLog, translate: Translate, mirrored: Callable[[str], str]
) -> tuple[list[RelocatedPosition], list[str]]:
    positions, problems = [], []
    for index, line in enumerate(log.sources):
        for source, offset in sorted((kafka_offsets(line) or {}).items()):
            translated = translate(source, offset)
            if translated.offset is None:
                problems.append(f"{source} at {offset} ({translated.reason})")
                continue
            positions.append(
                RelocatedPosition(
                    source_index=index,
                    source=source,
                    source_offset=offset,
                    target=TopicPartition(mirrored(source.topic), source.partition),
                    target_offset=translated.offset,
                    exact=translated.is_exact,
                    reread_at_most=translated.reread_at_most,
                    reason=translated.reason,
                )
            )
    return positions, problems


def _starts_by_source(
    positions: list[RelocatedPosition], local_starts: Mapping[TopicPartition, int]
) -> dict[int, dict[TopicPartition, int]]:
    """Further target partitions of each Kafka source: of a topic that it read, under either name."""
    starts: dict[int, dict[TopicPartition, int]] = {}
    for index in {position.source_index for position in positions}:
        topics = {
            topic
            for position in positions
            if position.source_index == index
            for topic in (position.source.topic, position.target.topic)
        }
        named = {position.target for position in positions if position.source_index == index}
        starts[index] = {
            tp: offset for tp, offset in local_starts.items() if tp.topic in topics and tp not in named
        }
    return starts


def _targets(
    positions: list[RelocatedPosition], starts: Mapping[int, Mapping[TopicPartition, int]]
) -> dict[int, dict[TopicPartition, int]]:
    targets = {index: dict(further) for index, further in starts.items()}
    for position in positions:
        targets[position.source_index][position.target] = position.target_offset
    return targets


def _together(targets: Mapping[int, Mapping[TopicPartition, int]]) -> dict[TopicPartition, int]:
    """Offsets of all sources; of a partition that several read, of the one that is behind."""
    offsets: dict[TopicPartition, int] = {}
    for of_source in targets.values():
        for tp, offset in of_source.items():
            offsets[tp] = min(offset, offsets.get(tp, offset))
    return offsets


def _earlier_targets(
    earlier: OffsetLog,
    newest: Mapping[int, Mapping[TopicPartition, int]],
    translate: Translate,
    mirrored: Callable[[str], str],
) -> dict[int, dict[TopicPartition, int]]:
    """Offsets of the batch before: never beyond the newest ones, and of the very same partitions.

    A partition without a translation so far back takes the newest offset: Spark reads the batch before
    only to know that it is there.
    """
    targets = {index: dict(offsets) for index, offsets in newest.items()}
    for index, line in enumerate(earlier.sources):
        for source, offset in (kafka_offsets(line) or {}).items():
            target = TopicPartition(mirrored(source.topic), source.partition)
            translated = translate(source, offset)
            if index in targets and target in targets[index] and translated.offset is not None:
                targets[index][target] = min(translated.offset, targets[index][target])
    return targets


def _relocated(log: OffsetLog, targets: Mapping[int, Mapping[TopicPartition, int]]) -> OffsetLog:
    lines = [
        kafka_line(targets[index]) if index in targets else line for index, line in enumerate(log.sources)
    ]
    return OffsetLog(log.metadata, tuple(lines))


def _sink_identity(query: str, sink: Sink | None, run_id: str, batch: int) -> tuple[str, bool]:
    """Under which name the query writes after the move, and whether that is a new one.

    The query may have gone on after the copied batch, and a sink that remembers batch ids would then
    skip those that come again for other records: silent loss. It is asked for by the file's `sink`; one
    that is not described is taken to remember.
    """
    if sink is not None and sink.remembers == "nothing":
        return query, False
    if sink is not None and sink.on_relocation == "refuse":
        raise DcctlError(
            f"query {query}",
            f"its sink ({sink.kind}) remembers batch ids and may have seen batches after {batch}, "
            "whose ids would come again for other records",
            "let `sink.on_relocation` be `new-identity`, or empty the sink's memory and say "
            "`remembers: nothing`",
        )
    return f"{query}@{run_id or batch}", True
