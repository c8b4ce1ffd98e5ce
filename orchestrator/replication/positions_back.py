"""Where each group has to stand at the old primary, when everything goes back to it.

Under the default policy a moved consumer has read two topics of each at the standby: the mirrored one
(`west.orders`), whose records stand in the old primary's own `orders`, and the landing one (`orders`),
which the reverse mirror has copied there as `east.orders`. So its positions go back through the inverse of
the forward map, and through the reverse map (facts: MirrorMaker 2, "Failover and failback, by policy").

And once a query or group works at the old primary again and that is lost again, its position in
`east.orders` has to lead to the landing topic: through the inverse of the reverse map.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.replication.offset_map import OffsetMap, Translated
from orchestrator.replication.translation import fit_to_log
from orchestrator.replication.truncations import Truncation, Truncations, inverse_across_truncations
from orchestrator.topology.model import Consumer, Replication, Topology
from orchestrator.values import LogEnd, TopicPartition

_UNREACHABLE = "the end offset of the old primary's log is unknown"


def reverse_mirror(mirror: Replication) -> Replication:
    """The mirror that brings back what producers wrote at the standby.

    Its offset syncs stay at the standby, as those of the mirror itself do: when the primary is lost again,
    both maps have to be there.
    """
    return replace(
        mirror,
        source=mirror.target,
        target=mirror.source,
        # By name: what a pattern would match at the standby beside them has its home there.
        topics=tuple(mirror.topics),
        offset_syncs="source",
        managed=True,
        replicas=None,
        min_insync_replicas=None,
        topic_config={},
        connectors={},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BackPosition:
    """One position on its way back: where the group stood at the standby, and its place at the primary.

    `source_offset` is None where the group had committed nothing; `target_offset` where the rules allow
    none, and `reason` tells why.
    """

    group: str
    source: str
    topic: str
    partition: int
    source_offset: int | None
    target: str
    target_topic: str
    target_offset: int | None
    exact: bool
    reread_at_most: int | None
    reason: str

    @property
    def target_partition(self) -> TopicPartition:
        """As the primary names it."""
        return TopicPartition(self.target_topic, self.partition)

    def as_json(self) -> dict[str, Any]:
        """One row of `translations`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True, kw_only=True)
class BothMaps:
    """All that the way back is translated by, read after both mirrors had stopped.

    `standby` and `primary` are the logs on each side: of mirrored and landing topics there, of own topics
    and those that the reverse mirror fills here. `reverse_starts`: the first landing offset that the
    reverse mirror ever copied, by landing partition (none: from its beginning).
    """

    forward: OffsetMap
    reverse: OffsetMap
    standby: Mapping[TopicPartition, LogEnd]
    primary: Mapping[TopicPartition, LogEnd]
    truncations: Truncations
    reverse_starts: Mapping[TopicPartition, int]


def own_partitions(topology: Topology, mirror: Replication, consumer: Consumer) -> tuple[TopicPartition, ...]:
    """Every partition of the mirrored topics that a consumer reads, as the primary names them."""
    return tuple(
        TopicPartition(name, number)
        for name in mirror.topics
        if name in topology.topics_read(consumer)
        and (topic := topology.topic(name, mirror.source)) is not None
        for number in range(topic.partitions)
    )


def positions_back(
    mirror: Replication,
    consumer: Consumer,
    partitions: Iterable[TopicPartition],
    committed: Mapping[TopicPartition, int],
    maps: BothMaps,
) -> tuple[BackPosition, ...]:
    """A group's place in every partition that it will read at the primary, two for each of `partitions`.

    `partitions` as the primary names them; `committed` is what the group had committed at the standby when
    it was stopped. Where it had nothing committed it starts where its topic at the standby starts.
    """
    rows = []
    for own in partitions:
        for read in (mirror.mirrored(own), own):
            at = committed.get(read)
            to, found = place_back(mirror, consumer, read, at, maps)
            rows.append(
                BackPosition(
                    group=consumer.group_id,
                    source=mirror.target,
                    topic=read.topic,
                    partition=read.partition,
                    source_offset=at,
                    target=mirror.source,
                    target_topic=to.topic,
                    target_offset=found.offset,
                    exact=found.is_exact,
                    reread_at_most=found.reread_at_most,
                    reason=found.reason if at is not None else f"never committed; {found.reason}",
                )
            )
    return tuple(rows)


def place_back(
    mirror: Replication, consumer: Consumer, read: TopicPartition, at: int | None, maps: BothMaps
) -> tuple[TopicPartition, Translated]:
    """What a partition that is read at the standby is at the primary, and where to go on in it.

    `read` is one of a mirrored or of a landing topic; `at` the next offset there, None where the consumer
    has none: it then starts where the log does.
    """
    own_names = {mirror.mirrored_topic(name): name for name in mirror.topics}
    is_copy = read.topic in own_names
    own = TopicPartition(own_names.get(read.topic, read.topic), read.partition)
    to = own if is_copy else reverse_mirror(mirror).mirrored(own)
    log = maps.standby.get(read)
    offset = at if at is not None else None if log is None else log.start_offset
    if offset is None:
        found = Translated(None, False, None, f"the log of {read} at {mirror.target} is unknown")
    elif is_copy:
        found = back_through_mirror(maps.forward, own, offset, maps.truncations.get(own, ()))
    else:
        found = through_reverse_mirror(maps.reverse, own, offset, maps.reverse_starts.get(own, 0))
    home = maps.primary.get(to)
    if home is None:
        return to, Translated(None, False, None, _UNREACHABLE)
    return to, Translated(*fit_to_log(found, home, consumer.on_untranslatable)[:4])


def back_through_mirror(
    forward: OffsetMap, own: TopicPartition, downstream: int, truncations: tuple[Truncation, ...] = ()
) -> Translated:
    """From a position in the mirrored topic to one in the primary's own."""
    if downstream == 0 and not truncations:
        return Translated(0, True, 0, "the consumer reads no record of this partition")
    return inverse_across_truncations(forward, own, downstream, truncations)


def through_reverse_mirror(
    reverse: OffsetMap, landing: TopicPartition, offset: int, start: int = 0
) -> Translated:
    """From a position in the landing topic to one in its copy at the primary.

    The copy holds the landing topic from `start` on, whole: so where the oldest sync says nothing, its
    beginning skips nothing.
    """
    if offset < start:
        reason = f"earlier records were never copied back: the copy begins at offset {start}"
        return Translated(None, False, None, reason)
    if offset == start:
        return Translated(0, True, 0, "at the beginning of the copy")
    found = reverse.translate(landing, offset)
    if found.offset is None and landing in reverse.partitions:
        slots = reverse.first_target_offset(landing)
        return Translated(0, False, slots, f"{found.reason}: translated to the beginning of the copy")
    return found


def landing_position(
    reverse: OffsetMap, landing: TopicPartition, committed: int, start: int = 0
) -> Translated:
    """From a position in the copy at the primary to one in the landing topic: the primary is lost again."""
    if committed == 0:
        return Translated(start, True, 0, "the consumer reads no record of the copy")
    found = reverse.inverse(landing, committed)
    if found.offset is None and landing in reverse.partitions:
        return Translated(start, False, committed, f"{found.reason}: translated to the beginning of the copy")
    return found
