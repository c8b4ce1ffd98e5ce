"""Where each moved group has to stand at the target: mirrored partitions translated, landing explicit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import DcctlError
from orchestrator.replication.mirror_ref import source_partitions
from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.replication.recreated_topic import Recreation
from orchestrator.replication.translation import Fitted, fit_to_log
from orchestrator.snapshot.samples import SampledPosition
from orchestrator.snapshot.watcher_records import age_s
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.topology.standby import READ
from orchestrator.values import LogEnd, TopicPartition

Readings = Mapping[str, tuple[TopicPartition, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPosition:
    """One translated position. `target_offset` is None where the rules allow none; `reason` tells why.

    `source_offset` is None for a partition of which the group never committed anything. `position_age_s` is
    None for such a one, and where clocks differ so that nobody knows how old the position is. `never_came`:
    records that were read at the place left, of which the one entered has no copy: their source is lost too.
    """

    group: str
    source: str
    topic: str
    partition: int
    source_offset: int | None
    position_age_s: float | None
    target: str
    target_topic: str
    target_offset: int | None
    exact: bool
    reread_at_most: int | None
    reason: str
    never_came: int = 0

    @property
    def source_partition(self) -> TopicPartition:
        """As the source names it."""
        return TopicPartition(self.topic, self.partition)

    @property
    def target_partition(self) -> TopicPartition:
        """As the target names it."""
        return TopicPartition(self.target_topic, self.partition)

    def as_json(self) -> dict[str, Any]:
        """One row of `translations`, as the command `offsets translate` prints it."""
        row = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return row if self.never_came else {key: row[key] for key in row if key != "never_came"}


def partitions_to_read(
    topology: Topology, mirror: Replication, consumer: Consumer
) -> tuple[TopicPartition, ...]:
    """What a consumer reads at the target: of each of its topics the mirrored and the landing partitions."""
    own = source_partitions(topology, mirror, consumer)
    return tuple(dict.fromkeys([*(mirror.mirrored(tp) for tp in own), *own]))


def target_positions(
    topology: Topology,
    mirror: Replication,
    consumer: Consumer,
    *,
    recorded: Mapping[TopicPartition, SampledPosition],
    sampled_ends: Mapping[TopicPartition, LogEnd],
    offset_map: OffsetMap,
    recreated: Mapping[str, Recreation],
    target_logs: Mapping[TopicPartition, LogEnd],
    by_time: Mapping[TopicPartition, int],
    lost_at_s: float,
) -> tuple[TargetPosition, ...]:
    """The group's place in every mirrored partition that it reads.

    `recorded`: its committed offsets at the source, as the watcher has them; their age is judged at
    `lost_at_s`, because a lost site ends all sampling. `sampled_ends`: the source's logs, as the watcher
    has them. `recreated`: topics that were deleted and made again; what was recorded before is void.
    `by_time`: target offsets by source partition, for a consumer that takes them where there is no other.
    """
    rows = []
    for source in source_partitions(topology, mirror, consumer):
        target = mirror.mirrored(source)
        position = recorded.get(source)
        upstream = _next_to_read(position, sampled_ends.get(source))
        recorded_at_s = None if position is None else position.sampled_at_s
        translated = translate_recorded(offset_map, recreated, source, upstream, recorded_at_s)
        placed = placed_in_log(consumer, target_logs.get(target), translated, by_time.get(source))
        rows.append(
            TargetPosition(
                group=consumer.group_id,
                source=mirror.source,
                topic=source.topic,
                partition=source.partition,
                source_offset=None if position is None else position.offset,
                position_age_s=None if position is None else age_s(lost_at_s, position.sampled_at_s),
                target=mirror.target,
                target_topic=target.topic,
                target_offset=placed.offset,
                exact=placed.is_exact,
                reread_at_most=placed.reread_at_most,
                reason=placed.reason if position is not None else f"never committed; {placed.reason}",
            )
        )
    return tuple(rows)


def offsets_to_write(
    topology: Topology,
    mirror: Replication,
    consumers: Iterable[Consumer],
    positions: Iterable[TargetPosition],
    landing_ends: Mapping[TopicPartition, int],
) -> dict[str, dict[TopicPartition, int]]:
    """Explicit offsets of each group on every partition that it will read.

    A landing partition starts at its end when it was fenced: what older cycles left there is passed
    over, and what is written from now on is read. With equal names (identity policy) the translated
    position holds. Raises `DcctlError` naming the partitions for which there is no offset.
    """
    read: dict[str, tuple[TopicPartition, ...]] = {}
    wanted: dict[str, dict[TopicPartition, int]] = {}
    for consumer in consumers:
        # Producers write topics of the same names there as at the source.
        own = read[consumer.group_id] = source_partitions(topology, mirror, consumer)
        if consumer.landing in {None, READ}:
            wanted[consumer.group_id] = {tp: landing_ends[tp] for tp in own if tp in landing_ends}
        else:
            # What is written there from now on is for another consumer, which works there already.
            read[consumer.group_id], wanted[consumer.group_id] = (), {}
    for position in positions:
        if position.target_offset is not None and position.group in wanted:
            wanted[position.group][position.target_partition] = position.target_offset
    for group, own in read.items():
        missing = [str(tp) for tp in own if tp not in wanted[group]]
        if missing:
            raise DcctlError(
                f"group {group}",
                f"reads partitions whose end offsets {mirror.target} has not given: {', '.join(missing)}",
                "do the topics there have as many partitions as in the file? dcctl drift FILE shows it",
            )
    return wanted


def no_copy_of(source: TopicPartition, mirror: Replication) -> str:
    """Why a partition of the source has no place at the target, where its log there is not known."""
    if source.topic not in mirror.topics:
        return f"the mirror {mirror.source} → {mirror.target} does not copy {source.topic}"
    return f"{mirror.mirrored(source)} does not exist at {mirror.target}"


def translate_recorded(
    offset_map: OffsetMap,
    recreated: Mapping[str, Recreation],
    source: TopicPartition,
    upstream: int | None,
    recorded_at_s: float | None,
) -> Translated:
    """A position through the map, unless it is one in a topic that is no more.

    `recorded_at_s`: when it was known to be right, None for one that follows from the log itself.
    """
    if upstream is None:
        return Translated(
            None, False, None, "the watcher has sampled neither a position nor the log of this partition"
        )
    recreation = recreated.get(source.topic)
    if recreation is not None and recorded_at_s is not None and recorded_at_s < recreation.seen_s:
        return Translated(
            None, False, None, f"recorded before {source.topic} was deleted and created again at the source"
        )
    return offset_map.translate(source, upstream)


def placed_in_log(
    consumer: Consumer, log: LogEnd | None, translated: Translated, by_time: int | None
) -> Fitted:
    """A translated position in the target's log, or what the consumer takes where it has no place there."""
    if log is None:
        return Fitted(None, False, None, "the end offset at the target is unknown", "refused")
    if log.end_offset == 0:
        # Nothing was ever mirrored there, so nothing can be skipped from its beginning on.
        return Fitted(0, True, 0, "no record of this partition was mirrored", "translation")
    return fit_to_log(translated, log, consumer.on_untranslatable, by_time)


def _next_to_read(position: SampledPosition | None, log: LogEnd | None) -> int | None:
    """The committed offset; for a group that never committed one the start of the source's log.

    Whatever its auto.offset.reset is, from there it skips nothing, and it has read nothing before.
    """
    if position is not None:
        return position.offset
    return None if log is None else log.start_offset
