"""Reads a mirror's offset syncs from the target to their end and makes the offset map of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from orchestrator.mirrors.mirrormaker2.formats import (
    decode_offset_sync,
    decode_sync_key,
    decode_sync_values,
    encode_sync_key,
)
from orchestrator.ports.servers import Kafka, Record
from orchestrator.replication.engine import NoMapError
from orchestrator.replication.kept_map import newest_kept
from orchestrator.replication.offset_map import OffsetMap, OffsetMapBuilder
from orchestrator.replication.recreated_topic import Recreation, first_sync_of_recreated
from orchestrator.replication.source_gaps import SourceGaps
from orchestrator.topology.model import Replication
from orchestrator.values import LogEnd, TopicPartition


class OffsetSyncs(OffsetMapBuilder):
    """Makes the map of records of MirrorMaker's offset syncs topic."""

    source_of = staticmethod(decode_sync_key)
    pairs_of = staticmethod(decode_sync_values)


def read_syncs(cluster: Kafka, mirror: Replication) -> Iterator[Sequence[Record]]:
    """Every sync at the target so far, in chunks. Raises `NoMapError` where there is no such topic."""
    partition = TopicPartition(mirror.offset_syncs_topic, 0)
    if partition.topic not in cluster.topics([partition.topic]):
        raise NoMapError(
            f"{cluster.subject}, topic {partition.topic}",
            "there is no such topic",
            "offset-syncs.topic.location of the mirror must be `target`",
        )
    log = cluster.log_ends([partition])[partition]
    yield from cluster.read_records({partition: (log.start_offset, log.end_offset)})


def read_kept_map(place: Kafka, mirror: Replication) -> Iterator[Sequence[Record]]:
    """The same as a watcher has copied them to another place. Raises `NoMapError` where there is no copy."""
    partition = TopicPartition(mirror.kept_map_topic, 0)
    subject = f"{place.subject}, topic {partition.topic}"
    hint = f"`dcctl watch FILE` there copies it while {mirror.target} is up"
    if partition.topic not in place.topics([partition.topic]):
        raise NoMapError(subject, "there is no such topic", f"dcctl apply FILE creates it; {hint}")
    log = place.log_ends([partition])[partition]
    chunks = place.read_records({partition: (log.start_offset, log.end_offset)})
    _, records = newest_kept(chunks, mirror.offset_syncs_topic, (mirror.source, mirror.target))
    if not records:
        raise NoMapError(subject, f"no watcher has copied the map of {mirror.source} → {mirror.target}", hint)
    yield records


def map_of_syncs(
    syncs: Callable[[], Iterable[Sequence[Record]]],
    mirror: Replication,
    *,
    recreated: Mapping[str, Recreation],
    gaps: Mapping[TopicPartition, SourceGaps],
    stopped_at: Mapping[TopicPartition, int] | None = None,
    logs: Mapping[TopicPartition, LogEnd] | None = None,
) -> OffsetMap:
    """The map of every sync that `syncs` reads, in the order in which they were written.

    `recreated`: source topics that were deleted and made again; the map of these begins anew as well.
    `gaps`: what is known of gaps in source partitions. Where the syncs show one in a partition that is said
    to have none, they are read once more.
    `stopped_at` and `logs` only for a mirror that was stopped: the source connector's offsets in Connect,
    and the logs of the mirrored partitions read since. They close the map at its end.
    """
    ends = _ends(mirror, stopped_at, logs) if stopped_at is not None and logs is not None else {}

    def built(shown_gaps: Collection[TopicPartition]) -> tuple[OffsetMap, frozenset[TopicPartition]]:
        builder = OffsetSyncs(recreated, gaps, shown_gaps)
        _add_all(builder, syncs(), recreated)
        for source, (last_upstream, target_end) in ends.items():
            builder.add_end(source, last_upstream, target_end)
        return builder.build(), builder.shown_gaps

    found, shown_gaps = built(())
    return built(shown_gaps)[0] if shown_gaps else found


def _ends(
    mirror: Replication, stopped_at: Mapping[TopicPartition, int], logs: Mapping[TopicPartition, LogEnd]
) -> dict[TopicPartition, tuple[int, int]]:
    """Of each source partition the last offset read (-1: none), and the end of its copy."""
    own = {mirror.mirrored_topic(name): name for name in mirror.topics}
    sources = {tp: TopicPartition(own[tp.topic], tp.partition) for tp in logs if tp.topic in own}
    return {source: (stopped_at.get(source, -1), logs[tp].end_offset) for tp, source in sources.items()}


def _add_all(
    builder: OffsetMapBuilder, chunks: Iterable[Sequence[Record]], recreated: Mapping[str, Recreation]
) -> None:
    # A key is the topic and four bytes more: those of a topic made anew are told by their beginning.
    recreation = {
        _topic_of(encode_sync_key(TopicPartition(name, 0))): when for name, when in recreated.items()
    }
    apart: dict[bytes, list[Record]] = {}
    for chunk in chunks:
        known = [record for record in chunk if record.key is not None]
        if recreation:
            for record in known:
                if _topic_of(record.key) in recreation:
                    apart.setdefault(record.key or b"", []).append(record)
            known = [record for record in known if _topic_of(record.key) not in recreation]
        _add(builder, known)
    for key, records in apart.items():
        _add(builder, _since_recreated(records, recreation[_topic_of(key)]))


def _add(builder: OffsetMapBuilder, records: Sequence[Record]) -> None:
    builder.add_syncs([record.key or b"" for record in records], [record.value for record in records])


def _topic_of(key: bytes | None) -> bytes:
    return (key or b"")[:-4]


def _since_recreated(records: Sequence[Record], recreation: Recreation) -> Sequence[Record]:
    syncs = [record for record in records if record.value is not None]
    upstream = [decode_offset_sync(record.key or b"", record.value or b"").upstream for record in syncs]
    written_s = [record.timestamp_ms / 1000 for record in syncs]
    return syncs[first_sync_of_recreated(upstream, written_s, recreation) :]
